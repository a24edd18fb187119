//! Video instructions: scalar ones (`vadd` to `vset`) on parts of words, SIMD ones (`vadd2` to
//! `vset4`) on all parts.

use super::builder::{Builder, Lowered};
use super::float::comparison;
use super::inst::*;
use super::modifiers::{Modifiers, operands, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

/// The operand without the selection after it, and the selection.
type Selected<'o, 'a> = (Operand<'a>, Option<&'o str>);

impl<'a> Builder<'_, 'a> {
    /// Lowers the opcodes of this file; `None` for any other.
    pub(super) fn video_group(&mut self, i: &Instruction<'a>) -> Option<Lowered<Op>> {
        Some(match i.opcode {
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => {
                self.scalar_video(i)
            }
            "vmad" => self.video_mad(i),
            "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" => {
                self.simd_video(i, false)
            }
            "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => {
                self.simd_video(i, true)
            }
            _ => return None,
        })
    }

    /// `vadd.s32.u32.s32.sat.min d, a.b0, b.h1, c`
    fn scalar_video(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let (op, [signed, a_signed, b_signed], saturate) = video_words(i, &mut words)?;
        let second = words.take_one(&["add", "min", "max"]).map(pair_op);
        words.done(i)?;
        if saturate && matches!(op, VideoOp::Set(_)) {
            return Err(unsupported(i));
        }
        let (d, rest) = i.operands.split_first().ok_or_else(|| unsupported(i))?;
        let (d, place) = selected(d);
        let place = place.map(|place| lane(i, Some(place), false)).transpose()?;
        let finish = match (place, second, rest.len()) {
            (None, None, 2) => VideoFinish::Plain,
            (None, Some(op), 3) => VideoFinish::With(op),
            (Some(lane), None, 3) => VideoFinish::Merge(lane),
            _ => return Err(unsupported(i)),
        };
        let ((a, a_part), (b, b_part)) = (selected(&rest[0]), selected(&rest[1]));
        let (a_lane, b_lane) = (lane(i, a_part, a_signed)?, lane(i, b_part, b_signed)?);
        let op = Video { op, a: a_lane, b: b_lane, signed, saturate, finish };
        let sources: Vec<_> = [&a, &b].into_iter().chain(rest.get(2)).collect();
        self.word(i, WordOp::Video(op), &d, &sources)
    }

    /// `vmad.s32.s32.u32.po.sat.shr7 d, -a.b0, b.h1, c`
    fn video_mad(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let plus_one = words.take("po");
        let saturate = words.take("sat");
        let shift =
            words.take_one(&["shr7", "shr15"]).map_or(0, |word| word[3..].parse().unwrap_or(0));
        let [signed, a_signed, b_signed] = signs(i, &words.types())?;
        words.done(i)?;
        let [d, a, b, c] = operands(i)?;
        let [(a, minus_a), (b, minus_b), (c, negate_c)] = [a, b, c].map(negated);
        let negate_product = minus_a != minus_b;
        let result_signed = a_signed || b_signed || negate_product || negate_c;
        if result_signed != signed || (plus_one && (minus_a || minus_b || negate_c)) {
            return Err(unsupported(i));
        }
        let ((a, a_part), (b, b_part)) = (selected(a), selected(b));
        let op = Video {
            op: VideoOp::Mad { plus_one, negate_product, negate_c, shift },
            a: lane(i, a_part, a_signed)?,
            b: lane(i, b_part, b_signed)?,
            signed,
            saturate,
            finish: VideoFinish::Plain,
        };
        self.word(i, WordOp::Video(op), d, &[&a, &b, c])
    }

    /// `vadd4.u32.u32.u32.sat d.b20, a.b3210, b.b7654, c`
    fn simd_video(&mut self, i: &Instruction<'a>, bytes: bool) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let (op, [signed, a_signed, b_signed], saturate) = video_words(i, &mut words)?;
        let accumulate = words.take("add");
        words.done(i)?;
        if saturate && (accumulate || matches!(op, VideoOp::Set(_))) {
            return Err(unsupported(i));
        }
        let [d, a, b, c] = operands(i)?;
        let [(d, mask), (a, a_parts), (b, b_parts)] = [d, a, b].map(selected);
        let op = SimdVideo {
            op,
            bytes,
            a: choices(i, bytes, a_parts, if bytes { "b3210" } else { "h10" })?,
            b: choices(i, bytes, b_parts, if bytes { "b7654" } else { "h32" })?,
            mask: wanted(i, bytes, mask)?,
            a_signed,
            b_signed,
            signed,
            saturate,
            accumulate,
        };
        self.word(i, WordOp::SimdVideo(op), &d, &[&a, &b, c])
    }
}

