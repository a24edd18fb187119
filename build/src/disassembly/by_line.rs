//! The counts of machine instructions, by line of the PTX.
//!
//! Input: the counts of each machine instruction, the cubins, and the lines of the PTX. Output: the
//! counts of each line, in the form of the emulated driver's. No count is lost: a function of which
//! the lines are not known is one line.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuprof_model::code::{
    Columns, CountedCode, Counter, LineCounts, ListedLine, Listing, MachineLine,
};
use gpuprof_model::measurement::{MachineFunction, MachineInstruction};

use super::{Cubin, line_of};

/// The text in place of lines that are not known.
const UNKNOWN: &str = "(machine code whose lines are not known)";

/// What is known of a function.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The lines of its PTX.
    pub listing: Option<Arc<Listing>>,
    /// Its cubin.
    pub cubin: Arc<Cubin>,
}

/// The code of those of `functions` that executed something, by `known`, which are in the same
/// order. Of several with one listing it is one.
pub fn by_line(functions: &[MachineFunction], known: &[Known]) -> Vec<CountedCode> {
    let mut code: BTreeMap<Arc<Listing>, Rows> = BTreeMap::new();
    for (function, Known { listing, cubin }) in functions.iter().zip(known) {
        let lines = &cubin.lines;
        let listing = listing.clone().filter(|_| !lines.is_empty());
        let listing = listing.unwrap_or_else(|| unknown(&function.name));
        let rows = code.entry(Arc::clone(&listing)).or_insert_with(|| Rows::new(&listing));
        for MachineInstruction { offset, counts } in &function.instructions {
            let at = listing.machine.partition_point(|it| it.0 < *offset);
            let written = listing.machine.get(at).filter(|it| it.0 == *offset);
            let line = line_of(&listing, lines.line(&function.name, *offset));
            if let Some(row) = rows.lines.get_mut(line) {
                counts.iter().for_each(|(counter, count)| row[*counter] += count);
                let threads = counts.get(&Counter::ThreadInstructionsOn).copied().unwrap_or(0);
                row[Counter::Fp64Operations] += threads * written.map_or(0, fp64_operations);
            }
            if let Some(count) = counts.get(&Counter::Instructions).filter(|_| written.is_some()) {
                rows.machine[at][Counter::Instructions] += count;
            }
        }
    }
    code.into_iter().filter_map(|(listing, rows)| rows.counted(listing)).collect()
}

/// The FP64 operations of a thread in a machine instruction, by its text: CUPTI counts them for a
/// whole kernel alone.
fn fp64_operations(instruction: &MachineLine) -> u64 {
    match instruction.opcode().split('.').next() {
        Some("DADD" | "DMUL") => 1,
        Some("DFMA") => 2,
        _ => 0,
    }
}

/// The counts of a listing.
struct Rows {
    lines: Vec<LineCounts>,
    machine: Vec<LineCounts>,
}

impl Rows {
    fn new(Listing { lines, machine, .. }: &Listing) -> Self {
        let [lines, machine] =
            [lines.len(), machine.len()].map(|many| vec![LineCounts::default(); many]);
        Self { lines, machine }
    }

    /// The code with these counts, unless all are 0.
    fn counted(self, listing: Arc<Listing>) -> Option<CountedCode> {
        let some = |rows: &[LineCounts]| rows.iter().any(|row| *row != LineCounts::default());
        let executed = some(&self.machine).then(|| Columns::new(&self.machine));
        let code = CountedCode { executed, ..CountedCode::new(listing, &self.lines) };
        some(&self.lines).then_some(code)
    }
}

fn unknown(name: &str) -> Arc<Listing> {
    let lines = vec![ListedLine(0, 0, 0, UNKNOWN.to_owned())];
    Arc::new(Listing { kernel: name.to_owned(), lines, ..Listing::default() })
}

#[cfg(test)]
mod tests {
    use crate::nvdisasm::{Instruction, Instructions};
    use fatbin::lines::PtxLines;

    use super::*;

    const CUBIN: &[u8] = include_bytes!("../../../fatbin/tests/golden/trouble.cubin");
    const PTX: &str = include_str!("../../../fatbin/tests/golden/trouble.ptx");

