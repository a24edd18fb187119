//! Rules for the dot-words of one instruction together.
//!
//! Input: an instruction whose words its opcode has, and its types. Output: the rule of ptxas that
//! they break.

use crate::ptx::ast::{Instruction, Type};

/// The end of a sentence that begins with the instruction.
pub fn broken_rule(i: &Instruction<'_>, types: &[Type]) -> Option<&'static str> {
    match i.opcode {
        "cvt" if !is_rounded(types, &i.modifiers) => Some("rounds where it cannot, or does not"),
        "cvt" if saturates_in_vain(i, types) => Some("has '.sat', and every value fits"),
        "set" | "setp" if !is_comparable(&i.modifiers, types) => {
            Some("has a comparison that its type does not have")
        }
        "ld" | "st" => broken_order(i),
        "red" if has_one(i, &["acquire", "acq_rel"]) => Some("has no value that it could acquire"),
        _ => None,
    }
}

fn has_one(i: &Instruction<'_>, words: &[&str]) -> bool {
    i.modifiers.iter().any(|word| words.contains(word))
}

/// Whether a conversion says how it rounds if it may not be exact, and only then.
fn is_rounded(types: &[Type], words: &[&str]) -> bool {
    let &[to, from] = types else { return true };
    let to_integer = words.iter().any(|word| matches!(*word, "rni" | "rzi" | "rmi" | "rpi"));
    let to_float = words.iter().any(|word| matches!(*word, "rn" | "rz" | "rm" | "rp" | "rna"));
    let is_narrower = to.bytes() < from.bytes() || to == Type::Packed;
    match (to.is_float(), from.is_float()) {
        (false, false) => !to_integer && !to_float && !words.contains(&"ftz"),
        (false, true) => to_integer && !to_float,
        (true, false) => to_float && !to_integer,
        (true, true) if is_narrower => to_float,
        (true, true) => !to_float || to != from && from.bytes() == 2 && to.bytes() == 2,
    }
}

/// Whether a conversion of integers has `.sat` although the result holds every value.
fn saturates_in_vain(i: &Instruction<'_>, types: &[Type]) -> bool {
    let &[to, from] = types else { return false };
    let has_all = match (to.is_signed(), from.is_signed()) {
        (true, false) => to.bytes() > from.bytes(),
        (false, true) => false,
        _ => to.bytes() >= from.bytes(),
    };
    i.modifiers.contains(&"sat") && !to.is_float() && !from.is_float() && has_all
}

/// Whether the compared type has the comparison: integers are never unordered.
fn is_comparable(words: &[&str], types: &[Type]) -> bool {
    let Some(ty) = types.last() else { return true };
    let is_known = |word: &&str| match *word {
        "lt" | "le" | "gt" | "ge" => !matches!(ty, Type::Bits(_)),
        "lo" | "ls" | "hi" | "hs" => matches!(ty, Type::Unsigned(_)),
        "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" | "num" | "nan" => ty.is_float(),
        _ => true,
    };
    words.iter().all(is_known)
}

/// The order and the caches of a load or store.
fn broken_order(i: &Instruction<'_>) -> Option<&'static str> {
    let is_volatile = has_one(i, &["volatile"]);
    let is_ordered = has_one(i, &["relaxed", "acquire", "release"]);
    let is_scoped = has_one(i, &["cta", "cluster", "gpu", "sys"]);
    let is_weak = has_one(i, &["weak"]);
    let has_hint = i.modifiers.iter().any(|word| word.starts_with("L1::"));
    let is_private = has_one(i, &["const", "local", "param", "param::entry", "param::func"]);
    let is_shared = has_one(i, &["shared", "shared::cta", "shared::cluster"]);
    if is_ordered && !is_scoped {
        Some("has no scope, such as '.gpu'")
    } else if is_scoped && !is_ordered {
        Some("has a scope and no order, such as '.relaxed'")
    } else if is_weak && (is_ordered || is_volatile) {
        Some("is weak and ordered")
    } else if is_volatile && (has_hint || has_one(i, &["L2::cache_hint"])) {
        Some("is volatile and has a hint for caches")
    } else if is_private && (is_ordered || is_volatile) {
        Some("is ordered in memory that no other thread writes")
    } else if has_hint && (is_private || is_shared) {
        Some("has a hint for a cache that the memory does not use")
    } else {
        None
    }
}
