//! Archives that are larger than they look, or named to do harm.

use crate::declared::Entries;
use std::io::{Read, Write, repeat};

use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use super::*;

type Builder = tar::Builder<zstd::Encoder<'static, Vec<u8>>>;

/// Small enough for a test.
const LIMITS: Limits =
    Limits { entries: 3, total: 8 << 20, manifest: 4096, ratio: 50, unmeasured: 1 << 20 };

fn manifest(files: &[(&str, &[u8])]) -> Vec<u8> {
    let manifest = Manifest {
        format: FORMAT,
        tool_version: "0.1.0".into(),
        platform: platform(),
        harnesses: Vec::new(),
        modules: BTreeMap::new(),
        declared: Entries::default(),
        config: None,
        sections: Vec::new(),
        rules: Vec::new(),
        kernel_toolchain: None,
        git_revision: None,
        files: files
            .iter()
            .map(|(name, bytes)| {
                ((*name).to_owned(), gpuprof_system::hex::hex(&Sha256::digest(bytes)))
            })
            .collect(),
    };
    serde_json::to_vec(&manifest).unwrap()
}

fn append(builder: &mut Builder, kind: tar::EntryType, name: &str, size: u64, bytes: impl Read) {
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

fn file(builder: &mut Builder, name: &str, bytes: &[u8]) {
    append(builder, tar::EntryType::Regular, name, bytes.len() as u64, bytes);
}

/// An archive with a manifest of `listed` and the other entries that `fill` appends.
fn archive(listed: &[(&str, &[u8])], fill: impl FnOnce(&mut Builder)) -> Vec<u8> {
    let mut builder = tar::Builder::new(zstd::Encoder::new(Vec::new(), 3).unwrap());
    file(&mut builder, MANIFEST, &manifest(listed));
    fill(&mut builder);
    builder.into_inner().unwrap().finish().unwrap()
}

/// The refusal, and the files in its folder afterwards.
fn refused(bytes: &[u8]) -> (String, Vec<String>) {
    let keep = tempfile::tempdir().unwrap();
    let folder = camino::Utf8Path::from_path(keep.path()).unwrap();
    let path = folder.join("a.tar.zst");
    std::fs::write(&path, bytes).unwrap();
    let failure = unpack(&path, &folder.join("there"), &LIMITS).unwrap_err();
    assert_eq!(failure.code, ExitCode::Archive);
    let message = failure.message.strip_prefix(path.as_str()).unwrap().to_owned();
    let left = std::fs::read_dir(folder.join("there")).into_iter().flatten();
    (message, left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
}

#[test]
fn an_honest_archive_is_unpacked_with_long_names_and_executables() {
    let long = format!("kernels/{}.ptx", "k".repeat(150));
    let bytes = archive(&[(&long, b"ptx")], |builder| {
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        builder.append_data(&mut header, &long, &b"ptx"[..]).unwrap();
    });
    let keep = tempfile::tempdir().unwrap();
    let folder = camino::Utf8Path::from_path(keep.path()).unwrap();
    let path = folder.join("a.tar.zst");
    std::fs::write(&path, bytes).unwrap();
    let unpacked = unpack(&path, folder, &LIMITS).unwrap();
    assert_eq!(std::fs::read(unpacked.folder.join(&long)).unwrap(), b"ptx");
}

#[test]
fn an_entry_with_an_excessive_compression_ratio_is_refused_early() {
    let size = 7 << 20;
    let bytes = archive(&[("harnesses/a-b", b"")], |builder| {
        append(builder, tar::EntryType::Regular, "harnesses/a-b", size, repeat(0).take(size));
    });
    assert!(bytes.len() < 2000, "{}", bytes.len());
    let (message, left) = refused(&bytes);
    let length = bytes.len();
    let most = length * 50 + (1 << 20);
    assert_eq!(
        message,
        format!(
            ": `harnesses/a-b` unpacks {length} bytes to more than {most}: no executable and no \
             PTX is compressed that well"
        )
    );
    assert_eq!(left, ["harnesses"], "no temporary file stays");
}

#[test]
fn archives_that_declare_too_large_a_size_are_refused_unread() {
    for size in [9 << 20, u64::MAX >> 1] {
        let bytes = archive(&[("harnesses/a-b", b"")], |builder| {
            append(builder, tar::EntryType::Regular, "harnesses/a-b", size, &b"x"[..]);
        });
        let (message, left) = refused(&bytes);
        assert!(message.starts_with(": `harnesses/a-b` would bring the archive to "), "{message}");
        assert!(message.ends_with("more than the 8388608 that one may unpack to"), "{message}");
        assert_eq!(left, [""; 0]);
    }
}

#[test]
fn too_many_files_are_refused_by_their_number() {
    let listed = [("a", &b""[..]), ("b", b""), ("c", b""), ("d", b"")];
    let (message, _) = refused(&archive(&listed, |_| {}));
    assert_eq!(message, ": lists 4 files, more than the 3 of any archive");
}

#[test]
fn a_duplicate_file_is_refused() {
    let (message, _) = refused(&archive(&[("a", b"1")], |builder| {
        file(builder, "a", b"1");
        file(builder, "a", b"1");
    }));
    assert_eq!(message, ": holds `a` twice");
}

#[test]
fn an_oversized_manifest_is_refused() {
    let mut builder = tar::Builder::new(zstd::Encoder::new(Vec::new(), 3).unwrap());
    file(&mut builder, MANIFEST, &[b' '; 5000]);
    let (message, _) = refused(&builder.into_inner().unwrap().finish().unwrap());
    let told = ": gpuprof-archive.json has 5000 bytes, more than the 4096 of any archive";
    assert_eq!(message, told);
}

#[test]
fn an_oversized_file_name_is_refused() {
    let size = 6 << 20;
    let (message, _) = refused(&archive(&[("a", b"1")], |builder| {
        let zeros = repeat(b'n').take(size);
        append(builder, tar::EntryType::GNULongName, "././@LongLink", size, zeros);
        file(builder, "a", b"1");
    }));
    assert_eq!(message, ": holds a name of 6291456 bytes, longer than any path");
}

#[test]
fn extensions_that_the_packer_does_not_write_are_refused() {
    for kind in [tar::EntryType::XHeader, tar::EntryType::GNUSparse, tar::EntryType::Symlink] {
        let (message, _) = refused(&archive(&[("a", b"1")], |builder| {
            append(builder, kind, "a", 1, &b"1"[..]);
        }));
        assert_eq!(message, ": holds `a`, which is not a regular file", "{kind:?}");
    }
}

#[test]
fn a_window_that_would_fill_the_memory_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(&[0; 4096]).unwrap();
    let (message, _) = refused(&encoder.finish().unwrap());
    assert!(message.contains("too much memory"), "{message}");
}
