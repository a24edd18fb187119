//! The dot-words of one instruction, taken one by one; a word that remains is refused.

use super::builder::{Lowered, wrong_count};
use super::inst::{Combine, CvtRounding, FloatMode, Rounding};
use crate::ptx::PtxError;
use crate::ptx::ast::{Instruction, Operand, Type};

/// The dot-words that have not been understood yet.
pub struct Modifiers<'i> {
    left: Vec<&'i str>,
}

impl<'i> Modifiers<'i> {
    pub(super) fn new(instruction: &Instruction<'i>) -> Self {
        Self { left: instruction.modifiers.clone() }
    }

    /// Whether the word was there; it is now taken.
    pub(super) fn take(&mut self, word: &str) -> bool {
        match self.left.iter().position(|left| *left == word) {
            Some(at) => {
                self.left.remove(at);
                true
            }
            None => false,
        }
    }

    /// The first of `words` that was there.
    pub(super) fn take_one(&mut self, words: &[&str]) -> Option<&'i str> {
        let at = self.left.iter().position(|left| words.contains(left))?;
        Some(self.left.remove(at))
    }

    /// The first word left, whatever it is.
    pub(super) fn take_first(&mut self) -> Option<&'i str> {
        (!self.left.is_empty()).then(|| self.left.remove(0))
    }

    /// The first word left, if it is one of `words`.
    pub(super) fn take_first_of(&mut self, words: &[&str]) -> Option<&'i str> {
        self.left.first().filter(|word| words.contains(word))?;
        self.take_first()
    }

    /// The first word for which `is_wanted` holds.
    pub(super) fn take_where(&mut self, is_wanted: impl Fn(&&str) -> bool) -> Option<&'i str> {
        let at = self.left.iter().position(is_wanted)?;
        Some(self.left.remove(at))
    }

    /// Drops every word for which `ignorable` holds.
    pub(super) fn ignore(&mut self, ignorable: impl Fn(&str) -> bool) {
        self.left.retain(|word| !ignorable(word));
    }

    /// The types, in order.
    pub(super) fn types(&mut self) -> Vec<Type> {
        let mut types = Vec::new();
        self.left.retain(|word| match Type::from_word(word) {
            Some(ty) => {
                types.push(ty);
                false
            }
            None => true,
        });
        types
    }

    /// The only type.
    pub(super) fn one_type(&mut self, instruction: &Instruction<'_>) -> Lowered<Type> {
        match self.types()[..] {
            [ty] => Ok(ty),
            _ => Err(unsupported(instruction)),
        }
    }

    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.take_one(&["rn", "rz", "rm", "rp"]).map(direction)
    }

    pub(super) fn float_mode(&mut self) -> FloatMode {
        FloatMode {
            rounding: self.rounding().unwrap_or(Rounding::Nearest),
            ftz: self.take("ftz"),
            sat: self.take("sat"),
        }
    }

    pub(super) fn cvt_rounding(&mut self) -> CvtRounding {
        if let Some(word) = self.take_one(&["rni", "rzi", "rmi", "rpi"]) {
            return CvtRounding::Integer(direction(word));
        }
        self.rounding().map_or(CvtRounding::None, CvtRounding::Float)
    }

    /// How a comparison's result is combined with another predicate.
    pub(super) fn combination(&mut self) -> Option<Combine> {
        Some(match self.take_one(&["and", "or", "xor"])? {
            "and" => Combine::And,
            "or" => Combine::Or,
            _ => Combine::Xor,
        })
    }

    /// The operands but the cache policy that `.L2::cache_hint` puts after them.
    pub(super) fn without_policy<'o, 'a>(
        &mut self,
        instruction: &'o Instruction<'a>,
    ) -> &'o [Operand<'a>] {
        let operands = instruction.operands.as_slice();
        match operands {
            [others @ .., _] if self.take("L2::cache_hint") => others,
            all => all,
        }
    }

    /// Refuses the instruction if a word is left.
    pub(super) fn done(&self, instruction: &Instruction<'_>) -> Lowered<()> {
        if self.left.is_empty() { Ok(()) } else { Err(unsupported(instruction)) }
    }
}

fn direction(word: &str) -> Rounding {
    match &word[..2] {
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        "rp" => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// The refusal of an instruction, by its full name.
pub fn unsupported(instruction: &Instruction<'_>) -> PtxError {
    PtxError::unsupported(
        instruction.line,
        format!("unsupported PTX instruction '{}'", instruction.full_name()),
    )
}

/// The operands as an array, or an error that says how many were expected.
pub fn operands<'i, 'a, const N: usize>(
    instruction: &'i Instruction<'a>,
) -> Lowered<&'i [Operand<'a>; N]> {
    instruction.operands.as_slice().try_into().map_err(|_| wrong_count(instruction, N))
}
