//! Nothing is looked at again and again: processes that wait are woken by the kernel.
//!
//! One test reads the sources for calls that polling is made of, the others count how often
//! processes that wait get a processor.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::replay::{arguments, workshop};
use crate::support::{FakeGpu, Packed, repository_folder, wait_beside, wait_for};

/// Calls that look once, or wait for a time: loops of them poll.
const CALLS: [&str; 9] = [
    "sleep(",
    "thread::sleep",
    "recv_timeout(",
    "try_wait(",
    "try_lock(",
    "try_lock_shared(",
    "yield_now(",
    "spin_loop(",
    "park_timeout(",
];

/// The places of such calls that do not poll: file, line, reason.
const ALLOWED: [(&str, &str, &str); 24] = [
    (
        "system/src/blocking_call.rs",
        "self.result.recv_timeout(time).ok()",
        "waits once, with a limit, and is woken by the result",
    ),
    (
        "cargo-gpuprof/src/commands/doctor/devices.rs",
        "match lock::try_lock(&path, &Owner::this_process()) {",
        "says whether the device is free now",
    ),
    ("engine/src/device/lock.rs", "match file.try_lock() {", "reports the lock's present owner"),
    ("engine/src/device/lock.rs", "match file.try_lock() {", "tries once, then queues"),
    (
        "engine/src/device/lock.rs",
        "match try_lock(path, owner).map_err(failed)? {",
        "tries once, then queues",
    ),
    (
        "engine/src/device/lock.rs",
        "pub fn try_lock(path: &Path, owner: &Owner) -> io::Result<Try> {",
        "tries once",
    ),
    (
        "system/src/scratch.rs",
        "let taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));",
        "locks a new file; if another process has it, the folder is made again",
    ),
    (
        "system/src/scratch.rs",
        "lock.try_lock().is_ok().then_some(lock)",
        "leaves alone what is in use",
    ),
    (
        "system/src/whole.rs",
        "let taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));",
        "locks a new file; if another process has it, another file is made",
    ),
    (
        "system/src/whole.rs",
        "if file.is_ok_and(|file| file.try_lock().is_ok()) {",
        "leaves alone what is in use",
    ),
    (
        "engine/src/store/file_lock.rs",
        "match file.try_lock() {",
        "reports the lock's present owner",
    ),
    ("engine/src/store/file_lock.rs", "match file.try_lock() {", "tries once, then queues"),
    (
        "engine/src/store/file_lock.rs",
        "if let Err(TryLockError::Error(e)) = file.try_lock()",
        "asks whether there are locks",
    ),
    ("engine/src/store/prune.rs", "if lock.try_lock().is_ok() {", "leaves alone what is in use"),
    (
        "engine/src/execute/profiler_turn.rs",
        "&& let Try::Held(lock) = lock::try_lock(path, &owner)?",
        "tries once, then queues",
    ),
    (
        "build/src/revision/checkout.rs",
        "if lock.try_lock().is_err() {",
        "a checkout that is in use is not taken",
    ),
    (
        "engine/src/store/own_folder.rs",
        "let is_free = lock.as_ref().is_none_or(|lock| lock.try_lock().is_ok());",
        "a run that is in use is not moved",
    ),
    (
        "engine/src/store/prune.rs",
        "Ok(file) => file.try_lock().ok().map(|()| Some(file)),",
        "a run that is in use is kept",
    ),
    (
        "engine/src/store/runs.rs",
        "lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))",
        "says whether a run is under way now",
    ),
    (
        "runtime/src/host/collect/duration_samples.rs",
        "pause: &mut thread::sleep,",
        "a GPU that cools down",
    ),
    (
        "runtime/src/host/collect/energy.rs",
        "if sent.is_err() || stops.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {",
        "a counter of the device that announces nothing, for a few seconds",
    ),
    (
        "runtime/src/device/thread.rs",
        "pub fn sleep(nanoseconds: u32) {",
        "what a GPU has for threads that wait for other blocks: nothing wakes them",
    ),
    (
        "runtime/src/device/thread.rs",
        "on_device!(\"thread::sleep\"(nanoseconds), {",
        "the same function's name",
    ),
    (
        "emulator/src/machine/watch.rs",
        "let Ok(mut next) = self.next.try_lock() else { return };",
        "leaves the writing to the thread that writes",
    ),
];

/// As [`ALLOWED`], in the lock of the quiet window.
const ALLOWED_IN_MEASURE_LOCK: [(&str, &str); 3] = [
    ("match file.try_lock() {", "tries once, then waits in the kernel"),
    (
        "if let Ok(held) = window.recv_timeout(patience) {",
        "waits once, with a limit, and is woken by the window",
    ),
    ("thread::sleep(grace);", "a limit; what it bounds, the end of the process, ends it as well"),
];

