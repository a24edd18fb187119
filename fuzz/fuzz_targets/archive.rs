//! An archive of another machine: refused by name, or unpacked into its folder and nowhere else.
//!
//! If the first byte is even, the target compresses the rest, so that the fuzzer reaches the code
//! below the compression.

#![no_main]

use camino::Utf8Path;
use gpuprof_build::archive::{Limits, unpack_from};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let compressed;
    let archive = if kind % 2 == 0 {
        compressed = zstd::encode_all(rest, 1).expect("memory can be compressed");
        &compressed
    } else {
        rest
    };
    let keep = tempfile::tempdir_in("/dev/shm").expect("there is memory");
    let root = Utf8Path::from_path(keep.path()).expect("its path is UTF-8");
    let limits =
        Limits { entries: 8, total: 1 << 20, manifest: 1 << 16, ratio: 50, unmeasured: 1 << 16 };
    let _ = unpack_from(archive, Utf8Path::new("a.tar.zst"), &root.join("inside/it"), &limits);
    let beside = std::fs::read_dir(root).expect("it is there");
    assert!(beside.flatten().all(|entry| entry.file_name() == "inside"), "it wrote outside");
});
