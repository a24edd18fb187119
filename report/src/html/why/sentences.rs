//! The meaning of the charts, in sentences.

use gpuprof_analysis::why::limits::Share;
use gpuprof_analysis::why::occupancy::{Less, Occupancy};
use gpuprof_analysis::why::warps::{State, meaning};

use crate::number::grouped;

/// Below this percentage of its peak, a unit limits nothing by itself.
const FAR: f64 = 60.0;

/// The unit that is nearest its peak.
pub(super) fn nearest((first, second): (&Share, Option<&Share>)) -> String {
    let share_text = |share: &Share| format!("{} at {}%", share.label, grouped(share.percent, 1));
    let next = second.map(|second| format!(", then {}", share_text(second))).unwrap_or_default();
    let far = match first.percent < FAR {
        true => " None is near it: what limits is latency, or too little work.",
        false => "",
    };
    format!("Nearest its peak: {}{next}.{far}", share_text(first))
}

/// The longest wait of warps.
pub(super) fn waits(state: &State) -> Option<String> {
    let meaning = meaning(&state.name)?;
    Some(format!("Most of its time ({}%), a warp waits for {meaning}.", grouped(state.percent, 0)))
}

/// The limit of occupancy, and the remedy.
pub(super) fn occupancy(occupancy: &Occupancy) -> Vec<String> {
    let percent = |value: f64| format!("{}%", grouped(value, 1));
    let mut sentences = Vec::new();
    let occupancies = match (occupancy.theoretical, occupancy.achieved) {
        (Some(most), Some(reached)) => {
            Some(format!("Theoretical {}, achieved {}", percent(most), percent(reached)))
        }
        (Some(most), None) => Some(format!("Theoretical {}", percent(most))),
        (None, Some(reached)) => Some(format!("Achieved {}", percent(reached))),
        (None, None) => None,
    };
    if let Some(occupancies) = occupancies {
        let by = match occupancy.limiters.as_slice() {
            [] => String::new(),
            limiters => format!("; limited by {}", limiters.join(" and ")),
        };
        sentences.push(format!("{occupancies}{by}."));
    }
    sentences.extend(occupancy.less.iter().map(less));
    sentences
}

fn less(less: &Less) -> String {
    let Less { of, now, needed, blocks, occupancy, one_step } = less;
    let begin = match one_step {
        true => "That little less is enough: with",
        false => "With",
    };
    format!(
        "{begin} {} {of} instead of {}, a multiprocessor holds {blocks} blocks: {}%.",
        grouped_count(*needed),
        grouped_count(*now),
        grouped(*occupancy, 1)
    )
}

fn grouped_count(value: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "registers, or bytes of shared memory")]
    grouped(value as f64, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(label: &str, percent: f64) -> Share {
        Share { label: label.into(), metric: String::new(), percent }
    }

    #[test]
    fn low_utilization_is_named() {
        let [dram, l2] = [share("DRAM", 91.25), share("L2", 40.0)];
        assert_eq!(
            nearest((&dram, Some(&l2))),
            "Nearest its peak: DRAM at 91.2%, then L2 at 40.0%."
        );
        assert!(nearest((&l2, None)).ends_with("what limits is latency, or too little work."));
    }

    #[test]
    fn a_saved_register_is_reported_with_the_gained_occupancy() {
        let less = Less {
            of: "registers a thread",
            now: 33,
            needed: 32,
            blocks: 8,
            occupancy: 100.0,
            one_step: true,
        };
        let told = occupancy(&Occupancy {
            theoretical: Some(75.0),
            achieved: None,
            rooms: Vec::new(),
            limiters: vec!["registers"],
            less: vec![less],
        });
        assert_eq!(
            told,
            [
                "Theoretical 75.0%; limited by registers.",
                "That little less is enough: with 32 registers a thread instead of 33, a multiprocessor holds \
                 8 blocks: 100.0%."
            ]
        );
    }
}
