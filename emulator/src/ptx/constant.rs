//! Constant expressions: integers of 64 bits with C's operators.
//!
//! A value is unsigned if its literal says so or does not fit in a signed one; an operation is, if
//! one of its operands is.

use super::PtxError;
use super::lexer::Token;
use super::parser::Parser;

/// The value of an expression.
#[derive(Debug, Clone, Copy)]
struct Constant {
    bits: u64,
    unsigned: bool,
}

/// Binary operators by precedence, the loosest first, each as its characters. An operator comes
/// before its own prefixes.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Operators that are the beginning of a longer one of another level.
const PREFIXES: [(&str, &str); 4] = [("|", "||"), ("&", "&&"), ("<", "<<"), (">", ">>")];

/// The deepest nesting of parentheses and prefixes.
const DEEPEST: u32 = 64;

impl<'a> Parser<'a> {
    /// An integer, or an expression of integers.
    pub(super) fn integer(&mut self) -> Result<i64, PtxError> {
        self.conditional(0).map(|value| value.bits.cast_signed())
    }

    /// An integer without operators after it.
    pub(super) fn literal(&mut self) -> Result<i64, PtxError> {
        self.prefixed(0).map(|value| value.bits.cast_signed())
    }

    /// Whether a constant expression begins here.
    pub(super) fn at_constant(&self) -> bool {
        match self.peek() {
            Token::Integer(_) | Token::Unsigned(_) | Token::Word("WARP_SZ") => true,
            Token::Punct(b'-' | b'+' | b'~' | b'!') => begins_value(self.peek_second()),
            Token::Punct(b'(') => {
                begins_value(self.peek_second()) || matches!(self.peek_second(), Token::Dot(_))
            }
            _ => false,
        }
    }

    fn conditional(&mut self, depth: u32) -> Result<Constant, PtxError> {
        let condition = self.operation(0, depth)?;
        if !self.eat(b'?') {
            return Ok(condition);
        }
        let (yes, colon) = (self.conditional(depth + 1)?, self.expect(b':'));
        colon?;
        let no = self.conditional(depth + 1)?;
        Ok(if condition.bits != 0 { yes } else { no })
    }

    fn operation(&mut self, level: usize, depth: u32) -> Result<Constant, PtxError> {
        let Some(operators) = LEVELS.get(level) else { return self.prefixed(depth) };
        let mut left = self.operation(level + 1, depth)?;
        while let Some(operator) = operators.iter().find(|operator| self.at_operator(operator)) {
            let line = self.line();
            for _ in operator.bytes() {
                self.bump();
            }
            let right = self.operation(level + 1, depth)?;
            left = apply(operator, left, right)
                .ok_or_else(|| PtxError::invalid(line, "constant expression divides by zero"))?;
        }
        Ok(left)
    }

    /// Whether exactly this operator stands here.
    fn at_operator(&self, operator: &str) -> bool {
        let stands = |operator: &str| {
            let tokens = [self.peek(), self.peek_second()];
            operator.bytes().zip(tokens).all(|(byte, token)| token == Token::Punct(byte))
        };
        let longer = PREFIXES.iter().any(|(short, long)| *short == operator && stands(long));
        stands(operator) && !longer
    }

    fn prefixed(&mut self, depth: u32) -> Result<Constant, PtxError> {
        if depth > DEEPEST {
            return Err(PtxError::invalid(self.line(), "constant expression is nested too deeply"));
        }
        let token = self.peek();
        if matches!(token, Token::Punct(b'-' | b'+' | b'~' | b'!' | b'(')) {
            self.bump();
        }
        Ok(match token {
            Token::Punct(b'-') => {
                let value = self.prefixed(depth + 1)?;
                Constant { bits: value.bits.wrapping_neg(), ..value }
            }
            Token::Punct(b'+') => self.prefixed(depth + 1)?,
            Token::Punct(b'~') => {
                let value = self.prefixed(depth + 1)?;
                Constant { bits: !value.bits, ..value }
            }
            Token::Punct(b'!') => signed(self.prefixed(depth + 1)?.bits == 0),
            Token::Punct(b'(') => self.parenthesised(depth + 1)?,
            Token::Integer(bits) => {
                self.bump();
                Constant { bits, unsigned: bits > i64::MAX as u64 }
            }
            Token::Unsigned(bits) => {
                self.bump();
                Constant { bits, unsigned: true }
            }
            Token::Word("WARP_SZ") => {
                self.bump();
                Constant { bits: 32, unsigned: false }
            }
            _ => return Err(self.unexpected("an integer")),
        })
    }

