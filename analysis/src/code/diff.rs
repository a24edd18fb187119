//! Two texts side by side.
//!
//! Input: the lines of both. Output: pairs of equal lines by the longest common subsequence;
//! between them lines that replace each other, the fewer next to those of the others that are most
//! alike.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use gpuprof_model::code::{DiffRow, MachineLine};

/// Equal rows before and after a changed one.
const CONTEXT: usize = 3;

/// The most rows.
const MOST_ROWS: usize = 600;

/// The most pairs of lines that are compared: beyond it, nothing counts as equal.
const MOST_COMPARED: usize = 16_000_000;

/// The most pairs of replaced lines of which words are compared.
const MOST_ALIKE: usize = 100_000;

/// The least part of the words of two lines, in thousandths, that similar lines have in common.
const ALIKE: usize = 500;

/// The machine instructions that name an offset of the code.
const JUMPS: [&str; 7] = ["BRA", "BRX", "BSSY", "CALL", "JMP", "LEPC", "RET"];

/// Two lines, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    /// Whether they are equal.
    pub(super) same: bool,
}

/// PTX without the numbers of registers and labels, which a change anywhere shifts.
pub(super) fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut name = false;
    for c in text.chars() {
        match c {
            '%' | '$' => name = true,
            c if name && (c.is_ascii_alphanumeric() || c == '_') => {}
            _ => name = false,
        }
        if !(name && c.is_ascii_digit()) {
            out.push(c);
        }
    }
    out
}

/// A machine instruction without the numbers of registers, the hints to reuse them, and the targets
/// of branches, which a change anywhere shifts: offsets, or nvdisasm's labels.
pub(super) fn normal_machine(line: &MachineLine) -> String {
    let opcode = line.opcode().split('.').next().unwrap_or_default();
    let jumps = JUMPS.contains(&opcode);
    let text = line.3.replace(".reuse", "");
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let normal = |piece: &str| {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        match bare {
            "R" | "UR" | "P" | "UP" | "B" => piece.replacen(word, bare, 1),
            _ if jumps && (word.starts_with("0x") || word.starts_with("L_")) => {
                piece.replacen(word, "", 1)
            }
            _ => piece.to_owned(),
        }
    };
    words.map(normal).collect()
}

/// The pairs of `before` and `after`, in order.
pub(super) fn pairs(before: &[String], after: &[String]) -> Vec<Pair> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut equal: Vec<(usize, usize)> = (0..start).map(|at| (at, at)).collect();
    equal.extend(common(old, new).into_iter().map(|(a, b)| (a + start, b + start)));
    equal.extend((0..end).rev().map(|at| (before.len() - 1 - at, after.len() - 1 - at)));
    let (mut all, mut next) = (Vec::new(), (0, 0));
    for (a, b) in equal.into_iter().chain([(before.len(), after.len())]) {
        let (old, new) = (next.0..a, next.1..b);
        let skipped = most_alike(&before[old.clone()], &after[new.clone()]);
        for at in 0..old.len().max(new.len()) {
            // The shorter side begins after the lines that are skipped.
            let on = |side: &Range<usize>, other: &Range<usize>| {
                let own = at.checked_sub(if side.len() < other.len() { skipped } else { 0 })?;
                side.clone().nth(own)
            };
            all.push(Pair { before: on(&old, &new), after: on(&new, &old), same: false });
        }
        if a < before.len() || b < after.len() {
            all.push(Pair { before: Some(a), after: Some(b), same: true });
        }
        next = (a + 1, b + 1);
    }
    all
}

