//! The text in `data/chips.zst`, with data that several chips share stored once.
//!
//! Input: the output of `cupti/examples/chips.rs`. Output: the chips, or the line that is not
//! understood. Line by line:
//!
//! ```text
//! cupti VERSION
//! chips CHIP …
//! submetrics .SUBMETRIC …           one line a list
//! on POSITION …                     one line a set of chips
//! nature KIND SUBMETRICS ON⇥HARDWARE UNIT⇥UNIT
//! breakdown ON⇥THROUGHPUT⇥COUNTER …⇥THROUGHPUT …
//! names                             then one line a metric, by name:
//! NATURE⇥SAME⇥REST                  SAME bytes of the name before, and the rest
//! ```

use std::collections::BTreeMap;

/// The contents of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorded {
    /// The version of CUPTI that was asked.
    pub(super) cupti: String,
    /// The chips, the oldest first.
    pub(super) names: Vec<String>,
    /// Every list of submetrics.
    pub(super) submetrics: Vec<Vec<String>>,
    /// Every nature.
    pub(super) natures: Vec<Nature>,
    /// The constituents of throughputs, by their names.
    pub(super) breakdowns: BTreeMap<String, Vec<Breakdown>>,
    /// Metrics by name. One name may be of several natures, on different chips.
    pub(super) metrics: BTreeMap<String, Vec<usize>>,
}

/// The common properties of metrics, and the chips that have them.
#[derive(Debug, Clone)]
pub(super) struct Nature {
    /// `counter`, `ratio` or `throughput`.
    pub(super) kind: &'static str,
    /// Which list of submetrics.
    pub(super) submetrics: usize,
    /// The chips, by position.
    pub(super) on: Vec<usize>,
    /// The unit of the GPU that counts.
    pub(super) hw_unit: String,
    /// The dimension of the values.
    pub(super) dim_unit: String,
}

/// The constituents of a throughput on some chips.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Breakdown {
    /// The chips, by position.
    pub(super) on: Vec<usize>,
    /// Counters without submetrics.
    pub(super) counters: Vec<String>,
    /// Throughputs of which it takes in all.
    pub(super) throughputs: Vec<String>,
}

/// Reads the text.
///
/// # Errors
/// The first line that is not understood.
pub(super) fn parse(text: &str) -> Result<Recorded, String> {
    let mut recorded = Recorded::default();
    let mut on: Vec<Vec<usize>> = Vec::new();
    let mut lines = text.lines();
    let words = |rest: &str| rest.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for line in lines.by_ref() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "cupti" => rest.clone_into(&mut recorded.cupti),
            "chips" => recorded.names = words(rest),
            "submetrics" => recorded.submetrics.push(words(rest)),
            "on" => on.push(positions(rest).ok_or_else(|| line.to_owned())?),
            "nature" => recorded.natures.push(nature(rest, &on).ok_or_else(|| line.to_owned())?),
            "breakdown" => {
                let (name, breakdown) = breakdown(rest, &on).ok_or_else(|| line.to_owned())?;
                recorded.breakdowns.entry(name).or_default().push(breakdown);
            }
            "names" => break,
            _ => return Err(line.to_owned()),
        }
    }
    let mut last = String::new();
    for line in lines {
        let (nature, name) = metric(line, &last).ok_or_else(|| line.to_owned())?;
        recorded.natures.get(nature).ok_or_else(|| line.to_owned())?;
        recorded.metrics.entry(name.clone()).or_default().push(nature);
        last = name;
    }
    Ok(recorded)
}

fn positions(text: &str) -> Option<Vec<usize>> {
    text.split(' ').map(|word| word.parse().ok()).collect()
}

fn nature(text: &str, on: &[Vec<usize>]) -> Option<Nature> {
    let mut fields = text.split('\t');
    let (head, hw_unit, dim_unit) = (fields.next()?, fields.next()?, fields.next()?);
    let [kind, submetrics, chips] = head.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Nature {
        kind: match kind {
            "c" => "counter",
            "r" => "ratio",
            "t" => "throughput",
            _ => return None,
        },
        submetrics: submetrics.parse().ok()?,
        on: on.get(chips.parse::<usize>().ok()?)?.clone(),
        hw_unit: hw_unit.to_owned(),
        dim_unit: dim_unit.to_owned(),
    })
}

fn breakdown(text: &str, on: &[Vec<usize>]) -> Option<(String, Breakdown)> {
    let [chips, name, counters, throughputs] =
        text.split('\t').collect::<Vec<_>>().try_into().ok()?;
    let on = on.get(chips.parse::<usize>().ok()?)?.clone();
    let words = |list: &str| list.split_ascii_whitespace().map(str::to_owned).collect();
    let [counters, throughputs] = [counters, throughputs].map(words);
    Some((name.to_owned(), Breakdown { on, counters, throughputs }))
}

fn metric(line: &str, last: &str) -> Option<(usize, String)> {
    let mut fields = line.split('\t');
    let (nature, same, rest) = (fields.next()?, fields.next()?, fields.next()?);
    let shared = last.get(..same.parse().ok()?)?;
    Some((nature.parse().ok()?, format!("{shared}{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_line_is_refused_by_number() {
        let head = "cupti 13.0\nchips A B\nsubmetrics .sum\non 0 1\nnature c 0 0\tsm\tcycle\n";
        let parsed = |rest: &str| parse(&format!("{head}{rest}"));
        let chips = parsed("names\n0\t0\tsm__a\n0\t4\tb\n").unwrap();
        assert_eq!(chips.metrics.keys().collect::<Vec<_>>(), ["sm__a", "sm__b"]);
        let text = "breakdown 0\tsm__t\tsm__a sm__b\tsm__u\nnames\n";
        let made_of = &parsed(text).unwrap().breakdowns["sm__t"][0];
        assert_eq!(made_of.counters, ["sm__a", "sm__b"]);
        assert_eq!(made_of.throughputs, ["sm__u"]);
        for wrong in [
            "breakdown 7\tsm__t\t\t",
            "nature x 0 0\tsm\t",
            "nature c 0 7\tsm\t",
            "other",
            "names\n1\t0\tsm__a",
        ] {
            let line = wrong.lines().last().unwrap();
            assert_eq!(parsed(wrong).unwrap_err(), line);
        }
    }
}
