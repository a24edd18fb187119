//! Which device measures which configuration. Pure.
//!
//! Input: the number of configurations of each series, the cost of each if it is known, and the
//! number of devices, all of one model. Output: one device for every configuration, from its first
//! pass to its last. It depends on the numbers alone, so a resumed run continues in the same way.
//!
//! Two devices of one model differ, by 8 % in the mean on large machines (Sinha et al., SC22), and
//! no number of processes on one of them shows by how much: measurements of two devices must not be
//! compared. So a series stays whole as long as there are as many series as devices. If there are
//! fewer, a series is dealt out to several devices at random: in turns, an axis of two values would
//! give each device one of them, and the axis could not be judged.

use std::cmp::Reverse;

use gpuprof_analysis::stats::random::{SEED, SplitMix, shuffle};

use super::Pairs;

/// The device of every configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    devices: usize,
    of: Vec<Vec<usize>>,
}

impl Assignment {
    /// Spreads series with these `counts` of configurations, each as long as the other, over
    /// `devices`.
    pub fn new(counts: &[usize], devices: usize) -> Self {
        Self::by_cost(counts, &vec![1; counts.len()], devices)
    }

    /// As [`Self::new`], if a configuration of each series costs `each`.
    pub fn by_cost(counts: &[usize], each: &[u64], devices: usize) -> Self {
        let devices = devices.max(1);
        let costs: Vec<u64> = counts.iter().zip(each).map(|(&n, &each)| cost(n, each)).collect();
        let mut order: Vec<usize> =
            (0..counts.len()).filter(|&series| counts[series] > 0).collect();
        // The long ones first: the short ones fill up what is left.
        order.sort_by_key(|&series| Reverse(costs[series]));
        let groups = if order.len() >= devices {
            whole(&order, &costs, devices)
        } else {
            parted(&order, (counts, &costs), devices)
        };
        let mut of: Vec<Vec<usize>> = counts.iter().map(|_| Vec::new()).collect();
        for (series, group) in groups {
            let mut dealt: Vec<usize> =
                (0..counts[series]).map(|nth| group[nth % group.len()]).collect();
            if group.len() > 1 {
                shuffle(&mut dealt, &mut SplitMix(SEED));
            }
            of[series] = dealt;
        }
        Self { devices, of }
    }

    /// Gives each series with one of these `counts` of configurations as a whole to the next of
    /// `devices`, in turns.
    pub fn in_turns(counts: &[usize], devices: usize) -> Self {
        let of = counts.iter().enumerate().map(|(at, &count)| vec![at % devices; count]);
        Self { devices, of: of.collect() }
    }

