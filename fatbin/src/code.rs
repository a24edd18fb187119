//! The machine code of a function of a cubin.

use crate::elf::{Section, Sections};
use crate::lines::PtxLines;
use crate::symbols::{compute_capability, symbols};

/// The bytes of an instruction, since compute capability 7.0.
const BYTES: usize = 16;

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineInstruction {
    /// Its 128 bits.
    pub bits: u128,
    /// The line of the PTX from which it comes; none if the cubin does not say.
    pub ptx_line: Option<u32>,
}

/// The instructions of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineCode {
    /// The compute capability that it is for, without its dot: 90.
    pub compute_capability: u32,
    /// Its instructions, in their order.
    pub instructions: Vec<MachineInstruction>,
}

impl MachineCode {
    /// That of `function` in `cubin`; none if the cubin does not have the function.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(cubin: &[u8], function: &str) -> Result<Option<Self>, String> {
        let sections = Sections::parse(cubin)?;
        let symbols = symbols(&sections)?;
        let symbol = symbols.iter().find(|it| it.is_function() && it.name == function);
        let Some(symbol) = symbol else { return Ok(None) };
        let bytes = sections.at(symbol.section).map_or(Ok(&[][..]), Section::bytes)?;
        let code = bytes.get(symbol.offset as usize..).unwrap_or_default();
        let lines = PtxLines::new(&sections, &symbols)?;
        let instruction = |(at, bytes): (usize, &[u8])| MachineInstruction {
            bits: bytes.try_into().map_or(0, u128::from_le_bytes),
            ptx_line: lines.line(function, (at * BYTES) as u64),
        };
        let code = &code[..code.len().min(symbol.size as usize)];
        Ok(Some(Self {
            compute_capability: compute_capability(cubin)?,
            instructions: code.chunks_exact(BYTES).enumerate().map(instruction).collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of CUDA C++, compiled by the driver of an H200 (CUDA 13.0).
    const CUBIN: &[u8] = include_bytes!("../tests/golden/trouble.cubin");

    #[test]
    fn a_function_has_all_of_its_instructions_with_their_lines() {
        let code = MachineCode::read(CUBIN, "trouble").unwrap().expect("it has the function");
        assert_eq!((code.compute_capability, code.instructions.len()), (90, 192));
        let lines = PtxLines::read(CUBIN).unwrap();
        for (at, instruction) in code.instructions.iter().enumerate() {
            assert_eq!(instruction.ptx_line, lines.line("trouble", 16 * at as u64));
        }
        // `EXIT`, then a jump to itself and `NOP` to the end.
        let opcodes = code.instructions.iter().map(|of| of.bits & 0x1ff);
        let opcodes: Vec<u128> = opcodes.collect();
        let exit = opcodes.iter().rposition(|opcode| *opcode == 0x14d).expect("it ends");
        assert_eq!(opcodes[exit + 1], 0x147);
        assert!(opcodes[exit + 2..].iter().all(|opcode| *opcode == 0x118), "{opcodes:x?}");
    }

    #[test]
    fn instructions_of_older_targets_have_their_lines_too() {
        // ptxas 13.0.88 made it of emulator/tests/machine_code/chains.ptx: `-lineinfo -arch sm_80`.
        let cubin = include_bytes!("../tests/golden/chains-80.cubin");
        let code = MachineCode::read(cubin, "together").unwrap().expect("it has the function");
        assert_eq!(code.compute_capability, 80);
        assert!(code.instructions.iter().all(|of| of.ptx_line.is_some()), "{code:?}");
        // LDG, in the line of its address.
        let loads = code.instructions.iter().filter(|of| of.bits & 0x1ff == 0x181);
        assert_eq!(loads.map(|of| of.ptx_line).collect::<Vec<_>>(), [Some(91)]);
    }

    #[test]
    fn an_unknown_function_has_no_code_and_a_damaged_file_is_an_error() {
        assert_eq!(MachineCode::read(CUBIN, "nothing"), Ok(None));
        for length in [0, 16, 64, 0x4918] {
            assert!(MachineCode::read(&CUBIN[..length], "trouble").is_err(), "{length}");
        }
    }
}
