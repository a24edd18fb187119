//! `metrics(…)`, `threshold("…")` and `check(…)`, read with the model's grammars and catalogue.

use gpuprof_model::metric::{Catalogue, group as group_of_metrics};
use gpuprof_model::{Checks, ParseError, Threshold};
use proc_macro2::{Group, Ident};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Lit, LitStr, Token};

use crate::axis::DeclaredSpace;
use crate::errors::Errors;
use crate::invisible_groups;
use crate::vocabulary::example;

/// The metric names of `metrics(…)`.
pub(crate) fn metrics(list: &Group, errors: &mut Errors) -> Vec<String> {
    let parser = Punctuated::<syn::Expr, Token![,]>::parse_terminated;
    let Some(names) = errors.attempt(parser.parse2(list.stream())) else { return Vec::new() };
    let catalogue = Catalogue::built_in();
    let mut out = Vec::new();
    for name in names {
        let text = match invisible_groups::expr(&name) {
            syn::Expr::Path(path) if path.path.get_ident().is_some() => {
                path.path.get_ident().map(ToString::to_string)
            }
            syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        };
        match text {
            Some(text) => {
                if group_of_metrics(&text).is_none()
                    && let Some(problem) = unknown(&catalogue, &text)
                {
                    errors.at(&name, problem);
                }
                out.push(text);
            }
            None => errors.at(
                &name,
                "expected the name of a metric; one with dots goes in quotes: \"dram__bytes.sum\"",
            ),
        }
    }
    out
}

/// The texts of `threshold("…")`, each with its literal for [`check`].
pub(crate) fn thresholds(list: &Group, errors: &mut Errors) -> Vec<LitStr> {
    let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
    let texts = errors.attempt(parser.parse2(list.stream())).unwrap_or_default();
    if texts.is_empty() && list.stream().is_empty() {
        errors.at(list, "expected a condition in quotes: threshold(\"every duration <= 100 us\")");
    }
    texts.into_iter().collect()
}

/// The names of `check(…)`, of which the model makes a selection.
pub(crate) fn checks(list: &Group, errors: &mut Errors) -> Vec<String> {
    let parser = Punctuated::<Ident, Token![,]>::parse_terminated;
    let Some(names) = errors.attempt(parser.parse2(list.stream())) else { return Vec::new() };
    if names.is_empty() {
        errors.at(list, format!("expected the names of checks: {}", example("check")));
    }
    let texts: Vec<String> = names.iter().map(ToString::to_string).collect();
    if let Err((at, message)) = Checks::of_names(&texts) {
        errors.at(&names[at], message);
    }
    texts
}

/// Refuses a threshold that does not follow the grammar, names an axis or metric that is not there,
/// or applies to no configuration of `declared`.
pub(crate) fn check(thresholds: &[LitStr], declared: &DeclaredSpace, errors: &mut Errors) {
    let names: Vec<String> = declared.names.iter().map(ToString::to_string).collect();
    let axes: Vec<&str> = names.iter().map(String::as_str).collect();
    let catalogue = Catalogue::built_in();
    for literal in thresholds {
        let text = literal.value();
        let mut check = |result: Result<(), ParseError>| {
            let _ = result.map_err(|error| errors.at(literal, pointed(&error, &text)));
        };
        let threshold = match Threshold::parse(&text) {
            Ok(threshold) => threshold,
            Err(error) => {
                check(Err(error));
                continue;
            }
        };
        let name = &threshold.metric;
        if catalogue.find(name).is_some() || unknown(&catalogue, name).is_some() {
            check(threshold.metric_of(&catalogue).map(|_| ()));
        }
        check(threshold.check_axes("the series", &axes, "").and_then(|()| {
            declared.space.as_ref().map_or(Ok(()), |space| threshold.check_selector(&[space]))
        }));
    }
}

/// `error` with a caret under its place in `text`: on stable, a macro cannot point into a literal.
fn pointed(error: &ParseError, text: &str) -> String {
    let rendered = error.render("", text);
    let lines: Vec<&str> = rendered.lines().filter(|line| !line.starts_with("  -->")).collect();
    lines.join("\n")
}

/// Why `name` cannot be a metric. A PerfWorks name (`unit__counter.rollup`) may be any counter of
/// the device, which only a run can check.
fn unknown(catalogue: &Catalogue, name: &str) -> Option<String> {
    (catalogue.find(name).is_none() && !name.contains("__")).then(|| catalogue.unknown(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{TokenStream, TokenTree};

    fn group(text: &str) -> Group {
        match text.parse::<TokenStream>().unwrap().into_iter().next() {
            Some(TokenTree::Group(group)) => group,
            other => panic!("{other:?}"),
        }
    }

    fn messages(errors: Errors) -> String {
        let all = errors.into_result().unwrap_err();
        all.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn metrics_are_identifiers_or_literals() {
        let mut errors = Errors::default();
        assert_eq!(
            metrics(
                &group("(occupancy, \"dram__bytes.sum\", \"group:memory__dram_table\",)"),
                &mut errors
            ),
            ["occupancy", "dram__bytes.sum", "group:memory__dram_table"]
        );
        errors.into_result().unwrap();
        let mut errors = Errors::default();
        metrics(&group("(ocupancy, 5)"), &mut errors);
        let text = messages(errors);
        assert!(
            text.starts_with("no metric is named `ocupancy`: did you mean `occupancy`?"),
            "{text}"
        );
        assert!(text.contains("| expected the name of a metric"), "{text}");
    }

    #[test]
    fn checks_follow_the_grammar_of_the_command_line() {
        let mut errors = Errors::default();
        assert_eq!(checks(&group("(init, race,)"), &mut errors), ["init", "race"]);
        assert_eq!(checks(&group("(none)"), &mut errors), ["none"]);
        errors.into_result().unwrap();
        for (text, message) in [
            ("()", "expected the names of checks: check(memory, init, race, sync)"),
            ("(init, rase)", "unknown check `rase`; did you mean `race`"),
            ("(all, race)", "`all` cannot be combined with other checks"),
            ("(\"race\")", "expected identifier"),
        ] {
            let mut errors = Errors::default();
            checks(&group(text), &mut errors);
            let found = messages(errors);
            assert!(found.starts_with(message), "{found}");
        }
    }

    #[test]
    fn a_threshold_is_checked_against_the_grammar_the_catalogue_and_the_axes() {
        for (text, message) in [
            ("(\"every duration\")", "expected a comparison"),
            (
                "(\"every duraton <= 5 us\")",
                "no metric is named `duraton`: did you mean `duration`?",
            ),
            ("(\"registers <= 5 us\")", "`registers` needs a plain number"),
            ("(\"where blok==64 duration <= 5 us\")", "the series has no axis `blok`"),
        ] {
            let mut errors = Errors::default();
            let read = thresholds(&group(text), &mut errors);
            check(&read, &DeclaredSpace::default(), &mut errors);
            let found = messages(errors);
            assert!(found.starts_with(message), "{found}");
        }
    }
}
