use super::*;

/// Every finite number of a type with its value, in order.
fn all_f16() -> Vec<(f16, f64)> {
    (0..0x7c00).map(|bits| (f16::from_bits(bits), f16::from_bits(bits).to_f64())).collect()
}

#[test]
fn every_half_survives_conversion_to_single_and_back() {
    for bits in 0..=u16::MAX {
        let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
        if !half.is_nan() {
            assert_eq!(f16::from_f32(half.to_f32()).to_bits(), bits);
        }
        if !brain.is_nan() {
            assert_eq!(brain.to_f32().to_bits(), u32::from(bits) << 16);
            assert_eq!(bf16::from_f32(brain.to_f32()).to_bits(), bits);
        }
        assert_eq!(f16::from_f32(half.to_f32()).is_nan(), half.is_nan());
    }
    assert_eq!(f16::from_f32(f32::NAN).to_bits(), 0x7fff);
    assert_eq!(bf16::from_f32(-f32::NAN).to_bits(), 0x7fff);
}

#[test]
fn conversion_to_half_rounds_to_nearest_even() {
    for pair in all_f16().windows(2) {
        let [(low, from), (high, to)] = [pair[0], pair[1]];
        let middle = (from + to) / 2.0;
        let even = if low.to_bits() & 1 == 0 { low } else { high };
        assert_eq!(f16::from_f64(middle).to_bits(), even.to_bits());
        assert_eq!(f16::from_f64(middle.next_down()).to_bits(), low.to_bits());
        assert_eq!(f16::from_f64(-middle.next_up()).to_bits(), (-high).to_bits());
    }
    assert_eq!(f16::from_f32(65_519.996), f16::MAX);
    assert_eq!(f16::from_f32(65_520.0), f16::INFINITY);
    assert_eq!(f16::from_f64(f64::MIN_POSITIVE).to_bits(), 0);
    assert_eq!(bf16::from_f32(f32::MAX), bf16::INFINITY);
    assert_eq!(bf16::from_f32(1.0 + 1.0 / 256.0), bf16::ONE);
    assert_eq!(bf16::from_f32(1.0 + 3.0 / 256.0).to_f32(), 1.0 + 4.0 / 256.0);
}

#[test]
fn a_fused_product_and_sum_is_rounded_once() {
    // The product lies between two halves, and the sum differs from there by less than an `f64` can
    // represent.
    let (a, tiny) = (f16::from_bits(0x7801), f16::from_bits(1));
    let b = f16::from_bits(0x3c02);
    let product = a.to_f64() * b.to_f64();
    for (c, exact) in [(tiny, product + 2_f64.powi(-24)), (-tiny, product - 2_f64.powi(-24))] {
        assert_eq!(a.mul_add(b, c), f16::from_f64(exact), "{c}");
    }
    // 2^15 × (1 + 2^-10) × … in bf16: the addend is 100 binary digits below the product's tie.
    let (a, b) = (bf16::from_f32(1.0078125), bf16::from_f32(1.5));
    let tie = a * b;
    let far = bf16::from_f32(1e-30);
    let (up, down) = (a.mul_add(b, far), a.mul_add(b, -far));
    assert!(down < up && (tie == up || tie == down), "{down} {tie} {up}");
    assert!(f16::INFINITY.mul_add(f16::ZERO, f16::ONE).is_nan());
    assert_eq!((-f16::ONE).mul_add(f16::ONE, f16::ONE).to_bits(), 0);
}

#[test]
fn comparisons_and_extremes_handle_nan() {
    assert_eq!(f16::NAN.min(f16::ONE), f16::ONE);
    assert_eq!(f16::ONE.max(f16::NAN), f16::ONE);
    assert_eq!(f16::NAN.max(f16::NAN).to_bits(), 0x7fff);
    assert_eq!(f16::ZERO.min(-f16::ZERO).to_bits(), 0x8000);
    assert!(f16::NAN != f16::NAN && f16::ZERO == -f16::ZERO && bf16::ONE > bf16::ZERO);
    assert_eq!(f16::NAN.partial_cmp(&f16::ONE), None);
}

#[test]
fn a_pair_holds_the_first_half_in_its_lower_bits() {
    let pair = f16x2::new(f16::ONE, f16::ZERO);
    assert_eq!(pair.to_bits(), 0x0000_3c00);
    assert_eq!((-pair).to_bits(), 0x8000_bc00);
    assert_eq!((pair - f16x2::splat(f16::ONE)).to_f32s(), [0.0, -1.0]);
    assert_eq!(
        bf16x2::from_f32s(1.0, -2.0).min(bf16x2::from_f32s(3.0, -4.0)).to_f32s(),
        [1.0, -4.0]
    );
}

#[test]
fn rounding_through_f32_equals_rounding_once() {
    let check = |value: f64| {
        for value in [value, -value] {
            let odd = super::scalar::odd(value);
            assert_eq!(f16::from_f32(odd).to_bits(), f16::from_f64(value).to_bits(), "{value:e}");
            assert_eq!(bf16::from_f32(odd).to_bits(), bf16::from_f64(value).to_bits(), "{value:e}");
        }
    };
    for bits in 0..0x7fff_u16 {
        for low in [f16::from_bits(bits).to_f64(), bf16::from_bits(bits).to_f64()] {
            let high = bf16::from_bits(bits + 1).to_f64();
            for value in [low, low.next_up(), low.next_down(), (low + high) / 2.0] {
                [value, value.next_up(), value.next_down()].into_iter().for_each(check);
            }
        }
    }
    [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e-46, 3.5e38].into_iter().for_each(check);
    assert!(super::scalar::odd(f64::NAN).is_nan());
}
