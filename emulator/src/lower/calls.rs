//! Calls: the registers of arguments and results, and the frames of recursive functions.
//!
//! A function that is active once in a thread at a time has fixed registers, and a call of it only
//! copies arguments. A function that is recursive or allocates stack memory has a frame: a call
//! saves the registers of the outer activation, and its return restores them.

use super::address::function_address;
use super::builder::{Binding, Builder, Lowered, StackFrame};
use super::call_graph::{ReachableFunction, callee, find_list};
use super::inst::{ControlOp, File, NOWHERE, Op, Slot};
use super::modifiers::{Modifiers, unsupported};
use super::program::{Call, Callee, FrameAddress, MOST_LOCAL_BYTES};
use crate::ptx::PtxError;
use crate::ptx::ast::{Formal, Function, Instruction, Operand, Statement, Variable};

/// Bytes of stack that the return address of an activation takes.
const RETURN_ADDRESS: u32 = 8;

/// A call as it is written.
struct Written<'i, 'a> {
    results: &'i [Operand<'a>],
    name: &'a str,
    arguments: &'i [Operand<'a>],
    list: Option<&'a str>,
}

impl<'i, 'a> Written<'i, 'a> {
    /// `call (results), function, (arguments), list`
    fn parse(i: &'i Instruction<'a>) -> Lowered<Self> {
        let mut words = Modifiers::new(i);
        words.take("uni");
        words.done(i)?;
        let (name, list) = callee(i).ok_or_else(|| unsupported(i))?;
        let (results, rest) = match i.operands.as_slice() {
            [Operand::Tuple(results), rest @ ..] => (results.as_slice(), rest),
            rest => ([].as_slice(), rest),
        };
        let arguments = match rest {
            [_, Operand::Tuple(arguments), ..] => arguments.as_slice(),
            _ => &[],
        };
        Ok(Self { results, name, arguments, list })
    }

    fn misfit(&self, i: &Instruction<'a>) -> PtxError {
        PtxError::invalid(i.line, format!("call of '{}' does not fit its parameters", self.name))
    }
}

/// 32-bit registers that hold parameters, one after the other.
type Words = Vec<(Slot, u32)>;

impl<'m, 'a> Builder<'m, 'a> {
    /// Gives each function that the kernel calls its parameters and its number.
    pub(super) fn reserve_callees(&mut self, reached: &[ReachableFunction<'m, 'a>]) -> Lowered<()> {
        for each in reached {
            let function = each.function;
            let first = self.used[File::R32 as usize];
            let params = self.reserve(&function.params);
            let (params, returns) = match (params, self.reserve(&function.returns)) {
                (Ok(params), Ok(returns)) => (params, returns),
                // Its body is refused for the same reason.
                _ if each.is_optional => {
                    self.unreserved.push(self.program.callees.len() as u32);
                    Default::default()
                }
                (Err(error), _) | (_, Err(error)) => return Err(error),
            };
            let mut callee = Callee {
                name: function.name.to_owned(),
                address: function_address(each.number),
                params,
                returns,
                has_frame: each.is_recursive || each.allocates,
                ..Callee::default()
            };
            if each.is_recursive {
                let registers = first..self.used[File::R32 as usize];
                callee.registers.push((File::R32, registers));
            }
            self.numbers.insert(function.name, self.program.callees.len() as u32);
            self.program.callees.push(callee);
        }
        Ok(())
    }

    /// Registers for parameters of a device function.
    fn reserve(&mut self, formals: &[Formal<'a>]) -> Lowered<Words> {
        let reserve = |formal: &Formal<'a>| {
            let line = formal.variable.line;
            if formal.is_register {
                let what = "unsupported '.reg' parameter of a device function";
                return Err(PtxError::unsupported(line, what));
            }
            let Some(bytes) = formal.variable.bytes else {
                return Err(PtxError::unsupported(line, "unsupported variadic device function"));
            };
            let first = self.registers(File::R32, bytes.div_ceil(4).max(1), line)?;
            Ok((Slot::private(first), bytes))
        };
        formals.iter().map(reserve).collect()
    }

