//! The parameters and data of kernels (slices, vectors, halves), and their messages if they end
//! early: on the emulated driver, compared with the host.

use crate::support::replay::workshop;
use crate::support::{Archive, Outcome};
use insta::assert_snapshot;
use serde_json::Value;

fn run(arguments: &[&str]) -> Outcome {
    workshop().gpuprof(&[&["run", "--quiet", "--all", "--package", "data"], arguments].concat())
}

/// That every configuration of the series that match is verified, of which there are `count`.
fn verified(matching: &[&str], count: usize) {
    let outcome = run(&[&["--message-format", "json"], matching].concat()).exits_with(0);
    let rows = outcome.events_of("configuration-finished");
    assert_eq!(rows.len(), count, "{rows:#?}");
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

/// The PTX of each entry point.
fn entries() -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let file = folder.path().join("data.tar.zst");
    let path = file.display().to_string();
    workshop().gpuprof(&["archive", "--package", "data", "--archive-file", &path]).exits_with(0);
    let entries = Archive::read(&file).0;
    let ptx = entries.into_iter().find(|entry| entry.path.ends_with("data.ptx"));
    let ptx = String::from_utf8(ptx.expect("it holds the kernels").bytes).expect("PTX is text");
    let entry = |text: &str| {
        let name = text.split(['(', '$']).next().unwrap_or_default().trim().to_owned();
        let body = text.split("\n}").next().unwrap_or_default().to_owned();
        (name, body)
    };
    ptx.split(".visible .entry ").skip(1).map(entry).collect()
}

fn entry<'e>(entries: &'e [(String, String)], name: &str) -> &'e str {
    let found = entries.iter().find(|(entry, _)| entry == name);
    found.map_or_else(|| panic!("there is no {name}"), |(_, body)| body)
}

#[test]
fn slices_give_each_thread_its_own_elements_in_every_shape_of_a_launch() {
    verified(&["slices::saxpy", "number", "backwards"], 10);
}

#[test]
fn vectors_keep_their_lanes_through_global_and_shared_memory() {
    verified(&["scale", "copy_", "through_shared"], 9);
}

#[test]
fn halves_have_the_bits_that_the_host_computes() {
    verified(&["f16_", "bf16_", "halves::saxpy"], 30);
}

#[test]
fn word_operations_agree_with_the_host_and_clocks_advance() {
    verified(&["::words", "clocks"], 2);
    let entries = entries();
    let body = entry(&entries, "words");
    let instructions = [
        "prmt.b32",
        "dp4a.s32.s32",
        "dp4a.u32.u32",
        "shf.l.wrap.b32",
        "shf.r.wrap.b32",
        "mul.hi.u32",
    ];
    for instruction in instructions {
        assert!(body.contains(instruction), "no {instruction}:\n{body}");
    }
    let body = entry(&entries, "clocks");
    for part in ["%globaltimer", "%smid", "nanosleep.u32", "clock64"] {
        assert!(body.contains(part), "no {part}:\n{body}");
    }
}

#[test]
fn accesses_of_slices_and_vectors_compile_to_the_documented_instructions() {
    let entries = entries();
    for (name, expected) in [
        // Nobody writes where a `&[T]` lies.
        ("backwards_FACTOR_1", &["ld.global.nc.b32", "st.global.b32"][..]),
        ("scale", &["ld.global.nc.v4.b32", "st.global.v4.b32"]),
        ("copy_u8x4", &["ld.global.b32", "st.global.b32"]),
        ("copy_f32x4", &["ld.global.v4.b32", "st.global.v4.b32"]),
        ("copy_f16x8", &["ld.global.v4.b32", "st.global.v4.b32"]),
        ("copy_u64x2", &["ld.global.v2.b64", "st.global.v2.b64"]),
        ("through_shared", &["st.shared.v4.b32", "ld.shared.v4.b32", "st.shared.v2.b32"]),
        ("f16_fma", &["fma.rn.f16 "]),
        ("bf16_add", &["fma.rn.bf16 "]),
        ("f16_pair", &["add.rn.f16x2", "mul.rn.f16x2", "fma.rn.f16x2", "min.f16x2"]),
        ("bf16_pair_from_f32", &["cvt.rn.bf16x2.f32"]),
        ("f16_together", &["ld.shared.b16", "st.shared.b16", "ld.shared.b32", "shfl.sync"]),
    ] {
        let body = entry(&entries, name);
        for instruction in expected {
            assert!(body.contains(instruction), "{name} has no {instruction}:\n{body}");
        }
        assert!(!body.contains("\tld.b") && !body.contains("\tst.b"), "{name}: generic\n{body}");
    }
    assert_eq!(entry(&entries, "copy_f32x8").matches("ld.global.v4.b32").count(), 2);
    assert_eq!(entry(&entries, "copy_f32x8").matches("st.global.v4.b32").count(), 2);
}

