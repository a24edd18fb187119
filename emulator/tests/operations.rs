//! Single instructions on edge values and noise, each against its definition in the PTX manual,
//! written down once more here and in other words than the emulator's.

use crate::common::{Bench, noise};
use gpuprof_emulator::device::Device;

const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x8000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_0000_0000,
    0x1_0000_0001,
];

/// Triples of operands: every triple of `edges`, and noise.
pub fn triples(edges: &[u64]) -> Vec<[u64; 3]> {
    let mut all = Vec::new();
    for &a in edges {
        for &b in edges {
            all.extend(edges.iter().map(|&c| [a, b, c]));
        }
    }
    let words = noise(6 * 512, 7);
    let wide = |at: usize| u64::from(words[at]) << 32 | u64::from(words[at + 1]);
    all.extend((0..512).map(|n| [0, 2, 4].map(|at| wide(6 * n + at))));
    all
}

/// A module with a kernel that computes `%d` or `%D` of `%a`, `%b`, `%c` and their wide twins `%A`,
/// `%B`, `%C`.
fn module(body: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p, %q; .reg .b16 %ha, %hb, %hc, %hd; .reg .b32 %a, %b, %c, %d, %e, %i, %n;\n\
         .reg .b64 %A, %B, %C, %D, %E, %x, %y;\n\
         mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %a, %tid.x; mad.lo.u32 %i, %i, %n, %a;\n\
         ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p ret;\n\
         ld.param.u64 %x, [in]; mad.wide.u32 %x, %i, 24, %x;\n\
         ld.param.u64 %y, [out]; mad.wide.u32 %y, %i, 8, %y;\n\
         ld.global.u64 %A, [%x]; ld.global.u64 %B, [%x+8]; ld.global.u64 %C, [%x+16];\n\
         cvt.u32.u64 %a, %A; cvt.u32.u64 %b, %B; cvt.u32.u64 %c, %C;\n\
         cvt.u16.u64 %ha, %A; cvt.u16.u64 %hb, %B; cvt.u16.u64 %hc, %C;\n\
         mov.b32 %d, 0; mov.b64 %D, 0; mov.b16 %hd, 0;\n{body}\n\
         cvt.u64.u32 %E, %d; or.b64 %D, %D, %E; cvt.u64.u16 %E, %hd; or.b64 %D, %D, %E;\n\
         st.global.u64 [%y], %D;\nret;\n}}\n"
    )
}

pub fn results(body: &str, operands: &[[u64; 3]]) -> Vec<u64> {
    let mut bench = Bench::new(&module(body));
    let flat: Vec<u64> = operands.iter().flatten().copied().collect();
    let (input, output) = (bench.upload(&flat), bench.upload(&vec![0u64; operands.len()]));
    let blocks = (operands.len() as u32).div_ceil(128);
    bench.launch("k", blocks, 128, &[&input, &output, &(operands.len() as u32)]);
    bench.download(output, operands.len(), u64::from_le_bytes)
}

/// `body` and `expected` give the same for every triple.
pub fn check(body: &str, operands: &[[u64; 3]], expected: impl Fn([u64; 3]) -> u64) {
    for (&operands, got) in operands.iter().zip(results(body, operands)) {
        let wanted = expected(operands);
        assert_eq!(got, wanted, "{body}\n of {operands:x?}: {got:#x} for {wanted:#x}");
    }
}

pub fn refusal(body: &str) -> String {
    Device::default().load(&module(body)).unwrap_err().to_string()
}

/// 32-bit operands, the upper halves dropped.
fn words([a, b, c]: [u64; 3]) -> [u32; 3] {
    [a, b, c].map(|value| value as u32)
}

