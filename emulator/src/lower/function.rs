//! One kernel with its device functions: statements, labels, calls, storage.

use super::builder::{Binding, Builder, Lowered, Scope, Symbols};
use super::convergence::Convergences;
use super::flow;
use super::inst::{
    AtomicOp, ControlOp, File, Guard, Inst, NOWHERE, Op, Role, Scalar, Slot, Space as MachineSpace,
};
use super::modifiers::{Modifiers, operands, unsupported};
use super::program::{Program, SourceTables};
use super::yields;
use crate::ptx::PtxError;
use crate::ptx::ast::{Formal, Function, Instruction, Module, Operand, Space, Statement, Variable};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most local memory of a thread; ptxas refuses a module with more.
const MOST_LOCAL_BYTES: u32 = 512 << 10;

/// Where a lowered device function starts and where its parameters live.
struct Callee {
    start: u32,
    formals: Vec<(Slot, u32)>,
    returns: Vec<(Slot, u32)>,
}

/// Jumps of the function being lowered, whose targets are not known yet.
#[derive(Default)]
struct Jumps<'a> {
    labels: HashMap<&'a str, u32>,
    branches: Vec<(usize, &'a str, u32)>,
    lists: HashMap<&'a str, Vec<&'a str>>,
    tables: Vec<(usize, &'a str, u32)>,
}

/// Lowers one kernel.
pub fn lower_kernel(
    module: &Module<'_>,
    symbols: &Symbols,
    kernel: &Function<'_>,
    source: &Arc<SourceTables>,
) -> Lowered<Program> {
    let reachable = reachable(module, kernel)?;
    let mut builder = Builder::new(module, symbols);
    builder.lay_out_shared(&reachable)?;
    let (params, param_bytes) = builder.bind_launch_params(kernel)?;
    let mut callees = HashMap::new();
    for function in &reachable[1..] {
        let formals = builder.reserve(&function.params)?;
        let returns = builder.reserve(&function.returns)?;
        callees.insert(function.name, Callee { start: 0, formals, returns });
    }
    let (mut calls, mut convergences) = (Vec::new(), Convergences::default());
    for function in &reachable {
        let start = builder.code.len();
        if let Some(callee) = callees.get_mut(function.name) {
            callee.start = start as u32;
        }
        builder.function(function, &callees, &mut calls)?;
        flow::set_convergence(&mut builder.code, start, &builder.tables, &mut convergences);
        yields::mark_yield_points(&mut builder.code, start, &builder.tables);
    }
    builder.link(calls, &callees);
    check_local(kernel, builder.local_bytes)?;
    let shared_bytes = builder.shared_bytes;
    let (shared_extent, dynamic_shared_start) = (builder.shared_extent(), builder.dynamic_start());
    let mut program = Program {
        name: kernel.name.to_owned(),
        code: builder.code,
        positions: builder.positions,
        tables: builder.tables,
        copies: builder.copies,
        convergences,
        const32: builder.const32,
        const64: builder.const64,
        warp_init: builder.warp_init,
        predicates: builder.used[File::Pred as usize],
        registers32: builder.used[File::R32 as usize],
        registers64: builder.used[File::R64 as usize],
        shared_bytes,
        dynamic_shared_offset: shared_bytes.next_multiple_of(builder.dynamic_align),
        shared_arrays: builder.shared_arrays,
        shared_extent,
        dynamic_shared_start,
        local_bytes: builder.local_bytes,
        params,
        param_bytes,
        bounds: kernel.bounds,
        blocks_interact: builder.ordered,
        source: Arc::clone(source),
    };
    settle_atomics(&mut program);
    Ok(program)
}

/// Refuses a kernel with more local memory than a thread can have.
fn check_local(kernel: &Function<'_>, bytes: u32) -> Lowered<()> {
    if bytes <= MOST_LOCAL_BYTES {
        return Ok(());
    }
    let text = format!(
        "kernel '{}' has {bytes} bytes of local memory a thread; the limit is {MOST_LOCAL_BYTES}",
        kernel.name
    );
    Err(PtxError::invalid(kernel.line, text))
}

/// Finds out which old values are used, and whether the order of blocks can show.
fn settle_atomics(program: &mut Program) {
    let mut read = HashSet::new();
    for inst in &mut program.code {
        inst.slots(&mut |file, role, slot, count| {
            if role == Role::Read && file != File::Pred {
                read.extend((0..count).map(|next| (file as u8, slot.0 + next)));
            }
        });
    }
    let mut kinds = HashSet::new();
    for inst in &mut program.code {
        // Several words are one step only where the blocks run in turns.
        program.blocks_interact |= matches!(inst.op, Op::AtomicVector(_));
        let Op::Atomic(atomic) = &mut inst.op else { continue };
        let file = if atomic.ty.is_wide() { File::R64 } else { File::R32 };
        atomic.result_used &= read.contains(&(file as u8, atomic.d.0));
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
}

/// The kernel and every device function it can call, callers first.
fn reachable<'m, 'a>(
    module: &'m Module<'a>,
    kernel: &'m Function<'a>,
) -> Lowered<Vec<&'m Function<'a>>> {
    let mut found = vec![kernel];
    let mut path = vec![kernel.name];
    descend(module, kernel, &mut found, &mut path)?;
    Ok(found)
}

fn descend<'m, 'a>(
    module: &'m Module<'a>,
    function: &'m Function<'a>,
    found: &mut Vec<&'m Function<'a>>,
    path: &mut Vec<&'a str>,
) -> Lowered<()> {
    let mut callees = Vec::new();
    each_instruction(function.body.as_deref().unwrap_or_default(), &mut |i| {
        if i.opcode == "call"
            && let Some(name) = i.operands.iter().find_map(|operand| match operand {
                Operand::Name(name) => Some(*name),
                _ => None,
            })
        {
            callees.push((name, i.line));
        }
    });
    for (name, line) in callees {
        if path.contains(&name) {
            return Err(PtxError::unsupported(
                line,
                format!("unsupported recursive call of '{name}'"),
            ));
        }
        let callee = module
            .functions
            .iter()
            .find(|function| function.name == name && function.body.is_some());
        if let Some(callee) = callee {
            if !found.iter().any(|known| known.name == name) {
                found.push(callee);
            }
            path.push(name);
            descend(module, callee, found, path)?;
            path.pop();
        }
    }
    Ok(())
}

fn each_instruction<'m, 'a>(body: &'m [Statement<'a>], see: &mut impl FnMut(&'m Instruction<'a>)) {
    for statement in body {
        match statement {
            Statement::Instruction(instruction) => see(instruction),
            Statement::Block(inner) => each_instruction(inner, see),
            _ => {}
        }
    }
}

/// Remembers where each `.loc` position was inlined.
pub fn collect_inlining(body: &[Statement<'_>], tables: &mut SourceTables) {
    for statement in body {
        match statement {
            Statement::Loc(loc) => {
                if let Some(outer) = loc.inlined_at {
                    tables.inlined.insert(loc.position, outer);
                }
            }
            Statement::Block(inner) => collect_inlining(inner, tables),
            _ => {}
        }
    }
}

impl<'m, 'a> Builder<'m, 'a> {
    /// Sets the targets of calls, now that every function has its place.
    fn link(&mut self, calls: Vec<(usize, &'a str)>, callees: &HashMap<&'a str, Callee>) {
        for (at, name) in calls {
            if let Op::Control(ControlOp::Call { target, .. }) = &mut self.code[at].op {
                *target = callees[name].start;
            }
        }
    }

    /// Registers for parameters of a device function.
    fn reserve(&mut self, formals: &[Formal<'a>]) -> Lowered<Vec<(Slot, u32)>> {
        formals
            .iter()
            .map(|formal| {
                let line = formal.variable.line;
                if formal.is_register {
                    return Err(PtxError::unsupported(
                        line,
                        "unsupported '.reg' parameter of a device function",
                    ));
                }
                let Some(bytes) = formal.variable.bytes else {
                    return Err(PtxError::unsupported(
                        line,
                        "unsupported variadic device function",
                    ));
                };
                let first = self.registers(File::R32, bytes.div_ceil(4).max(1), line)?;
                Ok((Slot::private(first), bytes))
            })
            .collect()
    }

    fn function(
        &mut self,
        function: &'m Function<'a>,
        callees: &HashMap<&'a str, Callee>,
        calls: &mut Vec<(usize, &'a str)>,
    ) -> Lowered<()> {
        self.scopes.push(Scope::default());
        self.loc = None;
        if let Some(callee) = callees.get(function.name) {
            let formals = function.params.iter().zip(&callee.formals);
            for (formal, &(slot, bytes)) in
                formals.chain(function.returns.iter().zip(&callee.returns))
            {
                self.bind(formal.variable.name, Binding::Words(slot, bytes));
            }
        }
        let mut jumps = Jumps::default();
        let body = function.body.as_deref().unwrap_or_default();
        self.statements(body, callees, calls, &mut jumps, function.line)?;
        let open = |inst: &Inst| {
            inst.guard != Guard::Always
                || !matches!(
                    inst.op,
                    Op::Branch { .. }
                        | Op::Control(
                            ControlOp::Return
                                | ControlOp::Exit
                                | ControlOp::Trap
                                | ControlOp::Assert { .. }
                                | ControlOp::BranchIndexed { .. }
                        )
                )
        };
        let labelled_end = jumps.labels.values().any(|at| *at as usize == self.code.len());
        if labelled_end || self.code.last().is_none_or(open) {
            self.emit(Guard::Always, ControlOp::Return.into(), function.line);
        }
        self.resolve(jumps)?;
        self.scopes.pop();
        Ok(())
    }

    fn resolve(&mut self, jumps: Jumps<'a>) -> Lowered<()> {
        let find = |label: &str, line| {
            let target = jumps.labels.get(label).copied();
            target.ok_or_else(|| PtxError::invalid(line, format!("unknown label '{label}'")))
        };
        for (at, label, line) in &jumps.branches {
            let destination = find(label, *line)?;
            if let Op::Branch { target, .. } = &mut self.code[*at].op {
                *target = destination;
            }
        }
        for (table, list, line) in &jumps.tables {
            let Some(labels) = jumps.lists.get(list) else {
                return Err(PtxError::invalid(
                    *line,
                    format!("unknown '.branchtargets' list '{list}'"),
                ));
            };
            self.tables[*table] =
                labels.iter().map(|label| find(label, *line)).collect::<Lowered<_>>()?;
        }
        Ok(())
    }

    fn statements(
        &mut self,
        body: &'m [Statement<'a>],
        callees: &HashMap<&'a str, Callee>,
        calls: &mut Vec<(usize, &'a str)>,
        jumps: &mut Jumps<'a>,
        line: u32,
    ) -> Lowered<()> {
        for statement in body {
            match statement {
                Statement::Label(name, line) => {
                    if jumps.labels.insert(name, self.code.len() as u32).is_some() {
                        return Err(PtxError::unsupported(
                            *line,
                            format!("unsupported second label '{name}' in a function"),
                        ));
                    }
                }
                Statement::Loc(loc) => self.loc = Some(*loc),
                Statement::Registers(ty, names) => self.declare_registers(*ty, names, line)?,
                Statement::Variable(variable) => self.local_variable(variable)?,
                Statement::BranchTargets(name, labels) => {
                    jumps.lists.insert(name, labels.clone());
                }
                Statement::CallPrototype(_) => {}
                Statement::Block(inner) => {
                    self.scopes.push(Scope::default());
                    self.statements(inner, callees, calls, jumps, line)?;
                    self.scopes.pop();
                }
                Statement::Instruction(instruction) => {
                    self.instruction(instruction, callees, calls, jumps)?
                }
            }
        }
        Ok(())
    }

    fn local_variable(&mut self, variable: &Variable<'a>) -> Lowered<()> {
        let bytes = variable.bytes.unwrap_or(0);
        let binding = match variable.space {
            Space::Local => {
                let at = self.local_bytes.next_multiple_of(variable.align.max(1));
                self.local_bytes = at.saturating_add(bytes);
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

    fn instruction(
        &mut self,
        i: &'m Instruction<'a>,
        callees: &HashMap<&'a str, Callee>,
        calls: &mut Vec<(usize, &'a str)>,
        jumps: &mut Jumps<'a>,
    ) -> Lowered<()> {
        let guard = self.guard(i)?;
        let op = match i.opcode {
            "bra" => {
                let mut words = Modifiers::of(i);
                words.take("uni");
                words.done(i)?;
                let [Operand::Name(label)] = operands(i)? else { return Err(unsupported(i)) };
                jumps.branches.push((self.code.len(), label, i.line));
                Op::Branch { target: NOWHERE, convergence: Convergences::NONE }
            }
            "brx" => {
                let mut words = Modifiers::of(i);
                let known = words.take("idx");
                words.take("uni");
                words.done(i)?;
                let [index, Operand::Name(list)] = operands(i)? else { return Err(unsupported(i)) };
                if !known {
                    return Err(unsupported(i));
                }
                let index = self.source32(index, crate::ptx::ast::Type::Unsigned(4), i.line)?;
                jumps.tables.push((self.tables.len(), list, i.line));
                self.tables.push(Vec::new());
                let table = self.tables.len() as u32 - 1;
                ControlOp::BranchIndexed { index, table, convergence: Convergences::NONE }.into()
            }
            "call" => self.call(i, callees, calls)?,
            _ => self.plain(i)?,
        };
        self.emit(guard, op, i.line);
        Ok(())
    }

    /// `call (results), function, (arguments)`
    fn call(
        &mut self,
        i: &'m Instruction<'a>,
        callees: &HashMap<&'a str, Callee>,
        calls: &mut Vec<(usize, &'a str)>,
    ) -> Lowered<Op> {
        let mut words = Modifiers::of(i);
        words.take("uni");
        words.done(i)?;
        let (results, name, arguments) = match i.operands.as_slice() {
            [Operand::Tuple(results), Operand::Name(name), Operand::Tuple(arguments)] => {
                (results.as_slice(), *name, arguments.as_slice())
            }
            [Operand::Tuple(results), Operand::Name(name)] => {
                (results.as_slice(), *name, [].as_slice())
            }
            [Operand::Name(name), Operand::Tuple(arguments)] => {
                ([].as_slice(), *name, arguments.as_slice())
            }
            [Operand::Name(name)] => ([].as_slice(), *name, [].as_slice()),
            _ => return Err(PtxError::unsupported(i.line, "unsupported indirect call")),
        };
        if let Some(built_in) = self.built_in(i, results, name, arguments)? {
            return Ok(built_in);
        }
        let Some(callee) = callees.get(name) else {
            let message = match self.find(name) {
                Some(Binding::Register(..)) => {
                    format!("unsupported indirect call through '{name}'")
                }
                _ => format!("unsupported call of '{name}', which the module does not define"),
            };
            return Err(PtxError::unsupported(i.line, message));
        };
        if arguments.len() != callee.formals.len() || results.len() > callee.returns.len() {
            return Err(PtxError::invalid(
                i.line,
                format!("call of '{name}' does not fit its parameters"),
            ));
        }
        let moves = self.pass_arguments(i, arguments, callee)?;
        self.take_results(i, results, callee)?;
        calls.push((self.code.len(), name));
        self.copies.push(moves);
        let copies = self.copies.len() as u32 - 1;
        Ok(ControlOp::Call { target: NOWHERE, copies }.into())
    }

    /// The words to move into the callee's parameters.
    fn pass_arguments(
        &mut self,
        i: &Instruction<'a>,
        arguments: &[Operand<'a>],
        callee: &Callee,
    ) -> Lowered<Vec<(Slot, Slot)>> {
        let mut moves = Vec::new();
        for (argument, &(formal, bytes)) in arguments.iter().zip(&callee.formals) {
            let Operand::Name(argument) = argument else { return Err(unsupported(i)) };
            match self.find(argument) {
                Some(Binding::Words(slot, available)) if available >= bytes => {
                    moves.extend(
                        (0..bytes.div_ceil(4) as u16)
                            .map(|word| (Slot(slot.0 + word), Slot(formal.0 + word))),
                    );
                }
                _ => {
                    return Err(PtxError::unsupported(
                        i.line,
                        format!("unsupported call argument '{argument}'"),
                    ));
                }
            }
        }
        Ok(moves)
    }

    /// The names of the results mean the callee's registers from now on.
    fn take_results(
        &mut self,
        i: &Instruction<'a>,
        results: &[Operand<'a>],
        callee: &Callee,
    ) -> Lowered<()> {
        for (result, &(slot, bytes)) in results.iter().zip(&callee.returns) {
            let Operand::Name(result) = result else { return Err(unsupported(i)) };
            match self.find(result) {
                Some(Binding::Words(..)) => self.rebind(result, Binding::Words(slot, bytes)),
                _ => {
                    return Err(PtxError::unsupported(
                        i.line,
                        format!("unsupported call result '{result}'"),
                    ));
                }
            }
        }
        Ok(())
    }
}
