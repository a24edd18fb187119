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

/// Is shown every slot of an instruction: its file, its role and the slot itself, which it may
/// change. A run of consecutive call-parameter registers is shown once, with its length.
pub type Visitor<'a> = dyn FnMut(File, Role, &mut Slot, u16) + 'a;

/// Shows sources, then results.
pub fn show<const SOURCES: usize, const RESULTS: usize>(
    see: &mut Visitor<'_>,
    sources: [(File, &mut Slot); SOURCES],
    results: [(File, &mut Slot); RESULTS],
) {
    for (file, slot) in sources {
        see(file, Role::Read, slot, 1);
    }
    for (file, slot) in results {
        see(file, Role::Write, slot, 1);
    }
}

/// Shows several slots of one file and role.
pub fn show_all(see: &mut Visitor<'_>, file: File, role: Role, slots: &mut [Slot]) {
    for slot in slots {
        see(file, role, slot, 1);
    }
}
