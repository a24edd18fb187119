//! The line of which a cost grew most since the baseline.
//!
//! Input: a judged run and its baseline, both with counts by line. Output: the same run, in which a
//! violated threshold against the baseline names this line. If no line is known to cost more than
//! in the baseline, the costliest line stays.

use std::collections::{BTreeMap, BTreeSet};

use gpuprof_model::code::{AccessCost, CostByLine, CostlyLine, SourceLine, Sources};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, Run};

use super::FilePairs;

/// Names the lines in the judgements of `run`, of which `catalogue` knows the metrics.
pub(crate) fn name_grown_lines(baseline: &Run, run: &mut Run, catalogue: &Catalogue) {
    let sources = [&baseline.provenance.sources, &run.provenance.sources];
    for series in &mut run.series {
        let theirs = baseline.series.iter().find(|theirs| theirs.id == series.id);
        let Some(theirs) = theirs else { continue };
        for judgement in series.judgements.iter_mut().filter(|it| it.baseline.is_some()) {
            let (Some(metric), Some(key), Some(costly)) =
                (judgement.threshold.metric(), &judgement.configuration, &mut judgement.costly)
            else {
                continue;
            };
            let costs = AccessCost::of_derived(metric, catalogue);
            let row = |rows: &'_ [ConfigurationResult]| {
                rows.iter().position(|row| row.configuration.to_string() == *key)
            };
            let before = row(&theirs.configurations).map(|at| &theirs.configurations[at]);
            let after = row(&series.configurations).map(|at| &series.configurations[at]);
            let sides = before.zip(after).map(<[_; 2]>::from);
            if let Some(grown) = sides.and_then(|sides| most_grown(sides, sources, &costs)) {
                *costly = CostlyLine { emulated: costly.emulated, ..grown };
            }
        }
    }
}

/// Of the row `after` the line of which one of these `costs` grew most since `before`. The
/// avoidable part of a cost comes before the cost.
fn most_grown(
    [before, after]: [&ConfigurationResult; 2],
    sources: [&Sources; 2],
    costs: &[AccessCost],
) -> Option<CostlyLine> {
    // The counts of a GPU are not those of the emulated driver.
    if before.code.is_empty() || before.source.is_some() != after.source.is_some() {
        return None;
    }
    let earlier = earlier_lines([before, after], sources);
    let grown = costs.iter().filter_map(|&cost| {
        let (old, new) = (CostByLine::new(cost, &before.code), CostByLine::new(cost, &after.code));
        let grown = new.lines().filter_map(|(line, amount)| {
            let before = earlier.get(line)?.as_ref().map_or(0, |line| old.amount(line));
            Some((amount.checked_sub(before).filter(|more| *more > 0)?, before, line))
        });
        let (more, before, line) =
            grown.reduce(|most, it| if it.0 > most.0 { it } else { most })?;
        let named = CostlyLine { before: Some(before), ..new.at(line)? };
        let counted = cost != AccessCost::LocalInstructions;
        Some(((counted, cost.avoidable().is_none(), more), named))
    });
    let most = grown.reduce(|most, it| if it.0 > most.0 { it } else { most })?;
    Some(most.1)
}

