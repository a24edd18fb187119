//! The counts of machine instructions, by line of the PTX.
//!
//! Input: the counts of each machine instruction, the cubins, and the lines of the PTX. Output: the
//! counts of each line, in the form of the emulated driver's. No count is lost: a function of which
//! the lines are not known is one line.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuprof_build::machine_code::PtxLines;
use gpuprof_build::nvdisasm::Instructions;
use gpuprof_model::code::{Columns, CountedCode, Counter, LineCounts, ListedLine, Listing};
use gpuprof_model::measurement::{
    ListedInstruction, MachineFunction, MachineInstruction, MachineListing,
};

/// The text in place of lines that are not known.
const UNKNOWN: &str = "(machine code whose lines are not known)";

/// What is known of a function.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The lines of its PTX.
    pub(super) listing: Option<Arc<Listing>>,
    /// Its cubin.
    pub(super) cubin: Arc<Cubin>,
}

/// What is known of a cubin.
#[derive(Debug, Default)]
pub(super) struct Cubin {
    /// The PTX lines of its instructions; empty where its PTX does not name lines.
    pub(super) lines: PtxLines,
    /// Their text; empty without nvdisasm.
    pub(super) text: Instructions,
    /// Why nvdisasm writes none.
    pub(super) illegible: Option<String>,
}

/// The code of those of `functions` that executed something, by `known`, which are in the same
/// order. Of several with one listing it is one.
pub(super) fn by_line(functions: &[MachineFunction], known: &[Known]) -> Vec<CountedCode> {
    let mut code: BTreeMap<Arc<Listing>, Vec<LineCounts>> = BTreeMap::new();
    for (function, Known { listing, cubin }) in functions.iter().zip(known) {
        let lines = &cubin.lines;
        let listing = listing.clone().filter(|_| !lines.is_empty());
        let listing = listing.unwrap_or_else(|| unknown(&function.name));
        let rows = vec![LineCounts::default(); listing.lines.len()];
        let rows = code.entry(Arc::clone(&listing)).or_insert(rows);
        for MachineInstruction { offset, counts } in &function.instructions {
            let at = line_of(&listing, lines.line(&function.name, *offset));
            if let Some(row) = rows.get_mut(at) {
                counts.iter().for_each(|(counter, count)| row[*counter] += count);
            }
        }
    }
    let executed =
        |(_, rows): &(_, Vec<LineCounts>)| rows.iter().any(|row| *row != LineCounts::default());
    let counted =
        |(listing, rows): (_, Vec<_>)| CountedCode { listing, counts: Columns::new(&rows) };
    code.into_iter().filter(executed).map(counted).collect()
}

/// The machine code of those of `functions` that executed something, as far as its text is `known`.
pub(super) fn disassembled(functions: &[MachineFunction], known: &[Known]) -> Vec<MachineListing> {
    let listed = |(function, Known { listing, cubin }): (&MachineFunction, &Known)| {
        let (listing, text) = (listing.as_ref()?, cubin.text.get(&function.name)?);
        let executed: BTreeMap<u64, u64> = function
            .instructions
            .iter()
            .filter_map(|it| Some((it.offset, *it.counts.get(&Counter::Instructions)?)))
            .collect();
        let instruction = |(offset, text): &(u64, String)| {
            let line = line_of(listing, cubin.lines.line(&function.name, *offset));
            let ptx = listing.lines.get(line).map_or(0, |line| line.0);
            let times = executed.get(offset).copied().unwrap_or_default();
            ListedInstruction(*offset, ptx, times, text.clone())
        };
        let instructions = text.iter().map(instruction).collect();
        let function = function.name.clone();
        (!executed.is_empty()).then_some(MachineListing { function, instructions })
    };
    functions.iter().zip(known).filter_map(listed).collect()
}

/// The number of the line of `listing` to which the PTX line belongs: itself, or the next one with
/// an instruction, as the preparations of a function belong to its beginning.
fn line_of(listing: &Listing, ptx: Option<u32>) -> usize {
    let lines = &listing.lines;
    let first = lines.partition_point(|line| line.0 < ptx.unwrap_or_default());
    let next = (first..lines.len()).find(|at| !lines[*at].opcode().is_empty());
    next.unwrap_or(lines.len().saturating_sub(1))
}

