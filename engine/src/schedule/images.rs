//! Counter data images: the file and slot with the counts of each configuration.
//!
//! Input: the image of each configuration of a job before it. Output: its image afterwards.
//! Configurations of a kernel that are collected in one process share an image, in which each keeps
//! its slot from the first pass to the last; a configuration that has to run alone for a pass takes
//! a copy of the whole image along.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most configurations that share an image: each takes some 1.5 MB of it.
pub const MOST_TOGETHER: usize = 16;

/// A configuration's slot in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The file's name in the folder of the run's passes.
    pub file: String,
    /// The slot, from 0.
    #[serde(rename = "place")]
    pub slot: u32,
    /// How many slots the file has.
    #[serde(rename = "places")]
    pub slots: u32,
}

/// The image of one configuration before and after a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    /// The image from which the pass continues; none for the first pass.
    pub before: Option<Image>,
    /// The image for the next pass.
    pub after: Image,
}

/// The images of the configurations of the job `name`: those with an image keep their slots in it,
/// and new ones share one, up to `together` of them. Files of configurations with different images
/// stay separate. Configurations that share a file are adjacent, and otherwise in the given order.
pub fn hand_over(
    name: &str,
    together: usize,
    configurations: Vec<(usize, Option<Image>)>,
) -> Vec<(usize, Handover)> {
    let beginning = configurations.iter().filter(|(_, before)| before.is_none()).count();
    let mut begun = 0;
    // The previous files, if any, numbered in order; each continues in its own new file.
    let mut files = BTreeMap::new();
    let mut of = |(configuration, before): (usize, Option<Image>)| {
        let (file, slot, slots) = match &before {
            Some(image) => (Ok(image.file.clone()), image.slot, image.slots),
            None => {
                let (image, slot) = (begun / together, begun % together);
                begun += 1;
                let slots = together.min(beginning - image * together);
                (Err(image), narrow(slot), narrow(slots))
            }
        };
        let next = files.len();
        let number = *files.entry(file).or_insert(next);
        let file = match number {
            0 => format!("{name}.image"),
            more => format!("{name}-{more}.image"),
        };
        (number, configuration, Handover { before, after: Image { file, slot, slots } })
    };
    let mut handed: Vec<_> = configurations.into_iter().map(&mut of).collect();
    handed.sort_by_key(|&(number, ..)| number);
    handed.into_iter().map(|(_, configuration, handover)| (configuration, handover)).collect()
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(file: &str, slot: u32, slots: u32) -> Image {
        Image { file: file.to_owned(), slot, slots }
    }

    /// `configuration file slot/slots` of each.
    fn list_handovers(handed: Vec<(usize, Handover)>) -> Vec<String> {
        let text = |(configuration, Handover { after, .. }): (usize, Handover)| {
            format!("{configuration} {} {}/{}", after.file, after.slot, after.slots)
        };
        handed.into_iter().map(text).collect()
    }

    #[test]
    fn configurations_that_begin_together_share_an_image_file() {
        let begin = vec![(4, None), (2, None)];
        assert_eq!(
            list_handovers(hand_over("a", 16, begin.clone())),
            ["4 a.image 0/2", "2 a.image 1/2"]
        );
        assert_eq!(list_handovers(hand_over("a", 1, begin)), ["4 a.image 0/1", "2 a-1.image 0/1"]);
    }

    #[test]
    fn an_image_file_holds_a_bounded_number_of_configurations() {
        let handed =
            hand_over("a", MOST_TOGETHER, (0..MOST_TOGETHER + 2).map(|c| (c, None)).collect());
        let told = list_handovers(handed);
        assert_eq!(told[MOST_TOGETHER - 1], "15 a.image 15/16");
        assert_eq!(told[MOST_TOGETHER..], ["16 a-1.image 0/2", "17 a-1.image 1/2"]);
    }

    #[test]
    fn image_positions_are_kept_after_some_continue_alone() {
        let shared = |slot| Some(image("before", slot, 4));
        let alone = Some(image("other", 1, 4));
        let handed =
            hand_over("b", MOST_TOGETHER, vec![(7, shared(0)), (8, alone), (9, shared(3))]);
        assert_eq!(handed[1].1.before, shared(3));
        assert_eq!(list_handovers(handed), ["7 b.image 0/4", "9 b.image 3/4", "8 b-1.image 1/4"]);
    }
}
