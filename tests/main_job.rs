//! The main job: sweep a kernel, show the series, write it in every format, end with a code.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Outcome, Workspace};
use insta::assert_snapshot;
use serde_json::Value;

const SAXPY: [&str; 5] = ["run", "--package", "saxpy", "--series", "block=64..1024"];

/// Runs the main job with its events in JSON, and with `more`.
fn main_job(workspace: &Workspace, more: &[&str]) -> Outcome {
    workspace.gpuprof(&[&SAXPY[..], &["--message-format", "json"], more].concat()).exits_with(0)
}

fn read_json(path: &std::path::Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&bytes).expect("the file is JSON")
}

/// The run document and the verdict of the run that `outcome`, in JSON, applies to.
fn documents(workspace: &Workspace, outcome: &Outcome) -> (Value, Value) {
    let id =
        outcome.events_of("run-started")[0]["id"].as_str().expect("runs have names").to_owned();
    let folder = workspace.run_folder(&id);
    (read_json(&folder.join("run.json")), read_json(&folder.join("verdict.json")))
}

#[test]
fn the_command_of_the_readme_prints_the_series_and_ends_with_0() {
    let outcome = Workspace::repository().gpuprof(&SAXPY);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    saxpy::saxpy  examples/saxpy/src/lib.rs:27  on the emulated H200 (sm_90), counters only

     UNAVAILABLE  best throughput >= 20% of peak  needs `duration`: no time was estimated  [attribute]

     block        n  load_sectors_per_request  store_sectors_per_request  ptx_instructions
    ───────────────────────────────────────────────────────────────────────────────────────
        64  1048576                         4                          4           655,360
       128  1048576                         4                          4           655,360
       256  1048576                         4                          4           655,360
       512  1048576                         4                          4           655,360
      1024  1048576                         4                          4           655,360

     block        n  global_sectors
    ────────────────────────────────
        64  1048576         393,216
       128  1048576         393,216
       256  1048576         393,216
       512  1048576         393,216
      1024  1048576         393,216

     -  throughput: needs `duration`: no time was estimated

     verified  every row: equal to the reference (y: 1048576 elements)
     checks    every row: init, race in 2064 of 31744 blocks; memory, sync in all

     PASS  every load_sectors_per_request <= 4   4 at block=64,n=1048576 (limit 4)  [attribute]
     PASS  every store_sectors_per_request <= 4  4 at block=64,n=1048576 (limit 4)  [attribute]

    5 configurations of 1 series: 5 finished; thresholds: 2 passed, 1 unavailable; not judged: needs `duration`: no time was estimated

    ----- stderr -----
    [1/5] saxpy::saxpy/block=64,n=1048576  finished in [TIME]
    [2/5] saxpy::saxpy/block=128,n=1048576  finished in [TIME]
    [3/5] saxpy::saxpy/block=256,n=1048576  finished in [TIME]
    [4/5] saxpy::saxpy/block=512,n=1048576  finished in [TIME]
    [5/5] saxpy::saxpy/block=1024,n=1048576  finished in [TIME]
    ");
}