#[test]
fn an_index_out_of_bounds_ends_the_launch_with_its_place_block_and_thread() {
    let outcome = run(&["reads_at", "--metrics", "ptx_instructions"]).exits_with(105);
    let failed: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains(": ")).collect();
    assert_snapshot!(failed.join("\n"), @"
     failed  at=100: kernel 'reads_at' at data/src/slices.rs:79:16, block (1,0,0), thread (8,0,0): index out of bounds: the len is _ but the index is _
     unverified  every finished row: compared with no reference: there is no `verify`
     checks      every finished row: memory, init, race, sync in all 2 blocks
    2 configurations of 1 series: 1 finished, 1 failed; no thresholds; 1 not verified: no reference
    ");
}

#[test]
fn traps_and_assertions_are_reported_with_their_messages() {
    let outcome = run(&["ends", "--metrics", "ptx_instructions"]).exits_with(105);
    let failed = outcome.stdout.lines().filter_map(|line| line.split_once(": kernel 'ends' at "));
    let failed: Vec<&str> = failed.map(|(_, message)| message).collect();
    assert_snapshot!(failed.join("\n"), @"
    data/src/speaking.rs:18:18, block (1,0,0), thread (31,0,0): the limit is _, which is too low
    data/src/speaking.rs:19:18, block (1,0,0), thread (31,0,0): assertion failed: limit > 31
    data/src/speaking.rs:20:18, block (1,0,0), thread (31,0,0): no way to continue
    data/src/speaking.rs:21:63, block (1,0,0), thread (31,0,0): called `Option::unwrap()` on a `None` value
    data/src/speaking.rs:22:56, block (1,0,0), thread (31,0,0): _: _
    data/src/speaking.rs:31:5, called at data/src/speaking.rs:23:25, block (1,0,0), thread (31,0,0): attempt to divide by zero
    ");
}

#[test]
fn a_block_beyond_the_launch_bounds_is_invalid_and_the_bounds_are_in_the_ptx() {
    let outcome = run(&["double", "bounded", "--message-format", "json"]);
    let rows = outcome.events_of("configuration-finished");
    let states = rows.iter().map(|row| {
        let (key, status) = (&row["configuration"], &row["status"]);
        format!("{key} {status} {}", row["status_reason"])
    });
    let mut states: Vec<String> = states.collect();
    states.sort();
    assert_snapshot!(states.join("\n"), @r#"
    "MOST=128,block=128,n=1024" "finished" null
    "MOST=128,block=64,n=1024" "finished" null
    "MOST=64,block=128,n=1024" "invalid" "a block of 128 threads exceeds this kernel's launch bounds of 64, for which it is compiled (max_block)"
    "MOST=64,block=64,n=1024" "finished" null
    "block=128,n=1024" "invalid" "a block of 128 threads exceeds this kernel's limit of 64, set by its registers or its launch bounds"
    "block=32x2,n=1024" "finished" null
    "block=64,n=1024" "finished" null
    "block=64x2,n=1024" "invalid" "a block of 128 threads exceeds this kernel's launch bounds of 64, for which it is compiled (max_block)"
    "#);
    let entries = entries();
    for (name, bounds) in [
        ("double_MOST_64", ".maxntid 64, 1, 1\n.minnctapersm 4\n"),
        ("double_MOST_128", ".maxntid 128, 1, 1\n.minnctapersm 4\n"),
        ("bounded", ".maxntid 64, 1, 1\n{"),
    ] {
        let body = entry(&entries, name);
        assert!(body.contains(bounds), "{name}: {body}");
    }
}

#[test]
fn printed_text_is_shown_in_the_order_of_blocks_and_threads() {
    let run = ["run", "--all", "--package", "data", "prints", "--metrics", "ptx_instructions"];
    let outcome = workshop().gpuprof(&run).exits_with(105);
    let printed = outcome.stderr.split("last=95 printed:\n").nth(1).expect("it printed");
    assert_eq!(
        printed.lines().take(4).collect::<Vec<_>>(),
        [
            "0: 0 of 0.00, 100 % {0x00ff} 0",
            "24: 12 of 24.00, 100 % {0x00e7} -24",
            "48: 24 of 48.00, 100 % {0x00cf} -48",
            "72: 36 of 72.00, 100 % {0x00b7} -72",
        ]
    );
    let (_, failed) = outcome.stdout.split_once("too far; before that, it printed:").unwrap();
    // The lane that panics runs before the others of its warp.
    let before: Vec<&str> =
        failed.lines().skip(1).map(str::trim).take_while(|line| !line.is_empty()).collect();
    assert!(before[0].starts_with("0: ") && before[1].starts_with("24: "), "{before:?}");
    assert_eq!(before.len(), 2, "{before:?}");
}

#[test]
fn buffers_are_filled_by_generators_functions_and_files() {
    verified(&["gather", "search"], 2);
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let export = folder.path().join("run.json").display().to_string();
    let more = ["::count", "read_back", "--message-format", "json", "--export-json", &export];
    let outcome = run(&more).exits_with(105);
    let rows = outcome.events_of("configuration-finished");
    let states = rows.iter().map(|row| {
        let verified = if row["verified"] == true { "verified" } else { "" };
        let reason = row["status_reason"].as_str().unwrap_or(verified);
        format!("{} {}: {reason}", row["configuration"], row["status"])
    });
    let without_folder = |state: String| match state.split_once(" from /") {
        Some((head, path)) => format!("{head} from …{}", path.split_once("/workshop").unwrap().1),
        None => state,
    };
    let mut states: Vec<String> = states.map(without_folder).collect();
    states.sort();
    assert_snapshot!(states.join("\n"), @r#"
    "block=64,nodes=128,most=0" "failed": making `offsets`: a graph needs edges
    "block=64,nodes=128,most=2" "finished": verified
    "block=64,nodes=128,most=5" "finished": verified
    "file=none" "failed": reading `x` from …/data/inputs/none.bin: No such file or directory (os error 2); relative paths begin at the package's folder, or at GPUPROF_DATA where that is set, as for archives
    "file=short" "invalid": `x` takes 4 elements of u32, and inputs/short.bin has 13 bytes, no whole number of u32: give its own length and type, or write the file anew
    "file=words" "finished": verified
    "#);
    let stored = std::fs::read(&export).expect("the run is exported");
    let stored: Value = serde_json::from_slice(&stored).expect("it is JSON");
    assert_snapshot!(stored["provenance"]["input_sha256"], @r#"{"data/inputs/words.bin":"4f0baf62e6d67d426755425452e5e78ef3e946205489da2395f860ce7e478aa6"}"#);
}

#[test]
fn a_reference_may_use_the_configuration_and_results_are_compared_as_asked() {
    verified(&["times"], 2);
    let outcome = run(&["keep", "--metrics", "ptx_instructions"]).exits_with(105);
    let labels = [" failed ", " verified ", " tolerance "];
    let is_note = |line: &&str| labels.iter().any(|label| line.starts_with(label));
    let notes: Vec<&str> = outcome.stdout.lines().filter(is_note).collect();
    assert_snapshot!(notes.join("\n"), @"
    failed     block=64,n=256,by=elements,share=exact: verify failed: `share` differs from the host in 1 of 1 elements; first share[0]: device 0.46386665, host 0.48828125; largest error 2.4 times the tolerance, at share[0] (tolerance 1e-2 + 0e0 × |host|)
    failed     block=64,n=256,by=order,share=loose, block=64,n=256,by=order,share=exact: verify failed: `kept`: the elements differ by order
    tolerance  every finished row: accepts errors up to 41 % of a typical value, with which a wrong kernel may pass
    verified  every finished row: largest error 0.12 of the tolerance (count: 1, kept: 256, share: 1 elements)
    ");
}

#[test]
fn structs_and_flags_arrive_by_value() {
    verified(&["of_all", "::only"], 3);
}

#[test]
fn a_kernel_is_compiled_for_each_type_of_an_axis() {
    verified(&["::axpy", "duplicate", "fold", "launched"], 18);
    let entries = entries();
    let loads = |name: &str, load: &str| {
        let body = entry(&entries, name);
        assert!(body.contains(load), "{name} has no {load}: {body}");
    };
    loads("axpy_T_f16", "fma.rn.f16");
    loads("axpy_T_bf16", "fma.rn.bf16");
    loads("axpy_T_f64", "fma.rn.f64");
    loads("duplicate_T_f32x4", "ld.global.nc.v4");
    loads("fold_ITEMS_4_Op_Largest_T_f16", "max.f32");
}

#[test]
fn a_run_may_choose_among_the_types_and_no_others() {
    verified(&["fold", "--series", "T=f16", "--series", "Op=Sum"], 2);
    let outcome = run(&["fold", "--series", "T=f64"]);
    assert_snapshot!(outcome.exits_with(2).stderr, @"error: axis `T` of data::fold is compiled for f16, f32, not for f64; choose one of these, or add it to const T at data/src/types.rs:72");
}
