use std::collections::BTreeMap;

use super::*;

/// A kernel of CUDA C++, compiled by the driver of an H200 (CUDA 13.0), and its PTX.
const CUBIN: &[u8] = include_bytes!("../tests/golden/trouble.cubin");
const PTX: &str = include_str!("../tests/golden/trouble.ptx");

/// The source line of every instruction, by `cuptiGetSassToSourceCorrelation` there.
const CUPTI: &str = include_str!("../tests/golden/trouble-h200.csv");

/// The last `.loc` of `kernels.cu` before each line of [`PTX`].
fn located() -> BTreeMap<u32, u32> {
    let mut last = 0;
    let of_line = |(number, line): (u32, &str)| {
        let mut words = line.split_whitespace();
        if words.next() == Some(".loc") {
            let place = words.next().zip(words.next());
            last = place.and_then(|(_, line)| line.parse().ok()).unwrap_or(last);
        }
        (number, last)
    };
    (1..).zip(PTX.lines()).map(of_line).collect()
}

#[test]
fn every_instruction_has_the_ptx_line_that_has_its_source_line() {
    let (lines, located) = (PtxLines::read(CUBIN).unwrap(), located());
    let (mut all, mut begun) = (0, 0);
    for row in CUPTI.lines().skip(1) {
        let (pc, line) = row.split_once(',').unwrap();
        let ptx = lines.line("trouble", pc.parse().unwrap()).expect(row);
        match PTX.lines().nth(ptx as usize - 1) {
            // The preparations of a function belong to its beginning.
            Some("{") => begun += 1,
            _ => assert_eq!(located[&ptx].to_string(), line, "offset {pc}, PTX line {ptx}"),
        }
        all += 1;
    }
    assert_eq!((all, begun), (177, 3));
}

#[test]
fn an_unknown_function_and_a_cubin_without_the_table_have_no_lines() {
    let lines = PtxLines::read(CUBIN).unwrap();
    assert_eq!(lines.line("nothing", 0), None);
    assert_eq!(lines.line("trouble", 1 << 20), None);
    for length in [16, 64, 0x4918] {
        assert!(PtxLines::read(&CUBIN[..length]).is_err());
    }
}