    /// After `(`: an expression, or a cast and its operand.
    fn parenthesised(&mut self, depth: u32) -> Result<Constant, PtxError> {
        let cast = match self.peek() {
            Token::Dot("s64") => Some(false),
            Token::Dot("u64") => Some(true),
            _ => None,
        };
        if let Some(unsigned) = cast {
            self.bump();
            self.expect(b')')?;
            return Ok(Constant { unsigned, ..self.prefixed(depth)? });
        }
        let value = self.conditional(depth)?;
        self.expect(b')')?;
        Ok(value)
    }
}

fn begins_value(token: Token<'_>) -> bool {
    matches!(
        token,
        Token::Integer(_)
            | Token::Unsigned(_)
            | Token::Word("WARP_SZ")
            | Token::Punct(b'-' | b'+' | b'~' | b'!' | b'(')
    )
}

fn signed(value: bool) -> Constant {
    Constant { bits: u64::from(value), unsigned: false }
}

/// `None`: a division by zero.
fn apply(operator: &str, left: Constant, right: Constant) -> Option<Constant> {
    let (a, b) = (left.bits, right.bits);
    let (x, y) = (a.cast_signed(), b.cast_signed());
    let unsigned = left.unsigned || right.unsigned;
    let less = if unsigned { a < b } else { x < y };
    let amount = b.min(64) as u32;
    let bits = match operator {
        "||" => return Some(signed(a != 0 || b != 0)),
        "&&" => return Some(signed(a != 0 && b != 0)),
        "==" => return Some(signed(a == b)),
        "!=" => return Some(signed(a != b)),
        "<" => return Some(signed(less)),
        ">=" => return Some(signed(!less)),
        ">" => return Some(signed(!less && a != b)),
        "<=" => return Some(signed(less || a == b)),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        // The type of a shift is that of its left operand.
        "<<" => return Some(Constant { bits: a.checked_shl(amount).unwrap_or(0), ..left }),
        ">>" if left.unsigned => {
            return Some(Constant { bits: a.checked_shr(amount).unwrap_or(0), ..left });
        }
        ">>" => return Some(Constant { bits: (x >> amount.min(63)).cast_unsigned(), ..left }),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if unsigned => a.checked_div(b)?,
        "/" => x.checked_div(y).or((y == -1).then_some(x))?.cast_unsigned(),
        _ if unsigned => a.checked_rem(b)?,
        _ => x.checked_rem(y).or((y == -1).then_some(0))?.cast_unsigned(),
    };
    Some(Constant { bits, unsigned })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        let mut parser = Parser::new(text).unwrap();
        assert!(parser.at_constant(), "{text}");
        parser.integer().map_err(|error| error.to_string())
    }

    #[test]
    fn expressions_have_the_values_that_c_gives_them() {
        for (text, expected) in [
            ("(1<<5)|3", 35),
            ("-7/2", -3),
            ("-7 % 2", -1),
            ("~5U", -6),
            ("!0", 1),
            ("!(3 > 2)", 0),
            ("WARP_SZ*2", 64),
            ("-1 < 1U", 0),
            ("-1 < 1", 1),
            ("-16 >> 2", -4),
            ("(.u64)-16 >> 60", 15),
            ("1 + 2 * 3 - 4", 3),
            ("1 ? 2 : 3 ? 4 : 5", 2),
            ("6 & 3 == 3 | 8", 8),
            ("1 || 0 && 0", 1),
            ("2 >= 2 && 2 <= 1", 0),
            ("0xffffffffffffffff / 2", i64::MAX),
            ("(.s64)0x8000000000000000 / -1", i64::MIN),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn expressions_without_a_value_are_refused_with_their_line() {
        assert_eq!(value("1 / 0").unwrap_err(), "constant expression divides by zero at line 1");
        assert!(value("(1").unwrap_err().contains("expected ')'"));
        let deep = format!("{}1", "-".repeat(100));
        assert!(value(&deep).unwrap_err().contains("nested too deeply"));
    }
}
