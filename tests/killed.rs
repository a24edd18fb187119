//! Runs that are killed, at many instants and in every way: at most the pass in flight is lost,
//! what is on disk is not measured again, and nothing is left running.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::{Packed, wait_beside, wait_for};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

/// A sweep of 60 configurations, one pass each.
const SWEEP: [&str; 3] = ["gather", "--series", "stride=1..60 step 1"];

/// The victim of a kill.
#[derive(Debug, Clone, Copy)]
enum Whom {
    /// The subcommand alone.
    Tool,
    /// Everything in its process group, as a terminal does.
    Group,
}

/// Ways to end a run.
const BLOWS: [(Whom, Signal); 6] = [
    (Whom::Tool, Signal::KILL),
    (Whom::Group, Signal::KILL),
    (Whom::Tool, Signal::INT),
    (Whom::Tool, Signal::KILL),
    (Whom::Group, Signal::TERM),
    (Whom::Group, Signal::INT),
];

/// Starts `run` with `arguments` as the leader of a separate process group.
fn start(packed: &Packed, arguments: &[&str]) -> Child {
    let mut command = packed.tool(arguments).into_command();
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().expect("the subcommand can be started")
}

fn strike(child: &Child, (whom, signal): (Whom, Signal)) {
    let hit = match whom {
        Whom::Tool => kill_process(Pid::from_child(child), signal),
        Whom::Group => kill_process_group(Pid::from_child(child), signal),
    };
    hit.expect("it has not been waited for");
}

/// The whole lines of a run's journal.
fn journal(run: &Path) -> Vec<u8> {
    let mut bytes = fs::read(run.join("journal.jsonl")).unwrap_or_default();
    bytes.truncate(bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1));
    bytes
}

/// The passes in a journal: series, configuration and repetition.
fn passes(journal: &[u8]) -> Vec<(u64, u64, u64)> {
    let lines = journal.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Value>(line).expect("a whole line"));
    let number = |line: &Value, key: &str| line[key].as_u64().expect("it is a number");
    lines
        .filter(|line| line["line"] == "pass")
        .map(|l| (number(&l, "series"), number(&l, "configuration"), number(&l, "repeat")))
        .collect()
}

/// Which file the reply of each configuration is: another one where its pass ran again.
fn replies(run: &Path) -> BTreeMap<u64, (u64, i64, i64)> {
    let mut replies = BTreeMap::new();
    for configuration in 0..60 {
        let name = format!("passes/000-gather-{configuration:05}-pass-0-0.reply.json");
        if let Ok(known) = fs::metadata(run.join(name)) {
            replies.insert(configuration, (known.ino(), known.mtime(), known.mtime_nsec()));
        }
    }
    replies
}

fn nothing_is_left(packed: &Packed) {
    wait_for("the end of every harness", || packed.harnesses().is_empty().then_some(()));
}

/// Blows that a test deals at least.
const BLOWS_AT_LEAST: usize = 12;

#[test]
fn a_run_killed_repeatedly_equals_an_undisturbed_one() {
    let undisturbed = Packed::new();
    assert!(undisturbed.start(&SWEEP).wait().expect("it can be waited for").success());
    let expected = Packed::document(&undisturbed.runs()[0]);
    let mut blows = 0;
    // A busy machine may be through with a sweep before it was hit often.
    while blows < BLOWS_AT_LEAST {
        let before = blows;
        let document = struck_until_it_ends(&mut blows);
        assert_eq!(document, expected);
        assert!(blows > before, "it ended before the first blow");
    }
}

/// A run that `signal` struck ended by it, or before it.
fn ended_as_struck(signal: Signal, status: ExitStatus, run: &Path) {
    match signal {
        Signal::KILL => assert!(status.signal() == Some(9) || status.success(), "{status}"),
        signal => {
            let expected = 128 + signal.as_raw();
            assert!(status.code() == Some(expected) || status.success(), "{status}");
            let verdict = fs::read(run.join("verdict.json")).expect("it is kept");
            let verdict: Value = serde_json::from_slice(&verdict).expect("it is JSON");
            assert_eq!(verdict["exit_code"], status.code().expect("it ended by itself"));
        }
    }
}