/// The positions of lines that correspond to each other, one to one: equal lines of `pairs`. Lines
/// between them correspond to the most similar ones in any order, since two lines may be swapped
/// and edited, and the rest to the lines next to them.
pub(super) fn correspondences(
    before: &[String],
    after: &[String],
    pairs: &[Pair],
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for hunk in pairs.chunk_by(|one, next| one.same == next.same) {
        let replaced = hunk.iter().filter_map(|pair| pair.before.zip(pair.after));
        if hunk[0].same {
            found.extend(replaced);
            continue;
        }
        let mut old: BTreeSet<usize> = hunk.iter().filter_map(|pair| pair.before).collect();
        let mut new: BTreeSet<usize> = hunk.iter().filter_map(|pair| pair.after).collect();
        let alike = similar_lines(before, &old, after, &new);
        for (a, b) in alike.into_iter().chain(replaced) {
            if old.contains(&a) && new.contains(&b) {
                old.remove(&a);
                new.remove(&b);
                found.push((a, b));
            }
        }
    }
    found
}

/// The pairs of similar lines of two texts, at the positions `old` and `new`, the most similar
/// first.
fn similar_lines(
    before: &[String],
    old: &BTreeSet<usize>,
    after: &[String],
    new: &BTreeSet<usize>,
) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > MOST_ALIKE {
        return Vec::new();
    }
    let [old, new] = [(before, old), (after, new)].map(|(lines, positions)| {
        positions.iter().map(|&at| (at, words(&lines[at]))).collect::<Vec<_>>()
    });
    let mut alike = Vec::new();
    for (a, one) in &old {
        for (b, other) in &new {
            let (common, all) = (one.intersection(other).count(), one.union(other).count());
            // In thousandths.
            let share = 1000 * common / all.max(1);
            if share >= ALIKE {
                alike.push((share, Reverse(a.abs_diff(*b)), *a, *b));
            }
        }
    }
    alike.sort_unstable_by(|one, other| other.cmp(one));
    alike.into_iter().map(|(.., a, b)| (a, b)).collect()
}

/// The words of a line.
fn words(line: &str) -> BTreeSet<&str> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// How many lines of the longer of two texts to skip, so that the shorter one is next to the lines
/// with most words in common.
fn most_alike(before: &[String], after: &[String]) -> usize {
    if before.len().saturating_mul(after.len()) > MOST_ALIKE {
        return 0;
    }
    let [before, after] =
        [before, after].map(|lines| lines.iter().map(|line| words(line)).collect::<Vec<_>>());
    let (short, long) = if before.len() <= after.len() { (before, after) } else { (after, before) };
    let alike = |skipped: &usize| -> usize {
        let pairs = short.iter().zip(&long[*skipped..]);
        pairs.map(|(one, other)| one.intersection(other).count()).sum()
    };
    // Of equally similar places the first.
    (0..=long.len() - short.len()).rev().max_by_key(alike).unwrap_or(0)
}

