//! Shares: quotients of two counters, the first of which counts a part of the second.
//!
//! Input: the names on both sides of a division. Output: whether the upper ones are parts of the
//! lower ones, which follows from the names: in `unit__quantity_qualifiers.rollup` every further
//! qualifier narrows the count ("Metrics Structure" in the guide of NVIDIA Nsight Compute). A
//! kernel runs again for each pass, and the cache contents differ each time, so a part that was
//! counted in another pass than the whole can be more than it. Such a share has no meaning.

/// How far a part may exceed its whole and still count as all of it: the difference between two
/// passes of one kernel that count the same.
const BETWEEN_PASSES: f64 = 0.01;

/// The words that begin a qualifier. Other words may begin another quantity, such as `warps_active`
/// next to `warps`.
const QUALIFIERS: [&str; 8] =
    ["aperture", "evict", "lookup", "mem", "op", "pipe", "pred", "srcunit"];

/// Whether `parts` count parts of the counts of `wholes`, name by name.
pub(super) fn are_parts(parts: &[&str], wholes: &[&str]) -> bool {
    let each = || parts.iter().zip(wholes);
    parts.len() == wholes.len() && each().all(|(part, whole)| is_part(part, whole))
}

fn is_part(part: &str, whole: &str) -> bool {
    let split = |name| str::split_once(name, '.');
    let (Some((part, of_part)), Some((whole, of_whole))) = (split(part), split(whole)) else {
        return false;
    };
    let further = part.strip_prefix(whole).and_then(|rest| rest.strip_prefix('_'));
    let begins = |rest: &str| QUALIFIERS.contains(&rest.split('_').next().unwrap_or_default());
    of_part == of_whole && further.is_some_and(begins)
}

/// `part` as it can be of `whole`, in the unit of both: `whole` where it exceeds that by no more
/// than two passes differ; none if it exceeds it by more.
pub fn part_of(part: f64, whole: f64) -> Option<f64> {
    (part <= whole * (1.0 + BETWEEN_PASSES)).then(|| part.min(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_further_qualifier_counts_a_part() {
        let sectors = "lts__t_sectors_srcunit_tex.sum";
        assert!(is_part("lts__t_sectors_srcunit_tex_lookup_hit.sum", sectors));
        assert!(is_part("lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", sectors));
        assert!(is_part(
            "smsp__thread_inst_executed_pred_on.sum",
            "smsp__thread_inst_executed.sum"
        ));
        for other in [
            sectors,
            "lts__t_sectors_srcunit_texture_lookup_hit.sum",
            "lts__t_sectors_srcunit_tex_lookup_hit.avg",
            "lts__t_sectors_lookup_hit.sum",
        ] {
            assert!(!is_part(other, sectors), "{other}");
        }
        assert!(!is_part("smsp__warps_active.sum", "smsp__warps.sum"));
        assert!(!is_part("duration", "bytes"));
    }

    #[test]
    fn a_part_is_at_most_the_whole() {
        assert_eq!(part_of(99.0, 100.0), Some(99.0));
        assert_eq!(part_of(100.9, 100.0), Some(100.0));
        assert_eq!(part_of(101.1, 100.0), None);
        assert_eq!(part_of(1.0, 0.0), None);
    }
}
