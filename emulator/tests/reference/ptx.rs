//! Prints operations as PTX, one kernel a program.
//!
//! The kernel takes the address of global memory. Each operation becomes a line or a few, so that a
//! driver executes the jumps of the list and no others.

use super::flat::*;
use super::ir::*;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

pub const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// A module with one kernel, `name`.
pub fn module(name: &str, program: &Program, flat: &Flat) -> String {
    format!("{HEADER}{}", kernel(name, program, flat))
}

pub fn kernel(name: &str, program: &Program, flat: &Flat) -> String {
    let mut text = String::new();
    let shared = program.words(Space::Shared) * 4;
    let _ = writeln!(
        text,
        "// seed {}, {} blocks of {} threads\n.shared .align 4 .b8 {name}_cells[{shared}];",
        program.seed, program.blocks, program.threads,
    );
    let ends = flat.functions.iter().copied().skip(1).chain([flat.code.len()]);
    let functions: Vec<_> =
        flat.functions.iter().zip(ends).map(|(&start, end)| start..end).collect();
    for number in 0..functions.len() {
        let _ = writeln!(text, "{};", signature(name, number));
    }
    tables(&mut text, name, flat);
    for (number, range) in functions.iter().enumerate() {
        let _ = writeln!(text, "{} {{", signature(name, number));
        prologue(&mut text, name, flat.registers);
        let _ = writeln!(text, ".local .align 4 .b8 own[{}];", 4 * LOCAL);
        for register in (0..PARAMETERS).chain([DEPTH]) {
            let _ = writeln!(text, "ld.param.u32 %r{register}, [a{register}];");
        }
        body(&mut text, name, flat, range.clone());
    }
    let _ = writeln!(text, ".visible .entry {name}(.param .u64 memory) {{");
    prologue(&mut text, name, flat.registers);
    variables(&mut text);
    body(&mut text, name, flat, 0..flat.functions.first().copied().unwrap_or(flat.code.len()));
    text
}

/// A function takes the address of global memory too.
fn signature(name: &str, number: usize) -> String {
    let words: Vec<String> =
        (0..PARAMETERS).chain([DEPTH]).map(|register| format!(".param .b32 a{register}")).collect();
    let words = words.join(", ");
    format!(".func (.param .b32 out) {name}_f{number}({words}, .param .b64 memory)")
}

/// A table of functions for each call through one.
fn tables(text: &mut String, name: &str, flat: &Flat) {
    for (index, op) in flat.code.iter().enumerate() {
        if let Op::Call { functions, on: Some(_), .. } = op {
            let names: Vec<String> = functions.iter().map(|f| format!("{name}_f{f}")).collect();
            let (count, names) = (names.len(), names.join(", "));
            let _ = writeln!(text, ".global .u64 {name}_t{index}[{count}] = {{{names}}};");
        }
    }
}

fn body(text: &mut String, name: &str, flat: &Flat, range: Range<usize>) {
    let code = &flat.code[range.clone()];
    let targets: BTreeSet<usize> = code.iter().flat_map(targets).collect();
    for (index, op) in range.clone().zip(code) {
        if targets.contains(&index) {
            let _ = writeln!(text, "L{index}:");
        }
        Printer { text, name, index }.op(op);
    }
    // A jump to the end has somewhere to go.
    if targets.contains(&range.end) {
        let _ = writeln!(text, "L{}:\nexit;", range.end);
    }
    text.push_str("}\n");
}

fn prologue(text: &mut String, name: &str, registers: Reg) {
    let _ = write!(
        text,
        ".reg .pred %p<2>;\n.reg .b32 %r<{registers}>;\n.reg .b32 %t<4>;\n.reg .b64 %d<3>;\n\
         ld.param.u64 %d0, [memory];\ncvta.to.global.u64 %d0, %d0;\nmov.u32 %t3, {name}_cells;\n\
         mov.u32 %r{THREAD}, %tid.x;\nmov.u32 %r{BLOCK}, %ctaid.x;\nmov.u32 %t0, %ntid.x;\n\
         and.b32 %r{LANE}, %r{THREAD}, 31;\nshr.u32 %r{WARP}, %r{THREAD}, 5;\n\
         mad.lo.u32 %r{GLOBAL}, %r{BLOCK}, %t0, %r{THREAD};\n"
    );
}

/// The values that a kernel's variables begin with.
fn variables(text: &mut String) {
    for variable in 0..VARIABLES {
        let offset = initial(0, variable);
        let factor = initial(1, variable).wrapping_sub(offset);
        let _ = writeln!(text, "mad.lo.u32 %r{variable}, %r{GLOBAL}, {factor}, {offset};");
    }
}

fn targets(op: &Op) -> Vec<usize> {
    match op {
        Op::Branch { target, .. } | Op::Jump { target } => vec![*target],
        Op::Table { targets, .. } => targets.clone(),
        _ => Vec::new(),
    }
}

fn value(value: Value) -> String {
    match value {
        Value::Reg(register) => format!("%r{register}"),
        Value::Word(word) => format!("{word}"),
    }
}

