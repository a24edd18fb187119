//! Requests read from, and replies written to, files.
//!
//! Input: the path in `__GPUPROF_REQUEST`. Output: a reply that exists completely or not at all,
//! and a notice to the runner once it exists. Only the header is read first, so that a runner of
//! another version gets an answer it understands.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gpuprof_model::notice::Notice;
use gpuprof_model::protocol::{Header, Reply, ReplyBody, Request, UNWRITTEN_REPLY, VERSION};
use serde::Deserialize;

use crate::host::runner::line::Handover;

#[derive(Deserialize)]
struct Envelope {
    header: Header,
    reply_path: PathBuf,
}

/// Reads the request at `path` and lets `answer` answer it, if it is understood.
///
/// # Errors
/// Files that cannot be read or written, and requests that are not requests; those of `answer`.
pub(crate) fn serve(
    path: &Path,
    handover: &Handover,
    answer: impl FnOnce(Request) -> io::Result<()>,
) -> io::Result<()> {
    let text = fs::read(path)?;
    let envelope: Envelope = serde_json::from_slice(&text)?;
    match envelope.header.protocol {
        VERSION => answer(serde_json::from_slice(&text)?),
        _ => put(&envelope.reply_path, None, handover),
    }
}

/// Writes the reply `body` to `path`, and notifies the runner.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &Path, body: ReplyBody, handover: &Handover) -> io::Result<()> {
    put(path, Some(body), handover)
}

/// A reply could not be written.
#[derive(Debug)]
pub(crate) struct ReplyError(io::Error);

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The harness adds the prefix.
        let beginning = UNWRITTEN_REPLY.trim_start_matches("gpuprof: ");
        write!(f, "{beginning}{}", self.0)
    }
}

impl std::error::Error for ReplyError {}

/// Whether `error` is that a reply could not be written.
pub(crate) fn is_unwritten(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<ReplyError>())
}

fn put(path: &Path, body: Option<ReplyBody>, handover: &Handover) -> io::Result<()> {
    let header = Header { protocol: VERSION, version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let text = serde_json::to_vec(&Reply { header, body })?;
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|error| io::Error::other(ReplyError(error)))?;
    handover.notify(Notice::Replied);
    Ok(())
}
