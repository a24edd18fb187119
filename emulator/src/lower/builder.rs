//! The state of a kernel's lowering: code, constant pools, register numbers, storage.
//!
//! A name means whatever the innermost scope says. Every PTX register gets a slot of the file of
//! its width; every distinct constant gets one slot of the constant part of its file.

use super::inst::{File, Guard, Inst, Op, Slot};
use super::program::{
    Const32, Const64, FrameAddress, LaneMask, Program, SourcePosition, Special, WarpInit,
};
use super::shared_slots::SharedSlots;
use crate::ptx::PtxError;
use crate::ptx::ast::{AddressBase, Instruction, Module, Operand, Statement, Type};
use std::collections::HashMap;

/// What is known of the module's global and constant variables before its kernels are lowered.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Their addresses.
    pub addresses: HashMap<String, u64>,
    /// Those that no kernel can use, and why.
    pub unusable: HashMap<String, String>,
}

/// The file that holds a type.
pub fn file_of(ty: Type) -> File {
    File::of_bytes(ty.bytes())
}

/// The meaning of a name.
#[derive(Debug, Clone, Copy)]
pub enum Binding {
    /// A register of this type.
    Register(File, Slot, Type),
    /// A register of 128 bits: two 64-bit ones, the lower first.
    Register128(Slot),
    /// A launch parameter at a byte offset.
    LaunchParam(u32, u32),
    /// A call parameter in 32-bit registers: first slot and size in bytes.
    Words(Slot, u32),
    /// A local variable of a function with a frame, at an offset in the frame.
    StackVariable(u32),
    /// A variable: generic address or, for shared and local, an offset in that space.
    Variable(u64),
}

/// `.reg .b32 %r<5>`
#[derive(Debug)]
struct Family<'a> {
    prefix: &'a str,
    ty: Type,
    first: usize,
    count: u32,
    /// The slots of its registers from the first on, if they share some.
    shared: Option<Vec<u32>>,
}

/// The local variables of the function that is being lowered, if it has a frame.
#[derive(Debug)]
pub struct StackFrame {
    pub(super) bytes: u32,
    pub(super) align: u32,
    pub(super) addresses: Vec<FrameAddress>,
}

/// Registers that a value of `ty` takes in its file.
fn registers_of(ty: Type) -> u32 {
    if ty.bytes() == 16 { 2 } else { 1 }
}

/// The binding of a register of `ty`.
fn register(ty: Type, index: usize) -> Binding {
    match registers_of(ty) {
        2 => Binding::Register128(Slot::private(index)),
        _ => Binding::Register(file_of(ty), Slot::private(index), ty),
    }
}

/// Names of one `{ … }`.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    names: HashMap<&'a str, Binding>,
    families: Vec<Family<'a>>,
}

impl<'a> Scope<'a> {
    pub(super) fn bind(&mut self, name: &'a str, binding: Binding) {
        self.names.insert(name, binding);
    }

    fn find(&self, name: &str) -> Option<Binding> {
        if let Some(binding) = self.names.get(name) {
            return Some(*binding);
        }
        self.families.iter().find_map(|Family { prefix, ty, first, count, shared }| {
            let digits = name.strip_prefix(prefix)?;
            let index: u32 =
                digits.parse().ok().filter(|_| digits == "0" || !digits.starts_with('0'))?;
            let at = match shared {
                Some(shared) => *shared.get(index as usize)?,
                None => index * registers_of(*ty),
            };
            (index < *count).then(|| register(*ty, first + at as usize))
        })
    }
}

