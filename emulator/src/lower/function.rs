//! One kernel with its device functions: statements, labels, storage.

use super::builder::{Binding, Builder, Lowered, Scope, Symbols};
use super::call_graph::{CallGraph, ReachableFunction, has_one_call};
use super::convergence::Convergences;
use super::flow;
use super::guess;
use super::informing_atomics;
use super::inst::{
    AtomicOp, ControlOp, File, Guard, Inst, NOWHERE, Op, Role, Scalar, Slot, Space as MachineSpace,
};
use super::jumps::Jumps;
use super::modifiers::{Modifiers, operands, unsupported};
use super::polls;
use super::program::{MOST_LOCAL_BYTES, Program};
use super::shared_slots;
use super::source_location::SourceFiles;
use super::table;
use super::unsupported::explained;
use super::unwritten;
use super::yields;
use crate::ptx::ast::{Function, Instruction, Module, Operand, Space, Statement, Variable};
use crate::ptx::{PtxError, PtxErrorKind};
use std::collections::HashSet;
use std::sync::Arc;

/// Lowers one kernel.
pub fn lower_kernel<'m, 'a>(
    (module, calls): (&'m Module<'a>, &mut CallGraph<'m, 'a>),
    symbols: &'m Symbols,
    kernel: &'m Function<'a>,
    files: &Arc<SourceFiles>,
) -> Lowered<Program> {
    check_directives(kernel)?;
    let reached = calls.reachable(kernel);
    let mut builder = Builder::new(module, symbols);
    builder.lay_out_shared(&reached.iter().map(|each| each.function).collect::<Vec<_>>())?;
    builder.bind_launch_params(kernel)?;
    builder.reserve_callees(reached.get(1..).unwrap_or_default())?;
    for (at, each) in reached.iter().enumerate() {
        let start = builder.program.code.len();
        builder.reached(at, each, files)?;
        builder.mark(start);
    }
    builder.link();
    builder.check_sizes(kernel)?;
    let [predicates, registers32, registers64] = builder.used;
    let (dynamic_shared_start, uses_stack) = (builder.dynamic_start(), builder.uses_stack());
    let lowered = builder.program;
    let initial = lowered.warp_init.iter().map(|(register, _)| *register);
    let mut program = Program {
        name: kernel.name.to_owned(),
        uses_stack,
        unwritten: unwritten::find(&lowered.code, &lowered.tables, builder.used, initial),
        predicates,
        registers32,
        registers64,
        dynamic_shared_offset: lowered.shared_bytes.next_multiple_of(builder.dynamic_align),
        shared_extent: lowered.shared_arrays.last().map_or(0, |array| array.end),
        dynamic_shared_start,
        bounds: kernel.bounds,
        files: Arc::clone(files),
        ..lowered
    };
    settle_atomics(&mut program);
    Ok(program)
}

/// Refuses a kernel with a directive that is not executed.
fn check_directives(kernel: &Function<'_>) -> Lowered<()> {
    match kernel.unsupported {
        None => Ok(()),
        Some((directive, line)) => Err(PtxError::directive(line, directive)),
    }
}

/// Finds out which old values are used, which inform a thread, and whether the order of blocks can
/// show.
fn settle_atomics(program: &mut Program) {
    let mut read = HashSet::new();
    for inst in &program.code {
        read.extend(inst.registers(Role::Read));
    }
    let mut kinds = HashSet::new();
    for inst in &mut program.code {
        // Several words are one step only where the blocks run in turns.
        program.blocks_interact |= matches!(inst.op, Op::AtomicVector(_));
        let Op::Atomic(atomic) = &mut inst.op else { continue };
        let file = if atomic.ty.is_wide() { File::R64 } else { File::R32 };
        atomic.result_used &= read.contains(&(file, atomic.d));
        if matches!(atomic.address.space, MachineSpace::Shared) {
            continue;
        }
        let commutes = matches!(
            atomic.op,
            AtomicOp::Add
                | AtomicOp::Min
                | AtomicOp::Max
                | AtomicOp::And
                | AtomicOp::Or
                | AtomicOp::Xor
        ) && matches!(atomic.ty, Scalar::U32 | Scalar::S32);
        kinds.insert(atomic.op as u8);
        program.blocks_interact |= atomic.result_used || !commutes;
    }
    program.blocks_interact |= kinds.len() > 1;
    informing_atomics::mark_informing(&mut program.code);
}

