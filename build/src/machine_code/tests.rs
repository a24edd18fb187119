//! `tests/machine_code.rs` reads files of ptxas and fatbinary.

use super::notes::Notes;
use super::*;
use crate::cuda_cpp::Layout;

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn sizes(notes: &Notes) -> Vec<u64> {
    let layouts = notes.parameters.iter();
    layouts.map(|Layout { size, align }| (*align == 0).then_some(*size).unwrap()).collect()
}

/// ptxas 12.4 for sm_80: (u32, f32, u64, u64), `.maxntid 256, 1, 1`.
const OLD: &str = "04370400 7c000000  01350000  040a0800 09000000 60011800  03191800
    04170c00 00000000 0300 1000 00f02100  04170c00 00000000 0200 0800 00f02100
    04170c00 00000000 0100 0400 00f01100  04170c00 00000000 0000 0000 00f01100
    031bff00  041c0800 30000000 00010000  04050c00 00010000 01000000 01000000";

/// ptxas 13.0 for sm_90: (32000 bytes, u8, u16, 3 bytes, 2 bytes), `.reqntid 64`.
const WIDE: &str = "04370400 82000000
    04450c00 00000000 0400 087d 02000000  04450c00 00000000 0300 047d 03000000
    04450c00 00000000 0200 027d 02000000  04450c00 00000000 0100 007d 01000000
    04450c00 00000000 0000 0000 007d0000  03500000  031bff00  035f0101
    041c0400 50000000  04100c00 40000000 01000000 01000000  03190a7d
    040a0800 12000000 10020a7d  04360400 08000000";

#[test]
fn parameters_and_launch_limits_are_read_from_the_notes() {
    let old = notes::read(&bytes(OLD)).unwrap();
    assert_eq!(sizes(&old), [4, 4, 8, 8]);
    assert_eq!((old.max_block, old.required_block), (Some([256, 1, 1]), None));
    let wide = notes::read(&bytes(WIDE)).unwrap();
    assert_eq!(sizes(&wide), [32000, 1, 2, 3, 2]);
    assert_eq!((wide.max_block, wide.required_block), (None, Some([64, 1, 1])));
    assert_eq!(notes::read(&[]).unwrap(), Notes::default());
}

#[test]
fn unknown_notes_are_refused() {
    let whole = bytes(OLD);
    for length in [1, 3, 6, 30] {
        assert!(notes::read(&whole[..length]).is_err(), "{length}");
    }
    // Without the second parameter; without any of the four; of which two overlap.
    let without = OLD.replace("04170c00 00000000 0100 0400 00f01100", "");
    assert!(notes::read(&bytes(&without)).unwrap_err().contains("does not know"));
    let renamed = OLD.replace("04170c00", "04990c00");
    assert!(notes::read(&bytes(&renamed)).unwrap_err().contains("not all described"));
    let overlapping = OLD.replace("0200 0800", "0200 0600");
    assert!(notes::read(&bytes(&overlapping)).unwrap_err().contains("does not know"));
}

#[test]
fn a_file_without_machine_code_is_reported_with_its_apparent_format() {
    let told = |bytes: &[u8]| read(bytes).unwrap_err();
    assert_eq!(told(b""), "it is neither a cubin nor a fatbin: it is empty");
    assert!(told(b".version 8.0\n.target sm_80\n").ends_with("it is PTX: write ptx = \"…\""));
    assert!(told(b"__global__ void f() {}").ends_with("it is CUDA C++: write cuda = \"…\""));
    assert!(told(b"\xff\xfe").ends_with("it begins otherwise"));
    let host = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(told(&host).starts_with("it is an ELF file for another machine (number "));
    let empty = bytes("50ed55ba 0100 1000 00000000 00000000");
    assert_eq!(told(&empty), "it is a fatbin without code");
    let cut_off = bytes("50ed55ba 0100 1000 ff000000 00000000 0200 0101 40000000");
    assert!(told(&cut_off).starts_with("it ends before byte"));
}
