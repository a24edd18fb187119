//! Finds code of a package's kernels that LLVM compiles wrongly or cannot compile.
//!
//! Input: the module in LLVM's text form, and the PTX if there is any. Output: findings with the
//! source line, first the findings that forbid PTX. The patterns were seen with rustc 1.95 and 1.96
//! (LLVM 22); a toolchain that compiles them correctly has no finding.

use std::collections::BTreeSet;
use std::fmt;

use super::ir::{Function, Ir, SourcePosition};
use super::math_suggestions;

/// Something that is compiled to something else than what was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// Its kind.
    pub(super) kind: Kind,
    place: Option<SourcePosition>,
    /// The instruction, function or ordering in question.
    what: String,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A barrier in inline assembly, in a function with branches.
    BarrierInAssembly,
    /// An atomic with an ordering that the PTX lacks.
    LostOrdering,
    /// A fence between a thread and itself, over which LLVM aborts.
    CompilerFence,
    /// A function of LLVM's for which it has no PTX.
    NoInstruction,
    /// A warp-wide instruction in inline assembly, in a function with branches.
    WarpWideInAssembly,
    /// A call of a function that nothing defines.
    Undefined,
}

impl Finding {
    /// Whether the kernels cannot be used as they are.
    pub(super) fn refuses(&self) -> bool {
        !matches!(self.kind, Kind::WarpWideInAssembly | Kind::Undefined)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: ")?,
            None => f.write_str("(no source line): ")?,
        }
        let what = &self.what;
        match self.kind {
            Kind::BarrierInAssembly => write!(
                f,
                "`{what}` in inline assembly may be compiled into both arms of a branch, since rustc cannot tell \
                 LLVM that all threads must meet at it: call gpuprof::block::sync() or \
                 core::arch::nvptx::_syncthreads(), or put the assembly alone into an #[inline(never)] function"
            ),
            Kind::LostOrdering => write!(
                f,
                "rustc drops the ordering of this atomic operation ({what}) on GPUs, so that it would run relaxed: \
                 ask for Ordering::Relaxed, with core::sync::atomic::fence(Ordering::Release) before it, \
                 fence(Ordering::Acquire) after it, or both"
            ),
            Kind::CompilerFence => write!(
                f,
                "LLVM aborts over this compiler_fence on GPUs: to order what other threads see, call \
                 core::sync::atomic::fence; to keep the compiler from moving accesses, use an empty \
                 core::arch::asm!(\"\")"
            ),
            Kind::NoInstruction => {
                let name = what.split('.').nth(1).and_then(math_suggestions::of_c);
                let instead = name.unwrap_or_else(|| "use a function of the crate libm".to_owned());
                write!(f, "LLVM has no PTX for `{what}` and aborts: {instead}")
            }
            Kind::WarpWideInAssembly => write!(
                f,
                "`{what}` in inline assembly may be compiled into both arms of a branch, each for a part of its \
                 lanes: use gpuprof::warp where it has the function, or put the assembly alone into an \
                 #[inline(never)] function"
            ),
            Kind::Undefined => {
                write!(
                    f,
                    "`{what}` is declared and nothing defines it: no GPU loads a module with it, and on the \
                     emulated driver the kernels that reach it fail"
                )?;
                math_suggestions::of_c(what).map_or(Ok(()), |instead| write!(f, "; {instead}"))
            }
        }
    }
}

/// The prefixes of instructions at which lanes of a warp meet.
const WARP_WIDE: [&str; 11] = [
    "shfl.",
    "vote.",
    "match.",
    "redux.",
    "elect.",
    "activemask",
    "mma.",
    "wmma.",
    "wgmma.",
    "ldmatrix.",
    "stmatrix.",
];

/// LLVM's functions that end in "Cannot select" for f32 and f64.
const NO_INSTRUCTION: [&str; 17] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp10",
    "log", "log2", "log10", "pow", "powi",
];

