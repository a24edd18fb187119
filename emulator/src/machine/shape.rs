//! How the addresses of a full warp lie.
//!
//! An access is *affine* if an address is the first one plus a step for every set bit of the lane's
//! number. Uniform and consecutive accesses are affine; strides, rows and columns of tiles, and
//! broadcasts to halves of a warp are too. Everything else is general.

/// The step of each bit of a lane's number, in bytes.
pub type Steps = [i32; 5];

/// The steps of an affine access; `None`: it is general.
#[inline(always)]
pub fn affine(addresses: &[u32; 32]) -> Option<Steps> {
    let step = |bit: usize| addresses[1 << bit].wrapping_sub(addresses[0]);
    let steps: [u32; 5] = [step(0), step(1), step(2), step(3), step(4)];
    let mut apart = 0;
    // Lanes with this highest bit lie the bit's step behind those without.
    for lane in 0..16 {
        apart |= addresses[lane + 16].wrapping_sub(addresses[lane]) ^ steps[4];
    }
    for lane in 0..8 {
        apart |= addresses[lane + 8].wrapping_sub(addresses[lane]) ^ steps[3];
    }
    for lane in 0..4 {
        apart |= addresses[lane + 4].wrapping_sub(addresses[lane]) ^ steps[2];
    }
    apart |= addresses[3].wrapping_sub(addresses[1]) ^ steps[1];
    (apart == 0).then(|| steps.map(u32::cast_signed))
}

/// The lowest and the highest address of an affine access, relative to the first.
#[inline(always)]
pub fn reach(steps: Steps) -> (i64, i64) {
    let (mut low, mut high) = (0, 0);
    for step in steps {
        low += i64::from(step.min(0));
        high += i64::from(step.max(0));
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses(first: u32, steps: Steps) -> [u32; 32] {
        std::array::from_fn(|lane| {
            let set = (0..5).filter(|bit| lane >> bit & 1 == 1);
            set.fold(first, |sum, bit| sum.wrapping_add_signed(steps[bit]))
        })
    }

    proptest! {
        #[test]
        fn affine_addresses_are_recognised_and_single_deviations_detected(
            first: u32,
            steps in prop::array::uniform5(-5000i32..5000),
            lane in 0usize..32,
        ) {
            let mut bases = addresses(first, steps);
            prop_assert_eq!(affine(&bases), Some(steps));
            let far = addresses(1 << 20, steps).map(|at| i64::from(at) - (1 << 20));
            let expected = (*far.iter().min().unwrap(), *far.iter().max().unwrap());
            prop_assert_eq!(reach(steps), expected);
            bases[lane] = bases[lane].wrapping_add(4);
            prop_assert_ne!(affine(&bases), Some(steps));
            if lane.count_ones() != 1 && lane != 0 {
                prop_assert_eq!(affine(&bases), None);
            }
        }
    }
}
