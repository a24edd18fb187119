//! f16, bf16 and eight-bit floats on edge values and noise, against arithmetic in double precision
//! that is rounded once, by search.

use crate::operations::{check, refusal, results, triples};
use std::cmp::Ordering;

/// A format by its bits: exponent and fraction.
#[derive(Clone, Copy)]
struct Half {
    name: &'static str,
    fraction: u32,
    bias: i32,
}

const F16: Half = Half { name: "f16", fraction: 10, bias: 15 };
const BF16: Half = Half { name: "bf16", fraction: 7, bias: 127 };
const NAN: u16 = 0x7fff;

/// Zeros, subnormals, normals, the largest, infinities, NaNs, of either format.
const EDGES: [u64; 16] = [
    0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3f80, 0x7bff, 0x7c00, 0xfc00, 0x7e00,
    0x7f7f, 0x7f80, 0xff80,
];

impl Half {
    fn infinity(self) -> u16 {
        0x7fff >> self.fraction << self.fraction
    }

    fn value(self, bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) =
            (i32::from(bits & 0x7fff) >> self.fraction, bits & ((1 << self.fraction) - 1));
        match bits & 0x7fff {
            size if size == self.infinity() => sign * f64::INFINITY,
            size if size > self.infinity() => f64::NAN,
            _ => {
                let whole =
                    i32::from(fraction) | if exponent == 0 { 0 } else { 1 << self.fraction };
                sign * f64::from(whole)
                    * 2f64.powi(exponent.max(1) - self.bias - self.fraction as i32)
            }
        }
    }

    /// The nearest one, or the one toward zero, by search over all sizes.
    fn rounded(self, value: f64, toward_zero: bool) -> u16 {
        if value.is_nan() {
            return NAN;
        }
        let sign = u16::from(value.is_sign_negative()) << 15;
        let size = value.abs();
        let (mut low, mut high) = (0, self.infinity());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.value(middle) <= size { low = middle } else { high = middle }
        }
        if size.is_infinite() {
            return sign | self.infinity();
        }
        // Beyond the largest one, infinity stands where the next one would.
        let beyond = if high == self.infinity() {
            2.0 * self.value(low) - self.value(low - 1)
        } else {
            self.value(high)
        };
        let (down, up) = (size - self.value(low), beyond - size);
        let goes_up = !toward_zero && (up < down || (up == down && low & 1 == 1));
        sign | if goes_up { high } else { low }
    }

    fn subnormal(self, bits: u16) -> bool {
        bits & 0x7fff != 0 && bits & self.infinity() == 0
    }

    fn flushed(self, bits: u16) -> u16 {
        if self.subnormal(bits) { bits & 0x8000 } else { bits }
    }
}

fn halves(operands: [u64; 3]) -> [u16; 3] {
    operands.map(|value| value as u16)
}

/// Both halves of the lower words, upper first.
fn pairs([a, b, c]: [u64; 3]) -> [[u16; 3]; 2] {
    [16, 0].map(|shift| [a, b, c].map(|value| (value >> shift) as u16))
}

fn pair([high, low]: [u16; 2]) -> u64 {
    u64::from(high) << 16 | u64::from(low)
}

/// Every pair of edges with one of the third operand, the halves apart, and noise.
fn operands() -> Vec<[u64; 3]> {
    spread(pairwise(&EDGES))
}

fn spread(mut all: Vec<[u64; 3]>) -> Vec<[u64; 3]> {
    let spread = |value: u64| value | (value.rotate_left(5) & 0xffff) << 16;
    all.iter_mut().for_each(|operands| *operands = operands.map(spread));
    all
}

/// Every third of the triples that edges make, and noise.
fn pairwise(edges: &[u64]) -> Vec<[u64; 3]> {
    let mut all = triples(edges);
    let made = edges.len().pow(3);
    let noise = all.split_off(made);
    let step = edges.len() - 1;
    all.into_iter().step_by(step).chain(noise).collect()
}