/// The lines of the source of `after`, each with the line of `before` that corresponds to it. A
/// file that only `after` has is new, unless a file that only `before` has was moved there. The
/// lines of a file that both have are left out if a side has no text of it: they may be new.
fn earlier_lines<'r>(
    [before, after]: [&'r ConfigurationResult; 2],
    [old, new]: [&Sources; 2],
) -> BTreeMap<SourceLine<'r>, Option<SourceLine<'r>>> {
    let [old_files, new_files] = [before, after].map(|row| {
        let files = row.code.iter().flat_map(|code| &code.listing.files);
        files.map(String::as_str).collect::<BTreeSet<&str>>()
    });
    let mut gone = old_files.difference(&new_files);
    let gone = gone.next().filter(|_| gone.next().is_none());
    let mut earlier = BTreeMap::new();
    for &file in &new_files {
        let is_new = !old_files.contains(file);
        let old_file = if is_new { gone.copied() } else { Some(file) };
        let lines = new.lines(file).map(|(line, _)| SourceLine { file, line });
        let both = old_file.and_then(|old_file| FilePairs::of_moved(old_file, old, file, new));
        if both.is_none() && !is_new {
            continue;
        }
        earlier.extend(lines.map(|line| (line, None)));
        if let Some((old_file, both)) = old_file.zip(both) {
            for (a, b) in both.corresponding {
                let [line, before] = [(file, both.after[b].0), (old_file, both.before[a].0)]
                    .map(|(file, line)| SourceLine { file, line });
                earlier.insert(line, Some(before));
            }
        }
    }
    earlier
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gpuprof_model::Threshold;
    use gpuprof_model::code::{
        CountedCode, Counter, LineCounts, ListedLine, Listing, costly_lines,
    };

    use super::*;
    use crate::fixture;
    use crate::gate::judge::Baseline;

    /// A run of a kernel with these lines of source, each with the sectors of its load.
    fn run(lines: &[(&str, u64)]) -> Run {
        run_of(&[("src/lib.rs", lines)])
    }

    /// The same of a kernel in several files.
    fn run_of(files: &[(&str, &[(&str, u64)])]) -> Run {
        let all = (1..).zip(files).flat_map(|(file, (_, lines))| {
            (1..).zip(lines.iter()).map(move |(line, (_, sectors))| (file, line, *sectors))
        });
        let all: Vec<(u32, u32, u64)> = all.collect();
        let listed = |(at, (file, line, _)): (u32, &(u32, u32, u64))| {
            ListedLine(at, *file, *line, "ld.global.f32 %f1, [%rd1];".into())
        };
        let listing = Listing {
            kernel: "kernel".into(),
            files: files.iter().map(|(file, _)| (*file).to_owned()).collect(),
            lines: (1..).zip(&all).map(listed).collect(),
            ..Listing::default()
        };
        let counts = |(.., sectors): &(u32, u32, u64)| {
            let mut counts = LineCounts::default();
            (counts[Counter::Requests], counts[Counter::Sectors]) = (64, *sectors);
            counts
        };
        let total: u64 = all.iter().map(|(.., sectors)| sectors).sum();
        let mut row = fixture::row(64, "global_sectors", Ok(total as f64));
        let counts: Vec<LineCounts> = all.iter().map(counts).collect();
        row.code = vec![CountedCode::new(listing, &counts)];
        row.costly = costly_lines(&row.code);
        let mut run = fixture::run("now", vec![fixture::series(vec![row])]);
        for (file, lines) in files {
            let text: String = lines.iter().map(|(text, _)| format!("{text}\n")).collect();
            let all = BTreeSet::from_iter(1..=u32::try_from(lines.len()).unwrap());
            run.provenance.sources.add(file, &text, &all);
        }
        run
    }

    /// The line that a violated threshold of `run` names: its cost in `baseline`, if it grew most,
    /// and its cost now.
    fn named(condition: &str, baseline: &Run, mut run: Run) -> (String, Option<u64>, u64) {
        let catalogue = Catalogue::built_in();
        let threshold = Threshold::parse(condition).unwrap();
        let theirs = Baseline::Held {
            configurations: &baseline.series[0].configurations,
            whole: true,
            in_rounds: false,
        };
        let rows = &run.series[0].configurations;
        let judged = fixture::judge(&catalogue, &threshold, "default", rows, None, &theirs);
        run.series[0].judgements = vec![judged];
        name_grown_lines(baseline, &mut run, &catalogue);
        let costly = run.series[0].judgements[0].costly.clone().expect("it is violated");
        (costly.line, costly.before, costly.amount)
    }

    #[test]
    fn a_relative_threshold_names_the_line_with_the_largest_growth() {
        let relative = "every global_sectors <= baseline";
        let base = run(&[("let a = x[32 * i];", 2048), ("let b = y[i];", 256)]);
        let line = |at: u32| format!("src/lib.rs:{at}");
        let head = run(&[("let a = x[32 * i];", 2048), ("let b = y[4 * i];", 1024)]);
        assert_eq!(named(relative, &base, head.clone()), (line(2), Some(256), 1024));
        // This limit is not the baseline.
        assert_eq!(named("every global_sectors <= 1", &base, head), (line(1), None, 2048));
        // The lines have moved, and one of them is new.
        let old = [("let a = x[32 * i];", 2048), ("let b = y[i];", 256)];
        let head = run(&[&[("let z = w[2 * i];", 512)], &old[..]].concat());
        assert_eq!(named(relative, &base, head.clone()), (line(1), Some(0), 512));
        // Without its text it might be an old one.
        let mut unknown = base.clone();
        unknown.provenance.sources = Sources::default();
        assert_eq!(named(relative, &unknown, head.clone()), (line(2), None, 2048));
        let mut uncounted = base;
        uncounted.series[0].configurations[0].code.clear();
        assert_eq!(named(relative, &uncounted, head), (line(2), None, 2048));
    }

    #[test]
    fn lines_of_a_new_file_grew_from_nothing_and_those_of_a_moved_one_keep_their_cost() {
        let relative = "every global_sectors <= baseline";
        let [far, near] = [("let a = x[32 * i];", 2048), ("let b = y[i];", 256)];
        let base = run(&[far, near]);
        let helper = [("    x[8 * i]", 1024)];
        let head =
            run_of(&[("src/lib.rs", &[far, ("let b = y[2 * i];", 512)]), ("src/help.rs", &helper)]);
        assert_eq!(named(relative, &base, head), ("src/help.rs:1".to_owned(), Some(0), 1024));
        let head = run_of(&[("src/moved.rs", &[far, ("let b = y[2 * i];", 512)])]);
        assert_eq!(named(relative, &base, head), ("src/moved.rs:2".to_owned(), Some(256), 512));
    }

    #[test]
    fn counts_of_a_gpu_are_not_compared_with_those_of_the_emulated_driver() {
        let (base, mut head) =
            (run(&[("x[i]", 2048), ("y[i]", 64)]), run(&[("x[i]", 2048), ("y[i]", 512)]));
        let relative = "every global_sectors <= baseline";
        assert_eq!(named(relative, &base, head.clone()).1, Some(64));
        head.series[0].configurations[0].source = Some(Default::default());
        assert_eq!(named(relative, &base, head), ("src/lib.rs:1".to_owned(), None, 2048));
    }
}
