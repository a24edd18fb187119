//! Rare integer and video instructions, each against PTX's definition of it.

use crate::operations::{check, refusal, triples};

const EDGES: [u64; 11] =
    [0, 1, 5, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x80ff_7f01, 0x12f4_807f];

/// The low `bits` of a value as a number.
fn number(value: u64, bits: u32, signed: bool) -> i64 {
    let field = (value & ((1 << bits) - 1)) as i64;
    if signed && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
}

fn word(value: i64) -> u64 {
    u64::from(value as u32)
}

#[test]
fn bit_masks_and_extensions_are_built_bit_by_bit() {
    let all = triples(&EDGES);
    for clamp in [false, true] {
        let mode = if clamp { "clamp" } else { "wrap" };
        check(&format!("bmsk.{mode}.b32 %d, %a, %b;"), &all, |[a, b, _]| {
            let (a, b) = (a as u32, b as u32);
            if clamp && a >= 32 {
                return 0;
            }
            let count = if clamp && b >= 32 { 32 } else { b % 32 };
            (0..32).filter(|bit| (a % 32..a % 32 + count).contains(bit)).map(|bit| 1 << bit).sum()
        });
        for signed in [false, true] {
            let ty = if signed { "s32" } else { "u32" };
            check(&format!("szext.{mode}.{ty} %d, %a, %b;"), &all, |[a, b, _]| match b as u32 {
                32.. if clamp => u64::from(a as u32),
                bits if bits % 32 == 0 => 0,
                bits => word(number(a, bits % 32, signed)),
            });
        }
    }
}

#[test]
fn the_nth_set_bit_is_found_in_both_directions() {
    let all: Vec<[u64; 3]> = [0x8000_0001_u64, 0xf0f0_1234, 0, 0xffff_ffff]
        .into_iter()
        .flat_map(|mask| (0..34).map(move |base| (mask, base)))
        .flat_map(|(mask, base)| (-6..7).map(move |offset: i64| [mask, base, word(offset)]))
        .collect();
    check("fns.b32 %d, %a, %b, %c;", &all, |[mask, base, offset]| {
        let offset = offset as u32 as i32;
        let set = |at: i64| mask >> at & 1 == 1;
        let (mut at, mut left) = (base as i64, offset.abs() - 1);
        while (0..32).contains(&at) {
            if set(at) && left <= 0 {
                return at as u64;
            }
            if offset == 0 {
                break;
            }
            left -= i32::from(set(at));
            at += i64::from(offset.signum());
        }
        u64::from(u32::MAX)
    });
}

#[test]
fn products_of_24_and_16_bits() {
    let all = triples(&EDGES);
    for (ty, signed) in [("u32", false), ("s32", true)] {
        let product = move |a, b| number(a, 24, signed) * number(b, 24, signed);
        check(&format!("mul24.hi.{ty} %d, %a, %b;"), &all, |[a, b, _]| word(product(a, b) >> 16));
        check(&format!("mul24.lo.{ty} %d, %a, %b;"), &all, |[a, b, _]| word(product(a, b)));
        check(&format!("mad24.lo.{ty} %d, %a, %b, %c;"), &all, |[a, b, c]| {
            word(product(a, b).wrapping_add(c as i64))
        });
    }
    check("mad24.hi.sat.s32 %d, %a, %b, %c;", &all, |[a, b, c]| {
        let high = (number(a, 24, true) * number(b, 24, true)) >> 16;
        word((i64::from(high as i32) + number(c, 32, true)).clamp(-(1 << 31), (1 << 31) - 1))
    });
    check("mad.hi.sat.s32 %d, %a, %b, %c;", &all, |[a, b, c]| {
        let high = (number(a, 32, true) * number(b, 32, true)) >> 32;
        word((high + number(c, 32, true)).clamp(-(1 << 31), (1 << 31) - 1))
    });
    for (ty, signed) in [("u16", false), ("s16", true)] {
        check(&format!("mad.hi.{ty} %hd, %ha, %hb, %hc;"), &all, |[a, b, c]| {
            let high = (number(a, 16, signed) * number(b, 16, signed)) >> 16;
            (high + c as u16 as i64) as u16 as u64
        });
        check(&format!("sad.{ty} %hd, %ha, %hb, %hc;"), &all, |[a, b, c]| {
            let difference = number(a, 16, signed).abs_diff(number(b, 16, signed));
            u64::from((difference as u16).wrapping_add(c as u16))
        });
    }
    check("sad.u64 %D, %A, %B, %C;", &all, |[a, b, c]| a.abs_diff(b).wrapping_add(c));
    check("sad.s64 %D, %A, %B, %C;", &all, |[a, b, c]| {
        (a as i64).abs_diff(b as i64).wrapping_add(c)
    });
    check("cnot.b16 %hd, %ha;", &all, |[a, _, _]| u64::from(a as u16 == 0));
}