    /// The lines of `trouble` with an instruction.
    fn listing() -> Arc<Listing> {
        let lines = (1..).zip(PTX.lines().map(str::trim));
        let of_kernel = lines.skip_while(|(_, line)| !line.contains(".entry trouble"));
        let of_kernel = of_kernel.take_while(|(_, line)| *line != "}");
        let lines = of_kernel.filter(|(_, line)| line.ends_with(';') && !line.starts_with('.'));
        let lines = lines.map(|(at, line)| ListedLine(at, 1, at, line.replace('\t', " ")));
        let (kernel, files) = ("trouble".to_owned(), vec!["k.ptx".to_owned()]);
        Arc::new(Listing { kernel, files, lines: lines.collect(), ..Listing::default() })
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
    fn known(text: Vec<Instruction>) -> Known {
        let text = Instructions::from([("trouble".to_owned(), text)]);
        let cubin = Cubin { lines: PtxLines::read(CUBIN).unwrap(), text, illegible: None };
        let listing = Listing { machine: cubin.machine(&listing()), ..Listing::clone(&listing()) };
        Known { listing: Some(Arc::new(listing)), cubin: Arc::new(cubin) }
    }

    #[test]
    fn machine_code_has_text_counts_and_ptx_lines() {
        let text = [(0, "LDC R1, c[0x0][0x28]"), (624, "LDG.E.CONSTANT R12, [R2]"), (640, "NOP")];
        let instruction =
            |(offset, text): (u64, &str)| Instruction { offset, live: 7, text: text.to_owned() };
        let known = [known(text.map(instruction).to_vec()), Known::default()];
        let counts = [(0, Counter::Instructions, 2048), (624, Counter::Instructions, 2000)];
        let functions = [function("trouble", &counts), function("foreign", &counts)];
        let code = by_line(&functions, &known);
        let of = |name: &str| code.iter().find(|it| it.listing.kernel == name).unwrap();
        let ptx = |line: u32| PTX.lines().nth(line as usize - 1).unwrap().trim().to_owned();
        let lines: Vec<_> = of("trouble")
            .machine()
            .map(|(line, times)| (line.0, ptx(line.1), line.2, times, &*line.3))
            .collect();
        assert_eq!((lines[0].0, lines[0].2, lines[0].3, lines[0].4), (0, 7, Some(2048), text[0].1));
        assert!(lines[0].1.starts_with("mov.u64"), "{lines:?}");
        assert!(lines[1].1.starts_with("ld.global.nc.f32"), "{lines:?}");
        assert_eq!((lines[2].3, lines[2].4), (Some(0), "NOP"));
        assert_eq!(of("foreign").executed, None);
        // Nothing counted a function that was only sampled.
        let sampled = [function("trouble", &[(0, Counter::Samples, 5)])];
        let code = by_line(&sampled, &known[..1]);
        assert_eq!((code[0].listing.machine.len(), &code[0].executed), (3, &None));
        // Without a table of lines the machine code has text, but no places.
        let text = known[0].cubin.text.clone();
        let cubin = Cubin { lines: PtxLines::default(), text, illegible: None };
        assert_eq!(cubin.machine(&listing())[0].1, 0);
    }

    #[test]
    fn fp64_operations_count_threads_with_a_true_guard() {
        let text =
            [(0, "DMUL R2, R2, R4"), (624, "@P0 DFMA R2, R2, R4, R6"), (640, "FMUL R1, R2, R3")];
        let instruction =
            |(offset, text): (u64, &str)| Instruction { offset, live: 0, text: text.to_owned() };
        let known = [known(text.map(instruction).to_vec())];
        let threads = [0, 624, 640].map(|offset| (offset, Counter::ThreadInstructionsOn, 32));
        let code = by_line(&[function("trouble", &threads)], &known);
        let counted = code[0].lines().map(|(_, counts)| counts[Counter::Fp64Operations]);
        assert_eq!(counted.filter(|count| *count > 0).collect::<Vec<_>>(), [32, 64]);
    }

    #[test]
    fn counts_of_an_instruction_belong_to_its_ptx_line() {
        // An H200's: the beginning, the store of `tile` and an atomic.
        let counts = [
            (0, Counter::Instructions, 2048),
            (16, Counter::Instructions, 2048),
            (624, Counter::IdealSectors, 81920),
            (976, Counter::IdealWavefronts, 20480),
            (2688, Counter::IdealSectors, 16405),
        ];
        let known = [known(Vec::new())];
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
    fn a_function_without_lines_keeps_all_counts_in_one_line() {
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
