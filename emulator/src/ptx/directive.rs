//! Variables and functions: everything a module defines.

use super::PtxError;
use super::ast::{Bounds, Formal, Function, Module, Prototype, Space, Type, Variable};
use super::lexer::Token;
use super::parser::Parser;

/// The elements of an array of these dimensions.
pub(super) fn elements(extents: &[usize]) -> usize {
    extents.iter().fold(1, |product, extent| product.saturating_mul(*extent))
}

/// The words before a variable's name.
struct Storage {
    space: Space,
    align: Option<u32>,
    ty: Type,
    /// Elements of a vector.
    lanes: u32,
    is_managed: bool,
    unusable: Option<&'static str>,
}

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
                Token::Dot(word) => return Err(PtxError::directive(self.line(), word)),
                _ => return Err(self.unexpected("a definition")),
            }
        }
    }

    /// `.space .align N .type name[N] = {…}, name2;`
    pub(super) fn variables(&mut self, is_extern: bool) -> Result<Vec<Variable<'a>>, PtxError> {
        let mut variables = Vec::new();
        let storage = self.storage()?;
        loop {
            let (mut variable, extents) = self.declarator(&storage, is_extern)?;
            if self.eat(b'=') {
                variable.init = self.initialiser(variable.ty, &extents)?;
                if variable.bytes.is_none() {
                    // The values say how many elements `name[]` has.
                    let row = elements(extents.get(1..).unwrap_or_default()).max(1);
                    let rows = variable.init.len().div_ceil(row);
                    let bytes =
                        rows.saturating_mul(row).saturating_mul(variable.ty.bytes() as usize);
                    variable.bytes = u32::try_from(bytes).ok();
                }
            }
            variables.push(variable);
            if self.eat(b';') {
                return Ok(variables);
            }
            self.expect(b',')?;
        }
    }

    /// The part before the name.
    fn storage(&mut self) -> Result<Storage, PtxError> {
        let (mut space, mut align, mut ty, mut lanes) = (Space::Generic, None, None, 1);
        let (mut is_managed, mut unusable) = (false, None);
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
                "align" => align = Some(self.alignment()?),
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                // `.param .u64 .ptr .global .align 4 name` says where a pointer points, not where
                // it lives.
                "ptr" => {
                    if matches!(self.peek(), Token::Dot("global" | "shared" | "local" | "const")) {
                        self.bump();
                    }
                    if self.eat_dot("align") {
                        self.alignment()?;
                    }
                }
                "attribute" => is_managed |= self.attributes()?,
                "texref" | "samplerref" | "surfref" => {
                    ty = Some(Type::Bits(8));
                    unusable = Some("it is a texture, sampler or surface");
                }
                word => match Type::from_word(word) {
                    Some(found) => ty = Some(found),
                    None => return Err(PtxError::directive(line, word)),
                },
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
        Ok(Storage { space, align, ty, lanes, is_managed, unusable })
    }

    /// After `.align`: bytes.
    fn alignment(&mut self) -> Result<u32, PtxError> {
        let line = self.line();
        let bytes = self.unsigned()?;
        if !bytes.is_power_of_two() {
            return Err(PtxError::invalid(line, format!("alignment {bytes} is no power of two")));
        }
        Ok(bytes)
    }

    /// After `.attribute`: `(.managed, .unified(1, 2))`. Whether `.managed` is among them.
    fn attributes(&mut self) -> Result<bool, PtxError> {
        self.expect(b'(')?;
        let mut is_managed = false;
        while !self.eat(b')') {
            match self.bump() {
                Token::Dot("managed") => is_managed = true,
                Token::Dot("unified") => {
                    self.expect(b'(')?;
                    self.integer()?;
                    self.expect(b',')?;
                    self.integer()?;
                    self.expect(b')')?;
                }
                _ => return Err(PtxError::invalid(self.line(), "malformed '.attribute'")),
            }
            self.eat(b',');
        }
        Ok(is_managed)
    }

    /// The name and its dimensions: the variable, and the elements of each dimension, the outermost
    /// first; 0 for `[]`.
    fn declarator(
        &mut self,
        storage: &Storage,
        is_extern: bool,
    ) -> Result<(Variable<'a>, Vec<usize>), PtxError> {
        let &Storage { space, align, ty, lanes, is_managed, unusable } = storage;
        let line = self.line();
        let name = self.word()?;
        let mut bytes = Some(u64::from(ty.bytes() * lanes));
        let mut extents = Vec::new();
        while self.eat(b'[') {
            if self.eat(b']') {
                bytes = None;
                extents.push(0);
                continue;
            }
            let count = u32::try_from(self.integer()?)
                .map_err(|_| PtxError::invalid(line, "number does not fit in 32 bits"))?;
            self.expect(b']')?;
            bytes = bytes.and_then(|bytes| bytes.checked_mul(u64::from(count)));
            extents.push(count as usize);
        }
        if lanes > 1 {
            extents.push(lanes as usize);
        }
        let bytes = match bytes.map(u32::try_from) {
            Some(Err(_)) => {
                return Err(PtxError::unsupported(line, format!("variable '{name}' is too large")));
            }
            Some(Ok(bytes)) => Some(bytes),
            None => None,
        };
        let align = align.unwrap_or((ty.bytes() * lanes).max(1));
        let init = Vec::new();
        let variable =
            Variable { name, space, ty, align, bytes, is_extern, is_managed, unusable, init, line };
        Ok((variable, extents))
    }

    /// `+4`, `-8` or nothing.
    pub(super) fn offset(&mut self) -> Result<i64, PtxError> {
        match self.peek() {
            // `name+-8` and `name-8` are one thing.
            Token::Punct(b'+' | b'-') => self.integer(),
            _ => Ok(0),
        }
    }

    /// After `.entry` or `.func`.
    fn function(&mut self, is_entry: bool) -> Result<Function<'a>, PtxError> {
        let returns = if is_entry { Vec::new() } else { self.formals()? };
        let line = self.line();
        let name = self.word()?;
        let params = self.formals()?;
        let mut function = Function {
            name,
            is_entry,
            params,
            returns,
            bounds: Bounds::default(),
            unsupported: None,
            body: None,
            line,
        };
        while let Token::Dot(word) = self.peek() {
            self.launch_directive(word, &mut function)?;
        }
        match self.peek() {
            Token::Punct(b';') => {
                self.bump();
            }
            Token::Punct(b'{') => function.body = Some(self.body()?),
            _ => return Err(self.unexpected("a body")),
        }
        Ok(function)
    }

    /// A directive between a function's parameters and its body.
    fn launch_directive(
        &mut self,
        word: &'a str,
        function: &mut Function<'a>,
    ) -> Result<(), PtxError> {
        let line = self.line();
        if word == "pragma" {
            return self.skip_pragma();
        }
        self.bump();
        match word {
            "maxntid" => function.bounds.max_threads = Some(self.dimensions()?),
            "reqntid" => function.bounds.required = Some(self.dimensions()?),
            "minnctapersm" | "maxnreg" | "maxnctapersm" | "maxclusterrank" => {
                self.unsigned()?;
            }
            "noreturn" => {}
            "explicitcluster" | "blocksareclusters" => function.unsupported = Some((word, line)),
            "reqnctapercluster" => {
                self.dimensions()?;
                function.unsupported = Some((word, line));
            }
            _ => return Err(PtxError::directive(line, word)),
        }
        Ok(())
    }

    /// After `.callprototype`: `(returns) _ (params) .noreturn;`
    pub(super) fn prototype(&mut self) -> Result<Prototype<'a>, PtxError> {
        let returns = self.formals()?;
        self.word()?;
        let params = self.formals()?;
        self.skip_to_semicolon()?;
        Ok(Prototype { params, returns })
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

    /// `(.param .u32 a, .reg .f32 b)`, or nothing.
    fn formals(&mut self) -> Result<Vec<Formal<'a>>, PtxError> {
        let mut formals = Vec::new();
        let is_list = self.eat(b'(');
        while is_list && !self.eat(b')') {
            let is_register = self.peek() == Token::Dot("reg");
            let storage = self.storage()?;
            let (variable, _) = self.declarator(&storage, false)?;
            formals.push(Formal { variable, is_register });
            if !self.eat(b',') && self.peek() != Token::Punct(b')') {
                return Err(self.unexpected("',' or ')'"));
            }
        }
        Ok(formals)
    }
}