#[test]
fn selection_by_sign_takes_the_first_from_zero_on() {
    let all = triples(&[0, 1, 0x8000_0000, 0x8000_0001, 0x7fc0_0000, 0xffc0_0000, 0xbf80_0000]);
    check("slct.u32.s32 %d, %a, %b, %c;", &all, |[a, b, c]| {
        u64::from(if (c as u32 as i32) >= 0 { a as u32 } else { b as u32 })
    });
    check(
        "slct.b64.s32 %D, %A, %B, %c;",
        &all,
        |[a, b, c]| {
            if (c as u32 as i32) >= 0 { a } else { b }
        },
    );
    check("slct.f32.f32 %d, %a, %b, %c;", &all, |[a, b, c]| {
        u64::from(if f32::from_bits(c as u32) >= 0.0 { a as u32 } else { b as u32 })
    });
    // The negative subnormal is flushed to -0, which is at least 0.
    let flushed = [[7, 8, 0x8000_0001]];
    check("slct.ftz.u32.f32 %d, %a, %b, %c;", &flushed, |_| 7);
    check("slct.u32.f32 %d, %a, %b, %c;", &flushed, |_| 8);
}

#[test]
fn pairs_of_16_bit_integers_do_not_touch_each_other() {
    let all = triples(&EDGES);
    let halves = |op: fn(i64, i64) -> i64, signed: bool| {
        move |[a, b, _]: [u64; 3]| {
            let half = |shift: u32| {
                let one = op(number(a >> shift, 16, signed), number(b >> shift, 16, signed));
                u64::from(one as u16) << shift
            };
            half(0) | half(16)
        }
    };
    for (ty, signed) in [("u16x2", false), ("s16x2", true)] {
        check(&format!("add.{ty} %d, %a, %b;"), &all, halves(|a, b| a + b, signed));
        check(&format!("min.{ty} %d, %a, %b;"), &all, halves(i64::min, signed));
        check(&format!("max.{ty} %d, %a, %b;"), &all, halves(i64::max, signed));
    }
    check("min.relu.s16x2 %d, %a, %b;", &all, halves(|a, b| a.min(b).max(0), true));
    check("max.s16x2.relu %d, %a, %b;", &all, halves(|a, b| a.max(b).max(0), true));
    check("min.relu.s32 %d, %a, %b;", &all, |[a, b, _]| {
        word(number(a, 32, true).min(number(b, 32, true)).max(0))
    });
    assert!(refusal("min.relu.u16x2 %d, %a, %b;").contains("min.relu.u16x2"));
    assert!(refusal("max.relu.u32 %d, %a, %b;").contains("max.relu.u32"));
}

#[test]
fn packing_conversions_saturate_and_keep_the_upper_bits() {
    let all = triples(&EDGES);
    for (bits, above) in [(16, false), (8, true), (4, true), (2, true)] {
        for signed in [false, true] {
            let (least, most) = if signed {
                (-1 << (bits - 1), (1 << (bits - 1)) - 1)
            } else {
                (0, (1 << bits) - 1)
            };
            let letter = if signed { 's' } else { 'u' };
            let body = match above {
                true => format!("cvt.pack.sat.{letter}{bits}.s32.b32 %d, %a, %b, %c;"),
                false => format!("cvt.pack.sat.{letter}{bits}.s32 %d, %a, %b;"),
            };
            check(&body, &all, |[a, b, c]| {
                let field =
                    |value| (number(value, 32, true).clamp(least, most) & ((1 << bits) - 1)) as u64;
                let low = field(a) << bits | field(b);
                u64::from((if above { c << (2 * bits) } else { 0 } | low) as u32)
            });
        }
    }
}

