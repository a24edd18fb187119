//! The descendants of this process.
//!
//! Input: `/proc`. Output: a SIGTERM to each: cargo dies of one but leaves its compilers, build
//! scripts and their children running.

use std::fs;
use std::process;

use rustix::process::{Pid, Signal, kill_process};

/// A process and its parent.
type Child = (i32, i32);

/// Sends SIGTERM to all descendants of this process.
pub fn end_descendants() {
    let Ok(own) = i32::try_from(process::id()) else { return };
    for pid in descendants(own, &all()) {
        if let Some(pid) = Pid::from_raw(pid) {
            // The process may have ended meanwhile.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// All visible processes of the system.
fn all() -> Vec<Child> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    entries.filter_map(|entry| child(&stat(entry.ok()?)?)).collect()
}

/// A process from `/proc/PID/stat`: `PID (NAME) STATE PARENT …`; the name may contain anything.
fn child(stat: &str) -> Option<Child> {
    let (before, after) = stat.rsplit_once(')')?;
    let (pid, _) = before.split_once(' ')?;
    Some((pid.parse().ok()?, after.split_whitespace().nth(1)?.parse().ok()?))
}

/// The descendants of `ancestor` in `all`, parents before children.
fn descendants(ancestor: i32, all: &[Child]) -> Vec<i32> {
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|child| child.1 == parent).map(|child| child.0));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_through_proc() {
        assert_eq!(child("7 (a) b) S 3 7 7 0"), Some((7, 3)));
        assert_eq!(child("7 (a"), None);
        let all = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 3)];
        assert_eq!(descendants(2, &all), [3, 4, 6]);
        assert_eq!(descendants(6, &all), [0_i32; 0]);
        let own = i32::try_from(process::id()).unwrap();
        assert!(super::all().iter().any(|child| child.0 == own));
    }
}
