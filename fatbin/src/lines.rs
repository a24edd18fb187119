//! The PTX lines of machine code.
//!
//! Input: a cubin that was compiled from PTX with lines (`.loc`). Output: the line of the PTX from
//! which each instruction comes, by the table that ptxas writes (`.nv_debug_line_sass`). It is a
//! line program of DWARF 2; its relocations name the described sections.

use std::collections::{BTreeMap, HashMap};

use crate::elf::{Section, Sections, number, slice_of};
use crate::symbols::{Symbol, symbols};

/// The section with the table.
const TABLE: &str = ".nv_debug_line_sass";

/// The bytes of a relocation: with its addend, as for compute capability 9.0 and later, or with the
/// addend in the place that it changes.
const WITH_ADDEND: usize = 24;
const WITHOUT_ADDEND: usize = 16;

/// The opcodes of a line program (DWARF 2, section 6.2.5).
const EXTENDED: u8 = 0;
const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const CONST_ADD_PC: u8 = 8;
const FIXED_ADVANCE_PC: u8 = 9;
const END_SEQUENCE: u8 = 1;
const SET_ADDRESS: u8 = 2;

/// The PTX line of every instruction of a cubin.
#[derive(Debug, Clone, Default)]
pub struct PtxLines {
    /// Section and offset of each function by its name.
    functions: HashMap<String, (usize, u64)>,
    /// From a place on, the line; none where a sequence ends.
    rows: BTreeMap<(usize, u64), Option<u32>>,
}

impl PtxLines {
    /// Those of `cubin`; empty if it was compiled without lines.
    ///
    /// # Errors
    /// A file that is cut off, or a table of another form.
    pub fn read(cubin: &[u8]) -> Result<Self, String> {
        let sections = Sections::parse(cubin)?;
        Self::new(&sections, &symbols(&sections)?)
    }

    /// Those of a cubin with these sections and symbols.
    pub(crate) fn new(sections: &Sections<'_>, symbols: &[Symbol<'_>]) -> Result<Self, String> {
        let place = |symbol: &Symbol<'_>| (symbol.name.to_owned(), (symbol.section, symbol.offset));
        let functions = symbols.iter().filter(|it| it.is_function()).map(place).collect();
        let mut lines = Self { functions, rows: BTreeMap::new() };
        let bytes = |name: &str| sections.named(name).map_or(Ok(&[][..]), Section::bytes);
        let table = bytes(TABLE)?;
        let mut places = HashMap::new();
        for (prefix, length) in [(".rela", WITH_ADDEND), (".rel", WITHOUT_ADDEND)] {
            let records = bytes(&format!("{prefix}{TABLE}"))?;
            for record in records.chunks_exact(length) {
                let (at, place) = relocation(record, table, symbols)?;
                places.insert(at, place);
            }
        }
        let mut unit = 0;
        while unit < table.len() {
            let length = number::<4>(table, unit)?;
            let version = number::<2>(table, unit + 4)?;
            if version != 2 {
                return Err(format!("its line table has version {version} and not 2"));
            }
            let first = unit + 10 + number::<4>(table, unit + 6)?;
            let end = unit.saturating_add(4).saturating_add(length);
            let header = Header {
                unit_bytes: number::<1>(table, unit + 10)? as u64,
                line_base: slice_of(table, unit + 12, 1)?[0].cast_signed().into(),
                line_range: slice_of(table, unit + 13, 1)?[0].max(1),
                opcode_base: slice_of(table, unit + 14, 1)?[0],
                lengths: slice_of(
                    table,
                    unit + 15,
                    number::<1>(table, unit + 14)?.saturating_sub(1),
                )?,
            };
            lines.run(&header, Cursor { table, at: first, end }, &places)?;
            unit = end;
        }
        Ok(lines)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The PTX line of the instruction at `offset` of `function`.
    #[must_use]
    pub fn line(&self, function: &str, offset: u64) -> Option<u32> {
        let &(section, start) = self.functions.get(function)?;
        let (at, line) = self.rows.range(..=(section, start + offset)).next_back()?;
        line.filter(|_| at.0 == section)
    }

    /// Runs a line program.
    fn run(
        &mut self,
        header: &Header<'_>,
        mut program: Cursor<'_>,
        places: &HashMap<usize, (usize, u64)>,
    ) -> Result<(), String> {
        let begin = (0, 0, 1i64);
        let (mut section, mut address, mut line) = begin;
        while program.at < program.end {
            let mut row = None;
            match program.byte()? {
                EXTENDED => {
                    let length = program.unsigned()?;
                    let next = program.at.saturating_add(length as usize);
                    match program.byte()? {
                        END_SEQUENCE => {
                            self.rows.insert((section, address), None);
                            (section, address, line) = begin;
                        }
                        SET_ADDRESS => {
                            let place = places.get(&program.at);
                            (section, address) = *place.ok_or("its line table has no sections")?;
                        }
                        _ => {}
                    }
                    program.at = next;
                }
                COPY => row = Some(line),
                ADVANCE_PC => address += header.unit_bytes * program.unsigned()?,
                ADVANCE_LINE => line += program.signed()?,
                CONST_ADD_PC => address += header.advance(u8::MAX).0,
                FIXED_ADVANCE_PC => address += program.fixed()?,
                opcode if opcode >= header.opcode_base => {
                    let (bytes, lines) = header.advance(opcode);
                    address += bytes;
                    line += lines;
                    row = Some(line);
                }
                opcode => {
                    for _ in 0..header.lengths[usize::from(opcode) - 1] {
                        program.unsigned()?;
                    }
                }
            }
            if let Some(line) = row {
                self.rows.insert((section, address), u32::try_from(line).ok());
            }
        }
        Ok(())
    }
}

