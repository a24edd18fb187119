//! Atomics on the emulated driver compared with a host reference, and their instructions in the
//! PTX.

use crate::support::Archive;
use crate::support::replay::workshop;

/// Configurations of the fixture: 30 each of `u32` and `u64`, 4 of each other type, and 7 of other
/// kernels.
const CONFIGURATIONS: usize = 2 * 30 + 8 * 4 + 7;

#[test]
fn every_atomic_operation_computes_what_the_host_computes() {
    let arguments = ["run", "--package", "atomics", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

#[test]
fn halves_are_added_by_the_instruction_of_the_gpu() {
    let halves = ["run", "--package", "atomics", "f16", "--message-format", "json"];
    let run = workshop().gpuprof(&[&halves[..], &["--kernel-arch", "sm_90"]].concat());
    let run = run.exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), 4 * 4);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
    for (arch, bf16) in [("sm_80", false), ("sm_90", true)] {
        let ptx = Archive::ptx_for(&workshop(), "atomics", &["--kernel-arch", arch]);
        for place in ["relaxed.gpu.global", "acq_rel.gpu.global", "relaxed.cta.shared"] {
            let has = |half: &str| ptx.contains(&format!("atom.{place}.add.noftz.{half} "));
            assert_eq!((has("f16"), has("bf16")), (true, bf16), "{place} for {arch}");
            assert_eq!((has("f16x2"), has("bf16x2")), (true, bf16), "{place} for {arch}");
            assert!(ptx.contains(&format!("atom.{place}.cas.b16 ")), "{place} for {arch}");
        }
    }
}

#[test]
fn operation_ordering_scope_and_memory_are_in_the_ptx() {
    let ptx = Archive::ptx(&workshop(), "atomics");
    let has = |instruction: &str| {
        let is_it = |line: &str| line.trim_start().starts_with(&format!("{instruction} "));
        assert!(ptx.lines().any(is_it), "no `{instruction}`");
    };
    let bits = |b: u8| {
        ["and.b", "or.b", "xor.b", "exch.b", "cas.b", "add.u", "min.u", "max.u"]
            .map(|operation| format!("{operation}{b}"))
    };
    let counting = ["inc.u32", "dec.u32"].map(str::to_owned);
    let whole: Vec<String> = bits(32).into_iter().chain(bits(64)).chain(counting).collect();
    for memory in ["global", "shared"] {
        for scope in ["cta", "gpu", "sys"] {
            for ordering in ["relaxed", "acquire", "release", "acq_rel"] {
                for operation in &whole {
                    has(&format!("atom.{ordering}.{scope}.{memory}.{operation}"));
                }
            }
            for bits in ["b32", "b64"] {
                for access in ["ld.relaxed", "ld.acquire", "st.relaxed", "st.release"] {
                    has(&format!("{access}.{scope}.{memory}.{bits}"));
                }
            }
        }
        for operation in ["min.s32", "max.s32", "min.s64", "max.s64", "add.f32", "add.f64"] {
            has(&format!("atom.relaxed.gpu.{memory}.{operation}"));
            has(&format!("atom.acq_rel.gpu.{memory}.{operation}"));
        }
    }
    for fence in ["fence.sc.cta;", "fence.sc.gpu;", "fence.sc.sys;", "fence.acq_rel.gpu;"] {
        assert!(ptx.contains(fence), "no `{fence}`");
    }
    // An atomic of `core` has the scope of the whole system, not of the GPU.
    let update = |line: &&str| line.starts_with("atom.") || line.starts_with("red.");
    for line in ptx.lines().map(str::trim_start).filter(update) {
        assert!([".cta", ".gpu", ".sys"].iter().any(|scope| line.contains(scope)), "{line}");
    }
    let of_core = ptx.split(".entry of_core(").nth(1).unwrap_or_default();
    let of_core = of_core.split(".entry ").next().unwrap_or_default();
    assert!(of_core.contains(".relaxed.sys.global.add.u32"), "{of_core}");
    assert!(of_core.contains(".relaxed.sys.global.max.u32"), "{of_core}");
}
