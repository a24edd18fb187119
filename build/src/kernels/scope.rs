//! The scope that LLVM leaves out of atomics.
//!
//! Input and output: PTX. `core::sync::atomic` promises that an atomic is one for every thread that
//! can reach it, those of the CPU and of other GPUs included, and LLVM 22 writes its updates
//! without a scope, which PTX reads as that of the GPU. Those of ordering `Relaxed` are all that
//! is left here: the audit has refused the others.

/// The first capability with instructions that can name a scope.
const KNOWS_SCOPES: u32 = 70;

/// `ptx` for `arch`, with the scope of the system at every update of LLVM's own that names none.
pub(super) fn mended(ptx: String, arch: &str) -> String {
    let digits = |c: char| !c.is_ascii_digit();
    let capability: Option<u32> = arch
        .strip_prefix("sm_")
        .and_then(|number| number.split(digits).next())
        .and_then(|n| n.parse().ok());
    if capability.is_none_or(|capability| capability < KNOWS_SCOPES) {
        return ptx;
    }
    let mut assembly = false;
    let line = |line: &str| {
        let text = line.trim_start();
        assembly = text.starts_with("// begin inline asm")
            || (assembly && !text.starts_with("// end inline asm"));
        let (indent, text) = line.split_at(line.len() - text.len());
        match opcode(text).filter(|_| !assembly) {
            Some(opcode) => format!("{indent}{opcode}.relaxed.sys{}\n", &text[opcode.len()..]),
            None => format!("{line}\n"),
        }
    };
    ptx.lines().map(line).collect()
}

/// The opcode of an update that names neither ordering nor scope.
fn opcode(text: &str) -> Option<&'static str> {
    let named = [".relaxed", ".acquire", ".release", ".acq_rel", ".cta", ".gpu", ".sys"];
    let opcode = ["atom", "red"]
        .into_iter()
        .find(|opcode| text.strip_prefix(opcode).is_some_and(|rest| rest.starts_with('.')))?;
    (!named.iter().any(|word| text.contains(word))).then_some(opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_without_a_scope_gets_system_scope() {
        let ptx = "\tatom.global.add.u32 \t%r4, [%rd1], 2;\n\
                   \tatom.acq_rel.sys.global.cas.b32 %r1, [%rd1], 1, 2;\n\
                   // begin inline asm\n\tatom.global.add.u32 %r1, [%rd1], 2;\n// end inline asm\n\
                   \tred.shared.or.b32 [%r1], 3;\n\treduce.me;\n";
        let mended_one = mended(ptx.to_owned(), "sm_90a");
        assert_eq!(
            mended_one,
            ptx.replacen("atom.global.add", "atom.relaxed.sys.global.add", 1).replacen(
                "red.shared",
                "red.relaxed.sys.shared",
                1
            )
        );
        assert_eq!(mended(mended_one.clone(), "sm_90"), mended_one, "once");
        assert_eq!(mended(ptx.to_owned(), "sm_60"), ptx, "which knows no scopes");
    }
}