/// The positions of a longest common subsequence.
fn common(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > MOST_COMPARED {
        return Vec::new();
    }
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            lengths[a * width + b] = if old[a] == new[b] {
                lengths[(a + 1) * width + b + 1] + 1
            } else {
                lengths[(a + 1) * width + b].max(lengths[a * width + b + 1])
            };
        }
    }
    let (mut equal, mut a, mut b) = (Vec::new(), 0, 0);
    while a < old.len() && b < new.len() {
        if old[a] == new[b] {
            equal.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if lengths[(a + 1) * width + b] >= lengths[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    equal
}

/// The changed rows with those around them.
pub(super) fn context(rows: &[DiffRow]) -> Vec<DiffRow> {
    let is_near = |at: usize| {
        let near = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(rows.len());
        rows[near].iter().any(|row| !row.same && row.file == rows[at].file)
    };
    let near = rows.iter().enumerate().filter(|(at, _)| is_near(*at));
    near.map(|(_, row)| row.clone()).take(MOST_ROWS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_text(before: &str, after: &str) -> String {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (before, after) = (words(before), words(after));
        let pair = |pair: Pair| {
            let [old, new] = [(pair.before, &before), (pair.after, &after)]
                .map(|(at, texts)| at.map_or("-", |at| &texts[at]).to_owned());
            if pair.same { old } else { format!("{old}/{new}") }
        };
        pairs(&before, &after).into_iter().map(pair).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn equal_lines_are_paired_and_others_replace_each_other() {
        assert_eq!(diff_text("a b c d", "a b c d"), "a b c d");
        assert_eq!(diff_text("a b c d", "a x c y d"), "a b/x c -/y d");
        assert_eq!(diff_text("a b c", "b c d"), "a/- b c -/d");
        assert_eq!(diff_text("a", "b c"), "a/b -/c");
    }

    #[test]
    fn a_replaced_line_is_paired_with_the_most_similar_line() {
        let texts = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let old = texts(&["let y = x[i];"]);
        for (new, at) in [
            (["// One of 32.", "let y = x[32 * i];"], 1),
            (["let y = x[32 * i];", "// One of 32."], 0),
        ] {
            let pairs = pairs(&old, &texts(&new));
            let next = pairs.iter().find(|pair| pair.before.is_some()).unwrap();
            assert_eq!((pairs.len(), next.after), (2, Some(at)));
        }
    }

    #[test]
    fn swapped_and_edited_lines_are_paired_with_the_most_similar_lines() {
        let texts = |lines: [&str; 3]| lines.map(str::to_owned);
        let old = texts(["let a = *z.add(i * 8);", "let b = *x.add(i);", "sum(a, b)"]);
        let new = texts(["let b = *x.add(i * 2);", "let far = *z.add(i * 8);", "store(c)"]);
        let found = correspondences(&old, &new, &pairs(&old, &new));
        assert_eq!(BTreeSet::from_iter(found), BTreeSet::from([(0, 1), (1, 0), (2, 2)]));
    }

    #[test]
    fn a_changed_line_is_paired_even_if_a_new_function_has_its_old_text() {
        let line = |index: &str| format!("unsafe {{ *data.add(({index}) as usize) *= 2.0 }};");
        let old = ["fn scale() {", &line("i"), "}", "#[kernel(", ")]"].map(str::to_owned);
        let new =
            ["fn scale() {", &line("i * 8"), "}", "#[kernel(", ")]", "fn fresh() {", &line("i")];
        let new = new.map(str::to_owned);
        let found = correspondences(&old, &new, &pairs(&old, &new));
        assert_eq!(BTreeSet::from_iter(found), BTreeSet::from_iter((0..5).map(|at| (at, at))));
    }

    #[test]
    fn register_and_label_numbers_are_ignored() {
        assert_eq!(normal("@%p12 bra $L__BB0_2;"), "@%p bra $L__BB_;");
        assert_eq!(normal("ld.global.b32 %r3, [%rd12+64];"), "ld.global.b32 %r, [%rd+64];");
        assert_eq!(normal("mov.u32 %r1, %tid.x;"), normal("mov.u32 %r9, %tid.x;"));
    }

    #[test]
    fn registers_and_targets_of_machine_code_are_ignored() {
        let normal = |text: &str| normal_machine(&MachineLine(0, 0, 0, text.into()));
        let load = "@!P0 LDG.E.64 R, desc[UR][R.64+0x10]";
        assert_eq!(normal("@!P12 LDG.E.64 R4, desc[UR36][R18.64+0x10]"), load.replace("P0", "P"));
        assert_eq!(normal("IADD3 R4, R5.reuse, RZ, RZ"), "IADD3 R, R, RZ, RZ");
        assert_eq!(normal("@P1 BRA 0x1f0"), normal("@P0 BRA 0x30"));
        assert_eq!(normal("BSSY.RECONVERGENT B6, 0x1f0"), "BSSY.RECONVERGENT B, ");
        assert_eq!(normal("@P1 BRA `(.L_x_6)"), normal("@P0 BRA `(.L_x_13)"));
        // A constant counts.
        assert_ne!(normal("MOV R1, 0x3a0"), normal("MOV R1, 0x3b0"));
    }

    #[test]
    fn equal_rows_far_from_a_change_are_left_out() {
        let row = |same| DiffRow { same, ..DiffRow::default() };
        let rows: Vec<DiffRow> = (0..20).map(|at| row(at != 9)).collect();
        assert_eq!(context(&rows).len(), 7);
        assert!(context(&rows[..9]).is_empty());
    }
}
