//! Loaded modules: variables in device memory, and kernels.

use super::chip::Chip;
use crate::counters::{Claims, Listing};
use crate::lower::address::function_address;
use crate::lower::{self, Program, RefusedKernel, Symbols};
use crate::machine::{Holds, Memory};
use crate::ptx::ast::{Init, Space, Variable};
use crate::ptx::{self, PtxError};
use crate::timing::Machine;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A kernel of a loaded module.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The lowered code.
    pub(super) program: Arc<Program>,
    /// Which of its counters are the hardware's, once it was launched.
    claims: Arc<OnceLock<Claims>>,
    /// Its lines in the module's text, once it was launched.
    listing: Arc<OnceLock<Arc<Listing>>>,
    /// The module's text.
    text: Arc<str>,
    /// Dynamic shared memory that was opted into, in bytes; 0 means the default.
    opted_in: Arc<AtomicU32>,
    /// Registers of a thread; 0 if unknown.
    registers: Arc<AtomicU32>,
    /// Its machine code, if the program gave its cubin.
    machine: Arc<OnceLock<Machine>>,
    /// The module's `.version`, as 10 × major + minor.
    ptx_version: u32,
    /// The module's `.target`, as 10 × major + minor.
    ptx_target: u32,
}

impl Kernel {
    /// Which of its counters are the hardware's.
    pub(super) fn claims(&self) -> &Claims {
        self.claims.get_or_init(|| Claims::new(&self.program))
    }

    /// Its lines.
    pub fn listing(&self) -> &Arc<Listing> {
        self.listing.get_or_init(|| Arc::new(Listing::new(&self.program, &self.text)))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Offset and size of each parameter.
    pub fn params(&self) -> &[(u32, u32)] {
        &self.program.params
    }

    /// Bytes of all parameters.
    pub fn param_bytes(&self) -> u32 {
        self.program.param_bytes
    }

    /// Bytes of static shared memory.
    pub fn static_shared(&self) -> u32 {
        self.program.shared_bytes
    }

    /// Bytes of local memory a thread.
    pub fn local_bytes(&self) -> u32 {
        self.program.local_bytes
    }

    /// Registers of a thread, if the program said how many ptxas assigned.
    pub fn registers(&self) -> Option<u32> {
        Some(self.registers.load(Relaxed)).filter(|&registers| registers > 0)
    }

    /// Sets the registers of a thread.
    pub fn set_registers(&self, registers: u32) {
        self.registers.store(registers, Relaxed);
    }

    /// Its machine code, if the program gave its cubin.
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.get()
    }

    /// Sets its machine code, once.
    pub fn set_machine(&self, machine: Machine) {
        let _ = self.machine.set(machine);
    }

    /// PTX version and target, each as 10 × major + minor.
    pub fn versions(&self) -> (u32, u32) {
        (self.ptx_version, self.ptx_target)
    }

    /// The most threads of a block that it was compiled for.
    pub fn max_threads(&self, chip: &Chip) -> u32 {
        let bounds = self.program.bounds;
        let compiled = bounds.required.or(bounds.max_threads).map(|most| most.iter().product());
        compiled.unwrap_or(chip.max_threads_per_block).min(chip.max_threads_per_block)
    }

    /// Bytes of shared memory with so much of it dynamic.
    pub fn shared_bytes(&self, dynamic: u32) -> u32 {
        if dynamic == 0 {
            self.program.shared_bytes
        } else {
            self.program.dynamic_shared_offset + dynamic
        }
    }

    /// The most dynamic shared memory that a launch may ask for.
    pub fn max_dynamic_shared(&self, chip: &Chip) -> u32 {
        let default = chip.shared_per_block.saturating_sub(self.program.shared_bytes);
        default.max(self.opted_in.load(Relaxed))
    }

    /// Opts into more dynamic shared memory. `false` if the device does not have so much.
    pub fn opt_in_shared(&self, chip: &Chip, bytes: u32) -> bool {
        let fits = bytes <= chip.shared_per_block_optin.saturating_sub(self.program.shared_bytes);
        if fits {
            self.opted_in.store(bytes, Relaxed);
        }
        fits
    }
}

/// A loaded module.
#[derive(Debug, Default)]
pub struct Module {
    kernels: Vec<Kernel>,
    refused: Vec<RefusedKernel>,
    /// Address and size of each variable.
    variables: HashMap<String, (u64, u64)>,
    /// The names of those that the host shares.
    managed: Vec<String>,
}

/// The bytes of `.const` variables that a module may have.
const CONSTANT_ROOM: u64 = 64 << 10;

impl Module {
    /// Loads `text` for a device of the target `device`, such as 90.
    pub(super) fn load(text: &str, device: u32, memory: &mut Memory) -> Result<Self, PtxError> {
        let tree = ptx::parse(text)?;
        let mut module = Self::default();
        let loaded = module.fill(&tree, text, device, memory);
        if loaded.is_err() {
            module.unload(memory);
        }
        loaded.map(|()| module)
    }

