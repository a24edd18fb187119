//! Variables and functions: everything a module defines.

use super::PtxError;
use super::ast::{Bounds, Formal, Function, Init, Module, Space, Type, Variable};
use super::lexer::Token;
use super::parser::Parser;

impl<'a> Parser<'a> {
    /// A variable or a function, with its linkage.
    pub(super) fn definition(&mut self, module: &mut Module<'a>) -> Result<(), PtxError> {
        let mut is_extern = false;
        loop {
            match self.peek() {
                Token::Dot("visible" | "weak" | "common") => {
                    self.bump();
                }
                Token::Dot("extern") => {
                    is_extern = true;
                    self.bump();
                }
                Token::Dot("entry") => {
                    self.bump();
                    module.functions.push(self.function(true)?);
                    return Ok(());
                }
                Token::Dot("func") => {
                    self.bump();
                    module.functions.push(self.function(false)?);
                    return Ok(());
                }
                Token::Dot("global" | "const" | "shared" | "local" | "param") => {
                    let variables = self.variables(is_extern)?;
                    module.variables.extend(variables);
                    return Ok(());
                }
                Token::Dot(word) => {
                    return Err(PtxError::unsupported(
                        self.line(),
                        format!("unsupported PTX directive '.{word}'"),
                    ));
                }
                _ => return Err(self.unexpected("a definition")),
            }
        }
    }

