//! PTX text in, tokens with line numbers out.
//!
//! A token borrows from the text. Words keep their `%`, `$` and `_`; a dot and the word after it
//! are one token (`.global`, `.L1::no_allocate`), so that opcodes, directives and `%tid.x` all read
//! as a word and its dot-words.

use super::PtxError;

/// One token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'a> {
    /// `ld`, `%r1`, `$L__BB0_2`, `_`.
    Word(&'a str),
    /// `.global`, without its dot.
    Dot(&'a str),
    /// An integer, as 64 bits.
    Integer(u64),
    /// An integer with the suffix `U`.
    Unsigned(u64),
    /// `0f3F800000`, by its bits.
    Float32(u32),
    /// `0d…` or a decimal fraction, by its bits.
    Float64(u64),
    /// A quoted string, without the quotes.
    Text(&'a str),
    /// Any other single character.
    Punct(u8),
    /// After the last token.
    End,
}

/// Tokens of `text`, each with its line (from 1). The last one is [`Token::End`].
///
/// # Errors
/// A malformed number, an unterminated string or a character that PTX does not know.
pub fn tokenize(text: &str) -> Result<Vec<(Token<'_>, u32)>, PtxError> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        lexer.skip_blank()?;
        let line = lexer.line;
        let token = lexer.next()?;
        tokens.push((token, line));
        if token == Token::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) -> Result<(), PtxError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                (b'/', b'*') => {
                    let start = self.line;
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        if self.at >= self.bytes.len() {
                            return Err(PtxError::invalid(start, "comment is never closed"));
                        }
                        self.line += u32::from(self.peek(0) == b'\n');
                        self.at += 1;
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn word_from(&mut self, start: usize) -> &'a str {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn next(&mut self) -> Result<Token<'a>, PtxError> {
        if self.at >= self.bytes.len() || self.peek(0) == 0 {
            return Ok(Token::End);
        }
        let start = self.at;
        match self.peek(0) {
            byte if byte.is_ascii_digit() => self.number(),
            b'%' if !is_word(self.peek(1)) => {
                self.at += 1;
                Ok(Token::Punct(b'%'))
            }
            byte if is_word(byte) => Ok(Token::Word(self.word_from(start))),
            b'.' if is_word(self.peek(1)) => {
                self.at += 1;
                let start = self.at;
                self.word_from(start);
                while self.peek(0) == b':' && self.peek(1) == b':' {
                    self.at += 2;
                    self.word_from(start);
                }
                Ok(Token::Dot(&self.text[start..self.at]))
            }
            b'"' => self.string(),
            byte if byte.is_ascii_punctuation() => {
                self.at += 1;
                Ok(Token::Punct(byte))
            }
            byte => Err(PtxError::invalid(
                self.line,
                format!("character '{}' does not belong in PTX", char::from(byte).escape_default()),
            )),
        }
    }

    fn string(&mut self) -> Result<Token<'a>, PtxError> {
        let start = self.at + 1;
        self.at = start;
        while self.peek(0) != b'"' {
            if self.at >= self.bytes.len() || self.peek(0) == b'\n' {
                return Err(PtxError::invalid(self.line, "string is never closed"));
            }
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        let text = &self.text[start..self.at];
        self.at += 1;
        Ok(Token::Text(text))
    }

    fn number(&mut self) -> Result<Token<'a>, PtxError> {
        let start = self.at;
        let word = self.word_from(start);
        let malformed = |line| PtxError::invalid(line, format!("malformed number '{word}'"));
        if let Some(hex) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
            return u32::from_str_radix(hex, 16)
                .map(Token::Float32)
                .map_err(|_| malformed(self.line));
        }
        if let Some(hex) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
            return u64::from_str_radix(hex, 16)
                .map(Token::Float64)
                .map_err(|_| malformed(self.line));
        }
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.word_from(start);
            if self.text[start..self.at].ends_with(['e', 'E'])
                && matches!(self.peek(0), b'+' | b'-')
            {
                self.at += 1;
                self.word_from(start);
            }
            let text = &self.text[start..self.at];
            return text
                .parse::<f64>()
                .map(|value| Token::Float64(value.to_bits()))
                .map_err(|_| malformed(self.line));
        }
        let digits = word.trim_end_matches(['U', 'u']);
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        let is_unsigned = word.ends_with(['U', 'u']);
        let token = if is_unsigned { Token::Unsigned } else { Token::Integer };
        u64::from_str_radix(digits, radix).map(token).map_err(|_| malformed(self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        tokenize(text).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn numbers_of_every_notation_are_read() {
        use Token::*;
        assert_eq!(
            tokens("1 0x10 0b101 017 4U 0f3F800000 0d3FF0000000000000 1.5"),
            [
                Integer(1),
                Integer(16),
                Integer(5),
                Integer(15),
                Unsigned(4),
                Float32(0x3f80_0000),
                Float64(0x3ff0_0000_0000_0000),
                Float64(1.5f64.to_bits()),
                End
            ]
        );
    }

    #[test]
    fn an_opcode_is_a_word_and_dot_words() {
        use Token::*;
        assert_eq!(
            tokens("ld.global.L1::no_allocate.f32 %f1, [%rd4+-8];"),
            [
                Word("ld"),
                Dot("global"),
                Dot("L1::no_allocate"),
                Dot("f32"),
                Word("%f1"),
                Punct(b','),
                Punct(b'['),
                Word("%rd4"),
                Punct(b'+'),
                Punct(b'-'),
                Integer(8),
                Punct(b']'),
                Punct(b';'),
                End
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_comments() {
        let tokens = tokenize("a // x\n/* y\n\n */ b").unwrap();
        assert_eq!(tokens[0], (Token::Word("a"), 1));
        assert_eq!(tokens[1], (Token::Word("b"), 4));
    }

    #[test]
    fn malformed_text_is_named_with_its_line() {
        assert_eq!(
            tokenize("\n0fXYZ").unwrap_err().to_string(),
            "malformed number '0fXYZ' at line 2"
        );
        assert_eq!(tokenize("\"abc").unwrap_err().to_string(), "string is never closed at line 1");
    }
}