impl<'m, 'a> Builder<'m, 'a> {
    /// Lowers the `at`-th function that the kernel reaches. One that only a pointer leads to, and
    /// that is not executed, becomes a fault.
    fn reached(
        &mut self,
        at: usize,
        each: &ReachableFunction<'m, 'a>,
        files: &SourceFiles,
    ) -> Lowered<()> {
        let (start, depth) = (self.program.code.len(), self.scopes.len());
        let (links, meeting) = (self.links.len(), self.meeting.len());
        if let Some(callee) = at.checked_sub(1).map(|number| &mut self.program.callees[number]) {
            callee.start = start as u32;
        }
        let lowered = match at.checked_sub(1).filter(|_| each.is_recursive) {
            Some(number) => self.recursive_function(number, each.function),
            None => self.function(each.function),
        };
        match lowered {
            Err(error) if each.is_optional && error.kind == PtxErrorKind::Unsupported => {
                self.bodies.clear();
                self.program.code.truncate(start);
                self.program.positions.truncate(start);
                self.scopes.truncate(depth);
                self.links.truncate(links);
                self.meeting.truncate(meeting);
                let why = self.program.refusals.len() as u32;
                let line = error.line;
                self.program.refusals.push(explained(error, self.module, files).to_string());
                self.site = None;
                self.emit(Guard::Always, ControlOp::Refused { why }.into(), line);
            }
            lowered => lowered?,
        }
        for &at in &self.meeting[meeting..] {
            self.program.code[at].converges = true;
        }
        Ok(())
    }

    /// Marks the properties of instructions that depend on the whole function.
    fn mark(&mut self, start: usize) {
        let Program { code, tables, convergences, local_bytes, .. } = &mut self.program;
        flow::set_convergence(code, start, tables, convergences);
        yields::mark_yield_points(code, start, tables);
        guess::mark_guesses(code, start);
        polls::mark_looks(code, start, tables, *local_bytes > 0);
    }

    /// Refuses a kernel with more local memory than a thread can have, or with more constants than
    /// there are slots.
    fn check_sizes(&self, kernel: &Function<'a>) -> Lowered<()> {
        let (name, bytes) = (kernel.name, self.program.local_bytes);
        if bytes > MOST_LOCAL_BYTES {
            let text = format!(
                "kernel '{name}' has {bytes} bytes of local memory a thread; the limit is \
                 {MOST_LOCAL_BYTES}"
            );
            return Err(PtxError::invalid(kernel.line, text));
        }
        if self.program.const32.len().max(self.program.const64.len()) > Slot::MOST {
            let text = format!("unsupported PTX: more than {} constants of one width", Slot::MOST);
            return Err(PtxError::unsupported(kernel.line, text));
        }
        Ok(())
    }

    /// Whether threads have a stack that grows.
    fn uses_stack(&self) -> bool {
        let allocates = |inst: &Inst| {
            matches!(
                inst.op,
                Op::Control(ControlOp::Alloca { .. } | ControlOp::StackRestore { .. })
            )
        };
        self.program.callees.iter().any(|callee| callee.has_frame)
            || self.program.code.iter().any(allocates)
    }

    /// Hands out the slots that the registers of a function with many of them share.
    fn share_slots(&mut self, body: &[Statement<'a>], line: u32) -> Lowered<()> {
        self.shared_slots = None;
        if let Some((slots, counts)) = shared_slots::find(body) {
            let mut first = [0; 3];
            for file in [File::Pred, File::R32, File::R64] {
                first[file as usize] = self.registers(file, counts[file as usize], line)?;
            }
            self.shared_slots = Some((slots, first));
            self.program.shares_slots = true;
        }
        Ok(())
    }

    pub(super) fn function(&mut self, function: &'m Function<'a>) -> Lowered<()> {
        self.scopes.push(Scope::default());
        self.site = None;
        self.program.sites.enter_function();
        if let Some(callee) =
            self.numbers.get(function.name).map(|&at| &self.program.callees[at as usize])
        {
            let words = callee.params.iter().chain(&callee.returns).copied();
            let words: Vec<(Slot, u32)> = words.collect();
            for (formal, (slot, bytes)) in
                function.params.iter().chain(&function.returns).zip(words)
            {
                self.bind(formal.variable.name, Binding::Words(slot, bytes));
            }
        }
        let mut jumps = Jumps::default();
        let body = function.body.as_deref().unwrap_or_default();
        self.share_slots(body, function.line)?;
        self.block(body, &mut jumps)?;
        let open = |inst: &Inst| {
            inst.guard != Guard::Always
                || !matches!(
                    inst.op,
                    Op::Branch { .. }
                        | Op::Control(
                            ControlOp::Return
                                | ControlOp::Exit
                                | ControlOp::Trap
                                | ControlOp::Refused { .. }
                                | ControlOp::Assert { .. }
                                | ControlOp::BranchIndexed { .. }
                        )
                )
        };
        if jumps.leads_to(self.program.code.len()) || self.program.code.last().is_none_or(open) {
            self.emit(Guard::Always, ControlOp::Return.into(), function.line);
        }
        self.resolve(&jumps)?;
        self.scopes.pop();
        Ok(())
    }

    fn resolve(&mut self, jumps: &Jumps<'m>) -> Lowered<()> {
        for branch in jumps.branches() {
            let (at, destination) = branch?;
            if let Op::Branch { target, .. } = &mut self.program.code[at].op {
                *target = destination;
            }
        }
        for table in jumps.tables() {
            let (at, targets) = table?;
            self.program.tables[at] = targets;
        }
        Ok(())
    }

    /// `{ … }`, which is a scope.
    fn block(&mut self, body: &'m [Statement<'a>], jumps: &mut Jumps<'m>) -> Lowered<()> {
        let outer = std::mem::replace(&mut self.has_one_call, has_one_call(body));
        self.bodies.push(body);
        jumps.open();
        self.statements(body, jumps)?;
        jumps.close();
        self.bodies.pop();
        self.has_one_call = outer;
        Ok(())
    }