/// The lowering of one kernel and of the device functions it reaches.
pub struct Builder<'m, 'a> {
    pub(super) module: &'m Module<'a>,
    pub(super) symbols: &'m Symbols,
    /// The kernel, as far as it is lowered.
    pub(super) program: Program,
    known32: HashMap<Const32, Slot>,
    known64: HashMap<Const64, Slot>,
    /// Registers handed out in each file: predicates, 32-bit, 64-bit.
    pub(super) used: [usize; 3],
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) shared: HashMap<&'a str, u32>,
    /// Shared variables declared inside functions, by line and name.
    pub(super) shared_inside: HashMap<(u32, &'a str), u32>,
    pub(super) dynamic_align: u32,
    /// The place in force.
    pub(super) site: Option<u32>,
    /// The numbers of the device functions that the kernel calls.
    pub(super) numbers: HashMap<&'a str, u32>,
    /// Functions with parameters that are not supported.
    pub(super) unreserved: Vec<u32>,
    /// Calls that copy nothing as they run, each with its callee.
    pub(super) links: Vec<(usize, u32)>,
    /// The instructions after indirect calls.
    pub(super) meeting: Vec<usize>,
    /// The body of the function that is being lowered, and the blocks in it that are open.
    pub(super) bodies: Vec<&'m [Statement<'a>]>,
    pub(super) frame: Option<StackFrame>,
    /// The statements around an instruction hold one call.
    pub(super) has_one_call: bool,
    /// The slots that registers of the function share, and the first of each file.
    pub(super) shared_slots: Option<(SharedSlots<'a>, [usize; 3])>,
    pub(super) carry: Option<Slot>,
}

/// The result of lowering one thing.
pub type Lowered<T> = Result<T, PtxError>;

/// The error of an instruction that has not so many operands.
pub fn wrong_count(i: &Instruction<'_>, wanted: usize) -> PtxError {
    let (name, count) = (i.full_name(), i.operands.len());
    PtxError::invalid(i.line, format!("'{name}' takes {wanted} operands but has {count}"))
}

impl<'m, 'a> Builder<'m, 'a> {
    pub(super) fn new(module: &'m Module<'a>, symbols: &'m Symbols) -> Self {
        Self {
            module,
            symbols,
            program: Program::default(),
            known32: HashMap::new(),
            known64: HashMap::new(),
            // Slot 0 of every file takes unused results; predicate 1 is never set.
            used: [2, 1, 1],
            scopes: vec![Scope::default()],
            shared: HashMap::new(),
            shared_inside: HashMap::new(),
            dynamic_align: 1,
            site: None,
            numbers: HashMap::new(),
            unreserved: Vec::new(),
            links: Vec::new(),
            meeting: Vec::new(),
            bodies: Vec::new(),
            frame: None,
            has_one_call: false,
            shared_slots: None,
            carry: None,
        }
    }

    /// The slot for unused results.
    pub(super) fn sink(&self) -> Slot {
        Slot::private(0)
    }

    /// A predicate that is never set.
    pub(super) fn never(&self) -> Slot {
        Slot::private(1)
    }

    /// Hands out `count` consecutive registers.
    pub(super) fn registers(&mut self, file: File, count: u32, line: u32) -> Lowered<usize> {
        let used = &mut self.used[file as usize];
        let first = *used;
        *used += count as usize;
        if *used > Slot::MOST {
            return Err(PtxError::unsupported(
                line,
                "unsupported PTX: more than 32767 registers of one width",
            ));
        }
        Ok(first)
    }

