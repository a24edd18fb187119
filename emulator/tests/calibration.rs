//! Counters under hardware names against an H100's, for the kernels of `calibration/`.
//!
//! `calibration/h100.csv` is what `calibration/record.py` recorded on a GPU. Every value that the
//! emulator claims must be the recorded one.

use crate::common::Bench;
use std::collections::BTreeMap;

const MODULES: [&str; 3] = [
    include_str!("calibration/shapes.ptx"),
    include_str!("calibration/awkward.ptx"),
    include_str!("calibration/accesses.ptx"),
];
const RECORDED: &str = include_str!("calibration/h100.csv");

/// Words of each array.
const WORDS: usize = 1 << 20;

/// One launch and what a GPU counted.
struct Row<'c> {
    kernel: &'c str,
    grid: u32,
    block: u32,
    numbers: [u32; 3],
    counters: Vec<(&'c str, u64)>,
}

fn rows() -> Vec<Row<'static>> {
    let mut lines = RECORDED.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').skip(6).collect();
    let row = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse().unwrap();
        let values = names.iter().zip(&fields[6..]);
        let counted = |(name, value): (&&'static str, &&str)| Some((*name, value.parse().ok()?));
        Row {
            kernel: fields[0],
            grid: number(1),
            block: number(2),
            numbers: [number(3), number(4), number(5)],
            counters: values.filter_map(counted).collect(),
        }
    };
    lines.map(row).collect()
}

/// The values of the second array.
fn input() -> Vec<u8> {
    let mut state = 2u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()
    };
    (0..WORDS).flat_map(step).collect()
}

#[test]
fn every_claimed_value_is_the_hardwares() {
    let input = input();
    let rows = rows();
    let (mut claimed, mut unclaimed, mut wrong) = (0, 0, Vec::new());
    for ptx in MODULES {
        let mut bench = Bench::new(ptx);
        let allocate = |bench: &mut Bench| bench.device.memory.allocate(4 * WORDS as u64).unwrap();
        let (out, source) = (allocate(&mut bench), allocate(&mut bench));
        bench.device.memory.write(source, &input).unwrap();
        for row in &rows {
            if bench.module.kernel(row.kernel).is_none() {
                continue;
            }
            bench.device.memory.write(out, &vec![0; 4 * WORDS]).unwrap();
            let [a, b, c] = row.numbers;
            let arguments: [&dyn crate::common::Argument; 5] = [&out, &source, &a, &b, &c];
            let record = bench.launch(row.kernel, row.grid, row.block, &arguments);
            if std::env::var_os("SHOW").is_some() {
                let mut seen = std::collections::BTreeSet::new();
                for (n, r) in &record.unclaimed {
                    let n = n.split("mem_").last().unwrap();
                    if seen.insert(r) {
                        println!("UN {} {n}: {r}", row.kernel);
                    }
                }
            }
            let values: BTreeMap<&str, u64> =
                record.counters.iter().map(|(name, value)| (&**name, *value)).collect();
            for (name, recorded) in &row.counters {
                match values.get(name) {
                    None => unclaimed += 1,
                    Some(value) if value == recorded => claimed += 1,
                    Some(value) => {
                        let [a, b, c] = row.numbers;
                        wrong.push(format!(
                            "{} {a} {b} {c:#x} {name}: emulated {value}, H100 {recorded}",
                            row.kernel
                        ));
                    }
                }
            }
        }
    }
    println!("{claimed} claimed and equal, {unclaimed} not claimed, {} wrong", wrong.len());
    assert_eq!(wrong, [""; 0]);
}