/// What is wrong with a module, each place once.
pub(super) fn findings(ir: &str, ptx: Option<&str>) -> BTreeSet<Finding> {
    let ir = Ir::parse(ir);
    let undefined = ptx.map(undefined).unwrap_or_default();
    let ordering_is_kept = ptx.is_some_and(|ptx| !drops_ordering(ptx));
    let mut found = BTreeSet::new();
    for function in &ir.functions {
        for line in &function.lines {
            let calls = || called(line).filter(|name| undefined.contains(name));
            let suspect =
                suspect(line, function).or_else(|| calls().map(|name| (Kind::Undefined, name)));
            let Some((kind, what)) = suspect else { continue };
            // LLVM wrote PTX: it did not abort.
            let aborts = [Kind::CompilerFence, Kind::NoInstruction].contains(&kind);
            if (aborts && ptx.is_some()) || (kind == Kind::LostOrdering && ordering_is_kept) {
                continue;
            }
            found.insert(Finding { kind, place: ir.place(line), what: what.to_owned() });
        }
    }
    found
}

/// The functions that every CUDA driver defines.
const OF_THE_DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// The names that a module declares and neither it nor the driver defines.
fn undefined(ptx: &str) -> BTreeSet<&str> {
    let declared = ptx.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix(".extern .func")?.trim_start();
        // The parameter that holds the result comes first.
        let rest = match rest.strip_prefix('(') {
            Some(result) => result.split_once(')')?.1.trim_start(),
            None => rest,
        };
        rest.split(|c: char| c.is_whitespace() || "(;".contains(c)).next()
    });
    declared.filter(|name| !OF_THE_DRIVER.contains(name)).collect()
}

/// The function that an instruction calls by its name.
fn called(line: &str) -> Option<&str> {
    let (_, call) = line.split_once("call ")?;
    let (name, _) = call.split_once('@')?.1.split_once('(')?;
    Some(name)
}

/// The possible miscompilation of an instruction, with its name.
fn suspect<'a>(line: &'a str, function: &Function<'_>) -> Option<(Kind, &'a str)> {
    if line.trim_start().starts_with("fence syncscope(\"singlethread\")") {
        return Some((Kind::CompilerFence, "compiler_fence"));
    }
    if let Some((_, rest)) = line.split_once("atomicrmw ") {
        return lost_ordering(rest).map(|ordering| (Kind::LostOrdering, ordering));
    }
    if let Some((_, rest)) = line.split_once(" asm ") {
        let text = rest.split('"').nth(1)?;
        let (kind, name) = meeting(text)?;
        return function.branches().then_some((kind, name));
    }
    let called = line[line.find("@llvm.")? + 1..].split('(').next()?;
    let name = called.split('.').nth(1)?;
    let of_floats = called.contains(".f32") || called.contains(".f64");
    (of_floats && NO_INSTRUCTION.contains(&name)).then_some((Kind::NoInstruction, called))
}

/// The ordering of an operation that becomes one `atom`, unless it is relaxed. Others become loops
/// over a compare-and-swap, which has its ordering.
fn lost_ordering(operation: &str) -> Option<&'static str> {
    let mut words = operation.split([' ', ',']).filter(|word| !word.is_empty());
    let name = words.find(|word| *word != "volatile")?;
    let one_instruction = name != "nand"
        && ["i32 ", "i64 ", "float ", "double "].iter().any(|ty| operation.contains(ty));
    let orderings = [
        ("acquire", "Acquire"),
        ("release", "Release"),
        ("acq_rel", "AcqRel"),
        ("seq_cst", "SeqCst"),
    ];
    let asked = words
        .find_map(|word| orderings.iter().find(|(llvm, _)| *llvm == word).map(|&(_, rust)| rust))?;
    one_instruction.then_some(asked)
}

/// The first instruction of an assembly text at which threads meet.
fn meeting(text: &str) -> Option<(Kind, &str)> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "._%$".contains(c)));
    words.into_iter().find_map(|word| {
        let is = |prefix: &&str| word.starts_with(*prefix);
        if ["bar.", "barrier."].iter().any(&is) {
            Some((Kind::BarrierInAssembly, word))
        } else {
            WARP_WIDE.iter().any(is).then_some((Kind::WarpWideInAssembly, word))
        }
    })
}

/// Whether the compiler itself wrote an `atom` that names no ordering.
fn drops_ordering(ptx: &str) -> bool {
    let mut assembly = false;
    ptx.lines().any(|line| {
        let line = line.trim_start();
        assembly = line.starts_with("// begin inline asm")
            || (assembly && !line.starts_with("// end inline asm"));
        let ordered = [".relaxed", ".acquire", ".release", ".acq_rel"];
        let plain = line.starts_with("atom.") || line.starts_with("red.");
        !assembly && plain && !ordered.iter().any(|name| line.contains(name))
    })
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