/// Products of two halves are exact in double precision. Their sums are exact too, unless the
/// addend is too small to show; then rounding needs a sticky bit.
fn fused(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    let rest = (product - (sum - c)) + (c - (sum - (sum - c)));
    if !rest.is_finite() || rest == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // To odd: the double rounding then does no harm.
    if (rest > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() | 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

/// An operation on each half of a register, by its name and its definition.
fn check_op(name: &str, form: Half, packed: bool, op: impl Fn(Half, [u16; 3]) -> u16) {
    let count = if name.starts_with("fma") {
        3
    } else {
        2 - usize::from(name.starts_with("neg") || name.starts_with("abs"))
    };
    let suffix = if packed { format!("{}x2", form.name) } else { form.name.to_owned() };
    let (d, sources) =
        if packed { ("%d", ["%a", "%b", "%c"]) } else { ("%hd", ["%ha", "%hb", "%hc"]) };
    let body = format!("{name}.{suffix} {d}, {};", sources[..count].join(", "));
    let all = if count == 3 { spread(triples(&EDGES)) } else { operands() };
    check(&body, &all, |operands| match packed {
        true => pair(pairs(operands).map(|half| op(form, half))),
        false => u64::from(op(form, halves(operands))),
    });
}

#[test]
fn sums_and_products_of_halves_are_rounded_once() {
    for form in [F16, BF16] {
        for packed in [false, true] {
            check_op("add.rn", form, packed, |form, [a, b, _]| {
                form.rounded(form.value(a) + form.value(b), false)
            });
            check_op("sub", form, packed, |form, [a, b, _]| {
                form.rounded(form.value(a) - form.value(b), false)
            });
            check_op("mul.rn", form, packed, |form, [a, b, _]| {
                form.rounded(form.value(a) * form.value(b), false)
            });
            let fma = |form: Half, [a, b, c]: [u16; 3]| {
                form.rounded(fused(form.value(a), form.value(b), form.value(c)), false)
            };
            check_op("fma.rn", form, packed, fma);
            check_op("fma.rn.relu", form, packed, |form, operands| match fma(form, operands) {
                NAN => NAN,
                0x8000.. => 0,
                positive => positive,
            });
        }
    }
}

#[test]
fn half_precision_flushes_and_saturates_where_it_is_reported_to() {
    for packed in [false, true] {
        check_op("add.ftz", F16, packed, |form, [a, b, _]| {
            let [a, b] = [a, b].map(|bits| form.value(form.flushed(bits)));
            form.flushed(form.rounded(a + b, false))
        });
        check_op("mul.sat", F16, packed, |form, [a, b, _]| {
            let product = form.value(a) * form.value(b);
            if product > 0.0 { form.rounded(product.min(1.0), false) } else { 0 }
        });
        check_op("fma.rn.ftz.sat", F16, packed, |form, operands| {
            let [a, b, c] = operands.map(|bits| form.value(form.flushed(bits)));
            let result = fused(a, b, c);
            if result > 0.0 { form.flushed(form.rounded(result.min(1.0), false)) } else { 0 }
        });
    }
    for refused in [
        "add.ftz.bf16 %hd, %ha, %hb;",
        "mul.sat.bf16x2 %d, %a, %b;",
        "add.relu.f16 %hd, %ha, %hb;",
        "fma.rn.sat.relu.f16 %hd, %ha, %hb, %hc;",
        "fma.f16 %hd, %ha, %hb, %hc;",
    ] {
        let name = refused.split(' ').next().unwrap();
        assert!(
            refusal(refused).contains(&format!("unsupported PTX instruction '{name}'")),
            "{refused}"
        );
    }
}

#[test]
fn extremes_and_signs_of_halves_follow_the_manual() {
    let nan = |form: Half, bits: u16| form.value(bits).is_nan();
    // −0 is below 0.
    let order = |form: Half, bits: u16| (form.value(bits), bits >> 15 == 0);
    let least = move |form: Half, a: u16, b: u16| match (nan(form, a), nan(form, b)) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        _ if order(form, a) < order(form, b) => a,
        _ => b,
    };
    for form in [F16, BF16] {
        for packed in [false, true] {
            check_op("min", form, packed, |form, [a, b, _]| least(form, a, b));
            check_op("min.NaN", form, packed, |form, [a, b, _]| {
                if nan(form, a) || nan(form, b) { NAN } else { least(form, a, b) }
            });
            check_op("max", form, packed, |form, [a, b, _]| {
                match least(form, a ^ 0x8000, b ^ 0x8000) {
                    NAN => NAN,
                    other => other ^ 0x8000,
                }
            });
            check_op("min.xorsign.abs", form, packed, |form, [a, b, _]| {
                match least(form, a & 0x7fff, b & 0x7fff) {
                    NAN => NAN,
                    size => size | (a ^ b) & 0x8000,
                }
            });
            let number = move |form, bits, result| if nan(form, bits) { NAN } else { result };
            check_op("neg", form, packed, |form, [a, _, _]| number(form, a, a ^ 0x8000));
            check_op("abs", form, packed, |form, [a, _, _]| number(form, a, a & 0x7fff));
        }
    }
}

/// Results of an H100 (`docs/scripts/instructions.sh`): operand, `neg` and `abs`, by type.
const RECORDED: [(&str, &[[u64; 3]]); 4] = [
    (
        "f16",
        &[
            [0x7e00, 0x7fff, 0x7fff],
            [0x7f7f, 0x7fff, 0x7fff],
            [0x7f80, 0x7fff, 0x7fff],
            [0xfc0f, 0x7fff, 0x7fff],
            [0xfe77, 0x7fff, 0x7fff],
            [0x0000, 0x8000, 0x0000],
            [0x8001, 0x0001, 0x0001],
            [0x03ff, 0x83ff, 0x03ff],
        ],
    ),
    (
        "f16x2",
        &[
            [0x7fe0_03ff, 0x7fff_83ff, 0x7fff_03ff],
            [0x7fe0_7bff, 0x7fff_fbff, 0x7fff_7bff],
            [0xc000_7e00, 0x4000_7fff, 0x4000_7fff],
            [0xfeb8_a75b, 0x7fff_275b, 0x7fff_275b],
            [0xa0ae_7d0a, 0x20ae_7fff, 0x20ae_7fff],
            [0x0000_0000, 0x8000_8000, 0x0000_0000],
            [0x0020_8001, 0x8020_0001, 0x0020_0001],
            [0x8000_0400, 0x0000_8400, 0x0000_0400],
        ],
    ),
    (
        "bf16",
        &[
            [0xffbe, 0x7fff, 0x7fff],
            [0xffe2, 0x7fff, 0x7fff],
            [0x7fb4, 0x7fff, 0x7fff],
            [0xffe8, 0x7fff, 0x7fff],
            [0xffd4, 0x7fff, 0x7fff],
            [0x0000, 0x8000, 0x0000],
            [0x8001, 0x0001, 0x0001],
            [0x03ff, 0x83ff, 0x03ff],
        ],
    ),
    (
        "bf16x2",
        &[
            [0x7fe0_03ff, 0x7fff_83ff, 0x7fff_03ff],
            [0x7fe0_7bff, 0x7fff_fbff, 0x7fff_7bff],
            [0x7f86_ead9, 0x7fff_6ad9, 0x7fff_6ad9],
            [0xffcb_ecba, 0x7fff_6cba, 0x7fff_6cba],
            [0x8cc6_7f96, 0x0cc6_7fff, 0x0cc6_7fff],
            [0x0000_0000, 0x8000_8000, 0x0000_0000],
            [0x0020_8001, 0x8020_0001, 0x0020_0001],
            [0x8000_0400, 0x0000_8400, 0x0000_0400],
        ],
    ),
];

#[test]
fn signs_of_halves_are_those_that_an_h100_recorded() {
    for (ty, rows) in RECORDED {
        let (d, a) = if ty.ends_with("x2") { ("%d", "%a") } else { ("%hd", "%ha") };
        let operands: Vec<[u64; 3]> = rows.iter().map(|&[given, ..]| [given, 0, 0]).collect();
        for (op, column) in [("neg", 1), ("abs", 2)] {
            let gave: Vec<u64> = rows.iter().map(|row| row[column]).collect();
            assert_eq!(results(&format!("{op}.{ty} {d}, {a};"), &operands), gave, "{op}.{ty}");
        }
    }
}

#[test]
fn comparisons_of_halves_know_the_unordered() {
    let holds = |word: &str, a: f64, b: f64| match word {
        "lt" => a < b,
        "geu" => a.partial_cmp(&b) != Some(Ordering::Less),
        "ne" => a.partial_cmp(&b).is_some_and(Ordering::is_ne),
        "num" => !a.is_nan() && !b.is_nan(),
        _ => unreachable!(),
    };
    for form in [F16, BF16] {
        let ty = form.name;
        for word in ["lt", "geu", "ne", "num"] {
            let of = move |[a, b, _]: [u16; 3]| holds(word, form.value(a), form.value(b));
            let body = format!("setp.{word}.{ty} %p, %ha, %hb; selp.u32 %d, 7, 0, %p;");
            check(&body, &operands(), |operands| if of(halves(operands)) { 7 } else { 0 });
            let body = format!(
                "setp.{word}.{ty}x2 %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;"
            );
            check(&body, &operands(), |operands| {
                let [high, low] = pairs(operands).map(of);
                u64::from(high) << 1 | u64::from(low)
            });
            let one = if ty == "f16" { 0x3c00 } else { 0x3f80 };
            let body = format!("set.{word}.{ty}x2.{ty}x2 %d, %a, %b;");
            check(&body, &operands(), |operands| {
                pair(pairs(operands).map(|half| if of(half) { one } else { 0 }))
            });
            let body = format!("set.{word}.u32.{ty}x2 %d, %a, %b;");
            check(&body, &operands(), |operands| {
                pair(pairs(operands).map(|half| if of(half) { 0xffff } else { 0 }))
            });
            let body = format!("set.{word}.u16.{ty} %hd, %ha, %hb;");
            check(&body, &operands(), |operands| if of(halves(operands)) { 0xffff } else { 0 });
            let body =
                format!("setp.lt.u32 %q, %c, %a; set.{word}.and.{ty}.{ty} %hd, %ha, %hb, !%q;");
            check(&body, &operands(), |operands| {
                let both = of(halves(operands)) && operands[2] as u32 >= operands[0] as u32;
                if both { u64::from(one) } else { 0 }
            });
        }
    }
    // A subnormal equals 0 if it is flushed.
    check(
        "setp.eq.ftz.f16x2 %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;",
        &operands(),
        |operands| {
            let [high, low] = pairs(operands)
                .map(|[a, b, _]| F16.value(F16.flushed(a)) == F16.value(F16.flushed(b)));
            u64::from(high) << 1 | u64::from(low)
        },
    );
    assert!(refusal("setp.eq.ftz.bf16 %p, %ha, %hb;").contains("'setp.eq.ftz.bf16'"));
}

fn singles() -> Vec<[u64; 3]> {
    let floats = [
        0.0f32,
        -0.0,
        1.0,
        -1.0,
        65504.0,
        65519.9,
        65520.0,
        1e-8,
        5.960_464_5e-8,
        -2.98e-8,
        3.4e38,
        1.003_906_3,
        1.000_488_3,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
    ];
    pairwise(&floats.map(|value| u64::from(value.to_bits())))
}

#[test]
fn two_singles_become_a_pair_each_rounded_once() {
    for form in [F16, BF16] {
        for (rounding, toward_zero) in [("rn", false), ("rz", true)] {
            for (relu, finite) in [(false, false), (true, false), (true, true)] {
                let convert = |bits: u64| {
                    let half = form.rounded(f64::from(f32::from_bits(bits as u32)), toward_zero);
                    let half =
                        if finite && half & 0x7fff == form.infinity() { half - 1 } else { half };
                    if relu && half >= 0x8000 { 0 } else { half }
                };
                let words = format!(
                    "{}{}",
                    if relu { ".relu" } else { "" },
                    if finite { ".satfinite" } else { "" }
                );
                let ty = form.name;
                let body = format!("cvt.{rounding}{words}.{ty}x2.f32 %d, %a, %b;");
                check(&body, &singles(), |[a, b, _]| pair([a, b].map(convert)));
                let body = format!("cvt.{rounding}{words}.{ty}.f32 %hd, %a;");
                check(&body, &singles(), |[a, _, _]| u64::from(convert(a)));
            }
        }
    }
    assert!(refusal("cvt.rp.f16x2.f32 %d, %a, %b;").contains("'cvt.rp.f16x2.f32'"));
}

/// A float of a byte, by its bits.
fn byte_value(name: &str, bits: u8) -> f64 {
    let (fraction, bias) = if name == "e4m3" { (3, 7) } else { (2, 15) };
    let (exponent, rest) =
        (i32::from(bits & 0x7f) >> fraction, f64::from(bits & ((1 << fraction) - 1)));
    let sign = if bits >> 7 == 1 { -1.0 } else { 1.0 };
    match (name, bits & 0x7f) {
        ("e4m3", 0x7f) | ("e5m2", 0x7d..) => f64::NAN,
        ("e5m2", 0x7c) => sign * f64::INFINITY,
        _ if exponent == 0 => sign * rest * 2f64.powi(1 - bias - fraction),
        _ => sign * (1.0 + rest / f64::from(1 << fraction)) * 2f64.powi(exponent - bias),
    }
}

/// The nearest finite one of 256; of two the one with an even last bit.
fn byte(name: &str, value: f64, relu: bool) -> u8 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    let largest = if name == "e4m3" { 448.0 } else { 57344.0 };
    let size = value.abs().min(largest);
    let distance = |bits: u8| (byte_value(name, bits) - size).abs();
    let finite = (0..0x7f).filter(|&bits| distance(bits).is_finite());
    let nearest = finite
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))))
        .unwrap();
    nearest | u8::from(value.is_sign_negative()) << 7
}

