//! `cargo-gpuprof/tests/machine_code.rs` reads files of fatbinary.

use super::*;
use proptest::prelude::*;

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn a_block_of_lz4_is_unpacked_or_refused() {
    // "abcd", then 20 bytes from 4 back, then "!", as the format's document has it.
    let block = bytes("4f 61626364 0400 01 10 21");
    assert_eq!(lz4::unpacked(&block, 25).unwrap(), b"abcdabcdabcdabcdabcdabcd!");
    let long = [&bytes("f0 ff 02")[..], &[b'x'; 15 + 255 + 2]].concat();
    assert_eq!(lz4::unpacked(&long, 272).unwrap(), [b'x'; 272]);
    assert!(lz4::unpacked(&block, 24).is_none() && lz4::unpacked(&block, 26).is_none());
    assert!(lz4::unpacked(&block[..7], 25).is_none() && lz4::unpacked(&[], 1).is_none());
    assert!(lz4::unpacked(&bytes("4f 61626364 0500 01 10 21"), 25).is_none());
    assert!(lz4::unpacked(&bytes("4f 61626364 0000 01 10 21"), 25).is_none());
}

/// Text like PTX: words repeat near and far, registers count up.
fn text(lines: usize) -> Vec<u8> {
    let line = |at: usize| {
        let (a, b) = (at * 7 % 97, at * at % 1009);
        format!("\tld.global.f32 \t%f{a}, [%rd{b}+{}];\n\tfma.rn.f32 \t%f{at}, %f{a}, ;\n", 4 * at)
    };
    (0..lines).map(line).collect::<String>().into_bytes()
}

fn compressed(content: &[u8], level: i32) -> Vec<u8> {
    zstd_crate::bulk::compress(content, level).unwrap()
}

#[test]
fn frames_of_every_level_are_unpacked() {
    for lines in [0, 1, 3, 40, 700, 9000] {
        let content = text(lines);
        for level in [-5, 1, 3, 6, 12, 19, 22] {
            let frame = compressed(&content, level);
            let unpacked = zstd::unpacked(&frame, content.len());
            assert!(unpacked == Some(content.clone()), "{lines} lines, level {level}");
            assert!(zstd::unpacked(&frame, content.len() + 1).is_none());
        }
    }
    let same = vec![b'x'; 300_000];
    assert!(zstd::unpacked(&compressed(&same, 3), same.len()) == Some(same));
}

proptest! {
    /// Few symbols and many, with and without repeats.
    #[test]
    fn output_of_zstandard_is_unpacked(
        pieces in prop::collection::vec((prop::collection::vec(0..=255_u8, 1..300), 1..9_usize, 1..8_u32), 1..20),
        level in -3..20,
    ) {
        let piece = |(bytes, times, bits): &(Vec<u8>, usize, u32)| {
            bytes.iter().map(|byte| byte >> (8 - bits)).collect::<Vec<u8>>().repeat(*times)
        };
        let content: Vec<u8> = pieces.iter().flat_map(piece).collect();
        prop_assert_eq!(zstd::unpacked(&compressed(&content, level), content.len()), Some(content));
    }

    #[test]
    fn damage_is_refused_or_changes_the_content_and_never_panics(
        at in 0..4000_usize, byte in 0..=255_u8, lines in 1..200_usize, level in 1..20,
    ) {
        let content = text(lines);
        let mut frame = compressed(&content, level);
        let at = at % frame.len();
        frame[at] = byte;
        let unpacked = zstd::unpacked(&frame, content.len());
        prop_assert!(unpacked.is_none_or(|bytes| bytes.len() == content.len()));
        prop_assert!(zstd::unpacked(&frame[..at], content.len()).is_none());
    }
}

#[test]
fn members_have_their_targets_and_contents() {
    let mut file = bytes("50ed55ba 0100 1000 98000000 00000000");
    for (kind, arch, content) in
        [(1, 80, &b".version 8.0\0\0\0\0"[..]), (2, 90, b"\x7fELF\0\0\0\0")]
    {
        let mut header = vec![0; 64];
        header[0] = kind;
        header[4] = 64;
        header[8] = content.len() as u8;
        header[28] = arch;
        file.extend([&header, content].concat());
    }
    assert_eq!(size(&file).unwrap(), 16 + 152);
    assert_eq!(file.len(), 16 + 152);
    let told: Vec<_> = members(&file)
        .unwrap()
        .iter()
        .map(|it| (it.content, it.architecture, it.unpacked().unwrap().into_owned()))
        .collect();
    let expected = [
        (Content::Ptx, 80, b".version 8.0".to_vec()),
        (Content::Cubin, 90, b"\x7fELF\0\0\0\0".to_vec()),
    ];
    assert_eq!(told, expected);
    assert!(members(&file[..100]).unwrap_err().starts_with("it ends before byte"));
    let endless = bytes("50ed55ba 0100 1000 10000000 00000000 0300 0101 00000000 0000000000000000");
    assert_eq!(members(&endless).unwrap_err(), "its headers have no size");
}
