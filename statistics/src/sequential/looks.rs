//! The numbers of rounds at which there is a look, and how many rounds a configuration gets.

/// The numbers of rounds at which there is a look. The first only tells which configurations have a
/// limit that rounds decide; from [`FIRST_TO_DECIDE`] on each is about 1.4 times the one before.
pub const LOOKS: [u32; 12] = [6, 15, 21, 29, 41, 57, 80, 112, 157, 220, 308, 431];

/// The first look that decides about a limit relative to the base: with fewer rounds no failure is
/// rare enough, and a fifth of slow processes is often not seen at all (fifteen miss it in 3.5 %).
pub const FIRST_TO_DECIDE: u32 = 15;

/// How many rounds a configuration gets at most, by how many are undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    many: u32,
    few: u32,
}

impl Most {
    /// The default. If a run is slower as a whole, 112 rounds of each are enough to decide. If one
    /// configuration is 3 % slower, it is the last undecided one, and 431 rounds catch it with 98 %
    /// if processes scatter by 2 %.
    pub const DEFAULT: Self = Self { many: 112, few: 431 };

    /// The same for every configuration.
    pub fn exactly(rounds: u32) -> Self {
        Self { many: rounds, few: rounds }
    }

    /// How many of a run's `configurations` may have the rounds of a few: three, or one in twenty.
    pub fn few(configurations: usize) -> usize {
        (configurations / 20).max(3)
    }

    /// Those of each that is undecided, of so many of a run's `configurations`.
    pub fn limit(self, undecided: usize, configurations: usize) -> u32 {
        if undecided <= Self::few(configurations) { self.few } else { self.many }
    }

    /// The most that any configuration may get.
    pub fn single_limit(self) -> u32 {
        self.few
    }

    /// The most that each may get if all of a run are undecided.
    pub fn common_limit(self) -> u32 {
        self.many
    }
}

/// How many rounds choose the best configurations: they would flatter their choice, so the later
/// rounds judge it.
pub const CHOOSING: usize = 7;

/// How many configurations are chosen.
pub const CHOSEN: usize = 3;

/// The first look after `rounds`; none after the last.
pub fn next_look(rounds: u32) -> Option<u32> {
    LOOKS.into_iter().find(|&look| look > rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_undecided_configurations_get_more_rounds() {
        let of = |configurations| {
            [0, 3, 4, 25, 26].map(|undecided| Most::DEFAULT.limit(undecided, configurations))
        };
        assert_eq!(of(50), [431, 431, 112, 112, 112]);
        assert_eq!(of(500), [431, 431, 431, 431, 112]);
        assert_eq!([1, 4].map(|undecided| Most::exactly(57).limit(undecided, 4)), [57, 57]);
    }

    #[test]
    fn each_look_gives_the_number_of_rounds_of_the_next() {
        assert_eq!((next_look(0), next_look(6), next_look(15)), (Some(6), Some(15), Some(21)));
        assert_eq!((next_look(308), next_look(431)), (Some(431), None));
    }
}