#[test]
fn products_with_carry_of_32_bits_are_long_multiplication() {
    let all = triples(&EDGES);
    // The 64-bit product plus the number of the words b and c, then the carry.
    let body = |ty: &str| {
        format!(
            "mad.lo.cc.{ty} %d, %a, %b, %c; madc.hi.cc.{ty} %e, %a, %b, %b; mov.b64 %D, {{%d, %e}};\n\
             madc.hi.{ty} %e, 0, 0, 0; shl.b32 %e, %e, 0; mov.b32 %d, 0; cvt.u64.u32 %E, %e; xor.b64 %D, %D, %E;"
        )
    };
    check(&body("u32"), &all, |operands| {
        let [a, b, c] = words(operands).map(u128::from);
        let sum = a * b + c + (b << 32);
        (sum as u64) ^ (sum >> 64) as u64
    });
    check(&body("s32"), &all, |operands| {
        let [a, b, c] = words(operands);
        let product = i64::from(a as i32) * i64::from(b as i32);
        // As unsigned words: the carry is that of the addition, whatever the factors' signs.
        let sum = u128::from(product as u64) + u128::from(c) + (u128::from(b) << 32);
        (sum as u64) ^ (sum >> 64) as u64
    });
}

#[test]
fn products_with_carry_of_64_bits_are_long_multiplication() {
    let all = triples(&EDGES);
    let body = |ty: &str, part: &str| {
        format!(
            "add.cc.u64 %E, %B, %C; madc.{part}.cc.{ty} %D, %A, %B, %C; madc.lo.u32 %d, 0, 0, 0;\n\
                 cvt.u64.u32 %E, %d; mov.b32 %d, 0; xor.b64 %D, %D, %E;"
        )
    };
    for (ty, signed) in [("u64", false), ("s64", true)] {
        for part in ["lo", "hi"] {
            check(&body(ty, part), &all, |[a, b, c]| {
                let product = match signed {
                    true => (i128::from(a as i64) * i128::from(b as i64)) as u128,
                    false => u128::from(a) * u128::from(b),
                };
                let word = if part == "hi" { (product >> 64) as u64 } else { product as u64 };
                let (sum, first) = word.overflowing_add(c);
                let (sum, second) = sum.overflowing_add(u64::from(b.checked_add(c).is_none()));
                sum ^ u64::from(first || second)
            });
        }
    }
}

#[test]
fn a_product_with_carry_needs_a_part_and_a_width() {
    assert!(refusal("mad.wide.cc.u32 %D, %a, %b, %C;").contains("'mad.wide.cc.u32'"));
    assert!(refusal("madc.lo.u16 %hd, %ha, %hb, %hc;").contains("'madc.lo.u16'"));
    assert!(refusal("madc.u32 %d, %a, %b, %c;").contains("'madc.u32'"));
}

#[test]
fn dot_products_of_halves_and_bytes_take_each_sign() {
    let all = triples(&[0, 0x8000_7fff, 0x7f80_ff01, 0xffff_ffff, 0x1234_8081]);
    let half = |value: u32, at: u32, signed: bool| {
        let half = (value >> (16 * at)) as u16;
        if signed { i64::from(half as i16) } else { i64::from(half) }
    };
    let byte = |value: u32, at: u32, signed: bool| {
        let byte = (value >> (8 * at)) as u8;
        if signed { i64::from(byte as i8) } else { i64::from(byte) }
    };
    for (part, first) in [("lo", 0), ("hi", 2)] {
        for (a_type, a_signed) in [("u32", false), ("s32", true)] {
            for (b_type, b_signed) in [("u32", false), ("s32", true)] {
                let body = format!("dp2a.{part}.{a_type}.{b_type} %d, %a, %b, %c;");
                check(&body, &all, |operands| {
                    let [a, b, c] = words(operands);
                    let product = |at| half(a, at, a_signed) * byte(b, first + at, b_signed);
                    u64::from((i64::from(c) + product(0) + product(1)) as u32)
                });
            }
        }
    }
    assert!(refusal("dp2a.s32.u32 %d, %a, %b, %c;").contains("'dp2a.s32.u32'"));
}

/// The manual's table, each mode's bytes of the result from the highest to the lowest.
#[test]
fn prmt_modes_follow_the_table_of_the_manual() {
    let table: [(&str, [[usize; 4]; 4]); 6] = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    let all = triples(&[0x0302_0100, 0x8786_8584, 0xffff_fffe, 3]);
    for (mode, rows) in table {
        check(&format!("prmt.b32.{mode} %d, %a, %b, %c;"), &all, |operands| {
            let [a, b, c] = words(operands);
            let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
            let [top, upper, lower, bottom] = rows[(c & 3) as usize].map(|at| bytes[at]);
            u64::from(u32::from_be_bytes([top, upper, lower, bottom]))
        });
    }
}

