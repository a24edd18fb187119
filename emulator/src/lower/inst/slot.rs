//! Register slots, and how an instruction shows which of them it reads and writes.

/// A register slot. The high bit says that every warp has its own; the others are shared by the
/// block and constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(pub u16);

impl Slot {
    /// The bit that marks a slot of which every warp has its own.
    pub const PRIVATE: u16 = 0x8000;

    /// The most slots of either kind in a file.
    pub const MOST: usize = 0x7fff;

    /// A slot of the warp's own registers.
    pub fn private(index: usize) -> Self {
        Self(index as u16 | Self::PRIVATE)
    }

    /// The slot's index in a register file with a warp-private part that begins at `base`.
    #[inline(always)]
    pub fn index(self, base: usize) -> usize {
        let private = ((self.0 as i16) >> 15) as usize;
        usize::from(self.0 & 0x7fff) + (base & private)
    }
}

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum File {
    /// Predicates.
    Pred,
    /// Anything up to 32 bits.
    R32,
    /// 64 bits.
    R64,
}

impl File {
    /// The file of values of so many bytes; those of 16 take two registers.
    pub const fn of_bytes(bytes: u32) -> Self {
        match bytes {
            0 => Self::Pred,
            8 | 16 => Self::R64,
            _ => Self::R32,
        }
    }

    /// The file of 64-bit values, or of 32-bit ones.
    pub const fn by_width(wide: bool) -> Self {
        if wide { Self::R64 } else { Self::R32 }
    }
}

/// The use of a slot by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is a source.
    Read,
    /// It is a destination.
    Write,
}

/// A register: its file and its slot.
pub type Register = (File, Slot);

/// Is shown every register of an instruction and its role.
pub type Visitor<'a> = dyn FnMut(Role, Register) + 'a;

/// Shows sources, then results.
pub fn show<const SOURCES: usize, const RESULTS: usize>(
    see: &mut Visitor<'_>,
    sources: [Register; SOURCES],
    results: [Register; RESULTS],
) {
    sources.into_iter().for_each(|source| see(Role::Read, source));
    results.into_iter().for_each(|result| see(Role::Write, result));
}

/// Shows several registers of one file and role.
pub fn show_all(see: &mut Visitor<'_>, file: File, role: Role, slots: &[Slot]) {
    slots.iter().for_each(|&slot| see(role, (file, slot)));
}

/// Shows consecutive registers of 32 bits.
pub fn show_run(see: &mut Visitor<'_>, role: Role, first: Slot, count: u16) {
    (0..count).for_each(|next| see(role, (File::R32, Slot(first.0 + next))));
}