#[test]
fn the_bare_subcommand_runs() {
    let workspace = Workspace::fixture("workshop");
    let bare = workspace.gpuprof(&["--package", "vector", "scale"]);
    assert_snapshot!(bare.transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::scale  vector/src/lib.rs:40  on the emulated H200 (sm_90), counters only

     block     n  load_sectors_per_request  ptx_instructions  global_sectors
    ─────────────────────────────────────────────────────────────────────────
        64  4096                         4             2,048           1,024
       128  4096                         4             2,048           1,024

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 38 of 96 blocks; memory, sync in all

    2 configurations of 1 series: 2 finished; no thresholds

    ----- stderr -----
    [1/2] vector::scale/block=64,n=4096  finished in [TIME]
    [2/2] vector::scale/block=128,n=4096  finished in [TIME]
    ");
    let run = workspace.gpuprof(&["run", "--package", "vector", "scale"]);
    assert_eq!(bare.stdout, run.stdout);
}

#[test]
fn a_second_run_has_the_same_counters_to_the_last_digit() {
    let workspace = Workspace::repository();
    let series = || documents(&workspace, &main_job(&workspace, &[])).0["series"].clone();
    let first = series();
    let metrics = &first[0]["configurations"][0]["metrics"];
    assert_eq!(metrics["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]["value"], 65536.0);
    assert_eq!(metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]["value"], 262_144.0);
    assert_eq!(metrics["load_sectors_per_request"]["value"], 4.0);
    assert_eq!(first[0]["metrics"]["load_sectors_per_request"]["source"], "derived");
    assert_eq!(first, series());
}

#[test]
fn json_lines_describe_the_whole_run_in_order() {
    let outcome = main_job(&Workspace::repository(), &[]);
    let reasons: Vec<String> = outcome
        .events()
        .iter()
        .map(|e| e["reason"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        reasons,
        [
            "run-started",
            "configuration-finished",
            "configuration-finished",
            "configuration-finished",
            "configuration-finished",
            "configuration-finished",
            "threshold-judged",
            "threshold-judged",
            "threshold-judged",
            "series-finished",
            "run-finished",
        ]
    );
    let rows = outcome.events_of("configuration-finished");
    let blocks: Vec<&Value> = rows.iter().map(|row| &row["axes"]["block"]).collect();
    assert_eq!(blocks, ["64", "128", "256", "512", "1024"]);
    assert!(rows.iter().all(|row| row["verified"] == true && row["status"] == "finished"));
    let end = &outcome.events_of("run-finished")[0];
    assert_eq!(
        (&end["exit_code"], &end["summary"]["configurations"]["finished"]),
        (&0.into(), &5.into())
    );
}

#[test]
fn run_and_verdict_are_stored_below_the_target_folder() {
    let workspace = Workspace::repository();
    let outcome = main_job(&workspace, &[]);
    let (run, verdict) = documents(&workspace, &outcome);
    let provenance = &run["provenance"];
    assert_eq!(provenance["backend"], "emulator");
    assert_eq!(provenance["device"]["emulated"], true);
    assert_eq!(provenance["ptx_sha256"]["saxpy"].as_str().map(str::len), Some(64));
    assert!(provenance["kernel_toolchain"].as_str().is_some_and(|t| t.starts_with("rustc 1.")));
    assert_eq!(run["series"][0]["configurations"].as_array().map(Vec::len), Some(5));
    assert_eq!(verdict["run"], run["id"]);
    assert_eq!(
        (&verdict["exit_code"], &verdict["meaning"]),
        (&0.into(), &"no threshold failed".into())
    );
    let thresholds =
        verdict["judgements"][0]["thresholds"].as_array().expect("there are thresholds");
    let verdicts: Vec<&Value> = thresholds.iter().map(|t| &t["verdict"]).collect();
    assert_eq!(verdicts, ["unavailable", "pass", "pass"]);
}

#[test]
fn csv_on_standard_output_has_one_row_a_configuration_and_metric() {
    let csv = [&SAXPY[..], &["--export-csv", "-"]].concat();
    let outcome = Workspace::repository().gpuprof(&csv).exits_with(0);
    let table = "\n5 configurations of 1 series: 5 finished";
    assert!(outcome.stderr.contains(table), "the table gives way: {}", outcome.stderr);
    let mut reader = csv::Reader::from_reader(outcome.stdout.as_bytes());
    let headers = reader.headers().expect("there is a header").clone();
    let column =
        |name| headers.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name}"));
    let rows: Vec<csv::StringRecord> =
        reader.records().map(|r| r.expect("every row is whole")).collect();
    let keys: BTreeSet<(&str, &str)> =
        rows.iter().map(|r| (&r[column("configuration")], &r[column("metric")])).collect();
    assert_eq!(keys.len(), rows.len(), "a configuration and metric has one row");
    let of_metric = |name| rows.iter().filter(move |r| &r[column("metric")] == name);
    let sectors: Vec<[&str; 5]> = of_metric("load_sectors_per_request")
        .map(|r| ["axis:block", "axis:n", "value", "source", "class"].map(|name| &r[column(name)]))
        .collect();
    let row = |block| [block, "1048576", "4", "derived", "exact"];
    assert_eq!(sectors, ["64", "128", "256", "512", "1024"].map(row));
    let no_time = of_metric("throughput").next().expect("a column has rows also without values");
    assert_eq!(&no_time[column("value")], "");
    assert_eq!(&no_time[column("reason")], "needs `duration`: no time was estimated");
}

/// Asserts that `page` is the Markdown of the kernel at four strides.
fn is_the_page_of_strides(page: &str) {
    assert_snapshot!(page, @r"
    ## ✅ Every threshold holds: 4 configurations judged.

    ### vector::gather

    vector/src/lib.rs:15 on the emulated H200 (sm\_90), counters only

    | block | stride | n | global\_sectors | vs best | load\_sectors\_per\_request | store\_sectors\_per\_request | ptx\_instructions |
    | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | 64 | 1 | 4096 | **1,024** | 1.00x | 4 | 4 | 2,560 |
    | 64 | 2 | 4096 | 1,536 | 1.50x | 8 | 4 | 2,560 |
    | 64 | 4 | 4096 | 2,560 | 2.50x | 16 | 4 | 2,560 |
    | 64 | 8 | 4096 | 4,608 | 4.50x | 32 | 4 | 2,560 |

    * \- duration: no time was estimated
    * verified every row: equal to the reference (y: 4096 elements)
    * checks every row: init, race in 80 of 256 blocks; memory, sync in all

    <details><summary>Advice: one piece</summary>

    | worth | advice |
    | :--- | :--- |
    | 88% of use | 88% of the sectors of global loads are wasted: 32.0 sectors for each request of a warp, and 12% of their bytes are used; most by vector/src/lib.rs:19 at block=64,stride=8,n=4096 and 2 more (certain). Let neighbouring threads load neighbouring addresses: a structure of arrays, another order of indices, or a tile that is loaded in rows into shared memory. In Rust, shared!(\[f32; N\]) is such a tile. |

    × was measured; \~% of time is an estimate of what would go away; % of use is of one unit seen alone

    </details>

    | verdict | threshold | decided by | written in |
    | :--- | :--- | :--- | :--- |
    | ✅ pass | best load\_sectors\_per\_request &lt;= 4 | 4 at block=64,stride=1,n=4096 (limit 4) | attribute |
    | ✅ pass | every store\_sectors\_per\_request &lt;= 4 | 4 at block=64,stride=1,n=4096 (limit 4) | .config/gpuprof.toml:2 |

    **4 configurations of 1 series: 4 finished; thresholds: 2 passed**
    ");
}

#[test]
fn every_export_is_written_to_its_file() {
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (csv, json, markdown) = (path("run.csv"), path("run.json"), path("run.md"));
    let junit = path("run.xml");
    let exports = ["--export-csv", &csv, "--export-json", &json, "--export-markdown", &markdown];
    let exports = [&exports[..], &["--export-junit", &junit]].concat();
    let workspace = Workspace::fixture("workshop");
    let run = ["run", "--package", "vector", "gather"];
    let outcome = workspace.gpuprof(&[&run[..], &exports].concat()).exits_with(0);
    assert_snapshot!(outcome.tidy_stdout(), @r"
    vector::gather  vector/src/lib.rs:15  on the emulated H200 (sm_90), counters only

     block  stride     n  global_sectors  vs best  load_sectors_per_request  store_sectors_per_request
    ───────────────────────────────────────────────────────────────────────────────────────────────────
        64       1  4096         * 1,024    1.00x                         4                          4
        64       2  4096           1,536    1.50x                         8                          4
        64       4  4096           2,560    2.50x                        16                          4
        64       8  4096           4,608    4.50x                        32                          4

     block  stride     n  ptx_instructions
    ───────────────────────────────────────
        64       1  4096             2,560
        64       2  4096             2,560
        64       4  4096             2,560
        64       8  4096             2,560

     -  duration: no time was estimated

     global_sectors along each axis, largest mean over smallest:
     stride  1 ▁▂▄█ 8  4.50x

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 80 of 256 blocks; memory, sync in all

     advice
     88% of use  88% of the sectors of global loads are wasted: 32.0 sectors for each request of a warp, and 12% of their bytes are used; most by vector/src/lib.rs:19 at block=64,stride=8,n=4096 and 2 more (certain). Let neighbouring threads load neighbouring addresses: a structure of arrays, another order of indices, or a tile that is loaded in rows into shared memory. In Rust, shared!([f32; N]) is such a tile.

     PASS  best load_sectors_per_request <= 4    4 at block=64,stride=1,n=4096 (limit 4)  [attribute]
     PASS  every store_sectors_per_request <= 4  4 at block=64,stride=1,n=4096 (limit 4)  [.config/gpuprof.toml:2]

    4 configurations of 1 series: 4 finished; thresholds: 2 passed
    ");
    is_the_page_of_strides(&fs::read_to_string(markdown).expect("the page is there"));
    let rows = fs::read_to_string(csv).expect("the table is there");
    assert_eq!(rows.lines().filter(|line| line.contains(",load_sectors_per_request,")).count(), 4);
    let document = read_json(json.as_ref());
    assert_eq!(document["series"][0]["configurations"].as_array().map(Vec::len), Some(4));
    let cases = fs::read_to_string(junit).expect("the cases are there");
    // The run, its configurations and its thresholds.
    assert_eq!(cases.matches("<testcase ").count(), 1 + 4 + 2, "{cases}");
}

#[test]
fn output_of_user_code_stays_out_of_the_results() {
    let workspace = Workspace::fixture("workshop");
    let run = ["run", "--package", "vector", "gather", "--message-format", "json"];
    let outcome = workspace.gpuprof(&run).exits_with(0);
    assert!(
        !outcome.stdout.contains("prints") && !outcome.stderr.contains("prints"),
        "{outcome:#?}"
    );
    let id =
        outcome.events_of("run-started")[0]["id"].as_str().expect("runs have names").to_owned();
    let kept = fs::read_dir(workspace.run_folder(&id).join("passes")).expect("passes are kept");
    let kept: Vec<String> = kept
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "stdout"))
        .filter_map(|path| fs::read_to_string(path).ok())
        .filter(|text| text == "a line that the user's own code prints\n")
        .collect();
    assert_eq!(kept.len(), 4, "it is kept with its pass");
}

#[test]
fn quiet_does_not_change_the_results() {
    let workspace = Workspace::fixture("workshop");
    let loud = workspace.gpuprof(&["run", "--package", "vector", "scale"]).exits_with(0);
    let quiet =
        workspace.gpuprof(&["run", "--package", "vector", "scale", "--quiet"]).exits_with(0);
    assert_eq!(loud.stdout, quiet.stdout);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn metrics_of_the_command_line_are_shown_instead_of_the_annotated_ones() {
    let metrics = "sm__ctas_launched.sum,smsp__warps_launched.sum,ptx_warp_efficiency";
    let run = ["run", "--package", "vector", "scale", "--metrics", metrics];
    let outcome = Workspace::fixture("workshop").gpuprof(&run);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::scale  vector/src/lib.rs:40  on the emulated H200 (sm_90), counters only

     block     n  sm__ctas_launched.sum  smsp__warps_launched.sum  ptx_warp_efficiency [%]
    ───────────────────────────────────────────────────────────────────────────────────────
        64  4096                     64                       128                      100
       128  4096                     32                       128                      100

     verified  every row: equal to the reference (y: 4096 elements)
     checks    every row: init, race in 38 of 96 blocks; memory, sync in all

    2 configurations of 1 series: 2 finished; no thresholds

    ----- stderr -----
    [1/2] vector::scale/block=64,n=4096  finished in [TIME]
    [2/2] vector::scale/block=128,n=4096  finished in [TIME]
    ");
}

#[test]
fn colour_is_written_on_request() {
    let run = ["run", "--package", "vector", "scale", "--color", "always"];
    let outcome = Workspace::fixture("workshop").gpuprof(&run).exits_with(0);
    assert!(outcome.stdout.contains("\u{1b}[1m"), "{}", outcome.stdout);
    let run = ["run", "--package", "vector", "scale", "--color", "never"];
    let outcome = Workspace::fixture("workshop").gpuprof(&run).exits_with(0);
    assert!(!outcome.stdout.contains('\u{1b}'), "{}", outcome.stdout);
}

#[test]
fn a_dry_run_prints_what_it_would_start_and_starts_nothing() {
    let run = ["run", "--package", "vector", "--dry-run"];
    let outcome = Workspace::fixture("workshop").gpuprof(&run);
    assert_snapshot!(outcome.transcript(), @"
    exit code: 0
    ----- stdout -----
    vector::gather: 4 configurations × 1 pass
        block=64,stride=1,n=4096
        block=64,stride=2,n=4096
        block=64,stride=4,n=4096
        block=64,stride=8,n=4096
    vector::scale: 2 configurations × 1 pass
        block=64,n=4096
        block=128,n=4096
    6 processes on the emulated driver; nothing was started (--dry-run)

    ----- stderr -----
    ");
}
