//! Counters under hardware names against an H100's, for the kernels of `calibration/`.
//!
//! `calibration/h100.csv` is what `calibration/record.py` recorded on a GPU. Every value that the
//! emulator claims must be the recorded one.

use crate::common::{Argument, Bench};
use std::collections::BTreeMap;

const MODULES: [&str; 3] = [
    include_str!("calibration/shapes.ptx"),
    include_str!("calibration/awkward.ptx"),
    include_str!("calibration/accesses.ptx"),
];
const RECORDED: &str = include_str!("calibration/h100.csv");

/// Words of each array.
const WORDS: usize = 1 << 20;

/// One launch and the counters of a GPU.
struct Row {
    kernel: &'static str,
    grid: u32,
    block: u32,
    numbers: [u32; 3],
    counters: Vec<(&'static str, u64)>,
}

/// How the emulator's values compare with those of a GPU.
#[derive(Default)]
struct Comparison {
    equal: usize,
    unclaimed: usize,
    wrong: Vec<String>,
}

fn rows() -> Vec<Row> {
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

impl Comparison {
    /// Repeats the launch of a row and compares its counters.
    fn launch(&mut self, bench: &mut Bench, arrays: [u64; 2], row: &Row) {
        let ([out, source], [a, b, c]) = (arrays, row.numbers);
        let arguments: [&dyn Argument; 5] = [&out, &source, &a, &b, &c];
        let record = bench.launch(row.kernel, row.grid, row.block, &arguments);
        let claimed: BTreeMap<&str, u64> =
            record.counters.iter().map(|(name, value)| (&**name, *value)).collect();
        for (name, recorded) in &row.counters {
            match claimed.get(name) {
                None if record.unclaimed.iter().any(|(known, _)| known == name) => {
                    self.unclaimed += 1;
                }
                // The emulator has no such counter.
                None => {}
                Some(value) if value == recorded => self.equal += 1,
                Some(value) => self.wrong.push(format!(
                    "{} {a} {b:#x} {c:#x} {name}: emulated {value}, H100 {recorded}",
                    row.kernel
                )),
            }
        }
    }
}

#[test]
fn every_claimed_value_is_the_hardwares() {
    let (input, rows) = (input(), rows());
    let mut comparison = Comparison::default();
    for ptx in MODULES {
        let mut bench = Bench::new(ptx);
        let [out, source] =
            [(); 2].map(|()| bench.device.memory.allocate(4 * WORDS as u64).unwrap());
        bench.device.memory.write(source, &input).unwrap();
        let mut before = "";
        for row in rows.iter().filter(|row| ptx.contains(&format!(".entry {}(", row.kernel))) {
            if row.kernel != before {
                bench.device.memory.write(out, &vec![0; 4 * WORDS]).unwrap();
                before = row.kernel;
            }
            comparison.launch(&mut bench, [out, source], row);
        }
    }
    let Comparison { equal, unclaimed, wrong } = comparison;
    println!("{equal} equal, {unclaimed} not claimed, {} wrong", wrong.len());
    assert_eq!(wrong, [""; 0]);
}