    /// Lowers the body of a recursive function, and notes its registers and its stack.
    pub(super) fn recursive_function(
        &mut self,
        number: usize,
        function: &'m Function<'a>,
    ) -> Lowered<()> {
        let line = function.line;
        let before = self.used;
        self.frame = Some(StackFrame { bytes: 0, align: 8, addresses: Vec::new() });
        let lowered = self.function(function);
        let frame = self.frame.take();
        lowered?;
        let callee = &mut self.program.callees[number];
        for file in [File::Pred, File::R32, File::R64] {
            let own = before[file as usize]..self.used[file as usize];
            callee.registers.push((file, own));
        }
        if let Some(StackFrame { bytes, align, addresses }) = frame {
            if bytes > MOST_LOCAL_BYTES {
                let (name, limit) = (&callee.name, MOST_LOCAL_BYTES);
                let text =
                    format!("'{name}' has {bytes} bytes of local memory; the limit is {limit}");
                return Err(PtxError::invalid(line, text));
            }
            callee.stack_align = align;
            callee.stack_bytes = (bytes + RETURN_ADDRESS).next_multiple_of(8);
            callee.frame_addresses = addresses;
        }
        Ok(())
    }

    /// A local variable of a function with a frame.
    pub(super) fn stack_variable(&mut self, variable: &Variable<'a>) -> Option<Binding> {
        let frame = self.frame.as_mut()?;
        let align = variable.align.max(1);
        let at = frame.bytes.next_multiple_of(align);
        // More than a thread can have is refused once the function is known.
        frame.bytes = at.saturating_add(variable.bytes.unwrap_or(0)).min(MOST_LOCAL_BYTES + 1);
        frame.align = frame.align.max(align);
        Some(Binding::StackVariable(at))
    }

    /// The register that holds the address `offset` bytes from the start of the frame.
    pub(super) fn frame_address(&mut self, file: File, offset: i64, line: u32) -> Lowered<Slot> {
        let known = self.frame.iter().flat_map(|frame| &frame.addresses);
        let same = |known: &&FrameAddress| (known.file, known.offset) == (file, offset);
        if let Some(known) = known.into_iter().find(same) {
            return Ok(known.slot);
        }
        let slot = Slot::private(self.registers(file, 1, line)?);
        if let Some(frame) = &mut self.frame {
            frame.addresses.push(FrameAddress { file, slot, offset });
        }
        Ok(slot)
    }

    /// `call (results), function, (arguments)`
    pub(super) fn call(&mut self, i: &'m Instruction<'a>) -> Lowered<Op> {
        let written = Written::parse(i)?;
        let Written { results, name, arguments, list } = written;
        if let (Some(list), Some(Binding::Register(File::R64, address, _))) =
            (list, self.find(name))
        {
            return self.call_indirect(i, &written, (address, list));
        }
        if let Some(built_in) = self.built_in(i, results, name, arguments)? {
            return Ok(built_in);
        }
        let Some(&number) = self.numbers.get(name) else {
            let message = match self.find(name) {
                Some(Binding::Register(..)) => format!(
                    "unsupported call through '{name}', which is no pointer of 64 bits with a \
                     prototype or targets"
                ),
                _ if name.starts_with("cuda") => {
                    format!("unsupported dynamic parallelism, a call of '{name}' in a kernel")
                }
                _ => format!("unsupported call of '{name}', which the module does not define"),
            };
            return Err(PtxError::unsupported(i.line, message));
        };
        if self.program.callees[number as usize].has_frame || !self.may_lend(results) {
            let call = self.words_of_call(i, &written, vec![number])?;
            return Ok(ControlOp::CallWithFrame { callee: number, call }.into());
        }
        let (params, returns) = self.layout(number);
        if arguments.len() != params.len() || results.len() > returns.len() {
            return Err(written.misfit(i));
        }
        let moves = self.pass_arguments(i, arguments, &params)?;
        self.take_results(i, results, &returns)?;
        self.links.push((self.program.code.len(), number));
        self.program.copies.push(moves);
        let copies = self.program.copies.len() as u32 - 1;
        Ok(ControlOp::Call { target: NOWHERE, copies }.into())
    }

    /// Whether results can stay in the callee's registers: no other call overwrites them before
    /// their names go out of scope.
    fn may_lend(&self, results: &[Operand<'a>]) -> bool {
        let is_own = |result: &Operand<'a>| match result {
            Operand::Name(name) => self.is_own(name),
            _ => true,
        };
        results.is_empty() || self.has_one_call && results.iter().all(is_own)
    }

    fn layout(&self, number: u32) -> (Words, Words) {
        let callee = &self.program.callees[number as usize];
        (callee.params.clone(), callee.returns.clone())
    }

