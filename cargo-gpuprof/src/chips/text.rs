//! The text in `data/chips.zst`, in which what chips share stands once.
//!
//! Input: what `cupti/examples/chips.rs` wrote. Output: the chips, or the line that is not
//! understood. Line by line:
//!
//! ```text
//! cupti VERSION
//! chips CHIP …
//! submetrics .SUBMETRIC …           one line a list
//! on POSITION …                     one line a set of chips
//! nature KIND SUBMETRICS ON⇥HARDWARE UNIT⇥UNIT
//! names                             then one line a metric, by name:
//! NATURE⇥SAME⇥REST                  SAME bytes of the name before, and the rest
//! ```

use std::collections::BTreeMap;

use super::{Chips, Nature};

/// Reads the text.
///
/// # Errors
/// The first line that is not understood.
pub(super) fn parse(text: &str) -> Result<Chips, String> {
    let mut chips = Chips {
        cupti: String::new(),
        names: Vec::new(),
        submetrics: Vec::new(),
        natures: Vec::new(),
        metrics: BTreeMap::new(),
    };
    let mut on: Vec<Vec<usize>> = Vec::new();
    let mut lines = text.lines();
    let words = |rest: &str| rest.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for line in lines.by_ref() {
        let understood = match line.split_once(' ').unwrap_or((line, "")) {
            ("cupti", version) => Some(version.clone_into(&mut chips.cupti)),
            ("chips", rest) => Some(chips.names = words(rest)),
            ("submetrics", rest) => Some(chips.submetrics.push(words(rest))),
            ("on", rest) => positions(rest).map(|set| on.push(set)),
            ("nature", rest) => nature(rest, &on).map(|nature| chips.natures.push(nature)),
            ("names", _) => break,
            _ => None,
        };
        understood.ok_or_else(|| line.to_owned())?;
    }
    let mut last = String::new();
    for line in lines {
        let (nature, name) = metric(line, &last).ok_or_else(|| line.to_owned())?;
        chips.natures.get(nature).ok_or_else(|| line.to_owned())?;
        chips.metrics.entry(name.clone()).or_default().push(nature);
        last = name;
    }
    Ok(chips)
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
    fn a_line_that_is_not_understood_is_named() {
        let head = "cupti 13.0\nchips A B\nsubmetrics .sum\non 0 1\nnature c 0 0\tsm\tcycle\n";
        let parsed = |rest: &str| parse(&format!("{head}{rest}"));
        let chips = parsed("names\n0\t0\tsm__a\n0\t4\tb\n").unwrap();
        assert_eq!(chips.metrics.keys().collect::<Vec<_>>(), ["sm__a", "sm__b"]);
        for wrong in ["nature x 0 0\tsm\t", "nature c 0 7\tsm\t", "other", "names\n1\t0\tsm__a"] {
            let line = wrong.lines().last().unwrap();
            assert_eq!(parsed(wrong).unwrap_err(), line);
        }
    }
}
