//! Two catalogues that define one name differently, side by side in one process.

use gpuprof_model::metric::{Catalogue, Class, Definition, Direction};
use gpuprof_model::quantity::Unit;
use gpuprof_model::run::ConfigurationResult;
use gpuprof_model::threshold::Threshold;
use gpuprof_model::verdict::{Judgement, Verdict};

use crate::fixture::{gpu_pass, h200, judge, point};
use crate::gate::judge::Baseline;
use crate::metrics::collect::{self, CollectContext};
use crate::view::View;

const N: u64 = 1 << 20;

/// The built-in catalogue, and `work` by this formula.
fn defining(formula: &str, unit: Unit) -> Catalogue {
    let definition = Definition {
        name: "work".into(),
        formula: formula.into(),
        unit,
        direction: Direction::Lower,
        description: None,
    };
    Catalogue::built_in().with_definitions(&[definition]).unwrap()
}

/// One and the same pass, as `catalogue` has `work`.
fn measured(catalogue: &Catalogue) -> ConfigurationResult {
    let terms = CollectContext::new(catalogue).asking(catalogue.defined().cloned());
    collect::finished(point(64, N), &[gpu_pass(64, N, &[1000.0, 1010.0])], &terms)
}

fn judged(catalogue: &Catalogue, text: &str, row: &ConfigurationResult) -> Judgement {
    let threshold = Threshold::parse(text).unwrap();
    let rows = std::slice::from_ref(row);
    judge(catalogue, &threshold, "attribute", rows, Some(&h200()), &Baseline::none())
}

#[test]
fn two_catalogues_measure_and_judge_by_their_own_definitions() {
    let by_bytes = defining("bytes / 2", Unit::Bytes);
    let by_time = defining("2 * duration", Unit::Nanoseconds);
    let (bytes, time) = (measured(&by_bytes), measured(&by_time));
    assert_eq!(bytes.metrics["work"].value, Ok(6.0 * 1_048_576.0));
    assert_eq!(bytes.metrics["work"].class, Class::Exact);
    assert_eq!(time.metrics["work"].value, Ok(2010.0));
    assert_eq!(time.metrics["work"].class, Class::Noisy);
    let verdict = |catalogue, text, row| judged(catalogue, text, row).verdict;
    assert_eq!(verdict(&by_bytes, "every work <= 6 MiB", &bytes), Verdict::Pass);
    assert_eq!(verdict(&by_time, "every work <= 2 us", &time), Verdict::Fail);
    // A limit in the other's unit says nothing of this one's metric.
    assert_eq!(verdict(&by_bytes, "every work <= 2 us", &bytes), Verdict::Incomparable);
    assert_eq!(verdict(&by_time, "every work <= 6 MiB", &time), Verdict::Incomparable);
}

#[test]
fn a_name_is_unknown_to_the_catalogue_that_does_not_define_it() {
    let defined = defining("bytes / 2", Unit::Bytes);
    let plain = Catalogue::built_in();
    let judgement = judged(&plain, "every work <= 6 MiB", &measured(&defined));
    assert_eq!(judgement.verdict, Verdict::Missing);
    assert!(judgement.reason.unwrap().starts_with("no metric is named `work`"));
    let view = View { best_by: Some("work".into()), ..View::default() };
    assert_eq!(view.misfits(&defined, &[]), []);
    let [(option, why)] = &view.misfits(&plain, &[])[..] else { panic!("one part does not fit") };
    assert!(*option == "best-by" && why.starts_with("no metric is named"), "{why}");
}