fn unknown(name: &str) -> Arc<Listing> {
    let lines = vec![ListedLine(0, 0, 0, UNKNOWN.to_owned())];
    Arc::new(Listing { kernel: name.to_owned(), files: Vec::new(), lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuprof_model::code::Counter;

    const CUBIN: &[u8] = include_bytes!("../../../../build/tests/golden/trouble.cubin");
    const PTX: &str = include_str!("../../../../build/tests/golden/trouble.ptx");

    /// The lines of `trouble` with an instruction.
    fn listing() -> Arc<Listing> {
        let lines = (1..).zip(PTX.lines().map(str::trim));
        let of_kernel = lines.skip_while(|(_, line)| !line.contains(".entry trouble"));
        let of_kernel = of_kernel.take_while(|(_, line)| *line != "}");
        let lines = of_kernel.filter(|(_, line)| line.ends_with(';') && !line.starts_with('.'));
        let lines = lines.map(|(at, line)| ListedLine(at, 1, at, line.replace('\t', " ")));
        let (kernel, files) = ("trouble".to_owned(), vec!["k.ptx".to_owned()]);
        Arc::new(Listing { kernel, files, lines: lines.collect() })
    }

    fn function(name: &str, counts: &[(u64, Counter, u64)]) -> MachineFunction {
        let instruction = |&(offset, counter, count): &(u64, Counter, u64)| MachineInstruction {
            offset,
            counts: BTreeMap::from([(counter, count)]),
        };
        let instructions = counts.iter().map(instruction).collect();
        MachineFunction { name: name.to_owned(), module: None, instructions }
    }

    /// All of `trouble`, with this text.
    fn known(text: Instructions) -> Known {
        let cubin = Cubin { lines: PtxLines::read(CUBIN).unwrap(), text, illegible: None };
        Known { listing: Some(listing()), cubin: Arc::new(cubin) }
    }

    #[test]
    fn machine_code_has_its_text_its_counts_and_its_lines_of_the_ptx() {
        let text = [(0, "LDC R1, c[0x0][0x28]"), (624, "LDG.E.CONSTANT R12, [R2]"), (640, "NOP")];
        let text = text.map(|(offset, text)| (offset, text.to_owned())).to_vec();
        let known = [known(BTreeMap::from([("trouble".to_owned(), text)])), Known::default()];
        let counts = [(0, Counter::Instructions, 2048), (624, Counter::Instructions, 2000)];
        let functions = [function("trouble", &counts), function("foreign", &counts)];
        let listed = disassembled(&functions, &known);
        assert_eq!(listed.len(), 1);
        let ptx = |line: u32| PTX.lines().nth(line as usize - 1).unwrap().trim().to_owned();
        let lines: Vec<_> =
            listed[0].instructions.iter().map(|it| (it.0, ptx(it.1), it.2, &*it.3)).collect();
        assert_eq!((lines[0].0, lines[0].2, lines[0].3), (0, 2048, "LDC R1, c[0x0][0x28]"));
        assert!(lines[0].1.starts_with("mov.u64"), "{lines:?}");
        assert!(lines[1].1.starts_with("ld.global.nc.f32"), "{lines:?}");
        assert_eq!((lines[2].2, lines[2].3), (0, "NOP"));
        // A function that was only sampled is listed with the counted one.
        let sampled = [function("trouble", &[(0, Counter::Samples, 5)])];
        assert_eq!(disassembled(&sampled, &known[..1]), []);
    }

    #[test]
    fn an_instruction_counts_for_its_line_of_the_ptx() {
        // An H200's: the beginning, the store of `tile` and an atomic.
        let counts = [
            (0, Counter::Instructions, 2048),
            (16, Counter::Instructions, 2048),
            (624, Counter::IdealSectors, 81920),
            (976, Counter::IdealWavefronts, 20480),
            (2688, Counter::IdealSectors, 16405),
        ];
        let known = [known(Instructions::new())];
        let code = by_line(&[function("trouble", &counts)], &known);
        let lines: Vec<(String, LineCounts)> =
            code[0].lines().map(|(line, counts)| (line.3.clone(), counts)).collect();
        let of = |counter: Counter| -> Vec<(&str, u64)> {
            let some = lines.iter().filter(|(_, counts)| counts[counter] > 0);
            some.map(|(text, counts)| (&**text, counts[counter])).collect()
        };
        assert_eq!(
            of(Counter::Instructions),
            [("mov.u64  %SPL, __local_depot0;", 2048), ("rem.s32  %r25, %r23, %r19;", 2048)]
        );
        let ideal = of(Counter::IdealSectors);
        assert!(ideal[0].0.starts_with("ld.global.nc.f32  %f1"), "{ideal:?}");
        assert!(ideal[1].0.starts_with("atom.global.add.u32"), "{ideal:?}");
        let waves = of(Counter::IdealWavefronts);
        assert!(waves[0].0.starts_with("st.shared.f32"), "{waves:?}");
    }

    #[test]
    fn a_function_without_known_lines_is_one_line_and_loses_no_count() {
        let counts = [(0, Counter::Instructions, 3), (16, Counter::Instructions, 4)];
        let functions = [function("foreign", &counts), function("idle", &[])];
        // The PTX of one is known, but not the lines of its instructions.
        for listing in [None, Some(listing())] {
            let known = Known { listing, ..Known::default() };
            let code = by_line(&functions, &[known, Known::default()]);
            assert_eq!(code.len(), 1);
            let lines: Vec<_> = code[0]
                .lines()
                .map(|(line, counts)| (&*line.3, counts[Counter::Instructions]))
                .collect();
            assert_eq!((&*code[0].listing.kernel, lines), ("foreign", vec![(UNKNOWN, 7)]));
        }
    }
}