#[test]
fn floats_of_a_byte_are_the_nearest_finite_ones() {
    for name in ["e4m3", "e5m2"] {
        for (word, relu) in [("", false), (".relu", true)] {
            let both = |[high, low]: [f64; 2]| {
                u64::from(byte(name, high, relu)) << 8 | u64::from(byte(name, low, relu))
            };
            let body = format!("cvt.rn.satfinite{word}.{name}x2.f32 %hd, %a, %b;");
            let mut all = singles();
            // Sizes that the formats have, and ties between them.
            for step in 0..2000u32 {
                let value = u64::from((f32::from_bits(0x3800_0000 + (step << 18)) + 0.0).to_bits());
                all.push([value, value | 0x8000_0000, 0]);
            }
            check(&body, &all, |[a, b, _]| {
                both([a, b].map(|bits| f64::from(f32::from_bits(bits as u32))))
            });
            let body = format!("cvt.rn.satfinite{word}.{name}x2.f16x2 %hd, %a;");
            check(&body, &operands(), |operands| {
                both(pairs(operands).map(|[a, _, _]| F16.value(a)))
            });
            let body = format!("cvt.rn{word}.f16x2.{name}x2 %d, %ha;");
            let bytes: Vec<[u64; 3]> = (0..0x1_0000).step_by(7).map(|bits| [bits, 0, 0]).collect();
            check(&body, &bytes, |[a, _, _]| {
                pair([a >> 8, a].map(|bits| {
                    let value = byte_value(name, bits as u8);
                    if relu && bits & 0x80 != 0 && !value.is_nan() {
                        0
                    } else {
                        F16.rounded(value, false)
                    }
                }))
            });
        }
    }
    for refused in [
        "cvt.rn.e4m3x2.f32 %hd, %a, %b;",
        "cvt.rz.satfinite.e5m2x2.f16x2 %hd, %a;",
        "cvt.f16x2.e4m3x2 %d, %ha;",
        "cvt.rn.satfinite.e2m3x2.f32 %hd, %a, %b;",
    ] {
        let name = refused.split(' ').next().unwrap();
        assert!(
            refusal(refused).contains(&format!("unsupported PTX instruction '{name}'")),
            "{refused}"
        );
    }
}

