//! Metrics that depend on themselves.
//!
//! Input: formulas by the names of the metrics they define. Output: the path from a metric back to
//! itself.

use std::collections::BTreeMap;

use crate::metric::formula::Formula;

/// The path on which one of the metrics that `formulas` defines depends on itself, if one does.
pub fn cycle_among(formulas: &[(&str, &str)]) -> Option<Vec<String>> {
    let parsed =
        formulas.iter().filter_map(|(name, text)| Some((*name, Formula::parse(text).ok()?)));
    let parsed: BTreeMap<&str, Formula> = parsed.collect();
    parsed.keys().find_map(|name| cycle(name, &parsed))
}

/// The way from `name` back to itself.
pub(super) fn cycle(name: &str, formulas: &BTreeMap<&str, Formula>) -> Option<Vec<String>> {
    fn walk(
        goal: &str,
        path: &mut Vec<String>,
        formulas: &BTreeMap<&str, Formula>,
    ) -> Option<Vec<String>> {
        let formula = formulas.get(path.last()?.as_str())?;
        for operand in formula.names() {
            if operand == goal {
                return Some([path.as_slice(), &[operand.to_owned()]].concat());
            }
            if !path.iter().any(|seen| seen == operand) {
                path.push(operand.to_owned());
                if let Some(cycle) = walk(goal, path, formulas) {
                    return Some(cycle);
                }
                path.pop();
            }
        }
        None
    }
    walk(name, &mut vec![name.to_owned()], formulas)
}
