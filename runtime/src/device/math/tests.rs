use super::{FastMath, FloatMath, single};

fn both<T: FloatMath>(x: T) -> [T; 2] {
    [x.floor(), x.round_ties_even()]
}

#[test]
fn functions_on_the_host_agree_with_std() {
    assert_eq!(both(2.5_f32), [2.0, 2.0]);
    assert_eq!(both(-0.75_f64), [-1.0, -1.0]);
    assert_eq!(FloatMath::mul_add(2.0_f32, 3.0, 1.0), 7.0);
    assert_eq!(4.0_f32.rsqrt(), 0.5);
}

/// The distance of `got` from `exact` in units in the last place of the nearest `f32`.
fn ulp(got: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if nearest.is_nan() || nearest.is_infinite() {
        let is_same = got == nearest || got.is_nan() && nearest.is_nan();
        return if is_same { 0.0 } else { f64::INFINITY };
    }
    let exponent = (nearest.abs().to_bits() >> 23).max(1) as i32 - 127 - 23;
    (f64::from(got) - exact).abs() / 2.0_f64.powi(exponent)
}

/// The largest error over every 16,411th `f32`, NaN and infinities among them.
fn largest_error(ours: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
    let all = (0..=u32::MAX).step_by(16_411).map(f32::from_bits);
    all.map(|x| ulp(ours(x), exact(f64::from(x)))).fold(0.0, |worst, error| {
        assert!(!error.is_nan(), "a value where there is none, or the other way round");
        f64::max(worst, error)
    })
}

#[test]
fn results_of_kernels_are_within_the_errors_of_the_books_table() {
    type Case = (&'static str, fn(f32) -> f32, fn(f64) -> f64, f64);
    let cases: [Case; 9] = [
        ("exp", single::exp, f64::exp, 1.1),
        ("exp2", single::exp2, f64::exp2, 0.8),
        ("ln", single::ln, f64::ln, 0.9),
        ("log2", single::log2, f64::log2, 1.1),
        ("log10", single::log10, f64::log10, 1.0),
        ("sin", single::sin, f64::sin, 1.5),
        ("cos", single::cos, f64::cos, 1.5),
        ("tan", single::tan, f64::tan, 3.1),
        ("tanh", single::tanh, f64::tanh, 1.4),
    ];
    for (name, ours, exact, most) in cases {
        let worst = largest_error(ours, exact);
        assert!(worst <= most, "{name}: {worst} ulp");
        assert!(worst > 0.4, "{name}: no f32 rounds that well, so the comparison is wrong");
    }
}

#[test]
fn sin_cos_agrees_with_sin_and_cos() {
    for x in [0.0, 1.0, -7.5, 99_999.0, 1e10, f32::MAX] {
        assert_eq!(single::sin_cos(x), (single::sin(x), single::cos(x)));
    }
}