/// The lines of `text` that are neither tests nor comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

/// The sources of users' and ours below `folder`, without tests.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("it is UTF-8");
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn no_source_polls() {
    let mut paths = Vec::new();
    for package in [
        "analysis",
        "build",
        "cargo-gpuprof",
        "cupti",
        "emulator",
        "engine",
        "model",
        "report",
        "runtime",
        "statistics",
        "system",
    ] {
        sources(&repository_folder().join(package).join("src"), &mut paths);
    }
    assert!(paths.len() > 200, "{}", paths.len());
    let own =
        ALLOWED_IN_MEASURE_LOCK.map(|(line, _)| ("runtime/src/host/runner/measure_lock.rs", line));
    let mut allowed: Vec<(&str, &str)> = ALLOWED.map(|(file, line, _)| (file, line)).to_vec();
    allowed.extend(own);
    let mut refused = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).expect("it is text");
        for line in code(&text).filter(|line| CALLS.iter().any(|call| line.contains(call))) {
            let at =
                allowed.iter().position(|(file, known)| path.ends_with(file) && *known == line);
            match at {
                Some(at) => drop(allowed.swap_remove(at)),
                None => refused.push(format!("{path}: {line}")),
            }
        }
    }
    assert!(
        refused.is_empty(),
        "these may poll: have the kernel wait (`blocking_call.rs`, `interrupt.rs`), or say here why they do \
         not:\n{}",
        refused.join("\n")
    );
    assert_eq!(allowed, [], "no longer there");
}

/// How often the threads of a process have waited since they began: a thread that is gone is left
/// out.
fn switches(process: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of = |path: &Path| -> Option<u64> {
        let status = fs::read_to_string(path.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads.filter_map(|thread| of(&thread.path())).sum()
}

/// How many waits a waiting process may make per second: nothing wakes it. Polling at the longest
/// interval that ever was in use, 100 ms, makes ten.
const MOST: u64 = 3;

/// Waits until no process of `processes`, at least `count` of them, got a processor for a second. A
/// process that is still getting ready is checked again; a process that polls never passes.
fn all_come_to_rest(child: &mut Child, count: usize, processes: impl Fn() -> Vec<u32>) {
    let mut seen = Vec::new();
    for _ in 0..60 {
        assert!(child.try_wait().expect("it can be waited for").is_none(), "it ended");
        let before: BTreeMap<u32, u64> =
            processes().into_iter().map(|p| (p, switches(p))).collect();
        sleep(Duration::from_secs(1));
        let after: BTreeMap<u32, u64> = processes().into_iter().map(|p| (p, switches(p))).collect();
        let rests = |(p, now): (&u32, &u64)| before.get(p).is_some_and(|then| now - then <= MOST);
        if after.len() >= count && after.len() == before.len() && after.iter().all(rests) {
            return;
        }
        seen.push((before, after));
    }
    panic!("they never rest: {:?}", seen.last());
}

#[test]
fn a_runner_waiting_for_its_harness_uses_no_cpu() {
    let packed = Packed::new();
    // Its second configuration sleeps for a minute.
    let mut child = packed.start(&["sleeps", "--timeout", "600"]);
    let harness = |id: &u32| {
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        !command.is_empty()
    };
    wait_beside(&mut child, "a harness", || packed.harnesses().into_iter().find(harness));
    let runner = child.id();
    all_come_to_rest(&mut child, 2, || {
        packed.harnesses().into_iter().filter(harness).chain([runner]).collect()
    });
    child.kill().expect("it still runs");
    child.wait().expect("it can be waited for");
    wait_for("the end of every harness", || packed.harnesses().is_empty().then_some(()));
}

#[test]
fn harnesses_waiting_for_the_device_use_no_cpu() {
    let gpu = FakeGpu::new();
    let arguments = arguments(&["vector", "scale"], &["--ahead", "1", "--timeout", "600"]);
    let tool = gpu.tool(&workshop(), &arguments).env("FAKE_CUPTI_TROUBLE", "hang pass=1 block=64");
    let mut command = tool.into_command();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    gpu.wait_for(&mut child, "hangs");
    // The runner, the process that hangs while it has the device, and the next one, which waits.
    all_come_to_rest(&mut child, 3, || gpu.survivors());
    child.kill().expect("it still runs");
    child.wait().expect("it can be waited for");
    wait_for("the end of every process", || gpu.survivors().is_empty().then_some(()));
}
