//! The reply of a harness: its results, or why it cannot be read.

use gpuprof_model::ExitCode;
use gpuprof_model::code::Listing;
use gpuprof_model::failure::FailureKind;
use gpuprof_model::measurement::PassOutcome;
use gpuprof_model::protocol::{Header, ReplyBody, VERSION};
use serde::Deserialize;

use gpuprof_build::harnesses::Harness;
use gpuprof_system::error::{Failure, Result};
use gpuprof_system::symbol::name_in_cpp;

/// Reads a reply's bytes.
///
/// # Errors
/// A harness of another protocol, with the remedy; bytes that are not a reply (exit code 104).
pub fn read_reply(bytes: &[u8], harness: &Harness) -> Result<ReplyBody> {
    #[derive(Deserialize)]
    struct Envelope {
        header: Header,
    }
    let place = place(harness);
    let garbage = |e: serde_json::Error| {
        failed(format!("{place} sent a reply that cannot be read: {e}")).caused_by(e)
    };
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(garbage)?;
    if envelope.header.protocol != VERSION {
        let (theirs, ours) = (&envelope.header.version, env!("CARGO_PKG_VERSION"));
        let newer = envelope.header.protocol > VERSION;
        let remedy = if newer {
            format!(
                "install gpuprof {theirs} from its clone: cargo install --path cargo-gpuprof --locked"
            )
        } else {
            format!("set gpuprof = \"{ours}\" in the package's Cargo.toml")
        };
        return Err(failed(format!(
            "{place} was built with gpuprof {theirs}, which speaks protocol {}; this is cargo-gpuprof {ours} with \
             protocol {VERSION}. To go on, {remedy}",
            envelope.header.protocol
        )));
    }
    let reply: gpuprof_model::protocol::Reply = serde_json::from_slice(bytes).map_err(garbage)?;
    reply.body.ok_or_else(|| failed(format!("{place} does not understand protocol {VERSION}")))
}

pub(crate) fn failed(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::DiscoveryFailed, message)
}

pub(crate) fn place(harness: &Harness) -> String {
    format!("harness `{}` of package `{}`", harness.target, harness.package)
}

/// A reply of another kind than the request was.
pub fn unexpected(harness: &Harness, reply: &ReplyBody) -> Failure {
    failed(format!("{} sent an unexpected reply: {reply:?}", place(harness)))
}

/// The results of the passes of a reply; if it cannot be read, the first of them failed.
pub fn outcomes(bytes: &[u8], harness: &Harness) -> Vec<PassOutcome> {
    let failed = |reason| vec![PassOutcome::Failed { kind: FailureKind::Other, reason }];
    match read_reply(bytes, harness) {
        Ok(ReplyBody::Measured(outcomes)) => outcomes.into_iter().map(in_source_names).collect(),
        Ok(other) => failed(unexpected(harness, &other).message),
        Err(failure) => failed(failure.message),
    }
}

/// The lines of code in a reply; none if it cannot be read.
pub fn listings(bytes: &[u8], harness: &Harness) -> Vec<Option<Listing>> {
    match read_reply(bytes, harness) {
        Ok(ReplyBody::CodeListed(listings)) => listings,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// The outcome with functions by the names that their source has.
fn in_source_names(mut outcome: PassOutcome) -> PassOutcome {
    if let PassOutcome::Failed { reason, .. } | PassOutcome::Invalid { reason } = &mut outcome {
        let symbol = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let words: Vec<&str> = reason.split_inclusive(|c| !symbol(c)).collect();
        let plain = |word: &str| {
            let name = word.trim_end_matches(|c| !symbol(c));
            let rust = rustc_demangle::try_demangle(name).ok().map(|name| format!("{name:#}"));
            let readable = rust.or_else(|| name_in_cpp(name));
            readable.map_or_else(|| word.to_owned(), |it| it + &word[name.len()..])
        };
        *reason = words.into_iter().map(plain).collect();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_in_reasons_are_demangled() {
        let told = |reason: &str| {
            let (kind, reason) = (FailureKind::Other, reason.to_owned());
            match in_source_names(PassOutcome::Failed { kind, reason }) {
                PassOutcome::Failed { reason, .. } => reason,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            told(
                "a call of '_RNvCsgD6ZYSTHt5E_4conv6rounds', in '_RNvCsgD6ZYSTHt5E_4conv6rounds' at 1:2"
            ),
            "a call of 'conv::rounds', in 'conv::rounds' at 1:2"
        );
        assert_eq!(told("kernel '_ZN5waves4stepEjfPKfPf' at 1:2"), "kernel 'waves::step' at 1:2");
        assert_eq!(told("_R is no name, ▒ _ZN neither\n"), "_R is no name, ▒ _ZN neither\n");
    }
}
