//! How long a process may have the device, with a process that does nothing but wait.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use camino::Utf8Path;

use gpuprof_model::measurement::DeviceRecord;

use super::*;
use crate::schedule::Pass;
use gpuprof_system::interrupt::Interrupt;

/// How long a process may have the device.
const LIMIT: Duration = Duration::from_secs(2);

/// A harness in `folder` that is a shell `script`.
fn harness(folder: &Utf8Path, script: &str) -> Harness {
    let program = folder.join("harness");
    // Written by another process: a file that this one has open cannot be started, and a process
    // that another test starts meanwhile has it open for a moment.
    let write = "printf '#!/bin/sh\n%s' \"$1\" > \"$0\" && chmod +x \"$0\"";
    let written = Command::new("sh").args(["-c", write, program.as_str(), script]).status();
    assert!(written.unwrap().success());
    Harness {
        oxide: None,
        stand_in: None,
        package: "p".into(),
        target: "t".into(),
        executable: program,
        folder: folder.to_owned(),
        library_folders: Vec::new(),
    }
}

/// Starts a timed pass in a process of `harness`.
fn start(pipeline: &mut Pipeline<'_>, harness: &Harness) {
    let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![0]);
    pipeline.start(job, "job", harness, vec![Vec::new()], true, Checks::default()).unwrap();
}

/// The outcome of a process that has the device for longer than the limit and then replies; it
/// first sends `message`.
fn slow_reply_after(message: &str) -> Event {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (more, reply) = (LIMIT.as_secs() * 2, "echo ended > job.reply.json\nprintf gr >&0\n");
    let harness = harness(folder, &format!("printf '{message}' >&0\nsleep {more}\n{reply}"));
    let interrupt = Interrupt::default();
    let process =
        HarnessProcess { timeout: LIMIT, ..HarnessProcess::for_query(folder, &interrupt) };
    let mut pipeline = Pipeline::new(&process, Ahead { times: 1, counters: 1, beside: 0 }, None);
    start(&mut pipeline, &harness);
    wait(&mut [&mut pipeline]).unwrap().1
}

#[test]
fn a_process_that_hangs_after_its_reply_is_killed_before_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let script = "echo $$ > id\necho done > job.reply.json\nprintf r >&0\nexec sleep 600\n";
    let harness = harness(folder, script);
    let interrupt = Interrupt::default();
    let process =
        HarnessProcess { timeout: LIMIT, ..HarnessProcess::for_query(folder, &interrupt) };
    let mut pipeline = Pipeline::new(&process, Ahead::NONE, None);
    start(&mut pipeline, &harness);
    let (_, event) = wait(&mut [&mut pipeline]).unwrap();
    assert!(matches!(event, Event::Replied { goes_on: false, .. }), "{event:?}");
    let (_, event) = wait(&mut [&mut pipeline]).unwrap();
    let Event::Left { trouble: Some(trouble), .. } = event else { panic!("{event:?}") };
    assert!(trouble.starts_with("the process replied but did not exit within 2 s"), "{trouble}");
    let id = fs::read_to_string(folder.join("id")).unwrap();
    assert!(!PathBuf::from(format!("/proc/{}", id.trim())).exists());
}

#[test]
fn waiting_for_a_quiet_device_does_not_count_towards_the_timeout() {
    let event = slow_reply_after("w");
    let Event::Replied { held, .. } = event else { panic!("{event:?}") };
    // It had the device all the same.
    assert!(held > Duration::from_secs(2), "{held:?}");
}

#[test]
fn a_process_that_hangs_with_exclusive_access_is_killed() {
    let event = slow_reply_after("");
    let Event::Ended { ended: Ended::TimedOut { seconds, .. }, .. } = event else {
        panic!("{event:?}")
    };
    assert_eq!(seconds, 2);
}

#[test]
fn processes_prepared_ahead_follow_the_option_and_the_device() {
    let mut device = DeviceRecord::default();
    assert_eq!(Ahead::on(Some(&device), None), Ahead { times: 0, counters: 1, beside: 0 });
    assert_eq!(Ahead::on(Some(&device), Some(2)), Ahead { times: 2, counters: 2, beside: 0 });
    assert_eq!(Ahead::on(Some(&device), Some(0)), Ahead::NONE);
    device.attributes.insert("compute_mode".into(), 3);
    assert_eq!(Ahead::on(Some(&device), None), Ahead::NONE);
    assert_eq!(Ahead::on(Some(&device), Some(1)), Ahead::NONE);
    assert_eq!(Ahead::on(None, Some(3)), Ahead { times: 0, counters: 0, beside: 3 });
    assert_eq!(Ahead::on(None, Some(0)), Ahead::NONE);
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(Ahead::on(None, None).beside, cores - 1);
}

/// Two processes that reply only once both have started, the first one half a second later.
#[test]
fn emulated_processes_run_in_parallel_and_are_reported_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let script = "touch \"started-$PPID-$$\"\n\
        while [ \"$(ls started-* | wc -l)\" -lt 2 ]; do sleep 0.01; done\n\
        case $__GPUPROF_REQUEST in *first*) name=first; sleep 0.5;; *) name=second;; esac\n\
        echo done > $name.reply.json\nprintf r >&0\n";
    let harness = harness(folder, script);
    let interrupt = Interrupt::default();
    let process = HarnessProcess::for_query(folder, &interrupt);
    let mut pipeline = Pipeline::new(&process, Ahead { beside: 1, ..Ahead::NONE }, None);
    for (index, name) in ["first", "second"].into_iter().enumerate() {
        let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![index]);
        assert!(pipeline.has_room(&job));
        pipeline.start(job, name, &harness, vec![Vec::new()], true, Checks::default()).unwrap();
    }
    assert!(!pipeline.has_room(&Job::new(0, Pass::Timed { repeat: 0 }, vec![2])));
    let mut replies = Vec::new();
    while replies.len() < 2 {
        if let (_, Event::Replied { job, held, .. }) = wait(&mut [&mut pipeline]).unwrap() {
            replies.push((job.configurations[0], held));
        }
    }
    let [(0, first), (1, second)] = replies[..] else { panic!("{replies:?}") };
    assert!(second < first, "the second is timed to its own reply: {second:?}, {first:?}");
}

#[test]
fn an_exit_is_reported_before_the_next_reply() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let script = "case $__GPUPROF_REQUEST in *first*) name=first;; *) name=second;; esac\n\
        echo done > $name.reply.json\nprintf r >&0\n";
    let harness = harness(folder, script);
    let interrupt = Interrupt::default();
    let process = HarnessProcess::for_query(folder, &interrupt);
    let mut pipeline = Pipeline::new(&process, Ahead { beside: 1, ..Ahead::NONE }, None);
    for (index, name) in ["first", "second"].into_iter().enumerate() {
        let job = Job::new(0, Pass::Timed { repeat: 0 }, vec![index]);
        pipeline.start(job, name, &harness, vec![Vec::new()], true, Checks::default()).unwrap();
    }
    while pipeline.line.iter_mut().any(|started| started.running.exit().is_none()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    for index in [0, 1] {
        let (_, event) = wait(&mut [&mut pipeline]).unwrap();
        let Event::Replied { job, .. } = event else { panic!("{event:?}") };
        assert_eq!(job.configurations, [index]);
        let (_, event) = wait(&mut [&mut pipeline]).unwrap();
        let Event::Left { job, trouble: None } = event else { panic!("{event:?}") };
        assert_eq!(job.configurations, [index]);
    }
    assert!(matches!(wait(&mut [&mut pipeline]).unwrap().1, Event::Idle));
}
