//! Shared memory on the emulated driver against a host reference, and how it is accessed.

use crate::support::Archive;
use crate::support::replay::workshop;

/// Configurations of the fixture: tiles, a volume, structures and parts.
const CONFIGURATIONS: usize = 4 + 1 + 1 + 2;

#[test]
fn what_is_in_shared_memory_is_what_was_put_there() {
    let arguments = ["run", "--package", "memory", "--message-format", "json"];
    let run = workshop().gpuprof(&arguments).exits_with(0);
    let rows = run.events_of("configuration-finished");
    assert_eq!(rows.len(), CONFIGURATIONS);
    for row in rows {
        assert_eq!(row["verified"], true, "{row:#}");
    }
}

#[test]
fn it_is_accessed_in_its_own_space_and_by_words() {
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