impl Comparison {
    fn name(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Less => "lt",
            Self::AtLeast => "ge",
        }
    }
}

impl Binary {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "add.u32",
            Self::Sub => "sub.u32",
            Self::Mul => "mul.lo.u32",
            Self::And => "and.b32",
            Self::Or => "or.b32",
            Self::Xor => "xor.b32",
            Self::MinSigned => "min.s32",
            Self::MinUnsigned => "min.u32",
            Self::MaxUnsigned => "max.u32",
            Self::ShiftLeft => "shl.b32",
            Self::ShiftRight => "shr.u32",
            Self::Remainder => "rem.u32",
            Self::CountOnes => "popc.b32",
        }
    }
}

impl Commutative {
    /// The word of an atomic or of `redux`, with its type.
    fn name(self, bits: &str) -> String {
        match self {
            Self::Add => "add.u32".into(),
            Self::Min => "min.u32".into(),
            Self::Max => "max.u32".into(),
            Self::And => format!("and.{bits}"),
            Self::Or => format!("or.{bits}"),
            Self::Xor => format!("xor.{bits}"),
        }
    }
}

impl Space {
    fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }

    fn scope(self) -> &'static str {
        match self {
            Self::Global => "gpu",
            Self::Shared => "cta",
        }
    }
}

struct Printer<'t> {
    text: &'t mut String,
    name: &'t str,
    index: usize,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn op(&mut self, op: &Op) {
        let line = match op {
            Op::Binary { op: Binary::CountOnes, d, a, .. } => {
                format!("popc.b32 %r{d}, {};", value(*a))
            }
            Op::Binary { op, d, a, b } => {
                format!("{} %r{d}, {}, {};", op.name(), value(*a), value(*b))
            }
            Op::Branch { comparison, a, b, target } => {
                let (name, a, b) = (comparison.name(), value(*a), value(*b));
                format!("setp.{name}.u32 %p0, {a}, {b};\n@%p0 bra L{target};")
            }
            Op::Jump { target } => format!("bra L{target};"),
            Op::Table { on, targets } => {
                let index = self.index;
                let names: Vec<String> = targets.iter().map(|t| format!("L{t}")).collect();
                let names = names.join(", ");
                format!("T{index}: .branchtargets {names};\nbrx.idx %r{on}, T{index};")
            }
            Op::Load { d, place, access } => {
                let address = self.address(*place);
                format!("ld{}.u32 %r{d}, {address};", qualifiers(*access, place.space))
            }
            Op::Store { a, place, access } => {
                let address = self.address(*place);
                format!("st{}.u32 {address}, {};", qualifiers(*access, place.space), value(*a))
            }
            Op::Atomic { .. } => self.atomic(op),
            Op::Exchange { what, d, a, b, members } => {
                return self.exchange(*what, *d, value(*a), value(*b), value(*members));
            }
            Op::Barrier { barrier, id, d, a } => match barrier {
                Barrier::Aligned => format!("bar.sync {id};"),
                Barrier::Unaligned => format!("barrier.sync {id};"),
                Barrier::Counted(threads) => format!("barrier.sync {id}, {threads};"),
                Barrier::Popc => {
                    self.predicate(&value(*a));
                    format!("barrier.red.popc.u32 %r{d}, {id}, %p0;")
                }
            },
            Op::Arrive { id, threads } => format!("barrier.arrive {id}, {threads};"),
            Op::Fence { space: Space::Global } => "membar.gl;".into(),
            Op::Fence { space: Space::Shared } => "membar.cta;".into(),
            Op::Sleep => "nanosleep.u32 20;".into(),
            Op::Exit => "exit;".into(),
            Op::Call { d, functions, on, arguments } => {
                return self.call(*d, functions[0], *on, arguments);
            }
            Op::Return => "st.param.b32 [out], %r0;\nret;".into(),
            Op::LoadLocal { d, index } => {
                let address = self.local(*index);
                format!("ld.u32 %r{d}, {address};")
            }
            Op::StoreLocal { index, a } => {
                let address = self.local(*index);
                format!("st.u32 {address}, {};", value(*a))
            }
        };
        self.line(&line);
    }

    fn call(&mut self, d: Reg, function: u32, on: Option<Reg>, arguments: &[Value]) {
        let (name, index) = (self.name, self.index);
        let names: Vec<String> = (0..arguments.len()).map(|at| format!("q{at}")).collect();
        self.line("{ .param .b32 result; .param .b64 where; st.param.b64 [where], %d0;");
        for (argument, name) in arguments.iter().zip(&names) {
            self.line(&format!(
                ".param .b32 {name};\nst.param.b32 [{name}], {};",
                value(*argument)
            ));
        }
        let names = names.join(", ");
        match on {
            None => self.line(&format!("call (result), {name}_f{function}, ({names}, where);")),
            Some(on) => {
                let words = vec![".param .b32 _"; arguments.len()].join(", ");
                self.line(&format!(
                    "P{index}: .callprototype (.param .b32 _) _ ({words}, .param .b64 _);\n\
                     mov.u64 %d1, {name}_t{index};\nmad.wide.u32 %d1, %r{on}, 8, %d1;\n\
                     ld.global.u64 %d1, [%d1];\ncall (result), %d1, ({names}, where), P{index};"
                ));
            }
        }
        self.line(&format!("ld.param.b32 %r{d}, [result]; }}"));
    }

    /// A word of the function's local memory, as a generic address.
    fn local(&mut self, index: Value) -> String {
        self.line("mov.u64 %d1, own;\ncvta.local.u64 %d1, %d1;");
        match index {
            Value::Word(word) => format!("[%d1+{}]", 4 * word),
            Value::Reg(register) => {
                self.line(&format!("mad.wide.u32 %d1, %r{register}, 4, %d1;"));
                "[%d1]".into()
            }
        }
    }

    /// `%p0` is the lowest bit.
    fn predicate(&mut self, a: &str) {
        self.line(&format!("and.b32 %t1, {a}, 1;\nsetp.ne.u32 %p0, %t1, 0;"));
    }

    fn address(&mut self, place: Place) -> String {
        let bytes = 4 * place.offset;
        let index = match place.index {
            Value::Word(word) => {
                let base = if place.space == Space::Global { "%d0" } else { "%t3" };
                return format!("[{base}+{}]", bytes + 4 * word);
            }
            Value::Reg(register) => register,
        };
        match place.space {
            Space::Global => {
                self.line(&format!("mad.wide.u32 %d1, %r{index}, 4, %d0;"));
                format!("[%d1+{bytes}]")
            }
            Space::Shared => {
                self.line(&format!("mad.lo.u32 %t0, %r{index}, 4, %t3;"));
                format!("[%t0+{bytes}]")
            }
        }
    }

    fn atomic(&mut self, atomic: &Op) -> String {
        let Op::Atomic { op, d, place, a, b, access } = atomic else {
            unreachable!("only atomics come here")
        };
        let address = self.address(*place);
        let scope = place.space.scope();
        let order = match access {
            Access::Acquire => format!(".acquire.{scope}"),
            Access::Release => format!(".release.{scope}"),
            Access::Weak | Access::Volatile => String::new(),
        };
        let (opcode, result) = match d {
            Some(d) => ("atom", format!("%r{d}, ")),
            None => ("red", String::new()),
        };
        let (name, operands) = match op {
            Atomic::Reduce(op) => (op.name("b32"), value(*a)),
            Atomic::Exchange => ("exch.b32".into(), value(*a)),
            Atomic::CompareSwap => ("cas.b32".into(), format!("{}, {}", value(*b), value(*a))),
        };
        let space = place.space.name();
        format!("{opcode}{order}.{space}.{name} {result}{address}, {operands};")
    }

    fn exchange(&mut self, what: Exchange, d: Reg, a: String, b: String, members: String) {
        let shuffle = |mode: &str, clamp: u32| {
            format!(
                "shfl.sync.{mode}.b32 %t1|%p0, {a}, {b}, {clamp}, {members};\n\
                 selp.u32 %t2, 1, 0, %p0;\nadd.u32 %r{d}, %t1, %t2;"
            )
        };
        let vote = |mode: &str| {
            format!("vote.sync.{mode}.pred %p1, %p0, {members};\nselp.u32 %r{d}, 1, 0, %p1;")
        };
        if matches!(what, Exchange::All | Exchange::Any | Exchange::Uniform | Exchange::Ballot) {
            self.predicate(&a);
        }
        let line = match what {
            Exchange::Index => shuffle("idx", 31),
            Exchange::Up => shuffle("up", 0),
            Exchange::Down => shuffle("down", 31),
            Exchange::Butterfly => shuffle("bfly", 31),
            Exchange::All => vote("all"),
            Exchange::Any => vote("any"),
            Exchange::Uniform => vote("uni"),
            Exchange::Ballot => format!("vote.sync.ballot.b32 %r{d}, %p0, {members};"),
            Exchange::MatchAny => format!("match.any.sync.b32 %r{d}, {a}, {members};"),
            Exchange::MatchAll => format!(
                "match.all.sync.b32 %t1|%p0, {a}, {members};\n\
                 selp.u32 %t2, 1, 0, %p0;\nadd.u32 %r{d}, %t1, %t2;"
            ),
            Exchange::Redux(op) => {
                format!("redux.sync.{} %r{d}, {a}, {members};", op.name("b32"))
            }
            Exchange::Sync => format!("bar.warp.sync {members};"),
        };
        self.line(&line);
    }
}

fn qualifiers(access: Access, space: Space) -> String {
    let (name, scope) = (space.name(), space.scope());
    match access {
        Access::Weak => format!(".{name}"),
        Access::Volatile => format!(".volatile.{name}"),
        Access::Acquire => format!(".acquire.{scope}.{name}"),
        Access::Release => format!(".release.{scope}.{name}"),
    }
}