#[test]
fn logic_with_a_predicate_tests_the_result() {
    let all = triples(&EDGES);
    // `(a & b) | !c`, tested and combined with whether `a` is odd.
    let body = |how: &str| {
        format!(
            "and.b32 %e, %a, 1; setp.ne.u32 %q, %e, 0; lop3.{how}; selp.b64 %D, 0x100000000, 0, %p;"
        )
    };
    let expected = |[a, b, c]: [u64; 3], set: fn(bool, bool) -> bool| {
        let [a, b, c] = words([a, b, c]);
        let result = (a & b) | !c;
        u64::from(result) | u64::from(set(result != 0, a & 1 == 1)) << 32
    };
    check(&body("and.b32 %d|%p, %a, %b, %c, 0xd5, %q"), &all, |operands| {
        expected(operands, |is_set, odd| is_set && odd)
    });
    check(&body("or.b32 %d|%p, %a, %b, %c, 0xd5, !%q"), &all, |operands| {
        expected(operands, |is_set, odd| is_set || !odd)
    });
    check(&body("or.b32 _|%p, %a, %b, %c, 0xd5, %q"), &all, |operands| {
        expected(operands, |is_set, odd| is_set || odd) & !0xffff_ffff
    });
}

#[test]
fn an_index_comes_as_a_vector() {
    // The whole index: lane and block are numbers, the other components zero.
    let body = "mov.v4.u32 {%a, %b, %c, %d}, %ntid; mad.lo.u32 %d, %a, 100, %d;\n\
                mad.lo.u32 %d, %b, 10, %d; add.u32 %d, %d, %c; mov.v4.u32 {%a, _, _, %b}, %tid;\n\
                mov.u32 %c, %tid.x; sub.u32 %c, %c, %a; add.u32 %d, %d, %c; add.u32 %d, %d, %b;";
    check(body, &[[0; 3]; 3], |_| 128 * 100 + 11);
    let refused = refusal("mov.v4.u32 {%a, %b, %c, %d}, %laneid;");
    assert!(refused.contains("%laneid"), "{refused}");
}

#[test]
fn the_lowest_lane_of_the_mask_is_elected() {
    // Two groups elect among themselves: `%d` is the leader; only its predicate is set.
    let body = "mov.u32 %a, %laneid; setp.lt.u32 %q, %a, 8; selp.b32 %b, 0xff, 0xffffff00, %q;\n\
        elect.sync %d|%p, %b; selp.u32 %e, 100, 0, %p; add.u32 %d, %d, %e;";
    let got = results(body, &[[0; 3]; 64]);
    let expected = |lane: usize| match lane % 32 {
        0 => 100,
        8 => 108,
        1..8 => 0,
        _ => 8,
    };
    assert_eq!(got, (0..64).map(expected).collect::<Vec<_>>());
}

#[test]
fn no_grid_waits_for_the_one_before_it() {
    let wait = "griddepcontrol.launch_dependents; griddepcontrol.wait; add.u32 %d, %a, 1;";
    assert_eq!(results(wait, &[[7, 0, 0]; 32]), [8; 32]);
}

#[test]
fn breakpoints_trap_and_profiler_events_do_not() {
    let mut bench =
        Bench::new(&module("pmevent 3; pmevent.mask 5; setp.eq.u32 %p, %i, 9; @%p brkpt;"));
    let (input, output) = (bench.upload(&[0u64; 96]), bench.upload(&[0u64; 32]));
    bench.launch("k", 1, 8, &[&input, &output, &32u32]);
    let fault = bench.fault("k", 1, 32, &[&input, &output, &32u32]);
    assert_eq!(
        fault,
        "kernel 'k' at PTX line 15, block (0,0,0), thread (9,0,0): the kernel executed a breakpoint \
         (brkpt), and no debugger is there"
    );
}
