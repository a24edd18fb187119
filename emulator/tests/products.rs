//! `mma.sync`: each lane's numbers lie where PTX's tables for the shape put them, and the results
//! are those of the product.

use crate::common::Bench;
use gpuprof_emulator::device::Device;

/// A kernel of one warp: every lane loads ten words from `in`, multiplies, and stores four.
fn kernel(product: &str) -> String {
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in) {{\n\
         .reg .pred %p<4>; .reg .b32 %r<32>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; mov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %rd2, %r0, 40; add.s64 %rd1, %rd1, %rd2;\n\
         mul.wide.u32 %rd2, %r0, 16; add.s64 %rd0, %rd0, %rd2;\n\
         ld.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd1+4];\n\
         ld.global.b32 %r3, [%rd1+8]; ld.global.b32 %r4, [%rd1+12];\n\
         ld.global.b32 %r5, [%rd1+16]; ld.global.b32 %r6, [%rd1+20];\n\
         ld.global.b32 %r7, [%rd1+24]; ld.global.b32 %r8, [%rd1+28];\n\
         ld.global.b32 %r9, [%rd1+32]; ld.global.b32 %r10, [%rd1+36];\n\
         mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0; mov.b32 %r14, 0;\n\
         setp.ne.u32 %p1, %r0, 7;\n\
         {product}\n\
         st.global.v4.b32 [%rd0], {{%r11, %r12, %r13, %r14}};\nret;\n}}\n"
    )
}

const ALL: &str =
    "{%r11, %r12, %r13, %r14}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8, %r9, %r10};";
/// A shape of half the depth.
const HALF: &str = "{%r11, %r12, %r13, %r14}, {%r1, %r2}, {%r5}, {%r7, %r8, %r9, %r10};";

/// The words that the lanes get, lane after lane.
type Words = Vec<[u32; 10]>;

/// The stored words of every lane, and the number of products.
fn run(product: &str, words: &Words) -> (Vec<[u32; 4]>, u64) {
    let mut bench = Bench::new(&kernel(product));
    let out = bench.upload(&vec![0u32; 128]);
    let input = bench.upload(&words.concat());
    let record = bench.launch("k", 1, 32, &[&out, &input]);
    let got: Vec<u32> = bench.ints(out, 128).into_iter().map(|word| word as u32).collect();
    let counted = record.counters.iter().find(|(name, _)| name == "ptx__matrix_products.sum");
    let lanes = got.chunks(4).map(|lane| lane.try_into().unwrap()).collect();
    (lanes, counted.expect("products are counted").1)
}

/// Small numbers without a pattern.
fn number(seed: usize) -> i32 {
    (seed.wrapping_mul(2_654_435_761) >> 7) as i32 % 13 - 6
}

fn a(row: usize, column: usize) -> i32 {
    number(100 * row + column)
}

fn b(row: usize, column: usize) -> i32 {
    number(7919 + 100 * row + column)
}

fn c(row: usize, column: usize) -> i32 {
    number(104_729 + 100 * row + column)
}

/// Row and column of a lane's `i`th result, by PTX's table.
fn result_at(lane: usize, i: usize) -> (usize, usize) {
    let (group, of_group) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, of_group * 2 + (i & 1))
}

fn expected(k: usize, lane: usize, i: usize) -> i32 {
    let (row, column) = result_at(lane, i);
    c(row, column) + (0..k).map(|at| a(row, at) * b(at, column)).sum::<i32>()
}

/// Puts numbers of `bits` bits each into words.
fn packed(bits: usize, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let (per_word, mask) = (32 / bits, u32::MAX >> (32 - bits));
    let numbers: Vec<u32> = numbers.map(|number| number & mask).collect();
    let word =
        |part: &[u32]| part.iter().rev().fold(0, |word, n| (u64::from(word) << bits) as u32 | n);
    numbers.chunks(per_word).map(word).collect()
}

fn words(a: Vec<u32>, b: Vec<u32>, c: Vec<u32>) -> [u32; 10] {
    let mut all = [0; 10];
    all[..a.len()].copy_from_slice(&a);
    all[4..4 + b.len()].copy_from_slice(&b);
    all[6..6 + c.len()].copy_from_slice(&c);
    all
}

fn float_bits(number: i32) -> u32 {
    (number as f32).to_bits()
}

/// The bits of a small whole number as bf16.
fn bf16(number: i32) -> u32 {
    float_bits(number) >> 16
}

/// The bits of a small whole number as f16.
fn f16(number: i32) -> u32 {
    let bits = float_bits(number);
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude == 0 { 0 } else { (magnitude >> 13) - (112 << 10) };
    bits >> 31 << 15 | half
}

/// Every lane's words for `m16n8k16` of halves.
fn halves(half: fn(i32) -> u32, sums: impl Fn(usize) -> Vec<u32>) -> Words {
    let lane_words = |lane: usize| {
        let (group, of_group) = (lane >> 2, lane % 4);
        let of_a = (0..8).map(|i: usize| {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            let column = of_group * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
            half(a(row, column))
        });
        let of_b = (0..4)
            .map(|i: usize| half(b(of_group * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, group)));
        words(packed(16, of_a), packed(16, of_b), sums(lane))
    };
    (0..32).map(lane_words).collect()
}

fn float_sums(lane: usize) -> Vec<u32> {
    let of = |i| {
        let (row, column) = result_at(lane, i);
        float_bits(c(row, column))
    };
    (0..4).map(of).collect()
}

