//! The machine code of kernels on the emulated driver, for which ptxas compiles them.
//!
//! Input: a configuration after its passes. Output: its code, with the machine code next to the
//! PTX, if ptxas and nvdisasm are installed. The emulated driver executes the PTX, so nothing
//! counts how often warps would execute a machine instruction.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpuprof_build::disassembly::Cubins;
use gpuprof_engine::execute::Execution;
use gpuprof_engine::passes::{At, PassResults};
use gpuprof_model::code::{Listing, costly_lines};
use gpuprof_model::measurement::MachineModule;

use crate::commands::run::prepare::prepared::Plan;

/// The modules of a run on the emulated driver.
pub(in crate::commands) struct MachineCode<'a> {
    plan: &'a Plan,
    executions: &'a [Execution<'a>],
    /// The lines of their PTX, each read once.
    ptx: BTreeMap<PathBuf, Vec<String>>,
    /// None before the first.
    cubins: Option<Cubins>,
}

impl<'a> MachineCode<'a> {
    /// Nothing is read so far.
    pub(in crate::commands) fn new(plan: &'a Plan, executions: &'a [Execution<'a>]) -> Self {
        Self { plan, executions, ptx: BTreeMap::new(), cubins: None }
    }

    /// Adds the machine code of the configuration at `at` to what was `found` of it.
    pub(in crate::commands) fn add(&mut self, at: At, found: &mut PassResults) {
        let Plan { both, devices, assignment, .. } = self.plan;
        let Some(first) = found.passes.first_mut().filter(|_| devices.emulated) else { return };
        let execution = &self.executions[assignment.device(at)];
        let needed = execution.machine_modules(&both.checked[at.0].planned, at.1);
        for code in first.code.iter_mut().filter(|_| !needed.is_empty()) {
            let own = needed.iter().find(|it| has_lines(&mut self.ptx, &it.ptx, &code.listing));
            let cubins = self.cubins.get_or_insert_with(Cubins::from_environment);
            if let Some(MachineModule { cubin, .. }) = own {
                code.listing = cubins.with_machine(cubin, &code.listing);
            }
        }
        first.costly = costly_lines(&first.code);
    }

    /// Why nvdisasm wrote nothing of some modules.
    pub(in crate::commands) fn reasons(&self) -> impl Iterator<Item = &str> {
        self.cubins.iter().flat_map(Cubins::reasons)
    }
}

/// Whether the lines of `listing` are those of the file `ptx`, among the `known` files.
fn has_lines(known: &mut BTreeMap<PathBuf, Vec<String>>, ptx: &Path, listing: &Listing) -> bool {
    let lines = known.entry(ptx.to_owned()).or_insert_with(|| {
        let text = fs::read_to_string(ptx).unwrap_or_default();
        text.lines().map(|line| line.trim().replace('\t', " ")).collect()
    });
    let text = |line: u32| lines.get((line as usize).checked_sub(1)?);
    listing.lines.iter().all(|line| text(line.0) == Some(&line.3))
}