    pub(super) fn declare_registers(
        &mut self,
        ty: Type,
        names: &[(&'a str, Option<u32>)],
        line: u32,
    ) -> Lowered<()> {
        let file = file_of(ty);
        for &(name, count) in names {
            // The registers of blocks inside are not those that share slots.
            let shared = self.shared_slots.as_mut().filter(|_| self.bodies.len() == 1);
            let shared = shared.and_then(|(slots, first)| Some((slots.remove(name)?, *first)));
            let wanted = count.unwrap_or(1).saturating_mul(registers_of(ty));
            let (shared, first) = match shared {
                Some((slots, first)) => (Some(slots), first[file as usize]),
                None => (None, self.registers(file, wanted, line)?),
            };
            let scope = self.scopes.last_mut().expect("a function has a scope");
            match count {
                Some(count) => {
                    scope.families.push(Family { prefix: name, ty, first, count, shared })
                }
                None => scope.bind(name, register(ty, first)),
            }
        }
        Ok(())
    }

    pub(super) fn bind(&mut self, name: &'a str, binding: Binding) {
        self.scopes.last_mut().expect("a function has a scope").bind(name, binding);
    }

    /// Changes the binding of a name in the scope that declared it.
    pub(super) fn rebind(&mut self, name: &'a str, binding: Binding) {
        if let Some(scope) =
            self.scopes.iter_mut().rev().find(|scope| scope.names.contains_key(name))
        {
            scope.bind(name, binding);
        }
    }

    /// Whether the innermost scope declares a name.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.scopes.last().is_some_and(|scope| scope.names.contains_key(name))
    }

    pub(super) fn find(&self, name: &str) -> Option<Binding> {
        self.scopes.iter().rev().find_map(|scope| scope.find(name)).or_else(|| {
            let shared = self.shared.get(name).map(|offset| u64::from(*offset));
            shared.or_else(|| self.symbols.addresses.get(name).copied()).map(Binding::Variable)
        })
    }

    pub(super) fn emit(&mut self, guard: Guard, op: Op, line: u32) {
        self.program.code.push(Inst::new(guard, op));
        self.program.positions.push(SourcePosition { ptx_line: line, site: self.site });
    }

    pub(super) fn constant32(&mut self, value: Const32) -> Slot {
        let next = self.program.const32.len();
        let slot = *self.known32.entry(value).or_insert(Slot(next as u16));
        if usize::from(slot.0) == next {
            self.program.const32.push(value);
        }
        slot
    }

    pub(super) fn constant64(&mut self, value: Const64) -> Slot {
        let next = self.program.const64.len();
        let slot = *self.known64.entry(value).or_insert(Slot(next as u16));
        if usize::from(slot.0) == next {
            self.program.const64.push(value);
        }
        slot
    }

    pub(super) fn bits32(&mut self, bits: u32) -> Slot {
        self.constant32(Const32::Bits(bits))
    }

    fn wrong_width(&self, name: &str, wanted: &str, line: u32) -> PtxError {
        PtxError::invalid(line, format!("operand '{name}' is not {wanted}"))
    }

    /// A 32-bit (or narrower) source.
    pub(super) fn source32(&mut self, operand: &Operand<'a>, ty: Type, line: u32) -> Lowered<Slot> {
        match operand {
            Operand::Name(name) => match self.find(name) {
                Some(Binding::Register(File::R32, slot, _)) => Ok(slot),
                Some(Binding::Variable(address)) => Ok(self.bits32(address as u32)),
                Some(Binding::StackVariable(at)) => self.frame_address(File::R32, at.into(), line),
                Some(_) => Err(self.wrong_width(name, "a register of 32 bits", line)),
                None => self.special32(name, "", line),
            },
            Operand::Component(name, component) => self.special32(name, component, line),
            Operand::Offset(name, offset) => match self.find(name) {
                Some(Binding::Variable(address)) => {
                    Ok(self.bits32(address.wrapping_add_signed(*offset) as u32))
                }
                Some(Binding::StackVariable(at)) => {
                    self.frame_address(File::R32, i64::from(at).wrapping_add(*offset), line)
                }
                _ => Err(self.unknown(name, line)),
            },
            Operand::Integer(value) if ty == Type::Float(4) => {
                Ok(self.bits32((*value as f32).to_bits()))
            }
            Operand::Integer(value) => Ok(self.bits32(*value as u32)),
            Operand::Float32(bits) => Ok(self.bits32(*bits)),
            Operand::Float64(bits) => Ok(self.bits32((f64::from_bits(*bits) as f32).to_bits())),
            _ => Err(PtxError::invalid(line, "operand is not a 32-bit value")),
        }
    }

    /// A 64-bit source.
    pub(super) fn source64(&mut self, operand: &Operand<'a>, ty: Type, line: u32) -> Lowered<Slot> {
        let bits = match operand {
            Operand::Name(name) => match self.find(name) {
                Some(Binding::Register(File::R64, slot, _)) => return Ok(slot),
                Some(Binding::Variable(address)) => address,
                Some(Binding::StackVariable(at)) => {
                    return self.frame_address(File::R64, at.into(), line);
                }
                Some(_) => return Err(self.wrong_width(name, "a register of 64 bits", line)),
                None => return Err(self.unknown(name, line)),
            },
            Operand::Offset(name, offset) => match self.find(name) {
                Some(Binding::Variable(address)) => address.wrapping_add_signed(*offset),
                Some(Binding::StackVariable(at)) => {
                    let offset = i64::from(at).wrapping_add(*offset);
                    return self.frame_address(File::R64, offset, line);
                }
                _ => return Err(self.unknown(name, line)),
            },
            Operand::Integer(value) if ty == Type::Float(8) => (*value as f64).to_bits(),
            Operand::Integer(value) => *value as u64,
            Operand::Float64(bits) => *bits,
            Operand::Float32(bits) => f64::from(f32::from_bits(*bits)).to_bits(),
            _ => return Err(PtxError::invalid(line, "operand is not a 64-bit value")),
        };
        Ok(self.constant64(Const64::Bits(bits)))
    }

    /// A source of the file that holds `ty`.
    pub(super) fn source(&mut self, operand: &Operand<'a>, ty: Type, line: u32) -> Lowered<Slot> {
        match file_of(ty) {
            File::Pred => self.predicate(operand, line).map(|(slot, _)| slot),
            File::R32 => self.source32(operand, ty, line),
            File::R64 => self.source64(operand, ty, line),
        }
    }

    /// Sources of one type.
    pub(super) fn sources<const N: usize>(
        &mut self,
        operands: [&Operand<'a>; N],
        ty: Type,
        line: u32,
    ) -> Lowered<[Slot; N]> {
        let mut slots = [self.sink(); N];
        for (slot, operand) in slots.iter_mut().zip(operands) {
            *slot = self.source(operand, ty, line)?;
        }
        Ok(slots)
    }

    /// The registers of an instruction's operands: a destination in `file` and sources of `types`.
    pub(super) fn registers_of<const N: usize>(
        &mut self,
        i: &Instruction<'a>,
        file: File,
        types: [Type; N],
    ) -> Lowered<(Slot, [Slot; N])> {
        let operands = i.operands.split_first().filter(|(_, sources)| sources.len() == N);
        let (d, sources) = operands.ok_or_else(|| wrong_count(i, N + 1))?;
        let d = self.destination(d, file, i.line)?;
        let mut slots = [self.sink(); N];
        for ((slot, source), ty) in slots.iter_mut().zip(sources).zip(types) {
            *slot = self.source(source, ty, i.line)?;
        }
        Ok((d, slots))
    }

    /// A source register of either width (loads, stores and conversions accept wider ones), or a
    /// constant as `ty`.
    pub(super) fn source_any(
        &mut self,
        operand: &Operand<'a>,
        ty: Type,
        line: u32,
    ) -> Lowered<(Slot, bool)> {
        if let Operand::Name(name) = operand
            && let Some(Binding::Register(file, slot, _)) = self.find(name)
            && file != File::Pred
        {
            return Ok((slot, file == File::R64));
        }
        Ok((self.source(operand, ty, line)?, file_of(ty) == File::R64))
    }

    /// The two 64-bit registers of one of 128 bits, the lower first.
    pub(super) fn register128(&self, operand: &Operand<'a>, line: u32) -> Lowered<[Slot; 2]> {
        match operand {
            Operand::Name(name) => match self.find(name) {
                Some(Binding::Register128(low)) => Ok([low, Slot(low.0 + 1)]),
                Some(_) => Err(self.wrong_width(name, "a register of 128 bits", line)),
                None => Err(self.unknown(name, line)),
            },
            _ => Err(PtxError::invalid(line, "operand is not a register of 128 bits")),
        }
    }

    /// A predicate source and whether it was negated.
    pub(super) fn predicate(&mut self, operand: &Operand<'a>, line: u32) -> Lowered<(Slot, bool)> {
        let (name, negated) = match operand {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            Operand::Integer(value) => return Ok((self.never(), *value != 0)),
            _ => return Err(PtxError::invalid(line, "operand is not a predicate")),
        };
        match self.find(name) {
            None if *name == "%is_explicit_cluster" => Ok((self.never(), negated)),
            Some(Binding::Register(File::Pred, slot, _)) => Ok((slot, negated)),
            Some(_) => Err(self.wrong_width(name, "a predicate", line)),
            None => Err(self.unknown(name, line)),
        }
    }

    pub(super) fn guard(&mut self, instruction: &Instruction<'a>) -> Lowered<Guard> {
        let Some((name, negated)) = instruction.guard else { return Ok(Guard::Always) };
        let (slot, _) = self.predicate(&Operand::Name(name), instruction.line)?;
        Ok(if negated { Guard::Unless(slot) } else { Guard::If(slot) })
    }

    /// A destination of one file; `_` is the sink.
    pub(super) fn destination(
        &mut self,
        operand: &Operand<'a>,
        file: File,
        line: u32,
    ) -> Lowered<Slot> {
        let (slot, found) = self.destination_any(operand, file, line)?;
        if found != file {
            let wanted = match file {
                File::Pred => "a predicate",
                File::R32 => "a register of 32 bits",
                File::R64 => "a register of 64 bits",
            };
            return Err(PtxError::invalid(line, format!("destination is not {wanted}")));
        }
        Ok(slot)
    }

    /// A destination register and its file; `_` is the sink of `default`.
    pub(super) fn destination_any(
        &mut self,
        operand: &Operand<'a>,
        default: File,
        line: u32,
    ) -> Lowered<(Slot, File)> {
        match operand {
            Operand::Sink => Ok((self.sink(), default)),
            Operand::Name(name) => match self.find(name) {
                Some(Binding::Register(file, slot, _)) => Ok((slot, file)),
                _ => Err(self.unknown(name, line)),
            },
            _ => Err(PtxError::invalid(line, "destination is not a register")),
        }
    }

    pub(super) fn unknown(&self, name: &str, line: u32) -> PtxError {
        if let Some(why) = self.symbols.unusable.get(name) {
            return PtxError::unsupported(line, format!("unsupported variable '{name}' ({why})"));
        }
        if name.starts_with('%') && self.module.function_index(name).is_none() {
            return PtxError::unsupported(
                line,
                format!("unsupported register '{name}', neither declared nor a special register"),
            );
        }
        PtxError::invalid(line, format!("unknown name '{name}'"))
    }

    /// The base of `[base+offset]`: slot, whether it is 64 bits wide, and the offset left over.
    pub(super) fn address(
        &mut self,
        operand: &Operand<'a>,
        line: u32,
    ) -> Lowered<(Slot, bool, i32)> {
        let Operand::Address(base, offset) = operand else {
            return Err(PtxError::invalid(line, "operand is not an address"));
        };
        let fixed = match base {
            AddressBase::Absolute => *offset as u64,
            AddressBase::Name(name) => match self.find(name) {
                Some(Binding::Register(file @ (File::R32 | File::R64), slot, _)) => {
                    let offset = i32::try_from(*offset).map_err(|_| {
                        PtxError::unsupported(line, "unsupported address offset beyond 32 bits")
                    })?;
                    return Ok((slot, file == File::R64, offset));
                }
                Some(Binding::Variable(address)) => address.wrapping_add_signed(*offset),
                Some(Binding::StackVariable(at)) => {
                    let offset = i64::from(at).wrapping_add(*offset);
                    return Ok((self.frame_address(File::R64, offset, line)?, true, 0));
                }
                _ => return Err(self.unknown(name, line)),
            },
        };
        Ok((self.constant64(Const64::Bits(fixed)), true, 0))
    }

    fn warp_register(&mut self, what: WarpInit, line: u32) -> Lowered<Slot> {
        if let Some((index, _)) = self.program.warp_init.iter().find(|(_, known)| *known == what) {
            return Ok(Slot::private(*index));
        }
        let index = self.registers(File::R32, 1, line)?;
        self.program.warp_init.push((index, what));
        Ok(Slot::private(index))
    }

    /// A special register of 32 bits.
    fn special32(&mut self, name: &str, component: &str, line: u32) -> Lowered<Slot> {
        let axis = match component {
            "x" | "" => 0,
            "y" => 1,
            "z" => 2,
            _ => return Err(self.unknown(name, line)),
        };
        let value = match (name, component) {
            ("%tid", "x" | "y" | "z") => {
                return self.warp_register(WarpInit::ThreadIndex(axis), line);
            }
            ("%warpid", "") => return self.warp_register(WarpInit::WarpIndex, line),
            ("%ntid", "x" | "y" | "z") => Const32::Special(Special::BlockDim(axis)),
            ("%ctaid", "x" | "y" | "z") => Const32::Special(Special::BlockIndex(axis)),
            ("%nctaid", "x" | "y" | "z") => Const32::Special(Special::GridDim(axis)),
            ("%laneid", "") => Const32::Lane,
            ("%lanemask_eq", "") => Const32::LaneMask(LaneMask::Eq),
            ("%lanemask_le", "") => Const32::LaneMask(LaneMask::Le),
            ("%lanemask_lt", "") => Const32::LaneMask(LaneMask::Lt),
            ("%lanemask_ge", "") => Const32::LaneMask(LaneMask::Ge),
            ("%lanemask_gt", "") => Const32::LaneMask(LaneMask::Gt),
            ("%nwarpid", "") => Const32::Special(Special::WarpCount),
            ("%smid", "") => Const32::Special(Special::SmId),
            ("%nsmid", "") => Const32::Special(Special::SmCount),
            ("%gridid", "") => Const32::Special(Special::GridId),
            ("%dynamic_smem_size", "") => Const32::Special(Special::DynamicShared),
            ("%total_smem_size", "") => Const32::Special(Special::TotalShared),
            // Without clusters every block is one.
            ("%clusterid", "x" | "y" | "z") => Const32::Special(Special::BlockIndex(axis)),
            ("%nclusterid", "x" | "y" | "z") => Const32::Special(Special::GridDim(axis)),
            ("%cluster_ctaid", "x" | "y" | "z") | ("%cluster_ctarank", "") => Const32::Bits(0),
            ("%cluster_nctaid", "x" | "y" | "z") | ("%cluster_nctarank", "") => Const32::Bits(1),
            ("%envreg1", "") => Const32::Special(Special::GridWorkspaceHigh),
            ("%envreg2", "") => Const32::Special(Special::GridWorkspaceLow),
            // The driver of a GPU sets these for other languages than CUDA.
            _ if is_numbered(name, "%envreg", 32) => Const32::Bits(0),
            (RESERVED, "") if let Some(&at) = self.shared.get(name) => Const32::Bits(at),
            _ if is_special(name) => {
                let dot = if component.is_empty() { "" } else { "." };
                return Err(PtxError::unsupported(
                    line,
                    format!("unsupported special register '{name}{dot}{component}'"),
                ));
            }
            _ => return Err(self.unknown(name, line)),
        };
        Ok(self.constant32(value))
    }
}

/// The special register with the offset of the shared memory that the driver reserves for
/// cooperative groups.
pub(super) const RESERVED: &str = "%reserved_smem_offset_1";

/// Whether a name is `prefix` with a number below `count`.
fn is_numbered(name: &str, prefix: &str, count: u32) -> bool {
    let number = name.strip_prefix(prefix).and_then(|rest| rest.parse().ok());
    number.is_some_and(|number: u32| number < count)
}

/// Whether a name is that of a special register which has no value here.
fn is_special(name: &str) -> bool {
    is_numbered(name.strip_suffix("_64").unwrap_or(name), "%pm", 8)
        || name.starts_with("%reserved_smem_offset_")
        || matches!(
            name,
            "%aggr_smem_size" | "%current_graph_exec" | "%warpsize" | "%tid" | "%ctaid"
        )
}