    /// `.space .align N .type name[N] = {…}, name2;`
    pub(super) fn variables(&mut self, is_extern: bool) -> Result<Vec<Variable<'a>>, PtxError> {
        let mut variables = Vec::new();
        let prefix = self.storage()?;
        loop {
            let mut variable = self.declarator(prefix, is_extern)?;
            if self.eat(b'=') {
                variable.init = self.initialiser(variable.ty)?;
            }
            variables.push(variable);
            if self.eat(b';') {
                return Ok(variables);
            }
            self.expect(b',')?;
        }
    }

    /// The part before the name: space, alignment, type, vector width.
    fn storage(&mut self) -> Result<(Space, Option<u32>, Type, u32), PtxError> {
        let (mut space, mut align, mut ty, mut lanes) = (Space::Generic, None, None, 1);
        while let Token::Dot(word) = self.peek() {
            let line = self.line();
            self.bump();
            match word {
                "global" => space = Space::Global,
                "shared" => space = Space::Shared,
                "local" => space = Space::Local,
                "const" => space = Space::Const,
                "param" => space = Space::Param,
                "reg" => space = Space::Generic,
                "align" => align = Some(self.unsigned()?),
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                // `.param .u64 .ptr .global .align 4 name` says where a pointer points, not where
                // it lives.
                "ptr" => {
                    if matches!(self.peek(), Token::Dot("global" | "shared" | "local" | "const")) {
                        self.bump();
                    }
                    if self.eat_dot("align") {
                        self.unsigned()?;
                    }
                }
                // An array may be said to be managed or to have attributes; storage is the same.
                "attribute" => {
                    return Err(PtxError::unsupported(
                        line,
                        "unsupported PTX directive '.attribute'",
                    ));
                }
                word => match Type::from_word(word) {
                    Some(found) => ty = Some(found),
                    None => {
                        return Err(PtxError::unsupported(
                            line,
                            format!("unsupported PTX directive '.{word}'"),
                        ));
                    }
                },
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
        Ok((space, align, ty, lanes))
    }

    fn declarator(
        &mut self,
        (space, align, ty, lanes): (Space, Option<u32>, Type, u32),
        is_extern: bool,
    ) -> Result<Variable<'a>, PtxError> {
        let line = self.line();
        let name = self.word()?;
        let mut bytes = Some(u64::from(ty.bytes() * lanes));
        while self.eat(b'[') {
            if self.eat(b']') {
                bytes = None;
                continue;
            }
            let count = u64::from(self.unsigned()?);
            self.expect(b']')?;
            bytes = bytes.and_then(|bytes| bytes.checked_mul(count));
        }
        let bytes = match bytes.map(u32::try_from) {
            Some(Err(_)) => {
                return Err(PtxError::unsupported(line, format!("variable '{name}' is too large")));
            }
            Some(Ok(bytes)) => Some(bytes),
            None => None,
        };
        let align = align.unwrap_or((ty.bytes() * lanes).max(1));
        Ok(Variable { name, space, ty, align, bytes, is_extern, init: Vec::new(), line })
    }

    fn initialiser(&mut self, ty: Type) -> Result<Vec<Init<'a>>, PtxError> {
        let mut values = Vec::new();
        if !self.eat(b'{') {
            values.push(self.initial_value(ty)?);
            return Ok(values);
        }
        while !self.eat(b'}') {
            if self.peek() == Token::Punct(b'{') {
                values.extend(self.initialiser(ty)?);
            } else {
                values.push(self.initial_value(ty)?);
            }
            if !self.eat(b',') && self.peek() != Token::Punct(b'}') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
        Ok(values)
    }

    fn initial_value(&mut self, ty: Type) -> Result<Init<'a>, PtxError> {
        let value = match self.peek() {
            Token::Integer(_) | Token::Punct(b'-') => {
                let negative = self.eat(b'-');
                match self.bump() {
                    Token::Integer(value) if negative => Init::Bits(value.wrapping_neg()),
                    Token::Integer(value) => Init::Bits(value),
                    Token::Float64(bits) if negative => float_bits(-f64::from_bits(bits), ty),
                    Token::Float64(bits) => float_bits(f64::from_bits(bits), ty),
                    _ => return Err(self.unexpected("a number")),
                }
            }
            Token::Float32(bits) => {
                self.bump();
                Init::Bits(u64::from(bits))
            }
            Token::Float64(bits) => {
                self.bump();
                float_bits(f64::from_bits(bits), ty)
            }
            Token::Word("generic") => {
                self.bump();
                self.expect(b'(')?;
                let name = self.word()?;
                let inner = self.offset()?;
                self.expect(b')')?;
                Init::Address(name, inner + self.offset()?)
            }
            Token::Word(name) => {
                self.bump();
                if self.peek() == Token::Punct(b'(') {
                    return Err(PtxError::unsupported(
                        self.line(),
                        format!("unsupported initialiser '{name}(…)'"),
                    ));
                }
                Init::Address(name, self.offset()?)
            }
            _ => return Err(self.unexpected("an initial value")),
        };
        Ok(value)
    }

    fn offset(&mut self) -> Result<i64, PtxError> {
        if self.eat(b'+') { self.integer() } else { Ok(0) }
    }

    /// After `.entry` or `.func`.
    fn function(&mut self, is_entry: bool) -> Result<Function<'a>, PtxError> {
        let mut returns = Vec::new();
        if !is_entry && self.peek() == Token::Punct(b'(') {
            returns = self.formals()?;
        }
        let line = self.line();
        let name = self.word()?;
        let params = if self.peek() == Token::Punct(b'(') { self.formals()? } else { Vec::new() };
        let mut bounds = Bounds::default();
        loop {
            match self.peek() {
                Token::Dot("maxntid") => {
                    self.bump();
                    bounds.max_threads = Some(self.dimensions()?);
                }
                Token::Dot("reqntid") => {
                    self.bump();
                    bounds.required = Some(self.dimensions()?);
                }
                Token::Dot("minnctapersm" | "maxnreg" | "maxnctapersm") => {
                    self.bump();
                    self.unsigned()?;
                }
                Token::Dot("noreturn") => {
                    self.bump();
                }
                Token::Dot("pragma") => {
                    self.skip_to_semicolon()?;
                }
                Token::Dot(word) => {
                    return Err(PtxError::unsupported(
                        self.line(),
                        format!("unsupported PTX directive '.{word}'"),
                    ));
                }
                Token::Punct(b';') => {
                    self.bump();
                    return Ok(Function {
                        name,
                        is_entry,
                        params,
                        returns,
                        bounds,
                        body: None,
                        line,
                    });
                }
                Token::Punct(b'{') => {
                    let body = Some(self.body()?);
                    return Ok(Function { name, is_entry, params, returns, bounds, body, line });
                }
                _ => return Err(self.unexpected("a body")),
            }
        }
    }

    fn dimensions(&mut self) -> Result<[u32; 3], PtxError> {
        let mut dimensions = [self.unsigned()?, 1, 1];
        for dimension in &mut dimensions[1..] {
            if !self.eat(b',') {
                break;
            }
            *dimension = self.unsigned()?;
        }
        Ok(dimensions)
    }

    fn formals(&mut self) -> Result<Vec<Formal<'a>>, PtxError> {
        let mut formals = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            let is_register = self.peek() == Token::Dot("reg");
            let storage = self.storage()?;
            formals.push(Formal { variable: self.declarator(storage, false)?, is_register });
            if !self.eat(b',') && self.peek() != Token::Punct(b')') {
                return Err(self.unexpected("',' or ')'"));
            }
        }
        Ok(formals)
    }
}

fn float_bits(value: f64, ty: Type) -> Init<'static> {
    match ty {
        Type::Float(4) => Init::Bits(u64::from((value as f32).to_bits())),
        _ => Init::Bits(value.to_bits()),
    }
}
