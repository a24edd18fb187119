//! The cost of sets and sections in passes, for machines without CUPTI.
//!
//! Input: a chip and the name of a section or a set. Output: the passes of our sections, as the
//! pinned CUPTI planned them for one chip of each family when this version was made
//! (`cargo-gpuprof/tests/sections.rs` checks and updates them).

/// A header with the chips, then a line for each section and set.
const RECORDED: &str = include_str!("../../data/passes.txt");

/// The passes of our section `name`, or of a set by `--set=NAME`, on `chip`; none where they were
/// not recorded.
pub fn recorded_passes(chip: &str, name: &str) -> Option<usize> {
    let mut lines = RECORDED.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let at = lines.next()?.iter().position(|known| known.eq_ignore_ascii_case(chip))?;
    let line = lines.find(|line| line[0].eq_ignore_ascii_case(name))?;
    line.get(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_sections_have_passes_on_a_chip_of_each_family() {
        let basic = recorded_passes("gh100", "--set=basic").unwrap();
        let full = recorded_passes("GH100", "--set=full").unwrap();
        assert!(basic > 5 && full > basic, "{basic} {full}");
        assert_eq!(recorded_passes("GH100", "launchstats"), Some(0));
        assert_eq!(recorded_passes("GA103", "LaunchStats"), None);
        assert_eq!(recorded_passes("GH100", "Nothing"), None);
    }
}