    /// `call (results), %pointer, (arguments), list`
    fn call_indirect(
        &mut self,
        i: &'m Instruction<'a>,
        written: &Written<'_, 'a>,
        (address, list): (Slot, &'a str),
    ) -> Lowered<Op> {
        let numbers = &self.numbers;
        let targets = match find_list(&self.bodies, list) {
            Some(Statement::CallTargets(_, names, _)) => {
                names.iter().filter_map(|name| numbers.get(name).copied()).collect()
            }
            Some(Statement::CallPrototype(_, prototype, _)) => {
                let functions = self.module.functions.iter();
                let fitting = functions.filter(|f| f.body.is_some() && prototype.fits(f));
                fitting.filter_map(|function| numbers.get(function.name).copied()).collect()
            }
            _ => return Err(PtxError::invalid(i.line, format!("unknown call targets '{list}'"))),
        };
        let call = self.words_of_call(i, written, targets)?;
        self.meeting.push(self.program.code.len() + 1);
        Ok(ControlOp::CallIndirect { address, call }.into())
    }

    /// Adds a call that copies its arguments and results when it runs.
    fn words_of_call(
        &mut self,
        i: &Instruction<'a>,
        written: &Written<'_, 'a>,
        targets: Vec<u32>,
    ) -> Lowered<u32> {
        let arguments = self.words_of(i, written.arguments)?;
        let results = self.words_of(i, written.results)?;
        let fits = |given: &Words, wanted: &Words| {
            given.iter().zip(wanted).all(|((_, given), (_, wanted))| given >= wanted)
        };
        for &target in targets.iter().filter(|target| !self.unreserved.contains(target)) {
            let callee = &self.program.callees[target as usize];
            let counts = (arguments.len(), results.len() <= callee.returns.len());
            if counts != (callee.params.len(), true)
                || !fits(&arguments, &callee.params)
                || !fits(&results, &callee.returns)
            {
                return Err(written.misfit(i));
            }
        }
        let first = |words: Words| words.into_iter().map(|(slot, _)| slot).collect();
        let call = Call { arguments: first(arguments), results: first(results), targets };
        self.program.calls.push(call);
        Ok(self.program.calls.len() as u32 - 1)
    }

    fn words_of(&self, i: &Instruction<'a>, operands: &[Operand<'a>]) -> Lowered<Words> {
        operands.iter().map(|operand| self.parameter_words(i, operand)).collect()
    }

    /// The first word of a call parameter, and the bytes of all.
    pub(super) fn parameter_words(
        &self,
        i: &Instruction<'a>,
        operand: &Operand<'a>,
    ) -> Lowered<(Slot, u32)> {
        let Operand::Name(name) = operand else { return Err(unsupported(i)) };
        match self.find(name) {
            Some(Binding::Words(slot, bytes)) => Ok((slot, bytes)),
            _ => Err(unsupported(i)),
        }
    }

    /// The words to move into the callee's parameters.
    fn pass_arguments(
        &mut self,
        i: &Instruction<'a>,
        arguments: &[Operand<'a>],
        params: &Words,
    ) -> Lowered<Vec<(Slot, Slot)>> {
        let mut moves = Vec::new();
        for (argument, &(formal, bytes)) in arguments.iter().zip(params) {
            let Operand::Name(argument) = argument else { return Err(unsupported(i)) };
            match self.find(argument) {
                Some(Binding::Words(slot, available)) if available >= bytes => {
                    let words = 0..bytes.div_ceil(4) as u16;
                    moves.extend(words.map(|at| (Slot(slot.0 + at), Slot(formal.0 + at))));
                }
                _ => {
                    let message = format!("unsupported call argument '{argument}'");
                    return Err(PtxError::unsupported(i.line, message));
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
        returns: &Words,
    ) -> Lowered<()> {
        for (result, &(slot, bytes)) in results.iter().zip(returns) {
            let Operand::Name(result) = result else { return Err(unsupported(i)) };
            match self.find(result) {
                Some(Binding::Words(..)) => self.rebind(result, Binding::Words(slot, bytes)),
                _ => {
                    let message = format!("unsupported call result '{result}'");
                    return Err(PtxError::unsupported(i.line, message));
                }
            }
        }
        Ok(())
    }

    /// Sets the targets of calls, now that every function has its place.
    pub(super) fn link(&mut self) {
        for &(at, number) in &self.links {
            if let Op::Control(ControlOp::Call { target, .. }) = &mut self.program.code[at].op {
                *target = self.program.callees[number as usize].start;
            }
        }
    }
}
