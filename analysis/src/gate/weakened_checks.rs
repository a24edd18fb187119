//! Verification, checks, declarations and thresholds that became weaker since the baseline.
//!
//! Input: a series on both sides. Output: a sentence for each way in which less is compared, or
//! less closely, or more work declared, with the first configuration, and for each threshold of
//! the annotation that is gone or allows more. Rows that are no longer verified are the baseline's
//! lost verification (`gate::baseline`).

use gpuprof_model::Threshold;
use gpuprof_model::measurement::{Reset, Source, Verification};
use gpuprof_model::metric::Catalogue;
use gpuprof_model::run::{ConfigurationResult, SeriesResult, Status};

use crate::gate::by_key::ByKey;
use crate::gate::default_thresholds::{default_thresholds, has};
use crate::view::best::value;

/// A tolerance in units of a buffer depends on the buffer's values: so much larger may it become.
const SAME: f64 = 1.01;

/// Why `ours` is verified or checked less than `theirs`, its side of the baseline.
pub(super) fn of_series(theirs: &SeriesResult, ours: &SeriesResult) -> Vec<String> {
    let before = ByKey::new(&theirs.configurations);
    let finished = ours.configurations.iter().filter(|row| row.status == Status::Finished);
    let pairs: Vec<_> = finished.filter_map(|row| Some((before.get(row)?, row))).collect();
    let sentence = |way: &dyn Fn(&ConfigurationResult, &ConfigurationResult) -> Option<String>| {
        let mut all = pairs.iter().filter_map(|&(old, new)| Some((way(old, new)?, new)));
        let (text, row) = all.next()?;
        let more = match all.count() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        Some(format!("{}/{}{more}: {text}", ours.id, row.configuration))
    };
    let compared = |way: fn(&Verification, &Verification) -> Option<String>| {
        sentence(&move |old, new| way(old.verification.as_ref()?, new.verification.as_ref()?))
    };
    let ways = [
        sentence(&unknown_verification),
        compared(tolerance),
        compared(elements),
        compared(by_function),
        sentence(&inputs),
        sentence(&|old, new| {
            let restored = |row: &ConfigurationResult| {
                Some(row.timings.first()?.in_place.as_ref()?.reset == Reset::Each)
            };
            (restored(old)? && !restored(new)?).then(|| {
                "`reset` lets a sample continue from the one before, and restores its inputs in \
                 the baseline"
                    .to_owned()
            })
        }),
        sentence(&lost_check),
        sentence(&more_declared),
        sentence(&lost_declaration),
        sentence(&|old, new| lost_value(theirs, ours, (old, new))),
    ];
    let (before, here) = (parsed_thresholds(theirs), parsed_thresholds(ours));
    let lost = lost_thresholds(&before, &here).map(|lost| {
        let id = &ours.id;
        match here.iter().find(|own| own.replaces(lost)) {
            Some(own) => format!("{id}: `{own}` allows more than the baseline's `{lost}`"),
            None => format!("{id}: the baseline's threshold `{lost}` is gone"),
        }
    });
    let looser = looser_than_default(theirs, &before, ours, &here).into_iter();
    ways.into_iter().flatten().chain(lost).chain(looser).collect()
}

/// The thresholds of the annotation.
fn parsed_thresholds(series: &SeriesResult) -> Vec<Threshold> {
    series.thresholds.iter().filter_map(|text| Threshold::parse(text).ok()).collect()
}

/// The thresholds of the baseline, `before`, that no threshold of the run, `here`, covers.
fn lost_thresholds<'t>(
    before: &'t [Threshold],
    here: &'t [Threshold],
) -> impl Iterator<Item = &'t Threshold> {
    before.iter().filter(|asked| !here.iter().any(|threshold| threshold.covers(asked)))
}

