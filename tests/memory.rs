//! Shared and constant memory on the emulated driver against a host reference, and how they are
//! accessed.

use std::collections::BTreeSet;

use crate::support::Archive;
use crate::support::replay::workshop;

/// Configurations of the fixture: tiles, a volume, structures, parts and constants.
const CONFIGURATIONS: usize = 4 + 1 + 1 + 2 + 4;

#[test]
fn values_in_shared_memory_are_read_back() {
    let arguments = ["run", "--package", "memory", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

#[test]
fn shared_memory_is_accessed_by_shared_instructions() {
    let ptx = Archive::ptx(&workshop(), "memory");
    for width in ["u8", "b32", "b64"] {
        for access in ["ld", "st"] {
            let instruction = format!("{access}.shared.{width}");
            assert!(ptx.contains(&instruction), "no `{instruction}`");
        }
    }
    assert!(ptx.contains("atom.relaxed.cta.shared.add.u32"), "{ptx}");
    // No structure takes the way through memory of the thread's own.
    assert!(!ptx.contains(".local"), "{ptx}");
}

#[test]
fn statics_of_constant_memory_are_declared_there_and_read_by_its_instruction() {
    let ptx = Archive::ptx(&workshop(), "memory");
    let of_one = |line: &str| {
        let (head, rest) = line.strip_prefix(".const ")?.split_once("gpuprof_constant_memory_")?;
        Some(head.to_owned() + &rest[rest.find('[')?..rest.find(']')?])
    };
    let declared: BTreeSet<String> = ptx.lines().filter_map(of_one).collect();
    let expected = [
        ".align 1 .b8 [256",
        ".align 2 .b8 [64",
        ".align 4 .b8 [16",
        ".align 4 .b8 [20",
        ".align 8 .b8 [24",
    ];
    assert!(declared.iter().eq(expected), "{declared:?}");
    for width in ["u8", "b16", "b32", "b64"] {
        let instruction = format!("ld.const.{width}");
        assert!(ptx.contains(&instruction), "no `{instruction}`");
    }
    // An address that is taken without the instruction would be one of global memory.
    let others = |line: &&str| {
        line.contains("gpuprof_constant_") && !line.contains("mov.u64") && !line.contains(".const")
    };
    assert_eq!(ptx.lines().filter(others).collect::<Vec<_>>(), [""; 0]);
}