/// The part of a header that its program needs.
struct Header<'t> {
    /// The bytes by which addresses advance.
    unit_bytes: u64,
    line_base: i64,
    line_range: u8,
    opcode_base: u8,
    /// How many operands each standard opcode has.
    lengths: &'t [u8],
}

impl Header<'_> {
    /// By how many bytes and lines a special opcode advances.
    fn advance(&self, opcode: u8) -> (u64, i64) {
        let step = opcode - self.opcode_base;
        let lines = self.line_base + i64::from(step % self.line_range);
        (self.unit_bytes * u64::from(step / self.line_range), lines)
    }
}

/// A place in a table.
struct Cursor<'t> {
    table: &'t [u8],
    at: usize,
    end: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Result<u8, String> {
        let byte = slice_of(self.table, self.at, 1)?[0];
        self.at += 1;
        Ok(byte)
    }

    fn fixed(&mut self) -> Result<u64, String> {
        let bytes = number::<2>(self.table, self.at)?;
        self.at += 2;
        Ok(bytes as u64)
    }

    /// A LEB128, and how many bits it fills.
    fn bits(&mut self) -> Result<(u64, u32), String> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok((value, shift));
            }
        }
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        self.bits().map(|(value, _)| value)
    }

    fn signed(&mut self) -> Result<i64, String> {
        let (value, bits) = self.bits()?;
        let unused = 64u32.saturating_sub(bits);
        Ok((value << unused).cast_signed() >> unused)
    }
}

/// A place of the table, and the section and the offset in it that stand there.
fn relocation(
    record: &[u8],
    table: &[u8],
    symbols: &[Symbol<'_>],
) -> Result<(usize, (usize, u64)), String> {
    let at = number::<8>(record, 0)?;
    let symbol = symbols.get(number::<4>(record, 12)?).ok_or("a relocation names no symbol")?;
    let addend = match record.len() {
        WITH_ADDEND => number::<8>(record, 16)?,
        _ => number::<8>(table, at)?,
    };
    Ok((at, (symbol.section, symbol.offset.saturating_add(addend as u64))))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
