//! A run on two devices in every format that compares or labels, against snapshots.

use gpuprof_model::measurement::DeviceName;
use gpuprof_model::run::{Run, Status};

use super::tests::{gpu_run, written};
use super::{
    Csv, GithubActionBenchmark, GithubAnnotations, JsonLines, Junit, Markdown, Report, Table,
};

const HERE: &str = "GPU-11111111-2222-3333-4444-555555555555";
const THERE: &str = "GPU-22222222-2222-3333-4444-555555555555";

/// The best configuration of the whole series is on one device, and the runner-up on the other.
fn on_two_devices() -> Run {
    let mut run = gpu_run();
    let name = |uuid: &str| DeviceName { uuid: uuid.into(), name: "NVIDIA H200".into() };
    run.provenance.devices = vec![name(HERE), name(THERE)];
    let rows = &mut run.series[0].configurations;
    for (row, uuid) in rows.iter_mut().zip([HERE, THERE, HERE, THERE]) {
        row.device = Some(uuid.to_owned());
    }
    run
}

/// `report`'s text without machine-readable parts next to the labels.
fn lines(report: &dyn Report, kept: impl Fn(&str) -> bool) -> String {
    let text = written(report, &on_two_devices());
    text.lines().filter(|line| kept(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_device_has_a_table_with_a_best_of_its_own_and_the_judgements_come_once() {
    insta::assert_snapshot!(lines(&Table { colour: false, width: Some(120) }, |_| true));
}

#[test]
fn each_device_has_a_section_of_the_page() {
    insta::assert_snapshot!(lines(&Markdown::default(), |line| !line.starts_with("| ✅")));
}

#[test]
fn every_row_of_the_csv_names_its_device_and_each_device_has_its_best() {
    insta::assert_snapshot!(lines(&Csv, |line| line.contains("duration") || line.contains("rank")));
}

#[test]
fn json_lines_name_no_best_over_two_devices() {
    let end = |line: &str| line.contains("\"reason\":\"series-finished\"");
    insta::assert_snapshot!(lines(&JsonLines::default(), end));
}

#[test]
fn formats_for_tools_name_the_device() {
    let mut run = on_two_devices();
    run.series[0].configurations[1].status = Status::Failed { reason: "it broke".into() };
    for report in [&Junit::default() as &dyn Report, &GithubAnnotations::default()] {
        let text = written(report, &run);
        let place = format!("block=128,n=67108864 on {THERE}");
        assert!(text.contains(&place) && text.contains("it broke"), "{text}");
    }
    let text = written(&GithubActionBenchmark, &run);
    assert!(text.contains(&format!("measured on {HERE} at ")), "{text}");
}

#[test]
fn headings_name_virtual_gpus() {
    let mut run = on_two_devices();
    run.provenance.device.as_mut().unwrap().virtual_gpu = Some(true);
    for report in [&Table { colour: false, width: Some(120) } as &dyn Report, &Markdown::default()]
    {
        let text = written(report, &run);
        for uuid in [HERE, THERE] {
            let heading = format!("on NVIDIA H200 {uuid}, a virtual GPU");
            assert!(text.contains(&heading), "{text}");
        }
    }
}