    /// With the series of another revision behind these, which have `counts` of configurations:
    /// partners stay on one device.
    #[must_use]
    pub fn with_partners(mut self, pairs: &Pairs, counts: &[usize]) -> Self {
        for &count in counts {
            let series = self.of.len();
            let device = |index| {
                let partner = pairs.partner((series, index));
                partner.map_or(0, |(head, position)| self.of[head][position])
            };
            let of = (0..count).map(device).collect();
            self.of.push(of);
        }
        self
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// The position of the device of a configuration.
    pub fn device(&self, (series, configuration): (usize, usize)) -> usize {
        self.of[series][configuration]
    }

    /// Of each device: how many series it has a part of, and how many configurations.
    pub fn loads(&self) -> Vec<(usize, usize)> {
        self.parts().into_iter().map(|part| (part.len(), part.iter().sum())).collect()
    }

    /// Of each device: how many configurations it has of each series that it has a part of.
    pub fn parts(&self) -> Vec<Vec<usize>> {
        let part = |device| {
            let here = self.of.iter().map(|of| of.iter().filter(|&&d| d == device).count());
            here.filter(|&count| count > 0).collect()
        };
        (0..self.devices).map(part).collect()
    }

    /// The positions of the series that several devices measure.
    pub fn parted(&self) -> Vec<usize> {
        let several = |of: &Vec<usize>| of.iter().any(|device| *device != of[0]);
        self.of.iter().enumerate().filter(|(_, of)| several(of)).map(|(series, _)| series).collect()
    }
}

/// The cost of `count` configurations that cost `each`.
fn cost(count: usize, each: u64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(each)
}

/// Every series to the device that has least to do so far.
fn whole(order: &[usize], costs: &[u64], devices: usize) -> Vec<(usize, Vec<usize>)> {
    let mut loads = vec![0_u64; devices];
    let place = |&series: &usize| {
        let least = (0..devices).min_by_key(|&device| loads[device]).unwrap_or(0);
        loads[least] = loads[least].saturating_add(costs[series]);
        (series, vec![least])
    };
    order.iter().map(place).collect()
}

/// Separate devices for every series, the more the longer it is, and none that would be idle.
fn parted(
    order: &[usize],
    (counts, costs): (&[usize], &[u64]),
    devices: usize,
) -> Vec<(usize, Vec<usize>)> {
    let mut shares: Vec<(usize, usize)> = order.iter().map(|&series| (series, 1)).collect();
    for _ in order.len()..devices {
        let room = shares.iter_mut().filter(|(series, share)| *share < counts[*series]);
        let left = |(series, share): &&mut (usize, usize)| costs[*series] / cost(*share, 1);
        if let Some((_, share)) = room.max_by_key(left) {
            *share += 1;
        }
    }
    let mut next = 0;
    let group = |(series, share): (usize, usize)| {
        next += share;
        (series, (next - share..next).collect())
    };
    shares.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn with_a_series_per_device_no_series_is_split() {
        let spread = Assignment::new(&[2, 5, 0, 3], 2);
        assert_eq!(spread.parted(), [0_usize; 0]);
        assert_eq!(spread.loads(), [(1, 5), (2, 5)]);
        assert_eq!(spread.device((1, 4)), 0);
    }

    #[test]
    fn round_robin_gives_each_series_the_next_device() {
        let spread = Assignment::in_turns(&[2, 2, 1, 1], 2);
        assert_eq!(spread.loads(), [(2, 3), (2, 3)]);
        assert_eq!((spread.device((1, 1)), spread.device((2, 0))), (1, 0));
    }

    #[test]
    fn a_single_series_is_split_across_every_axis() {
        let spread = Assignment::new(&[20], 2);
        assert_eq!(spread.parted(), [0]);
        assert_eq!(spread.loads(), [(1, 10), (1, 10)]);
        // An axis of two values that varies fastest has both of them on either device.
        for device in [0, 1] {
            let here: Vec<usize> = (0..20).filter(|&c| spread.device((0, c)) == device).collect();
            assert!(here.iter().any(|c| c % 2 == 0) && here.iter().any(|c| c % 2 == 1), "{here:?}");
        }
        assert_eq!(spread, Assignment::new(&[20], 2));
    }

    #[test]
    fn a_long_series_gets_more_of_the_devices_than_a_short_one() {
        let spread = Assignment::new(&[2, 30], 4);
        assert_eq!(spread.parted(), [1]);
        assert_eq!(spread.loads(), [(1, 10), (1, 10), (1, 10), (1, 2)]);
        assert_eq!(Assignment::new(&[1], 4).loads(), [(1, 1), (0, 0), (0, 0), (0, 0)]);
    }

    #[test]
    fn devices_are_balanced_by_cost() {
        // Five cheap configurations, two dear ones, and one of neither kind.
        let spread = Assignment::by_cost(&[5, 2, 1], &[10, 100, 60], 2);
        let device = |series| spread.device((series, 0));
        assert!(device(0) == device(2) && device(0) != device(1), "{spread:?}");
        // By their numbers alone the first one would have a device to itself.
        let spread = Assignment::new(&[5, 2, 1], 2);
        assert!(spread.device((1, 0)) == spread.device((2, 0)), "{spread:?}");
        // The dear series gets the devices that are left, as far as it has configurations.
        let spread = Assignment::by_cost(&[6, 3], &[1, 10], 5);
        assert_eq!(spread.loads(), [(1, 1), (1, 1), (1, 1), (1, 3), (1, 3)]);
    }

    #[test]
    fn both_sides_of_a_configuration_share_a_device() {
        let mut pairs = Pairs::default();
        pairs.join(0, 1, vec![1, 3, 4]);
        let spread = Assignment::new(&[5], 2);
        let both = spread.clone().with_partners(&pairs, &[3]);
        for (index, position) in [(0, 1), (1, 3), (2, 4)] {
            assert_eq!(both.device((1, index)), spread.device((0, position)));
        }
    }

    proptest! {
        #[test]
        fn series_are_split_only_to_fill_idle_devices(
            counts in prop::collection::vec(0..40_usize, 0..6), devices in 1..9_usize,
        ) {
            let spread = Assignment::new(&counts, devices);
            let loads = spread.loads();
            prop_assert_eq!(loads.iter().map(|(_, c)| c).sum::<usize>(), counts.iter().sum::<usize>());
            let series = counts.iter().filter(|&&count| count > 0).count();
            prop_assert!(series < devices || spread.parted().is_empty());
            // Idle only where even a device a configuration leaves some.
            let idle = loads.iter().any(|(_, configurations)| *configurations == 0);
            prop_assert!(!idle || counts.iter().sum::<usize>() < devices);
            for parted in spread.parted() {
                let of = |d| (0..counts[parted]).filter(|&c| spread.device((parted, c)) == d).count();
                let sizes: Vec<usize> = (0..devices).map(of).filter(|&n| n > 0).collect();
                prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
    }
}