#[test]
fn tf32_keeps_ten_bits_of_fraction() {
    let bits = |value: f32| u64::from(value.to_bits());
    let ulp = 2f32.powi(-10);
    let middle = 1.0 + ulp / 2.0;
    for (form, value, expected) in [
        ("rna", middle, 1.0 + ulp),
        ("rna", -middle, -1.0 - ulp),
        ("rna", middle.next_down(), 1.0),
        ("rn", middle, 1.0),
        ("rn", middle.next_up(), 1.0 + ulp),
        ("rn", 1.0 + 3.0 * ulp / 2.0, 1.0 + 2.0 * ulp),
        ("rz", 1.0 + ulp * 0.99, 1.0),
        ("rn.relu", -middle, 0.0),
        ("rna", f32::MAX, f32::INFINITY),
        ("rna", f32::NEG_INFINITY, f32::NEG_INFINITY),
        ("rn", f32::from_bits(0x1800), f32::from_bits(0x2000)),
    ] {
        check(&format!("cvt.{form}.tf32.f32 %d, %a;"), &[[bits(value), 0, 0]], |_| bits(expected));
    }
    let largest = 0x7f7f_e000;
    check("cvt.rna.satfinite.tf32.f32 %d, %a;", &[[bits(f32::MAX), 0, 0]], |_| largest);
    check("cvt.rn.tf32.f32 %d, %a;", &[[0xffc0_0001, 0, 0]], |_| 0x7fff_ffff);
}

#[test]
fn scalar_video_works_on_parts_saturates_and_merges() {
    let all = triples(&EDGES);
    check("vadd.s32.u32.s32.sat %d, %a.b0, %b.h1;", &all, |[a, b, _]| {
        word((number(a, 8, false) + number(b >> 16, 16, true)).clamp(-(1 << 31), (1 << 31) - 1))
    });
    check("vsub.u32.u32.u32.sat %d, %a, %b;", &all, |[a, b, _]| {
        u64::from((a as u32).saturating_sub(b as u32))
    });
    check("vadd.s32.s32.s32.sat %d.b2, %a.h0, %b.b3, %c;", &all, |[a, b, c]| {
        let sum = (number(a, 16, true) + number(b >> 24, 8, true)).clamp(-128, 127);
        (c & 0xff00_ffff) | u64::from(sum as u8) << 16
    });
    check("vabsdiff.u32.s32.s32.add %d, %a, %b, %c;", &all, |[a, b, c]| {
        word(number(a, 32, true).abs_diff(number(b, 32, true)) as i64 + c as u32 as i64)
    });
    check("vmin.s32.s32.s32.max %d, %a.h1, %b.h0, %c;", &all, |[a, b, c]| {
        word(number(a >> 16, 16, true).min(number(b, 16, true)).max(number(c, 32, true)))
    });
    check("vshl.u32.u32.u32.clamp %d, %a, %b;", &all, |[a, b, _]| {
        u64::from((a as u32).checked_shl(b as u32).unwrap_or(0))
    });
    check("vshl.u32.u32.u32.sat.clamp %d, %a, %b;", &all, |[a, b, _]| {
        let exact = u128::from(a as u32) << (b as u32).min(32);
        u64::try_from(exact).unwrap().min(u64::from(u32::MAX))
    });
    check("vshr.s32.s32.u32.wrap %d, %a, %b;", &all, |[a, b, _]| {
        word(number(a, 32, true) >> (b % 32))
    });
    check("vset.s32.u32.lt %d, %a, %b;", &all, |[a, b, _]| {
        u64::from(number(a, 32, true) < number(b, 32, false))
    });
    check("vmad.s32.s32.u32.sat %d, %a.b1, -%b.h0, %c;", &all, |[a, b, c]| {
        let exact = number(c, 32, true) - number(a >> 8, 8, true) * number(b, 16, false);
        word(exact.clamp(-(1 << 31), (1 << 31) - 1))
    });
    check("vmad.u32.u32.u32.po.shr7 %d, %a, %b.b0, %c;", &all, |[a, b, c]| {
        let exact = u128::from(a as u32) * u128::from(b as u8) + u128::from(c as u32) + 1;
        u64::from((exact >> 7) as u32)
    });
    assert!(refusal("vadd.s32.u32.s32.sat %d, %a.b4, %b;").contains("vadd.s32.u32.s32.sat"));
    assert!(refusal("vmad.u32.u32.u32 %d, -%a, %b, %c;").contains("vmad.u32.u32.u32"));
}