/// A sentence for each of the run's thresholds that replaces a default one, which held in the
/// baseline, and allows more.
fn looser_than_default(
    theirs: &SeriesResult,
    before: &[Threshold],
    ours: &SeriesResult,
    here: &[Threshold],
) -> Vec<String> {
    if !here.iter().any(Threshold::needs_baseline) {
        return Vec::new();
    }
    let mut looser = Vec::new();
    for default in default_thresholds(&Catalogue::built_in(), ours, Some(theirs)) {
        let covered = here.iter().any(|own| own.covers(&default));
        if covered || before.iter().any(|own| own.replaces(&default)) {
            continue;
        }
        let replacing = here.iter().find(|own| own.replaces(&default));
        looser.extend(replacing.map(|own| {
            format!("{}: `{}` replaces the default `{}`", ours.id, own.text, default.text)
        }));
    }
    looser
}

/// A row that is verified on both sides, and says what was compared in the baseline alone.
fn unknown_verification(old: &ConfigurationResult, new: &ConfigurationResult) -> Option<String> {
    let unknown = old.verification.is_some() && new.verified && new.verification.is_none();
    unknown.then(|| "nothing says what was compared with the reference".to_owned())
}

fn tolerance(old: &Verification, new: &Verification) -> Option<String> {
    let percent = |share: f64| {
        let percent = 100.0 * share;
        if percent >= 0.01 { format!("{percent:.2}") } else { format!("{percent:.2e}") }
    };
    (new.tolerance > old.tolerance * SAME).then(|| {
        format!(
            "the tolerance accepts {} % of a typical value, and {} % in the baseline",
            percent(new.tolerance),
            percent(old.tolerance)
        )
    })
}

fn elements(old: &Verification, new: &Verification) -> Option<String> {
    let of_buffer = old.buffers.iter().find_map(|(name, before)| {
        let here = new.buffers.get(name).filter(|here| *here < before)?;
        Some((*before, *here, format!(" of `{name}`")))
    });
    let (before, here, of) = of_buffer.unwrap_or((old.elements, new.elements, String::new()));
    (here < before).then(|| {
        format!("{here} elements{of} are compared with the reference, and {before} in the baseline")
    })
}

fn inputs(old: &ConfigurationResult, new: &ConfigurationResult) -> Option<String> {
    (old.inputs? != new.inputs?).then(|| "the inputs are not those of the baseline".to_owned())
}

fn by_function(old: &Verification, new: &Verification) -> Option<String> {
    let (before, here) = (old.by_function, new.by_function);
    (here > before)
        .then(|| format!("`compare` judges {here} elements, and {before} in the baseline"))
}

/// The checks of the emulated driver that ran for `old` and not for `new`; or that they no longer
/// run in all blocks. A sample covers all blocks of a small grid, so a larger one is no sign.
fn lost_check(old: &ConfigurationResult, new: &ConfigurationResult) -> Option<String> {
    let (old, new) = (old.checks?, new.checks?);
    let lost = [("init", old.init && !new.init), ("race", old.race && !new.race)];
    let lost = lost.into_iter().filter(|(_, is_lost)| *is_lost);
    let lost: Vec<String> = lost.map(|(name, _)| format!("`{name}`")).collect();
    if let [_, others @ ..] = &lost[..] {
        let are = if others.is_empty() { "is" } else { "are" };
        return Some(format!("{} {are} checked in the baseline, and not here", lost.join(" and ")));
    }
    let was_whole = old.checked_blocks == old.blocks && new.blocks <= old.blocks;
    (was_whole && new.checked_blocks < new.blocks).then(|| {
        format!(
            "the checks run in {} of {} blocks, and in all in the baseline",
            new.checked_blocks, new.blocks
        )
    })
}

/// The first declared number that is larger for `new`, or was counted for `old`: every rate of it
/// grows with what is declared.
fn more_declared(old: &ConfigurationResult, new: &ConfigurationResult) -> Option<String> {
    let value = |row: &ConfigurationResult, name: &str| {
        let metric = row.metrics.get(name)?;
        Some((metric.source, metric.value.clone().ok()?))
    };
    ["bytes", "flops"].into_iter().find_map(|name| {
        let (source, before) = value(old, name)?;
        let (_, here) = value(new, name).filter(|(source, _)| *source == Source::Declared)?;
        match source {
            Source::Declared => (here > before).then(|| {
                format!("it declares {here} `{name}`, and {before} in the baseline: its rates grow")
            }),
            Source::Measured | Source::Emulated | Source::Estimated | Source::Derived => Some(
                format!("it declares {here} `{name}`, and the baseline has {before}, {source}"),
            ),
        }
    })
}

