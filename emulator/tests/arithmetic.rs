//! Arithmetic bit for bit as an H200 does it.
//!
//! `fixtures/arithmetic.ptx` applies one operation a row to the words of `arithmetic.bin`;
//! `arithmetic.h200.txt` has a hash of each row that an H200 computed (driver 580,
//! `tests/hardware.py`). Approximate instructions are not among them.

use crate::common::Bench;

const KERNEL: &str = include_str!("fixtures/arithmetic.ptx");
const OPERANDS: &[u8] = include_bytes!("fixtures/arithmetic.bin");
const RECORDED: &str = include_str!("fixtures/arithmetic.h200.txt");

#[test]
fn every_operation_agrees_with_the_recorded_hardware() {
    let mut bench = Bench::new(KERNEL);
    let words: Vec<u32> =
        OPERANDS.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let (input, output) = (bench.upload(&words), bench.upload(&vec![0u32; 1024 * 128]));
    bench.launch("arithmetic", 32, 32, &[&input, &output]);
    let rows = bench.download(output, 1024 * 128, u32::from_le_bytes);
    let mut wrong = Vec::new();
    for (row, recorded) in rows.chunks_exact(1024).zip(RECORDED.lines()) {
        let hash = row.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            (hash ^ u64::from(*word)).wrapping_mul(0x100_0000_01b3)
        });
        let (expected, operation) = recorded.split_once(' ').unwrap();
        if format!("{hash:016x}") != expected {
            wrong.push(operation);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(RECORDED.lines().count(), 124);
}
