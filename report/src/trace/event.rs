//! Events of the Trace Event Format.

use serde::Serialize;

/// An event: `X` is a whole span, `M` names a process or a lane, `s` and `f` are the ends of an
/// arrow, `C` is the value of a counter. Times are microseconds.
#[derive(Serialize)]
pub(super) struct Event<'r> {
    pub(super) ph: &'static str,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cat: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ts: Option<Microseconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<Microseconds>,
    /// The number that both ends of an arrow have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u32>,
    /// `e`: the arrow ends in the span around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bp: Option<&'static str>,
    pub(super) args: Arguments,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Microseconds {
    Whole(u64),
    Fraction(f64),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Arguments {
    Named { name: String },
    Of { process: u32 },
    What { what: String },
    Value { value: f64 },
    None {},
}

/// So many nanoseconds.
pub(super) fn microseconds(nanoseconds: u64) -> Microseconds {
    Microseconds::Fraction(nanoseconds as f64 / 1e3)
}

/// Names a process (with lane 0) or a lane.
pub(super) fn naming(name: &'static str, (pid, tid): (u32, u32), value: String) -> Event<'static> {
    let args = Arguments::Named { name: value };
    Event { ph: "M", pid, tid, name, cat: None, ts: None, dur: None, id: None, bp: None, args }
}
