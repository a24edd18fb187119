//! The token cursor and the module level of the grammar.

use super::PtxError;
use super::ast::Module;
use super::lexer::{Token, tokenize};

/// The deepest nesting of braces, brackets and parentheses. Compilers nest a few levels.
const DEEPEST: u32 = 100;

/// A cursor over the tokens of one module.
pub(super) struct Parser<'a> {
    tokens: Vec<(Token<'a>, u32)>,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, PtxError> {
        Ok(Self { tokens: tokenize(text)?, at: 0, depth: 0 })
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at].0
    }

    pub(super) fn peek_second(&self) -> Token<'a> {
        self.tokens.get(self.at + 1).map_or(Token::End, |token| token.0)
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at].1
    }

    pub(super) fn bump(&mut self) -> Token<'a> {
        let token = self.peek();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Goes past a token if it is the next one.
    fn eat_token(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == token;
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn eat(&mut self, punct: u8) -> bool {
        self.eat_token(Token::Punct(punct))
    }

    pub(super) fn expect(&mut self, punct: u8) -> Result<(), PtxError> {
        if self.eat(punct) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{}'", char::from(punct))))
        }
    }

    pub(super) fn eat_dot(&mut self, word: &str) -> bool {
        self.eat_token(Token::Dot(word))
    }

    pub(super) fn word(&mut self) -> Result<&'a str, PtxError> {
        match self.peek() {
            Token::Word(word) => {
                self.bump();
                Ok(word)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// Parses one more level of text that can contain itself. The levels have a limit, because each
    /// takes a part of the thread's stack.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, PtxError>,
    ) -> Result<T, PtxError> {
        if self.depth == DEEPEST {
            return Err(PtxError::invalid(self.line(), "text is nested too deeply"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn unsigned(&mut self) -> Result<u32, PtxError> {
        let line = self.line();
        u32::try_from(self.literal()?)
            .map_err(|_| PtxError::invalid(line, "number does not fit in 32 bits"))
    }

    /// An error with the text that was found and the text that was expected.
    pub(super) fn unexpected(&self, wanted: &str) -> PtxError {
        let found = match self.peek() {
            Token::Word(word) => format!("'{word}'"),
            Token::Dot(word) => format!("'.{word}'"),
            Token::Integer(value) | Token::Unsigned(value) => format!("'{value}'"),
            Token::Float32(_) | Token::Float64(_) => "a floating-point number".to_owned(),
            Token::Text(_) => "a string".to_owned(),
            Token::Punct(byte) => format!("'{}'", char::from(byte)),
            Token::End => "the end of the text".to_owned(),
        };
        PtxError::invalid(self.line(), format!("expected {wanted} but found {found}"))
    }

    pub(super) fn module(mut self) -> Result<Module<'a>, PtxError> {
        let mut module = Module::default();
        let mut version_seen = false;
        loop {
            match self.peek() {
                Token::End => break,
                Token::Dot("version") => {
                    self.bump();
                    module.version = self.version()?;
                    version_seen = true;
                }
                _ if !version_seen => return Err(self.unexpected("the '.version' directive first")),
                Token::Dot("target") => {
                    self.bump();
                    module.target = self.word()?;
                    while self.eat(b',') {
                        self.word()?;
                    }
                }
                Token::Dot("address_size") => {
                    self.bump();
                    let line = self.line();
                    if self.integer()? != 64 {
                        return Err(PtxError::unsupported(
                            line,
                            "unsupported '.address_size': only 64 is emulated",
                        ));
                    }
                }
                Token::Dot("file") => {
                    self.bump();
                    module.files.push(self.file()?);
                }
                Token::Dot("section") => self.skip_section()?,
                Token::Dot("pragma") => self.skip_pragma()?,
                Token::Dot("alias") => self.skip_to_semicolon()?,
                Token::Punct(b';') => {
                    self.bump();
                }
                // A label between debug sections.
                Token::Word(_) if self.peek_second() == Token::Punct(b':') => {
                    self.bump();
                    self.bump();
                }
                Token::Dot(_) => self.definition(&mut module)?,
                _ => return Err(self.unexpected("a directive")),
            }
        }
        if module.version == (0, 0) {
            return Err(PtxError::invalid(0, "the text has no '.version' directive"));
        }
        Ok(module)
    }

    fn version(&mut self) -> Result<(u32, u32), PtxError> {
        match self.bump() {
            Token::Float64(bits) => {
                let value = f64::from_bits(bits);
                Ok((value as u32, ((value * 10.0).round() as u32) % 10))
            }
            Token::Integer(major) => Ok((major as u32, 0)),
            _ => Err(PtxError::invalid(self.line(), "malformed '.version'")),
        }
    }

    fn file(&mut self) -> Result<(u32, &'a str), PtxError> {
        let number = self.unsigned()?;
        let Token::Text(path) = self.bump() else {
            return Err(PtxError::invalid(self.line(), "'.file' needs a path in quotes"));
        };
        while self.eat(b',') {
            self.integer()?;
        }
        Ok((number, path))
    }

    /// `.section .debug_info { … }`: tables for debuggers, skipped whole.
    fn skip_section(&mut self) -> Result<(), PtxError> {
        let line = self.line();
        while !matches!(self.peek(), Token::Punct(b'{') | Token::End) {
            self.bump();
        }
        self.skip_to(b'}', line, "'.section' is never closed")
    }

    /// `.pragma "…";`: a hint to ptxas, before, in or after the head of a function.
    pub(super) fn skip_pragma(&mut self) -> Result<(), PtxError> {
        self.skip_to_semicolon()
    }

    pub(super) fn skip_to_semicolon(&mut self) -> Result<(), PtxError> {
        self.skip_to(b';', self.line(), "statement is never ended by ';'")
    }

    /// Skips text up to its end; `why` is the error of text that begins at `line` and has none.
    fn skip_to(&mut self, end: u8, line: u32, why: &str) -> Result<(), PtxError> {
        loop {
            match self.bump() {
                Token::Punct(found) if found == end => return Ok(()),
                Token::End => return Err(PtxError::invalid(line, why)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ptx::ast::{Init, Operand, Space, Statement};
    use crate::ptx::parse;

    const HEAD: &str = ".version 8.4\n.target sm_90, debug\n.address_size 64\n";

    #[test]
    fn a_module_has_variables_and_functions() {
        let text = format!(
            "{HEAD}.file 1 \"a.rs\", 12, 34\n.global .align 4 .b8 table[8] = {{1, 2, 0xFF}};\n.extern .shared .align 16 .b8 dynamic[];\n\
             .const .align 8 .u64 pointer = generic(table)+4;\n.visible .entry k(.param .u64 .ptr .align 1 k_param_0, .param .align 8 .b8 s[16])\n\
             .maxntid 256, 1, 1\n{{ .reg .pred %p<2>; .reg .b32 %r1, %x<3>; \n$L: @!%p1 bra.uni $L; {{ .reg .b32 t; mov.b64 {{_, t}}, %rd1; }} ret; }}\n\
             .func (.param .b32 out) f (.param .b32 in) .noreturn ;"
        );
        let module = parse(&text).unwrap();
        assert_eq!(module.version, (8, 4));
        assert_eq!(module.target, "sm_90");
        assert_eq!(module.files, [(1, "a.rs")]);
        assert_eq!(module.variables[0].init, [Init::Bits(1), Init::Bits(2), Init::Bits(255)]);
        assert_eq!(module.variables[0].bytes, Some(8));
        assert_eq!((module.variables[1].space, module.variables[1].bytes), (Space::Shared, None));
        assert_eq!(module.variables[2].init, [Init::Address("table", 4)]);
        let kernel = &module.functions[0];
        assert_eq!(
            kernel.params.iter().map(|p| p.variable.bytes).collect::<Vec<_>>(),
            [Some(8), Some(16)]
        );
        assert_eq!(kernel.bounds.max_threads, Some([256, 1, 1]));
        let body = kernel.body.as_ref().unwrap();
        let Statement::Instruction(branch) = &body[3] else { panic!("{body:?}") };
        assert_eq!((branch.guard, branch.full_name()), (Some(("%p1", true)), "bra.uni".to_owned()));
        let Statement::Block(inner) = &body[4] else { panic!("{body:?}") };
        let Statement::Instruction(mov) = &inner[1] else { panic!("{inner:?}") };
        assert_eq!(mov.operands[0], Operand::Vector(vec![Operand::Sink, Operand::Name("t")]));
        assert!(module.functions[1].body.is_none());
    }

    #[test]
    fn text_that_is_not_ptx_is_refused_with_its_line() {
        assert_eq!(
            parse("hello").unwrap_err().to_string(),
            "expected the '.version' directive first but found 'hello' at line 1"
        );
        let text = format!("{HEAD}.visible .entry k() {{ ret }}");
        assert_eq!(parse(&text).unwrap_err().to_string(), "expected ';' but found '}' at line 4");
        let text = format!("{HEAD}.visible .entry k() {{ ret;");
        assert_eq!(parse(&text).unwrap_err().to_string(), "body is never closed at line 4");
    }
}