/// The operation, whether result and operands have signs, and `.sat`.
fn video_words(
    i: &Instruction<'_>,
    words: &mut Modifiers<'_>,
) -> Lowered<(VideoOp, [bool; 3], bool)> {
    let saturate = words.take("sat");
    let mode = words.take_one(&["clamp", "wrap"]);
    let clamp = mode == Some("clamp");
    let is_set = i.opcode.starts_with("vset");
    let mut types = words.types();
    if is_set {
        // The result is 0 or 1.
        types.insert(0, Type::Unsigned(4));
    }
    let signs = signs(i, &types)?;
    let op = match i.opcode.trim_end_matches(['2', '4']) {
        "vadd" => VideoOp::Add,
        "vsub" => VideoOp::Sub,
        "vabsdiff" => VideoOp::AbsDiff,
        "vavrg" => VideoOp::Average,
        "vmin" => VideoOp::Min,
        "vmax" => VideoOp::Max,
        "vshl" => VideoOp::ShiftLeft { clamp },
        "vshr" => VideoOp::ShiftRight { clamp },
        _ => {
            let cmp = words.take_one(&["eq", "ne", "lt", "le", "gt", "ge"]).and_then(comparison);
            VideoOp::Set(cmp.ok_or_else(|| unsupported(i))?.0)
        }
    };
    let shifts = matches!(op, VideoOp::ShiftLeft { .. } | VideoOp::ShiftRight { .. });
    if shifts != mode.is_some() || (shifts && signs[2]) {
        return Err(unsupported(i));
    }
    Ok((op, signs, saturate))
}

/// Which of the three types have a sign.
fn signs(i: &Instruction<'_>, types: &[Type]) -> Lowered<[bool; 3]> {
    let types: &[Type; 3] = types.try_into().map_err(|_| unsupported(i))?;
    if types.iter().any(|ty| !matches!(ty, Type::Unsigned(4) | Type::Signed(4))) {
        return Err(unsupported(i));
    }
    Ok(types.map(Type::is_signed))
}

fn pair_op(word: &str) -> PairOp {
    match word {
        "add" => PairOp::Add,
        "min" => PairOp::Min,
        _ => PairOp::Max,
    }
}

fn selected<'a>(operand: &Operand<'a>) -> Selected<'a, 'a> {
    match operand {
        Operand::Component(name, part) => (Operand::Name(name), Some(part)),
        whole => (whole.clone(), None),
    }
}

fn negated<'o, 'a>(operand: &'o Operand<'a>) -> (&'o Operand<'a>, bool) {
    match operand {
        Operand::Negated(inner) => (inner, true),
        plain => (plain, false),
    }
}

/// The part of a word that `.b0` to `.b3`, `.h0` and `.h1` name; all of it without a name.
fn lane(i: &Instruction<'_>, part: Option<&str>, signed: bool) -> Lowered<Lane> {
    let (shift, bits) = match part {
        None => (0, 32),
        Some("h0") => (0, 16),
        Some("h1") => (16, 16),
        Some("b0") => (0, 8),
        Some("b1") => (8, 8),
        Some("b2") => (16, 8),
        Some("b3") => (24, 8),
        Some(_) => return Err(unsupported(i)),
    };
    Ok(Lane { shift, bits, signed })
}

/// The parts that `.b7610` or `.h32` names, the lowest first, four bits each.
fn choices(i: &Instruction<'_>, bytes: bool, parts: Option<&str>, default: &str) -> Lowered<u16> {
    let (letter, lanes, limit) = if bytes { ('b', 4, 8) } else { ('h', 2, 4) };
    let digits = parts.unwrap_or(default).strip_prefix(letter).filter(|d| d.len() == lanes);
    let each = digits.into_iter().flat_map(str::chars).map(|digit| digit.to_digit(limit));
    let found = each.collect::<Option<Vec<_>>>().filter(|found| found.len() == lanes);
    let found = found.ok_or_else(|| unsupported(i))?;
    Ok(found.into_iter().fold(0, |all, one| all << 4 | one as u16))
}

/// The lanes that `.b310` or `.h0` names; all of them without a name.
fn wanted(i: &Instruction<'_>, bytes: bool, mask: Option<&str>) -> Lowered<u8> {
    let (letter, lanes) = if bytes { ('b', 4) } else { ('h', 2) };
    let Some(mask) = mask else { return Ok((1 << lanes) - 1) };
    let digits = mask.strip_prefix(letter).filter(|digits| !digits.is_empty());
    let mut found = 0;
    for digit in digits.ok_or_else(|| unsupported(i))?.chars() {
        let lane = digit.to_digit(lanes).ok_or_else(|| unsupported(i))?;
        found |= 1 << lane;
    }
    Ok(found)
}
