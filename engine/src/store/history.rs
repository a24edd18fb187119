//! A history's file: JSON lines that are only ever appended.
//!
//! Input: a path, and entries. Output: the entries that can be read, and for every other line its
//! number and what is wrong with it: a file that was merged by hand must not lose what is right in
//! it. An entry that is there already is not written again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};

use camino::Utf8Path;
use gpuprof_model::history::{BadLine, Entry, unite_keys};

use super::untrusted::{self, place};
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::sanitize;

/// The path of a workspace's history.
pub const IN_WORKSPACE: &str = ".config/gpuprof/history.jsonl";

/// The contents of a file.
#[derive(Debug, Default)]
pub struct History {
    /// The readable entries, in the order of the lines.
    pub entries: Vec<Entry>,
    /// The lines that cannot.
    pub bad: Vec<BadLine>,
}

/// The history at `path`, with one key for each series; none if the file does not exist.
///
/// # Errors
/// It cannot be read, or is not an ordinary file (exit code 96).
pub fn read(path: &Utf8Path) -> Result<Option<History>> {
    match path.exists() {
        true => {
            let mut history = parsed(&untrusted::read(path)?);
            unite_keys(&mut history.entries);
            Ok(Some(history))
        }
        false => Ok(None),
    }
}

/// Appends those of `entries` to the file at `path` that it does not hold, and says how many these
/// are. Two that append at once do not meet.
///
/// # Errors
/// It cannot be read (exit code 96) or written (exit code 110).
pub fn append(path: &Utf8Path, entries: &[Entry]) -> Result<usize> {
    let failed = |e: io::Error| Failure::output(path.as_std_path(), &e);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file =
        File::options().read(true).append(true).create(true).open(path).map_err(failed)?;
    file.lock().map_err(failed)?;
    let known = parsed(&untrusted::read_open(&mut file, path)?).entries;
    let new: Vec<&Entry> = entries.iter().filter(|entry| !known.contains(entry)).collect();
    let mut text = Vec::new();
    if !new.is_empty() && !ends_a_line(&mut file).map_err(failed)? {
        text.push(b'\n');
    }
    for entry in &new {
        serde_json::to_writer(&mut text, entry).map_err(|e| failed(e.into()))?;
        text.push(b'\n');
    }
    let whole = file.metadata().map_err(failed)?.len();
    file.write_all(&text).and_then(|()| file.sync_data()).map_err(|e| {
        // A partial line would be reported at every reading.
        let _ = file.set_len(whole);
        failed(e)
    })?;
    Ok(new.len())
}

/// Whether `file` is empty or ends with a line break: an editor may have left the last line open.
fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn parsed(bytes: &[u8]) -> History {
    let mut history = History::default();
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let entry = sanitize::read::<Entry>(line).map_err(|e| place(line, 0, &e));
        match entry.and_then(|entry| entry.check().map(|()| entry)) {
            Ok(entry) => history.entries.push(entry),
            Err(reason) => history.bad.push(BadLine { line: number, reason }),
        }
    }
    history
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use gpuprof_analysis::fixture;

    use super::*;

    fn entry(run: &str) -> Entry {
        Entry { run: run.into(), ..fixture::history_entry(1, 4.0) }
    }

    fn file() -> (tempfile::TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("deep/history.jsonl")).unwrap();
        (folder, path)
    }

    #[test]
    fn existing_entries_are_not_appended_again() {
        let (_folder, path) = file();
        assert!(read(&path).unwrap().is_none());
        let both = [entry("r1"), entry("r2")];
        assert_eq!(append(&path, &both[..1]).unwrap(), 1);
        assert_eq!(append(&path, &both).unwrap(), 1);
        assert_eq!(append(&path, &both).unwrap(), 0);
        let found = read(&path).unwrap().unwrap();
        assert_eq!((found.entries, found.bad), (both.to_vec(), vec![]));
    }

    #[test]
    fn control_characters_of_a_history_are_removed() {
        let (_folder, path) = file();
        let mut hostile = entry("r1");
        let hidden = |text: &str| format!("x\u{1b}[8m{text}");
        hostile.series = hidden("s");
        hostile.metric = hidden("m");
        hostile.conditions.device = hidden("\u{1b}[31md");
        hostile.values = hostile.values.into_iter().map(|(key, v)| (hidden(&key), v)).collect();
        append(&path, &[hostile]).unwrap();
        let entry = read(&path).unwrap().unwrap().entries.remove(0);
        let texts = (&*entry.series, &*entry.metric, &*entry.conditions.device);
        assert_eq!(texts, ("xs", "xm", "xd"));
        assert_eq!(entry.values.keys().collect::<Vec<_>>(), ["xblock=64"]);
    }

    #[test]
    fn bad_lines_are_named_and_the_rest_is_read() {
        let (_folder, path) = file();
        append(&path, &[entry("r1")]).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        let later = good.replace("\"schema\":1", "\"schema\":7");
        let cut = &good[..good.len() / 2];
        let word = good.replace("\"backend\":\"cuda\"", "\"backend\":\"metal\"");
        let last = good.replace("r1", "r2");
        let lines = [&good, "\n", "<<<<<<< ours\n", &later, cut, "\n", &word, &last];
        // The last line is left open, as some editors leave it.
        fs::write(&path, lines.concat().trim_end()).unwrap();
        assert_eq!(append(&path, &[entry("r3")]).unwrap(), 1);
        let found = read(&path).unwrap().unwrap();
        let runs: Vec<&str> = found.entries.iter().map(|entry| entry.run.as_str()).collect();
        assert_eq!(runs, ["r1", "r2", "r3"]);
        let lines: Vec<usize> = found.bad.iter().map(|bad| bad.line).collect();
        assert_eq!(lines, [3, 4, 5, 6]);
        assert!(found.bad[1].reason.starts_with("it is of schema 7"), "{:?}", found.bad);
        assert!(found.bad[2].reason.starts_with("byte "), "{:?}", found.bad);
        assert!(found.bad[3].reason.contains("unknown variant `metal`"), "{:?}", found.bad);
    }
}