#[test]
fn simd_video_works_on_all_parts() {
    let all = triples(&EDGES);
    let parts = |bits: u32, signed: bool| {
        move |value: u64| -> Vec<i64> {
            (0..32 / bits).map(|at| number(value >> (bits * at), bits, signed)).collect()
        }
    };
    let joined = |bits: u32, parts: Vec<i64>| {
        let field = (1 << bits) - 1;
        (0..).zip(parts).map(|(at, part)| ((part & field) as u64) << (bits * at)).sum::<u64>()
    };
    let (bytes, signed_bytes) = (parts(8, false), parts(8, true));
    let halves = parts(16, true);
    let each = |a: Vec<i64>, b: Vec<i64>, op: &dyn Fn(i64, i64) -> i64| -> Vec<i64> {
        a.into_iter().zip(b).map(|(a, b)| op(a, b)).collect()
    };
    check("vabsdiff4.u32.u32.u32 %d, %a, %b, %c;", &all, |[a, b, _]| {
        joined(8, each(bytes(a), bytes(b), &|a, b| (a - b).abs()))
    });
    check("vabsdiff4.u32.s32.s32.add %d, %a, %b, %c;", &all, |[a, b, c]| {
        let sum: i64 = each(signed_bytes(a), signed_bytes(b), &|a, b| (a - b).abs()).iter().sum();
        word(sum + c as u32 as i64)
    });
    check("vadd2.s32.s32.s32.sat %d, %a, %b, %c;", &all, |[a, b, _]| {
        joined(16, each(halves(a), halves(b), &|a, b| (a + b).clamp(-0x8000, 0x7fff)))
    });
    check("vavrg4.s32.s32.s32 %d, %a, %b, %c;", &all, |[a, b, _]| {
        // Away from zero where the sum is not negative, else down.
        let average = |a, b| if a + b >= 0 { (a + b + 1) >> 1 } else { (a + b) >> 1 };
        joined(8, each(signed_bytes(a), signed_bytes(b), &average))
    });
    check("vset4.u32.u32.ge %d, %a, %b, %c;", &all, |[a, b, _]| {
        joined(8, each(bytes(a), bytes(b), &|a, b| i64::from(a >= b)))
    });
    // The upper result alone: half 1 of b minus half 0 of a.
    check("vsub2.s32.s32.s32 %d.h1, %a.h32, %b.h01, %c;", &all, |[a, b, c]| {
        let difference = number(b >> 16, 16, true) - number(a, 16, true);
        u64::from(c as u16) | u64::from(difference as u16) << 16
    });
    assert!(refusal("vadd4.u32.u32.u32.sat.add %d, %a, %b, %c;").contains("vadd4"));
}

#[test]
fn extremes_of_sizes_take_the_sign_of_the_product() {
    let bits = |value: f32| u64::from(value.to_bits());
    for (form, a, b, expected) in [
        ("min", -2.0, 3.0, -2.0),
        ("min", -3.0, -2.0, 2.0),
        ("max", -3.0, 2.0, -3.0),
        ("max", f32::NAN, -2.0_f32, -2.0),
    ] {
        let body = format!("{form}.xorsign.abs.f32 %d, %a, %b;");
        check(&body, &[[bits(a), bits(b), 0]], |_| bits(expected));
    }
    let nan = [[bits(f32::NAN), bits(1.0), 0]];
    check("max.NaN.xorsign.abs.f32 %d, %a, %b;", &nan, |_| 0x7fff_ffff);
    assert!(refusal("min.xorsign.abs.f64 %D, %A, %B;").contains("min.xorsign.abs.f64"));
}