    fn statements(&mut self, body: &'m [Statement<'a>], jumps: &mut Jumps<'m>) -> Lowered<()> {
        for statement in body {
            match statement {
                Statement::Label(name, _) => jumps.label(name, self.program.code.len()),
                Statement::Loc(loc) => self.site = Some(self.program.sites.number(loc)),
                Statement::Registers { ty, names, line } => {
                    self.declare_registers(*ty, names, *line)?;
                }
                Statement::VectorRegisters(line) => {
                    return Err(PtxError::unsupported(*line, "unsupported vector registers"));
                }
                Statement::Variable(variable) => self.local_variable(variable)?,
                Statement::BranchTargets(name, labels, _) => jumps.list(name, labels),
                Statement::CallPrototype(..) | Statement::CallTargets(..) => {}
                Statement::Block(inner) => {
                    self.scopes.push(Scope::default());
                    self.block(inner, jumps)?;
                    self.scopes.pop();
                }
                Statement::Instruction(instruction) => self.instruction(instruction, jumps)?,
            }
        }
        Ok(())
    }

    fn local_variable(&mut self, variable: &Variable<'a>) -> Lowered<()> {
        let bytes = variable.bytes.unwrap_or(0);
        let binding = match variable.space {
            Space::Local if let Some(binding) = self.stack_variable(variable) => binding,
            Space::Local => {
                let at = self.program.local_bytes.next_multiple_of(variable.align.max(1));
                self.program.local_bytes = at.saturating_add(bytes);
                Binding::Variable(u64::from(at))
            }
            Space::Param => Binding::Words(
                Slot::private(self.registers(
                    File::R32,
                    bytes.div_ceil(4).max(1),
                    variable.line,
                )?),
                bytes,
            ),
            Space::Shared => {
                let offset = self
                    .shared_inside
                    .get(&(variable.line, variable.name))
                    .copied()
                    .unwrap_or_default();
                Binding::Variable(u64::from(offset))
            }
            _ => {
                return Err(PtxError::unsupported(
                    variable.line,
                    format!(
                        "unsupported variable '{}' of this state space inside a function",
                        variable.name
                    ),
                ));
            }
        };
        self.bind(variable.name, binding);
        Ok(())
    }

    fn instruction(&mut self, i: &'m Instruction<'a>, jumps: &mut Jumps<'m>) -> Lowered<()> {
        if !table::runs(i.opcode) {
            return Err(unsupported(i));
        }
        let guard = self.guard(i)?;
        let op = match i.opcode {
            "bra" => {
                let mut words = Modifiers::new(i);
                words.take("uni");
                words.done(i)?;
                let [Operand::Name(label)] = operands(i)? else { return Err(unsupported(i)) };
                jumps.branch(self.program.code.len(), label, i.line);
                Op::Branch { target: NOWHERE, convergence: Convergences::NONE }
            }
            "brx" => {
                let mut words = Modifiers::new(i);
                let known = words.take("idx");
                words.take("uni");
                words.done(i)?;
                let [index, Operand::Name(list)] = operands(i)? else { return Err(unsupported(i)) };
                if !known {
                    return Err(unsupported(i));
                }
                let index = self.source32(index, crate::ptx::ast::Type::Unsigned(4), i.line)?;
                jumps.table(self.program.tables.len(), list, i.line);
                self.program.tables.push(Vec::new());
                let table = self.program.tables.len() as u32 - 1;
                ControlOp::BranchIndexed { index, table, convergence: Convergences::NONE }.into()
            }
            "call" => self.call(i)?,
            _ => self.plain(i)?,
        };
        self.check_types(i)?;
        self.check_target(i)?;
        self.emit(guard, op, i.line);
        Ok(())
    }
}
