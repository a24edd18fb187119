//! Findings in modules as rustc 1.95 writes them.

use super::*;

/// A module with one function of `instructions`, at line 12 of the source file.
fn module(instructions: &str) -> String {
    format!(
        "define ptx_kernel void @k(ptr %y) !dbg !1 {{\nstart:\n{instructions}\n  ret void\n}}\n\
         !1 = distinct !DISubprogram(name: \"k\", scope: !9, file: !2, line: 10)\n\
         !2 = !DIFile(filename: \"src/lib.rs\", directory: \".\", checksum: \"0\")\n\
         !3 = !DILocation(line: 7, column: 5, scope: !4, inlinedAt: !6)\n\
         !4 = distinct !DISubprogram(name: \"fence\", file: !5, line: 6)\n\
         !5 = !DIFile(filename: \"src/sync/atomic.rs\", directory: \"/rustc/59/library/core\")\n\
         !6 = distinct !DILocation(line: 12, column: 9, scope: !7, inlinedAt: !8)\n\
         !7 = distinct !DILexicalBlock(scope: !1, file: !2, line: 11, column: 5)\n\
         !8 = distinct !DILocation(line: 30, column: 1, scope: !1)\n"
    )
}

/// The kinds found, and the first one's text.
fn found(ir: &str, ptx: Option<&str>) -> (Vec<Kind>, String) {
    let found = findings(ir, ptx);
    let text = found.first().map(ToString::to_string).unwrap_or_default();
    (found.iter().map(|finding| finding.kind).collect(), text)
}

const BRANCH: &str = "  br i1 %c, label %a, label %b";
const BARRIER: &str =
    "  tail call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() #6, !dbg !3, !srcloc !9";

#[test]
fn a_barrier_in_assembly_after_a_branch_is_refused() {
    let (kinds, text) = found(&module(&format!("{BRANCH}\n{BARRIER}\n{BARRIER}")), Some(""));
    assert_eq!(kinds, [Kind::BarrierInAssembly], "each place once");
    assert!(text.starts_with("src/lib.rs:12:9: `bar.sync` in inline assembly"), "{text}");
    assert_eq!(found(&module(BARRIER), Some("")).0, [], "nothing to copy it into");
    let shared = BARRIER.replace("bar.sync 0;", "mov.u32 ${0}, bar_of_mine;");
    assert_eq!(found(&module(&format!("{BRANCH}\n{shared}")), Some("")).0, []);
}

#[test]
fn a_warp_wide_instruction_in_assembly_is_a_warning() {
    let vote = BARRIER.replace("bar.sync 0;", "match.any.sync.b32 $0, $1, $2;");
    let found = findings(&module(&format!("{BRANCH}\n{vote}")), Some(""));
    let kinds: Vec<(Kind, bool)> = found.iter().map(|f| (f.kind, f.refuses())).collect();
    assert_eq!(kinds, [(Kind::WarpWideInAssembly, false)]);
}

#[test]
fn an_ordering_that_is_not_in_the_ptx_is_refused() {
    let ordered = module("  %1 = atomicrmw add ptr %y, i32 2 acq_rel, align 4, !dbg !3");
    let dropped = "\tatom.global.add.u32 \t%r4, [%rd1], 2;\n";
    let (kinds, text) = found(&ordered, Some(dropped));
    assert_eq!(kinds, [Kind::LostOrdering]);
    assert!(text.starts_with("src/lib.rs:12:9: rustc drops the ordering"), "{text}");
    assert!(text.contains("(AcqRel)"), "{text}");
    // A later LLVM keeps it; and inline assembly is not checked.
    let kept = "\tatom.acq_rel.sys.global.add.u32 \t%r4, [%rd1], 2;\n";
    assert_eq!(found(&ordered, Some(kept)).0, []);
    let assembly = format!("// begin inline asm\n{dropped}// end inline asm\n{kept}");
    assert_eq!(found(&ordered, Some(&assembly)).0, []);
    for fine in [
        "  %1 = atomicrmw add ptr %y, i32 2 monotonic, align 4, !dbg !3",
        "  %1 = atomicrmw nand ptr %y, i32 2 seq_cst, align 4, !dbg !3",
        "  %1 = atomicrmw or ptr %y, i8 2 seq_cst, align 4, !dbg !3",
        "  %1 = cmpxchg ptr %y, i32 3, i32 4 acq_rel monotonic, align 4, !dbg !3",
        "  fence acq_rel, !dbg !3",
    ] {
        assert_eq!(found(&module(fine), Some(dropped)).0, [], "{fine}");
    }
}

#[test]
fn an_abort_of_llvm_is_reported_with_its_line() {
    let fence = module("  fence syncscope(\"singlethread\") acq_rel, !dbg !3");
    let (kinds, text) = found(&fence, None);
    assert_eq!(kinds, [Kind::CompilerFence]);
    assert!(text.starts_with("src/lib.rs:12:9: LLVM aborts over this compiler_fence"), "{text}");
    let power = module("  %2 = tail call float @llvm.pow.f32(float %x, float %y), !dbg !3");
    let (kinds, text) = found(&power, None);
    assert_eq!(kinds, [Kind::NoInstruction]);
    assert!(text.contains("`llvm.pow.f32`"), "{text}");
    // If there is PTX, it did not abort.
    assert_eq!(found(&fence, Some("")).0, []);
}

#[test]
fn a_call_of_an_undefined_function_warns_with_its_replacement() {
    let calls = |name: &str| {
        module(&format!("  %v = tail call noundef float @{name}(float noundef %x) #5, !dbg !3"))
    };
    let declares =
        |name: &str| format!(".extern .func  (.param .b32 func_retval0) {name}\n(\n)\n;");
    let (kinds, text) = found(&calls("expf"), Some(&declares("expf")));
    assert_eq!(kinds, [Kind::Undefined]);
    assert_eq!(
        text,
        "src/lib.rs:12:9: `expf` is declared and nothing defines it: no GPU loads a module with it, and \
         on the emulated driver the kernels that reach it fail; call the method `exp` of \
         gpuprof::FloatMath (use gpuprof::prelude::*), or `fast_exp`, which is approximate"
    );
    let found_first = findings(&calls("expf"), Some(&declares("expf")));
    assert!(!found_first.first().unwrap().refuses());
    let (_, other) = found(&calls("solve"), Some(".extern .func solve(\n)"));
    assert!(other.ends_with("the kernels that reach it fail"), "{other}");
    assert_eq!(found(&calls("vprintf"), Some(&declares("vprintf"))).0, []);
    assert_eq!(found(&calls("expf"), Some(".visible .func expf(\n)")).0, []);
}
