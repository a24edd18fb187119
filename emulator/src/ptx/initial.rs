//! Initial values of variables.

use super::PtxError;
use super::ast::{Init, Type};
use super::directive::elements;
use super::lexer::Token;
use super::parser::Parser;

/// The most elements of one row that a list is filled up to.
const MOST_ELEMENTS: usize = 1 << 24;

impl<'a> Parser<'a> {
    /// The values of an element, or of a list of what `extents` is without its first one. A list
    /// that ends early is filled with zeros.
    pub(super) fn initialiser(
        &mut self,
        ty: Type,
        extents: &[usize],
    ) -> Result<Vec<Init<'a>>, PtxError> {
        let mut values = Vec::new();
        if !self.eat(b'{') {
            values.push(self.initial_value(ty)?);
            return Ok(values);
        }
        let inner = extents.get(1..).unwrap_or_default();
        let row = elements(inner);
        while !self.eat(b'}') {
            if self.peek() == Token::Punct(b'{') {
                let mut list = self.nested(|parser| parser.initialiser(ty, inner))?;
                if list.len() < row && row < MOST_ELEMENTS {
                    list.resize(row, Init::Bits(0));
                }
                values.extend(list);
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
        let is_integer = self.at_constant() || matches!(self.peek(), Token::Word(_));
        let fits = match ty {
            Type::Bits(_) => true,
            Type::Unsigned(_) | Type::Signed(_) => is_integer,
            Type::Float(4 | 8) => !is_integer,
            Type::Float(_) | Type::BFloat16 | Type::Packed | Type::Pred => false,
        };
        if !fits {
            return Err(PtxError::invalid(self.line(), "an initial value does not fit its type"));
        }
        let value = match self.peek() {
            // A byte of an address: `0xff00(name)`.
            Token::Integer(mask) if self.peek_second() == Token::Punct(b'(') => {
                self.bump();
                let line = self.line();
                self.expect(b'(')?;
                let address = self.address_value()?;
                self.expect(b')')?;
                let byte = (0..8).find(|byte| mask == 0xff << (8 * byte));
                match (address, byte) {
                    (Init::Address(name, offset), Some(byte)) => {
                        Init::AddressByte(name, offset, byte)
                    }
                    _ => return Err(PtxError::invalid(line, "malformed byte of an address")),
                }
            }
            _ if self.at_constant() => Init::Bits(self.integer()?.cast_unsigned()),
            Token::Punct(b'-') | Token::Float32(_) | Token::Float64(_) => {
                let negative = self.eat(b'-');
                let sign = if negative { -1.0 } else { 1.0 };
                match self.bump() {
                    Token::Float32(bits) => Init::Bits(u64::from(bits ^ u32::from(negative) << 31)),
                    Token::Float64(bits) => float_bits(sign * f64::from_bits(bits), ty),
                    _ => return Err(self.unexpected("a number")),
                }
            }
            Token::Word(_) => self.address_value()?,
            _ => return Err(self.unexpected("an initial value")),
        };
        Ok(value)
    }

    /// `name+4`, or `generic(name)+4`.
    fn address_value(&mut self) -> Result<Init<'a>, PtxError> {
        let line = self.line();
        let name = self.word()?;
        if !self.eat(b'(') {
            return Ok(Init::Address(name, self.offset()?));
        }
        if name != "generic" {
            return Err(PtxError::unsupported(
                line,
                format!("unsupported initialiser '{name}(…)'"),
            ));
        }
        let name = self.word()?;
        let inner = self.offset()?;
        self.expect(b')')?;
        Ok(Init::Address(name, inner.wrapping_add(self.offset()?)))
    }
}

fn float_bits(value: f64, ty: Type) -> Init<'static> {
    match ty {
        Type::Float(4) => Init::Bits(u64::from((value as f32).to_bits())),
        _ => Init::Bits(value.to_bits()),
    }
}