/// Kills a run and resumes it repeatedly until it ends; returns the document of the run.
fn struck_until_it_ends(blows: &mut usize) -> Value {
    let packed = Packed::new();
    let resumed = [&SWEEP[..], &["--resume"]].concat();
    let mut child = start(&packed, &SWEEP);
    let run = wait_beside(&mut child, "the run's folder", || {
        packed.runs().into_iter().find(|p| p.join("journal.jsonl").exists())
    });
    let mut known = journal(&run);
    let mut measured = BTreeMap::new();
    loop {
        let before = passes(&known).len();
        let ended =
            wait_for("another pass", || match child.try_wait().expect("it can be waited for") {
                Some(status) => Some(Some(status)),
                None => (passes(&journal(&run)).len() > before).then_some(None),
            });
        if let Some(status) = ended {
            assert!(status.success(), "{status}");
            break;
        }
        // Not only just after a line is on disk, but anywhere between two: a pass takes some 30 ms.
        sleep(Duration::from_millis(*blows as u64 * 7 % 40));
        let blow = BLOWS[*blows % BLOWS.len()];
        strike(&child, blow);
        let status = child.wait().expect("it can be waited for");
        *blows += 1;
        nothing_is_left(&packed);
        ended_as_struck(blow.1, status, &run);
        let now = journal(&run);
        assert!(now.starts_with(&known), "what was on disk is lost after {blow:?}");
        known = now;
        let replies = replies(&run);
        for (_, configuration, _) in passes(&known) {
            let first = *measured.entry(configuration).or_insert(replies[&configuration]);
            assert_eq!(first, replies[&configuration], "pass {configuration} ran again");
        }
        if status.success() {
            // It ended before the blow fell.
            break;
        }
        child = start(&packed, &resumed);
    }
    let all = journal(&run);
    assert!(all.starts_with(&known));
    let expected: Vec<_> = (0..60).map(|configuration| (0, configuration, 0)).collect();
    assert_eq!(passes(&all), expected, "every pass is in the journal once");
    let last = replies(&run);
    assert!(measured.iter().all(|(configuration, file)| last[configuration] == *file));
    assert_eq!(packed.runs(), std::slice::from_ref(&run), "it is one run");
    assert!(!run.join("copies").exists(), "the copies are gone");
    Packed::document(&run)
}

#[test]
fn a_journal_that_was_edited_is_not_resumed_and_one_without_checksums_is() {
    let packed = Packed::new();
    let few = ["gather", "--series", "stride=1..3 step 1", "--quiet"];
    packed.tool(&few).run().exits_with(0);
    let file = packed.runs()[0].join("journal.jsonl");
    // As if it had been killed after its second pass.
    let all = fs::read_to_string(&file).expect("it is kept");
    let whole: String = all.split_inclusive('\n').take(4).collect();
    assert_eq!(passes(whole.as_bytes()), [(0, 0, 0), (0, 1, 0)]);
    let resumed = || packed.tool(&[&few[..], &["--resume"]].concat()).run();

    let counters = whole.rfind("\"counters\":{").expect("the second pass has counters");
    let value = whole[counters..].match_indices(':').nth(1).expect("it has a first counter").0;
    let mut edited = whole.clone();
    edited.insert(counters + value + 1, '9');
    fs::write(&file, edited).expect("it can be written");
    let refused = resumed().exits_with(96).stderr;
    let said = "journal.jsonl, line 4: the line differs from its checksum, so it was changed";
    assert!(refused.contains(said), "{refused}");

    let unsealed = |line: &str| format!("{{{}", line.split_once(',').expect("it has members").1);
    let older: String = whole.split_inclusive('\n').map(unsealed).collect();
    fs::write(&file, &older).expect("it can be written");
    resumed().exits_with(0);
    let now = journal(&packed.runs()[0]);
    assert!(now.starts_with(older.as_bytes()), "nothing is measured again");
    assert_eq!(passes(&now), [(0, 0, 0), (0, 1, 0), (0, 2, 0)]);
}