#[test]
fn approximations_of_halves_are_within_the_manuals_bounds() {
    let bodies = [
        ("ex2.approx.f16 %hd, %ha;", F16, f64::exp2 as fn(f64) -> f64, 2f64.powf(-9.9), 0.0),
        ("ex2.approx.ftz.bf16 %hd, %ha;", BF16, f64::exp2, 2f64.powi(-7), 0.0),
        ("tanh.approx.f16 %hd, %ha;", F16, f64::tanh, 0.0, 2f64.powf(-10.987)),
        ("tanh.approx.bf16 %hd, %ha;", BF16, f64::tanh, 0.0, 2f64.powi(-8)),
    ];
    let all: Vec<[u64; 3]> = (0..0x1_0000).map(|bits| [bits, 0, 0]).collect();
    for (body, form, f, relative, absolute) in bodies {
        for (&[a, _, _], got) in all.iter().zip(crate::operations::results(body, &all)) {
            let (exact, got) = (f(form.value(a as u16)), form.value(got as u16));
            let far = (got - exact).abs() > exact.abs() * relative + absolute;
            // Below the normal numbers and above the largest one no relative bound can hold.
            let in_range = exact.abs() < form.value(form.infinity() - 1)
                && (relative == 0.0 || exact > form.value(1 << form.fraction));
            assert!(
                !(far && in_range) && exact.is_nan() == got.is_nan(),
                "{body} {a:#x}: {got} for {exact}"
            );
        }
    }
    for refused in [
        "ex2.approx.bf16 %hd, %ha;",
        "ex2.approx.ftz.f16 %hd, %ha;",
        "tanh.f16 %hd, %ha;",
        "ex2.f16x2 %d, %a;",
    ] {
        assert!(refusal(refused).contains("unsupported PTX instruction"), "{refused}");
    }
}