    fn fill(
        &mut self,
        tree: &ptx::Module<'_>,
        text: &str,
        device: u32,
        memory: &mut Memory,
    ) -> Result<(), PtxError> {
        let text: Arc<str> = text.into();
        let mut symbols = Symbols::default();
        let stored = || {
            tree.variables
                .iter()
                .filter(|variable| matches!(variable.space, Space::Global | Space::Const))
        };
        let constant = stored().filter(|variable| variable.space == Space::Const);
        let constant = constant.fold(0, |end: u64, of| {
            end.next_multiple_of(u64::from(of.align.max(1))) + u64::from(of.bytes.unwrap_or(0))
        });
        if constant > CONSTANT_ROOM {
            let text =
                format!("{constant} bytes of constant memory, and the device has {CONSTANT_ROOM}");
            return Err(PtxError::invalid(1, text));
        }
        for variable in stored() {
            self.place(variable, &mut symbols, memory)?;
        }
        for variable in stored() {
            self.initialise(tree, variable, &mut symbols, memory)?;
        }
        let number = |text: &str| {
            text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
        };
        let (ptx_version, ptx_target) = (10 * tree.version.0 + tree.version.1, number(tree.target));
        let lowered = lower::lower(tree, &symbols, device)?;
        self.refused = lowered.refused;
        self.kernels = lowered
            .programs
            .into_iter()
            .map(|program| Kernel {
                claims: Arc::default(),
                listing: Arc::default(),
                text: Arc::clone(&text),
                program: Arc::new(program),
                opted_in: Arc::default(),
                registers: Arc::default(),
                machine: Arc::default(),
                ptx_version,
                ptx_target,
            })
            .collect();
        Ok(())
    }

    /// Gives a variable its place, unless no kernel can use it.
    fn place(
        &mut self,
        variable: &Variable<'_>,
        symbols: &mut Symbols,
        memory: &mut Memory,
    ) -> Result<(), PtxError> {
        let name = variable.name.to_owned();
        let Some(bytes) = variable.bytes.filter(|_| !variable.is_extern) else {
            symbols.unusable.insert(name, "it is defined in another module".to_owned());
            return Ok(());
        };
        if let Some(why) = variable.unusable {
            symbols.unusable.insert(name, why.to_owned());
            return Ok(());
        }
        let is_const = variable.space == Space::Const;
        let holds = Holds::Variable { name: name.clone(), is_const };
        let address = memory.allocate_for(u64::from(bytes.max(1)), holds).ok_or_else(|| {
            PtxError::unsupported(variable.line, format!("no memory for variable '{name}'"))
        })?;
        symbols.addresses.insert(name.clone(), address);
        if variable.is_managed {
            self.managed.push(name.clone());
        }
        self.variables.insert(name, (address, u64::from(bytes)));
        Ok(())
    }

    /// Writes a variable's initial values. One that has none that the emulator knows becomes
    /// unusable.
    fn initialise(
        &mut self,
        tree: &ptx::Module<'_>,
        variable: &Variable<'_>,
        symbols: &mut Symbols,
        memory: &mut Memory,
    ) -> Result<(), PtxError> {
        let name = variable.name;
        let Some(&address) = symbols.addresses.get(name) else { return Ok(()) };
        let size = variable.ty.bytes() as usize;
        let mut bytes = Vec::with_capacity(variable.init.len() * size);
        for value in &variable.init {
            match initial_bits(tree, value, size, symbols) {
                Ok(bits) => bytes.extend_from_slice(&bits.to_le_bytes()[..size]),
                Err(what) => {
                    let why = format!("its initial value '{what}' is not an address known here");
                    symbols.unusable.insert(name.to_owned(), why);
                    symbols.addresses.remove(name);
                    self.variables.remove(name);
                    // The place is known to be allocated.
                    let _ = memory.free(address);
                    return Ok(());
                }
            }
        }
        memory.write(address, &bytes).map_err(|_| {
            PtxError::invalid(variable.line, format!("too many initial values for '{name}'"))
        })
    }

    /// A kernel by name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name)
    }

    /// Why the kernel of this name does not run, if the module has it and the emulator does not
    /// support an instruction that it reaches.
    pub fn refusal(&self, name: &str) -> Option<&PtxError> {
        self.refused.iter().find(|kernel| kernel.name == name).map(|kernel| &kernel.why)
    }

    /// The kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Address and size of a variable.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.variables.get(name).copied()
    }

    /// Address and size of each variable that the host shares.
    pub fn managed(&self) -> impl Iterator<Item = (u64, u64)> {
        self.managed.iter().filter_map(|name| self.variable(name))
    }

    /// Frees the variables.
    pub fn unload(&self, memory: &mut Memory) {
        for (address, _) in self.variables.values() {
            // Unloading may meet an address that is already free.
            let _ = memory.free(*address);
        }
    }
}

/// The bits of an initial value of `size` bytes, or the name that has no address.
fn initial_bits<'a>(
    tree: &ptx::Module<'_>,
    value: &Init<'a>,
    size: usize,
    symbols: &Symbols,
) -> Result<u128, &'a str> {
    let (name, offset, byte) = match *value {
        Init::Bits(bits) => return Ok(u128::from(bits)),
        Init::Address(name, offset) if size == 8 => (name, offset, 0),
        Init::AddressByte(name, offset, byte) => (name, offset, byte),
        Init::Address(name, _) => return Err(name),
    };
    let function = || tree.function_index(name).map(function_address);
    let address = symbols.addresses.get(name).copied().or_else(function).ok_or(name)?;
    Ok(u128::from(address.wrapping_add_signed(offset) >> (8 * byte)))
}
