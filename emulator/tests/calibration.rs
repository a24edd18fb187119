//! Counters under hardware names against an H100's, for the kernels of `calibration/`.
//!
//! `calibration/record.py` recorded `calibration/h100.csv` on a GPU. Every value that the emulator
//! claims must be the recorded one.

use crate::common::{Argument, Bench};
use std::collections::BTreeMap;
use std::fmt;

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

/// Kernels with lanes that leave a loop in different rounds, or part at branches with shared code
/// or early returns.
const IRREGULAR: [&str; 21] = [
    "flow_fall_through",
    "flow_return",
    "flow_short_circuit",
    "flow_switch",
    "loop_break",
    "loop_collatz",
    "loop_continue",
    "loop_do",
    "loop_lanes",
    "loop_nested",
    "loop_return",
    "loop_rows",
    "spin_atomic",
    "spin_break",
    "spin_lanes",
    "spin_reduce",
    "plain_mandel",
    "t11_early_return",
    "t12_loop_break",
    "t18_switch",
    "t19_nested",
];

/// How the emulator's values compare with those of a GPU.
#[derive(Default)]
struct Comparison {
    regular: Share,
    irregular: Share,
    /// How many values each reason withholds from a group of kernels.
    reasons: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// The values that the emulator claims of some kernels.
#[derive(Default, Clone, Copy)]
struct Share {
    claimed: usize,
    all: usize,
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
            let refusal = record.unclaimed.iter().find(|(known, _)| known == name);
            match (claimed.get(name), refusal) {
                (Some(value), _) => {
                    self.share(row.kernel).claimed += 1;
                    if value != recorded {
                        self.wrong.push(format!(
                            "{} {a} {b:#x} {c:#x} {name}: emulated {value}, H100 {recorded}",
                            row.kernel
                        ));
                    }
                }
                (None, Some((_, reason))) => {
                    let reason = reason.split(" (").next().unwrap_or_default();
                    let group = row.kernel.split('_').next().unwrap_or_default();
                    *self.reasons.entry(format!("{group}: {reason}")).or_default() += 1;
                }
                // The emulator has no such counter.
                (None, None) => continue,
            }
            self.share(row.kernel).all += 1;
        }
    }

    fn share(&mut self, kernel: &str) -> &mut Share {
        if IRREGULAR.contains(&kernel) { &mut self.irregular } else { &mut self.regular }
    }
}

impl Share {
    fn percent(self) -> f64 {
        100.0 * self.claimed as f64 / self.all as f64
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} values ({:.1} %)", self.claimed, self.all, self.percent())
    }
}

#[test]
fn every_claimed_counter_equals_the_hardware() {
    let (input, rows) = (input(), rows());
    let mut comparison = Comparison::default();
    for ptx in MODULES {
        let mut bench = Bench::unchecked(ptx);
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
    let Comparison { regular, irregular, reasons, wrong } = comparison;
    println!("claimed without irregular divergence: {regular}");
    println!("claimed with irregular divergence: {irregular}");
    for (reason, count) in reasons {
        println!("not claimed: {count} of {reason}");
    }
    assert_eq!(wrong, [""; 0]);
    assert!(regular.percent() >= 98.5, "{regular}");
    assert!(irregular.percent() >= 82.0, "{irregular}");
}