#[test]
fn a_run_killed_before_its_first_pass_does_not_affect_the_next() {
    let packed = Packed::new();
    for milliseconds in [0, 4, 10, 20, 40, 80] {
        let mut child = start(&packed, &SWEEP);
        sleep(Duration::from_millis(milliseconds));
        strike(&child, (Whom::Tool, Signal::KILL));
        child.wait().expect("it can be waited for");
    }
    nothing_is_left(&packed);
    let few = ["gather", "--series", "stride=1..2", "--quiet"];
    let outcome = packed.tool(&few).run().exits_with(0);
    assert_eq!(outcome.stderr, "");
    let latest = packed.other(&["report", "latest", "--format", "json"]).run().exits_with(0);
    let latest: Value = serde_json::from_str(&latest.stdout).expect("it is JSON");
    assert_eq!(latest["series"][0]["configurations"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_harness_does_not_outlive_a_runner_that_is_killed() {
    let packed = Packed::new();
    let mut child = start(&packed, &["sleeps"]);
    // Its second configuration sleeps for a minute.
    let harness = wait_beside(&mut child, "the sleeping harness", || {
        let run = packed.runs().pop()?;
        let asked = fs::read_dir(run.join("passes")).ok()?.flatten();
        let asked =
            asked.filter(|e| e.file_name().to_string_lossy().ends_with("00001-pass-0-0.stderr"));
        let begun = asked.count() == 1 && passes(&journal(&run)).len() == 1;
        begun.then(|| packed.harnesses()).filter(|harnesses| harnesses.len() == 1)
    });
    strike(&child, (Whom::Tool, Signal::KILL));
    child.wait().expect("it can be waited for");
    nothing_is_left(&packed);
    assert!(!packed.harnesses().contains(&harness[0]), "the harness is still there");
}

#[test]
fn a_run_is_resumed_with_the_baseline_that_it_began_with() {
    let packed = Packed::new();
    let few = ["gather", "--series", "stride=1,2", "--quiet"];
    packed.tool(&[&few[..], &["--save-baseline", "main"]].concat()).run().exits_with(0);
    let compared = [&few[..], &["--baseline", "main"]].concat();
    packed.tool(&compared).run().exits_with(0);
    let refused = packed.tool(&[&few[..], &["--resume"]].concat()).run().exits_with(2);
    let told = "it began with baseline `main`, and now has no baseline; to continue, add \
                --baseline main";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    let resumed = [&compared[..], &["--resume"]].concat();
    for (option, value, usual) in [
        ("--range", "launch", "`auto`"),
        ("--app-replay-mode", "balanced", "`strict`"),
        ("--app-replay-match", "name", "`all`"),
        ("--section", "Occupancy", "nothing"),
        ("--set", "basic", "nothing"),
        ("--nvtx", "phase,a,phase", "nothing"),
    ] {
        let other = packed.tool(&[&resumed[..], &[option, value]].concat()).run().exits_with(2);
        let value = if option == "--nvtx" { "a,phase" } else { value };
        let told = format!("{option} was {usual} when it began, and is `{value}` now");
        assert!(other.stderr.contains(&told), "{}", other.stderr);
    }
    packed.tool(&resumed).run().exits_with(0);
}

#[test]
fn a_run_is_not_resumed_with_other_thresholds_or_metrics_of_the_file() {
    let packed = Packed::new();
    let file = packed.path().join("own.toml");
    let tool = |configuration: &str, more: &[&str]| {
        fs::write(&file, configuration).unwrap();
        let run = ["gather", "--series", "stride=1,2", "--quiet", "--config-file"];
        packed.tool(&[&run[..], &[file.to_str().unwrap()], more].concat()).run()
    };
    let tight = "thresholds = [\"every ptx_instructions <= 1\"]\n";
    tool(tight, &[]).exits_with(100);
    let directed = format!("{tight}[metrics.ptx_instructions]\ndirection = \"higher\"\n");
    for (changed, told) in [
        ("", "the thresholds changed since"),
        ("thresholds = [\"every ptx_instructions <= 1e6\"]\n", "the thresholds changed since"),
        (&directed, "the metrics of the configuration file changed since"),
    ] {
        let refused = tool(changed, &["--resume"]).exits_with(2);
        assert!(refused.stderr.contains(told), "{changed}: {}", refused.stderr);
    }
    tool(tight, &["--resume"]).exits_with(100);
}