/// The first declared number of `old` that `new` lacks: rates that rest on it are gone.
fn lost_declaration(old: &ConfigurationResult, new: &ConfigurationResult) -> Option<String> {
    ["bytes", "flops"].into_iter().find_map(|name| {
        let before = old.metrics.get(name).filter(|it| it.source == Source::Declared)?;
        let before = before.value.as_ref().ok()?;
        value(new, name).is_none().then(|| {
            format!("it declares no `{name}`, and {before} in the baseline: its rates are gone")
        })
    })
}

/// The first column of `theirs` that has a value for `old` and none for `new`. One without any
/// value in `ours` is missing as a whole.
fn lost_value(
    theirs: &SeriesResult,
    ours: &SeriesResult,
    (old, new): (&ConfigurationResult, &ConfigurationResult),
) -> Option<String> {
    let lost = |name: &&String| {
        value(old, name).is_some() && value(new, name).is_none() && has(ours, name)
    };
    let name = theirs.columns.iter().find(lost)?;
    Some(format!("`{name}` has no value, and has one in the baseline"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gpuprof_model::checks::CheckRecord;
    use gpuprof_model::measurement::{InPlace, Timing};
    use gpuprof_model::run::MetricResult;

    use super::*;
    use crate::fixture::{rows, series};

    const WHOLE: Verification =
        Verification { elements: 4096, by_function: 0, tolerance: 2e-5, buffers: BTreeMap::new() };

    fn of_buffers(lengths: &[(&str, u64)]) -> Verification {
        let buffers: BTreeMap<_, _> =
            lengths.iter().map(|(name, length)| ((*name).to_owned(), *length)).collect();
        Verification { elements: buffers.values().sum(), buffers, ..WHOLE }
    }

    fn verified(of: Verification, race: bool) -> SeriesResult {
        let mut series = series(rows("global_sectors", &[1.0, 2.0]));
        for row in &mut series.configurations {
            (row.verified, row.verification) = (true, Some(of.clone()));
            row.checks = Some(CheckRecord {
                init: true,
                race,
                races_in_part: false,
                checked_blocks: 1,
                blocks: 1,
            });
        }
        series
    }

    #[test]
    fn a_looser_comparison_is_named_with_both_values() {
        let told = |new: Verification| of_series(&verified(WHOLE, true), &verified(new, true));
        let place = "saxpy::saxpy/block=0, and 1 more: ";
        for (new, text) in [
            (
                Verification { tolerance: 0.8, ..WHOLE },
                "the tolerance accepts 80.00 % of a typical value, and 2.00e-3 % in the baseline",
            ),
            (
                Verification { elements: 1, ..WHOLE },
                "1 elements are compared with the reference, and 4096 in the baseline",
            ),
            (
                Verification { by_function: 4096, tolerance: 0.0, ..WHOLE },
                "`compare` judges 4096 elements, and 0 in the baseline",
            ),
        ] {
            assert_eq!(told(new), [format!("{place}{text}")]);
        }
        for same in [
            WHOLE,
            Verification { tolerance: 2.01e-5, ..WHOLE },
            Verification { tolerance: 0.0, elements: 5000, ..WHOLE },
        ] {
            assert_eq!(told(same.clone()), [""; 0], "{same:?}");
        }
    }

    #[test]
    fn checks_of_fewer_blocks_are_named() {
        let checked = |checked_blocks, blocks| {
            let mut series = verified(WHOLE, true);
            for row in &mut series.configurations {
                let checks = row.checks.expect("there are some");
                row.checks = Some(CheckRecord { checked_blocks, blocks, ..checks });
            }
            series
        };
        let told = |old, new| of_series(&old, &new);
        assert_eq!(
            told(checked(96, 96), checked(22, 96)),
            ["saxpy::saxpy/block=0, and 1 more: the checks run in 22 of 96 blocks, and in \
              all in the baseline"]
        );
        for (old, new) in [
            (checked(22, 96), checked(22, 96)),
            (checked(16, 16), checked(22, 96)),
            (checked(79, 1000), checked(78, 992)),
            (checked(22, 96), checked(96, 96)),
        ] {
            assert_eq!(told(old, new), [""; 0]);
        }
    }

    #[test]
    fn a_buffer_that_became_shorter_is_named() {
        let before = verified(of_buffers(&[("x", 100), ("y", 200)]), true);
        let told = |lengths| of_series(&before, &verified(of_buffers(lengths), true)).pop();
        let place = "saxpy::saxpy/block=0, and 1 more: ";
        assert_eq!(
            told(&[("x", 300), ("y", 199)]),
            Some(format!(
                "{place}199 elements of `y` are compared with the reference, and 200 in the baseline"
            ))
        );
        assert_eq!(
            told(&[("x", 299)]),
            Some(format!(
                "{place}299 elements are compared with the reference, and 300 in the baseline"
            ))
        );
        assert_eq!(told(&[("a", 100), ("b", 200)]), None, "other names");
    }

    #[test]
    fn more_declared_work_is_named_and_less_is_not() {
        let declares = |bytes: f64| {
            let mut series = series(rows("bytes", &[bytes]));
            for row in &mut series.configurations {
                row.metrics.get_mut("bytes").expect("it has one").source = Source::Declared;
            }
            series
        };
        assert_eq!(
            of_series(&declares(32768.0), &declares(61440.0)),
            ["saxpy::saxpy/block=0: it declares 61440 `bytes`, and 32768 in the baseline: \
              its rates grow"]
        );
        for bytes in [32768.0, 16384.0] {
            assert_eq!(of_series(&declares(32768.0), &declares(bytes)), [""; 0]);
        }
    }

    #[test]
    fn declared_work_in_place_of_counted_work_is_named() {
        let mut theirs = series(rows("bytes", &[32768.0]));
        theirs.configurations[0].metrics.get_mut("bytes").expect("it has one").source =
            Source::Derived;
        let mut ours = theirs.clone();
        assert_eq!(of_series(&theirs, &ours), [""; 0]);
        ours.configurations[0].metrics.get_mut("bytes").expect("it has one").source =
            Source::Declared;
        assert_eq!(
            of_series(&theirs, &ours),
            ["saxpy::saxpy/block=0: it declares 32768 `bytes`, and the baseline has 32768, \
              derived"]
        );
    }

    #[test]
    fn a_threshold_of_the_annotation_that_is_gone_or_looser_is_named() {
        let annotated = |thresholds: &[&str]| {
            let thresholds = thresholds.iter().map(|&text| text.to_owned()).collect();
            SeriesResult { thresholds, ..verified(WHOLE, true) }
        };
        let before = annotated(&["registers <= 32", "best duration <= 5 us"]);
        let lost = "saxpy::saxpy: the baseline's threshold `registers <= 32` is gone";
        let gone = annotated(&["registers >= 64", "best duration <= 4 us"]);
        assert_eq!(of_series(&before, &gone), [lost]);
        let wider = "saxpy::saxpy: `registers <= 64` allows more than the baseline's \
                     `registers <= 32`";
        let looser = annotated(&["registers <= 64", "best duration <= 4 us"]);
        assert_eq!(of_series(&before, &looser), [wider]);
        for registers in ["registers <= 16", "registers < 32", "registers == 32"] {
            let tighter = annotated(&["best duration <= 5 us", registers, "waves >= 1"]);
            assert_eq!(of_series(&before, &tighter), [""; 0], "{registers}");
        }
        assert_eq!(of_series(&annotated(&[]), &before), [""; 0]);
    }

    #[test]
    fn a_new_threshold_that_allows_more_than_the_default_is_named() {
        let annotated = |thresholds: &[&str]| {
            let thresholds = thresholds.iter().map(|&text| text.to_owned()).collect();
            SeriesResult { thresholds, ..verified(WHOLE, true) }
        };
        let [exact, wide] =
            ["every global_sectors <= baseline", "every global_sectors <= baseline + 900%"];
        let default = format!("saxpy::saxpy: `{wide}` replaces the default `{exact}`");
        assert_eq!(of_series(&annotated(&[]), &annotated(&[wide])), [default]);
        for strict in [exact, "every global_sectors < baseline", "global_sectors <= baseline - 1%"]
        {
            assert_eq!(of_series(&annotated(&[]), &annotated(&[strict])), [""; 0], "{strict}");
        }
        assert_eq!(of_series(&annotated(&[wide]), &annotated(&[wide])), [""; 0]);
    }

    #[test]
    fn a_row_that_does_not_say_what_was_compared_is_named() {
        let mut silent = verified(WHOLE, true);
        silent.configurations[0].verification = None;
        assert_eq!(
            of_series(&verified(WHOLE, true), &silent),
            ["saxpy::saxpy/block=0: nothing says what was compared with the reference"]
        );
        assert_eq!(of_series(&silent, &silent), [""; 0]);
    }

    #[test]
    fn other_inputs_are_named() {
        let given = |inputs| {
            let mut series = series(rows("global_sectors", &[1.0, 2.0]));
            series.configurations.iter_mut().for_each(|row| row.inputs = inputs);
            series
        };
        let place = "saxpy::saxpy/block=0, and 1 more: ";
        let told = of_series(&given(Some(1)), &given(Some(2)));
        assert_eq!(told, [format!("{place}the inputs are not those of the baseline")]);
        for (old, new) in [(Some(1), Some(1)), (None, Some(1)), (Some(1), None)] {
            assert_eq!(of_series(&given(old), &given(new)), [""; 0], "{old:?} {new:?}");
        }
    }

    #[test]
    fn samples_that_are_not_restored_any_more_are_named() {
        let timed = |reset| {
            let mut series = verified(WHOLE, true);
            for row in &mut series.configurations {
                let in_place = Some(InPlace { reset, buffers: vec!["x".into()] });
                row.timings = vec![Timing { in_place, ..Timing::default() }];
            }
            series
        };
        let (each, once) = (timed(Reset::Each), timed(Reset::Once));
        let [told] = &of_series(&each, &once)[..] else { panic!("one sentence") };
        assert!(told.contains(": `reset` lets a sample continue"), "{told}");
        assert_eq!(of_series(&once, &each), [""; 0]);
    }

    #[test]
    fn a_check_that_is_off_since_the_baseline_is_named() {
        let (with, without) = (verified(WHOLE, true), verified(WHOLE, false));
        let told = of_series(&with, &without);
        let text = "`race` is checked in the baseline, and not here";
        assert_eq!(told, [format!("saxpy::saxpy/block=0, and 1 more: {text}")]);
        assert_eq!(of_series(&without, &with), [""; 0]);
    }
    #[test]
    fn a_declaration_that_is_gone_is_named() {
        let declares = |names: &[&str]| {
            let mut series = series(rows("duration", &[5000.0]));
            let row = &mut series.configurations[0];
            for name in names {
                let result = row.metrics["duration"].clone();
                let result = MetricResult { source: Source::Declared, ..result };
                row.metrics.insert((*name).to_owned(), result);
            }
            series
        };
        assert_eq!(
            of_series(&declares(&["bytes", "flops"]), &declares(&["bytes"])),
            ["saxpy::saxpy/block=0: it declares no `flops`, and 5000 in the baseline: its \
              rates are gone"]
        );
        assert_eq!(of_series(&declares(&["bytes"]), &declares(&["bytes", "flops"])), [""; 0]);
    }

    #[test]
    fn a_column_without_a_value_in_some_rows_is_named() {
        let before = SeriesResult {
            columns: vec!["throughput".into()],
            ..series(rows("throughput", &[1.0, 2.0]))
        };
        let mut after = before.clone();
        after.configurations[1].metrics.clear();
        assert_eq!(
            of_series(&before, &after),
            ["saxpy::saxpy/block=1: `throughput` has no value, and has one in the baseline"]
        );
        // The comparison names a column without any value.
        after.configurations[0].metrics.clear();
        assert_eq!(of_series(&before, &after), [""; 0]);
        assert_eq!(of_series(&after, &before), [""; 0]);
    }
}
