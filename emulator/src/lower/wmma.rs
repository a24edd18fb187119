//! `wmma.load`, `wmma.store` and `wmma.mma`.

use super::builder::{Builder, Lowered};
use super::inst::*;
use super::mma::{finish, fits, input, shape, sums};
use super::modifiers::{Modifiers, unsupported};
use crate::ptx::ast::{Instruction, Operand, Type};

/// Whether `wmma` has the shape for such inputs.
fn has_shape(input: MmaInput, MatrixShape { m, n, k }: MatrixShape) -> bool {
    match input {
        MmaInput::Half(_) | MmaInput::Integer { bits: 8, .. } => {
            k == 16 && matches!((m, n), (16, 16) | (8, 32) | (32, 8))
        }
        MmaInput::Tf32 => (m, n, k) == (16, 16, 8),
        MmaInput::Double => (m, n, k) == (8, 8, 4),
        MmaInput::Integer { .. } => (m, n, k) == (8, 8, 32),
        MmaInput::And | MmaInput::Xor => (m, n, k) == (8, 8, 128),
        MmaInput::Byte { .. } => false,
    }
}

/// Whether some product of the shape has sums of the type.
fn has_sums(given: MmaSums, shape: MatrixShape) -> bool {
    ["f16", "bf16", "tf32", "f64", "s8", "s4", "b1"]
        .into_iter()
        .filter_map(|word| input(word, word))
        .any(|input| has_shape(input, shape) && fits(input, given, given))
}

/// Registers of a factor. Those of `f16` are repeated until there are eight.
fn registers(input: MmaInput, fragment: Fragment) -> usize {
    let is_repeated = input == MmaInput::Half(HalfFormat::F16);
    if is_repeated { 8 } else { fragment.registers() }
}

/// Elements smaller than a byte lie in one way only.
fn is_small(input: MmaInput) -> bool {
    input.bits() < 8
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn wmma(&mut self, i: &Instruction<'a>) -> Lowered<Op> {
        let mut words = Modifiers::new(i);
        let what = words.take_first();
        if !words.take("sync") || !words.take("aligned") {
            return Err(unsupported(i));
        }
        match what {
            Some("mma") => self.fragment_product(i, words),
            Some(what @ ("load" | "store")) => self.fragment_move(i, words, what == "store"),
            _ => Err(unsupported(i)),
        }
    }

    /// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {c}`
    fn fragment_product(&mut self, i: &Instruction<'a>, mut words: Modifiers<'a>) -> Lowered<Op> {
        let refused = || unsupported(i);
        let mut by_columns = [false; 2];
        for by_columns in &mut by_columns {
            *by_columns = words.take_one(&["row", "col"]).ok_or_else(refused)? == "col";
        }
        let shape =
            words.take_where(|word| word.starts_with('m')).and_then(shape).ok_or_else(refused)?;
        let rounding = words.rounding();
        let d = words.take_where(|word| sums(word).is_some()).ok_or_else(refused)?;
        // The types of halves are not written.
        let halves = ["f16"; 2];
        let [a, b] = match words.take_where(|word| input(word, word).is_some() && *word != "f16") {
            Some(a) if sums(a).is_none() || d == "f64" => {
                [a, words.take_where(|word| *word == a).ok_or_else(refused)?]
            }
            _ => halves,
        };
        let c = words.take_where(|word| sums(word).is_some()).ok_or_else(refused)?;
        let (Some(input), Some(d), Some(given)) = (input(a, b), sums(d), sums(c)) else {
            return Err(refused());
        };
        let (input, sums) = finish(&mut words, input, d).ok_or_else(refused)?;
        words.done(i)?;
        let fits = fits(input, given, d) && has_shape(input, shape);
        let is_odd = rounding.is_some() && input != MmaInput::Double
            || is_small(input) && by_columns != [false, true];
        if !fits || is_odd {
            return Err(refused());
        }
        let rounding = rounding.unwrap_or(Rounding::Nearest);
        let op = Mma { rounding, ..Mma::new(shape, input, given, sums) };
        self.product(i, op, |fragment| registers(input, fragment))
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r}, [address], stride`
    fn fragment_move(
        &mut self,
        i: &Instruction<'a>,
        mut words: Modifiers<'a>,
        stores: bool,
    ) -> Lowered<Op> {
        let refused = || unsupported(i);
        let matrix = match (words.take_first(), stores) {
            (Some("a"), false) => Matrix::A,
            (Some("b"), false) => Matrix::B,
            (Some("c"), false) | (Some("d"), true) => Matrix::Sums,
            _ => return Err(refused()),
        };
        let by_columns = words.take_first_of(&["row", "col"]).ok_or_else(refused)? == "col";
        let shape =
            words.take_where(|word| word.starts_with('m')).and_then(shape).ok_or_else(refused)?;
        let space = match words.take("global") {
            true => Space::Global,
            false => Self::block_space(&mut words),
        };
        let ty = words.take_first().ok_or_else(refused)?;
        words.done(i)?;
        let bits = match matrix {
            Matrix::Sums => sums(ty).filter(|sums| has_sums(*sums, shape)).map(MmaSums::bits),
            Matrix::A | Matrix::B => input(ty, ty)
                .filter(|input| has_shape(*input, shape))
                .filter(|input| !is_small(*input) || by_columns == (matrix == Matrix::B))
                .map(MmaInput::bits),
        };
        let bits = bits.ok_or_else(refused)?;
        let fragment = Fragment { matrix, shape, bits, dealing: Dealing::Groups };
        let count = match input(ty, ty) {
            Some(input) if matrix != Matrix::Sums => registers(input, fragment),
            _ => fragment.registers(),
        };
        let [first, second, stride @ ..] = i.operands.as_slice() else { return Err(refused()) };
        let (given, address) = if stores { (second, first) } else { (first, second) };
        let mut registers = [self.sink(); 8];
        let file = File::by_width(fragment.is_wide());
        let role = if stores { Role::Read } else { Role::Write };
        self.registers_in(i, given, role, file, &mut registers[..count])?;
        let stride = self.stride(i, stride, (fragment, by_columns))?;
        let address = self.access_place(i, address, space)?;
        let count = count as u8;
        Ok(Op::Fragment(FragmentMove {
            stores,
            fragment,
            by_columns,
            address,
            stride,
            count,
            registers,
        }))
    }

    /// The stride that was given, or the length of a row or column.
    fn stride(
        &mut self,
        i: &Instruction<'a>,
        given: &[Operand<'a>],
        (fragment, by_columns): (Fragment, bool),
    ) -> Lowered<Slot> {
        let (rows, columns) = fragment.size();
        match given {
            [] => Ok(self.bits32(if by_columns { rows } else { columns } as u32)),
            [stride] => self.source32(stride, Type::Unsigned(4), i.line),
            _ => Err(unsupported(i)),
        }
    }
}
