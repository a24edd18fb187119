//! Function bodies: instructions, labels, declarations and their operands.

use super::PtxError;
use super::ast::{AddressBase, Instruction, Loc, Operand, Position, Statement, Type};
use super::lexer::Token;
use super::parser::Parser;

impl<'a> Parser<'a> {
    /// `{ … }`
    pub(super) fn body(&mut self) -> Result<Vec<Statement<'a>>, PtxError> {
        let open = self.line();
        self.expect(b'{')?;
        let mut body = Vec::new();
        loop {
            match self.peek() {
                Token::Punct(b'}') => {
                    self.bump();
                    return Ok(body);
                }
                Token::End => return Err(PtxError::invalid(open, "body is never closed")),
                Token::Punct(b';') => {
                    self.bump();
                }
                Token::Punct(b'{') => body.push(Statement::Block(self.nested(Self::body)?)),
                Token::Dot(word) => self.local_directive(word, &mut body)?,
                Token::Word(name) if self.peek_second() == Token::Punct(b':') => {
                    let line = self.line();
                    self.bump();
                    self.bump();
                    body.push(self.labelled(name, line)?);
                }
                _ => body.push(Statement::Instruction(self.instruction()?)),
            }
        }
    }

    fn labelled(&mut self, name: &'a str, line: u32) -> Result<Statement<'a>, PtxError> {
        if self.eat_dot("branchtargets") {
            return Ok(Statement::BranchTargets(name, self.names()?, line));
        }
        if self.eat_dot("callprototype") {
            return Ok(Statement::CallPrototype(name, self.prototype()?, line));
        }
        if self.eat_dot("calltargets") {
            return Ok(Statement::CallTargets(name, self.names()?, line));
        }
        Ok(Statement::Label(name, line))
    }

    /// `a, b;`
    fn names(&mut self) -> Result<Vec<&'a str>, PtxError> {
        let mut names = vec![self.word()?];
        while self.eat(b',') {
            names.push(self.word()?);
        }
        self.expect(b';')?;
        Ok(names)
    }

    fn local_directive(
        &mut self,
        word: &'a str,
        body: &mut Vec<Statement<'a>>,
    ) -> Result<(), PtxError> {
        match word {
            "reg" => {
                self.bump();
                body.push(self.registers()?);
            }
            "loc" => {
                self.bump();
                body.push(Statement::Loc(self.loc()?));
            }
            "pragma" => self.skip_pragma()?,
            "shared" | "local" | "param" | "global" | "const" => {
                body.extend(self.variables(false)?.into_iter().map(Statement::Variable));
            }
            _ => return Err(PtxError::directive(self.line(), word)),
        }
        Ok(())
    }

    fn registers(&mut self) -> Result<Statement<'a>, PtxError> {
        let line = self.line();
        let is_vector = self.eat_dot("v2") || self.eat_dot("v4");
        let Token::Dot(word) = self.peek() else { return Err(self.unexpected("a register type")) };
        let Some(ty) = Type::from_word(word).filter(|ty| ty.bytes() <= 16) else {
            return Err(PtxError::unsupported(
                self.line(),
                format!("unsupported register type '.{word}'"),
            ));
        };
        self.bump();
        let mut names = Vec::new();
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.eat(b'<') {
                count = Some(self.unsigned()?);
                self.expect(b'>')?;
            }
            names.push((name, count));
            if self.eat(b';') {
                return Ok(match is_vector {
                    true => Statement::VectorRegisters(line),
                    false => Statement::Registers { ty, names, line },
                });
            }
            self.expect(b',')?;
        }
    }

    fn position(&mut self) -> Result<Position, PtxError> {
        Ok(Position { file: self.unsigned()?, line: self.unsigned()?, column: self.unsigned()? })
    }

    /// After `.loc`: `1 23 4, function_name label+4, inlined_at 1 12 3`. It has no `;`.
    fn loc(&mut self) -> Result<Loc, PtxError> {
        let mut loc = Loc { position: self.position()?, inlined_at: None };
        while self.eat(b',') {
            match self.word()? {
                "function_name" => {
                    self.word()?;
                    if self.eat(b'+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => loc.inlined_at = Some(self.position()?),
                _ => return Err(PtxError::invalid(self.line(), "malformed '.loc'")),
            }
        }
        Ok(loc)
    }

    fn instruction(&mut self) -> Result<Instruction<'a>, PtxError> {
        let mut guard = None;
        if self.eat(b'@') {
            let negated = self.eat(b'!');
            guard = Some((self.word()?, negated));
        }
        let line = self.line();
        let opcode = self.word()?;
        let mut modifiers = Vec::new();
        while let Token::Dot(word) = self.peek() {
            self.bump();
            modifiers.push(word);
        }
        let mut operands = Vec::new();
        while !self.eat(b';') {
            if matches!(self.peek(), Token::Punct(b'}') | Token::End) {
                return Err(self.unexpected("';'"));
            }
            operands.push(self.operand()?);
            if !self.eat(b',') && self.peek() != Token::Punct(b';') {
                return Err(self.unexpected("';'"));
            }
        }
        Ok(Instruction { guard, opcode, modifiers, operands, line })
    }

    fn list(&mut self, close: u8) -> Result<Vec<Operand<'a>>, PtxError> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(self.nested(Self::operand)?);
            if !self.eat(b',') && self.peek() != Token::Punct(close) {
                return Err(self.unexpected(&format!("'{}'", char::from(close))));
            }
        }
        Ok(items)
    }

    fn operand(&mut self) -> Result<Operand<'a>, PtxError> {
        let operand = match self.peek() {
            Token::Punct(b'{') => {
                self.bump();
                Operand::Vector(self.list(b'}')?)
            }
            _ if self.at_constant() => Operand::Integer(self.integer()?),
            Token::Punct(b'(') => {
                self.bump();
                Operand::Tuple(self.list(b')')?)
            }
            Token::Punct(b'[') => {
                self.bump();
                self.address()?
            }
            Token::Punct(b'!') => {
                self.bump();
                Operand::Not(self.word()?)
            }
            Token::Punct(b'-') if matches!(self.peek_second(), Token::Word(_)) => {
                self.bump();
                Operand::Negated(Box::new(self.nested(Self::operand)?))
            }
            Token::Punct(b'-') | Token::Float32(_) | Token::Float64(_) => self.float()?,
            Token::Word("_") => {
                self.bump();
                Operand::Sink
            }
            Token::Word(name) => {
                self.bump();
                match self.peek() {
                    Token::Dot(component) => {
                        self.bump();
                        Operand::Component(name, component)
                    }
                    Token::Punct(b'+' | b'-') => Operand::Offset(name, self.offset()?),
                    _ => Operand::Name(name),
                }
            }
            _ => return Err(self.unexpected("an operand")),
        };
        if self.eat(b'|') {
            let other = self.nested(Self::operand)?;
            return Ok(Operand::Pair(Box::new(operand), Box::new(other)));
        }
        Ok(operand)
    }

    fn float(&mut self) -> Result<Operand<'a>, PtxError> {
        let negative = self.eat(b'-');
        Ok(match self.bump() {
            Token::Float32(bits) => Operand::Float32(bits ^ (u32::from(negative) << 31)),
            Token::Float64(bits) => Operand::Float64(bits ^ (u64::from(negative) << 63)),
            _ => return Err(self.unexpected("a number")),
        })
    }

    /// After `[`.
    fn address(&mut self) -> Result<Operand<'a>, PtxError> {
        let (base, mut offset) = match self.peek() {
            Token::Word(name) => {
                self.bump();
                (AddressBase::Name(name), 0)
            }
            _ => (AddressBase::Absolute, self.integer()?),
        };
        offset = offset.wrapping_add(self.offset()?);
        if self.eat(b',') {
            self.list(b']')?;
            return Ok(Operand::Coordinates);
        }
        self.expect(b']')?;
        Ok(Operand::Address(base, offset))
    }
}