#[test]
fn halves_are_multiplied_and_added_as_floats() {
    for (name, half) in [("f16", f16 as fn(i32) -> u32), ("bf16", bf16)] {
        let product = format!("mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32 {ALL}");
        let (got, counted) = run(&product, &halves(half, float_sums));
        assert_eq!(counted, 1);
        for (lane, got) in got.iter().enumerate() {
            let of = |i| float_bits(expected(16, lane, i));
            assert_eq!(*got, std::array::from_fn(of), "{name}, lane {lane}");
        }
    }
}

#[test]
fn the_shape_of_half_the_depth_takes_the_first_registers() {
    let product = format!("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {HALF}");
    let (got, _) = run(&product, &halves(bf16, float_sums));
    for (lane, got) in got.iter().enumerate() {
        assert_eq!(*got, std::array::from_fn(|i| float_bits(expected(8, lane, i))), "lane {lane}");
    }
}

#[test]
fn sums_of_halves_are_halves_two_in_a_register() {
    let sums = |lane| {
        let of = |i| {
            let (row, column) = result_at(lane, i);
            f16(c(row, column))
        };
        packed(16, (0..4).map(of))
    };
    let product = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 \
                   {%r11, %r12}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8};";
    let (got, _) = run(product, &halves(f16, sums));
    for (lane, got) in got.iter().enumerate() {
        let of = packed(16, (0..4).map(|i| f16(expected(16, lane, i))));
        assert_eq!(got[..2], of, "lane {lane}");
    }
}

#[test]
fn tf32_numbers_are_one_in_a_register() {
    let lane_words = |lane: usize| {
        let (group, of_group) = (lane >> 2, lane % 4);
        let of_a = (0..4).map(|i| {
            let row = if i == 0 || i == 2 { group } else { group + 8 };
            // The lower 13 bits do not count.
            float_bits(a(row, if i < 2 { of_group } else { of_group + 4 })) | 0x1fff
        });
        let of_b = (0..2).map(|i| float_bits(b(of_group + 4 * i, group)));
        words(of_a.collect(), of_b.collect(), float_sums(lane))
    };
    let product = format!("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {ALL}");
    let (got, _) = run(&product, &(0..32).map(lane_words).collect());
    for (lane, got) in got.iter().enumerate() {
        assert_eq!(*got, std::array::from_fn(|i| float_bits(expected(8, lane, i))), "lane {lane}");
    }
}

#[test]
fn bytes_are_multiplied_with_their_signs_and_saturate_where_asked() {
    let lane_words = |lane: usize| {
        let (group, of_group) = (lane >> 2, lane % 4);
        let of_a = (0..16).map(|i: usize| {
            let is_upper = i < 4 || (8..12).contains(&i);
            let column = of_group * 4 + (i & 3) + if i < 8 { 0 } else { 16 };
            a(if is_upper { group } else { group + 8 }, column) as u32
        });
        let of_b = (0..8)
            .map(|i: usize| b(of_group * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, group) as u32);
        let sums = (0..4).map(|i| if i == 3 { i32::MAX as u32 } else { i });
        words(packed(8, of_a), packed(8, of_b), sums.collect())
    };
    let all: Words = (0..32).map(lane_words).collect();
    for (word, saturates) in [(".satfinite", true), ("", false)] {
        let product = format!("mma.sync.aligned.m16n8k32.row.col{word}.s32.s8.s8.s32 {ALL}");
        let (got, _) = run(&product, &all);
        for (lane, got) in got.iter().enumerate() {
            let of = |i: usize| {
                let (row, column) = result_at(lane, i);
                let sum: i32 = (0..32).map(|at| a(row, at) * b(at, column)).sum();
                let given = if i == 3 { i32::MAX } else { i as i32 };
                let wraps = given.wrapping_add(sum);
                (if saturates { given.saturating_add(sum) } else { wraps }) as u32
            };
            assert_eq!(*got, std::array::from_fn(of), "lane {lane}");
        }
    }
}

#[test]
fn a_lane_that_is_missing_is_a_fault_and_other_shapes_are_refused() {
    let product = format!("@%p1 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {ALL}");
    let mut bench = Bench::new(&kernel(&product));
    let out = bench.upload(&vec![0u32; 128]);
    let input = bench.upload(&vec![0u32; 320]);
    let said = bench.fault("k", 1, 32, &[&out, &input]);
    assert!(said.ends_with("mma needs all 32 lanes of the warp"), "{said}");
    for refused in [
        "m16n8k16.row.col.f16.f16.f16.f32",
        "m16n8k16.row.col.f32.f16.bf16.f32",
        "m16n8k16.row.row.f32.f16.f16.f32",
        "m16n8k16.row.col.f16.bf16.bf16.f16",
        "m16n8k32.row.col.f32.s8.s8.f32",
    ] {
        let product = format!("mma.sync.aligned.{refused} {ALL}");
        let said = Device::default().load(&kernel(&product)).unwrap_err().to_string();
        assert!(said.contains(&format!("'mma.sync.aligned.{refused}'")), "{said}");
    }
    let few = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
               {%r11, %r12, %r13, %r14}, {%r1, %r2}, {%r5, %r6}, {%r7, %r8, %r9, %r10};";
    assert!(Device::default().load(&kernel(few)).is_err());
}
