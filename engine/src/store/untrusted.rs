//! Reads files that anyone may have written.
//!
//! Input: a path, or bytes and their parse error. Output: all bytes of an ordinary file that fits
//! in memory, or a sentence with the path and the first wrong byte. Anything else (a folder, a
//! named pipe, which would wait for ever, a device) is refused unread, and no message repeats a
//! file's contents at length or in a way that could steer a terminal.

use std::fs::{self, File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;

use camino::Utf8Path;
use gpuprof_model::ExitCode;

use gpuprof_model::text::printable;
use gpuprof_system::error::{Failure, Result};

/// The longest that a message about a file's content is.
const MAX_MESSAGE: usize = 300;

/// A file with invalid contents (exit code 96).
pub(super) fn wrong(message: String) -> Failure {
    Failure::new(ExitCode::Configuration, message)
}

/// All bytes of the file at `path`.
///
/// # Errors
/// It cannot be read, is not an ordinary file, or is too large (exit code 96).
pub(super) fn read(path: &Utf8Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| wrong(format!("cannot read {path}: {e}"));
    // Before it is opened: opening a named pipe waits for its other end.
    ordinary(path, fs::metadata(path).map_err(failed)?.file_type())?;
    let mut file = File::open(path).map_err(failed)?;
    read_open(&mut file, path)
}

/// As [`read`], of a file that is open already.
///
/// # Errors
/// As [`read`].
pub(super) fn read_open(file: &mut File, path: &Utf8Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| wrong(format!("cannot read {path}: {e}"));
    let known = file.metadata().map_err(failed)?;
    ordinary(path, known.file_type())?;
    // No number of rows is too large, so only memory sets a limit.
    let limit = memory();
    let mut bytes = Vec::new();
    if known.len() <= limit {
        bytes.try_reserve_exact(usize::try_from(known.len()).unwrap_or(usize::MAX)).ok();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    let size = known.len().max(bytes.len() as u64);
    if size > limit {
        return Err(wrong(format!(
            "{path} has {size} bytes, more than the memory of this machine ({limit})"
        )));
    }
    Ok(bytes)
}

/// The bytes of this machine's memory.
fn memory() -> u64 {
    let known = rustix::system::sysinfo();
    known.totalram.saturating_mul(u64::from(known.mem_unit))
}

/// Only ordinary files are accepted.
///
/// # Errors
/// As [`read`].
pub(super) fn ordinary(path: &Utf8Path, kind: FileType) -> Result<()> {
    let other = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(wrong(format!("cannot read {path}: it is {other}, not a file")))
}

/// `byte 30: expected …`, for an `error` that was found in `bytes`, which begin at byte `start` of
/// their file.
pub(super) fn place(bytes: &[u8], start: usize, error: &serde_json::Error) -> String {
    let byte = byte_of(bytes, error);
    let end = if byte >= bytes.len() { "; the file ends there" } else { "" };
    format!("byte {}: {}{end}", start + byte, cut(&printable(&error.to_string())))
}

/// The offset of the byte at which `error` was found in `bytes`.
fn byte_of(bytes: &[u8], error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return bytes.len();
    }
    let before: usize = bytes
        .split_inclusive(|&b| b == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let byte = before + error.column().saturating_sub(1);
    // In a value that it skips, serde_json names the byte before a control character.
    let control = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_control);
    let skipped = error.to_string().starts_with("control character") && !control(byte);
    (byte + usize::from(skipped)).min(bytes.len())
}

/// `text` without its middle where it is long: its end says where it was found.
fn cut(text: &str) -> String {
    if text.len() <= MAX_MESSAGE {
        return text.to_owned();
    }
    let half = MAX_MESSAGE / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    format!("{}…{}", &text[..head], &text[tail..])
}
