//! Memory operations and their addresses, spaces and elements.

use super::slot::{File, Role, Slot, Visitor, show, show_all};
use super::types::Scalar;

/// A state space as the machine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    /// Constant variables: global storage, but accesses are not counted as global.
    Const,
    Param,
}

/// The ordering effect of an access on other blocks of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GridOrder {
    /// `.acquire` at a scope beyond the block.
    pub acquires: bool,
    /// `.release` at a scope beyond the block.
    pub releases: bool,
}

impl GridOrder {
    /// That of an access with these dot-words.
    pub fn from_modifiers(order: Option<&str>, scope: Option<&str>) -> Self {
        let beyond_block = scope != Some("cta");
        let is = |word| beyond_block && (order == Some(word) || order == Some("acq_rel"));
        Self { acquires: is("acquire"), releases: is("release") }
    }
}

/// Whether other threads may access a place at the same time as a load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// They may not.
    Plain,
    /// A load whose value a compare-and-swap checks: they may update the place.
    Guess,
    /// `volatile`: threads of other warps may.
    Volatile,
    /// A `volatile` load that decides how its lane goes on: lanes of its warp may too.
    Look,
    /// `relaxed`, `acquire` or `release`: they may.
    Ordered,
}

/// The type of one element of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// 1, 2, 4 or 8 bytes in memory.
    pub bytes: u8,
    /// Sign-extended when loaded into a wider register.
    pub signed: bool,
    /// The register's file is the 64-bit one.
    pub wide: bool,
    /// 1, 2 or 4 elements.
    pub count: u8,
    /// Whether other threads may access the place at the same time.
    pub sharing: Sharing,
    /// The ordering effect on other blocks.
    pub order: GridOrder,
    /// `.nc`: no thread changes the place.
    pub read_only: bool,
}

impl Element {
    /// Whether it is `volatile` or ordered.
    pub fn is_strong(self) -> bool {
        matches!(self.sharing, Sharing::Volatile | Sharing::Look | Sharing::Ordered)
    }

    /// Whether it is `volatile`: it happens although nothing uses its value.
    pub fn is_volatile(self) -> bool {
        matches!(self.sharing, Sharing::Volatile | Sharing::Look)
    }

    /// Bytes that one lane moves.
    pub fn total(self) -> u32 {
        u32::from(self.bytes) * u32::from(self.count)
    }
}

/// The address of an access: `[base + offset]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The space that was written.
    pub space: Space,
    /// Whether `base` is a 64-bit slot.
    pub wide: bool,
    /// The base.
    pub base: Slot,
    /// Added to it.
    pub offset: i32,
}

/// Atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum AtomicOp {
    Add,
    /// `add.noftz.f16`, `add.noftz.bf16`
    AddHalf,
    /// `add.noftz.f16x2`, `add.noftz.bf16x2`
    AddPair,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
}

/// An atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    /// Where.
    pub address: Address,
    /// What.
    pub op: AtomicOp,
    /// The type of the memory cell.
    pub ty: Scalar,
    /// Whether anything reads the old value.
    pub result_used: bool,
    /// Whether the old value may influence the thread.
    pub informs: bool,
    /// Whether it orders earlier or later accesses.
    pub orders: bool,
    /// The ordering effect on other blocks.
    pub order: GridOrder,
    /// Receives the old value.
    pub d: Slot,
    /// The operand, or for compare-and-swap the value compared with.
    pub b: Slot,
    /// The new value of compare-and-swap.
    pub c: Slot,
}

/// An atomic access to several elements, or to 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicVector {
    /// Where.
    pub address: Address,
    /// What is done with each element; of compare-and-swap, with all of them.
    pub op: AtomicOp,
    /// The type of an element.
    pub ty: Scalar,
    /// 2 or 4 elements.
    pub count: u8,
    /// Whether the old values have a register.
    pub result_used: bool,
    /// Whether they may influence the thread.
    pub informs: bool,
    /// Whether it orders earlier or later accesses.
    pub orders: bool,
    /// The ordering effect on other blocks.
    pub order: GridOrder,
    /// Receives the old values.
    pub d: [Slot; 4],
    /// The operands, or for compare-and-swap the values compared with.
    pub b: [Slot; 4],
    /// The new values of compare-and-swap.
    pub c: [Slot; 4],
}

impl AtomicVector {
    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        let (file, count) = (File::by_width(self.ty.is_wide()), usize::from(self.count));
        self.address.slots(see);
        show_all(see, file, Role::Read, &self.b[..count]);
        show_all(see, file, Role::Read, &self.c[..count]);
        show_all(see, file, Role::Write, &self.d[..count]);
    }
}

impl Element {
    /// The file of the registers that hold the elements.
    fn file(self) -> File {
        File::by_width(self.wide)
    }

    /// Shows the registers that the elements of an access are taken from or put into.
    pub(super) fn slots(self, registers: &[Slot; 4], role: Role, see: &mut Visitor<'_>) {
        show_all(see, self.file(), role, &registers[..usize::from(self.count)]);
    }
}

impl Address {
    /// Shows the base.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        show(see, [(File::by_width(self.wide), self.base)], []);
    }
}

impl Atomic {
    /// Whether ptxas turns it into a reduction (`RED`): the address is written as global, nothing
    /// reads the old value, and the operation is not an exchange.
    pub fn is_reduction(&self) -> bool {
        let swaps = matches!(self.op, AtomicOp::Exchange | AtomicOp::CompareSwap);
        self.address.space == Space::Global && !self.result_used && !swaps
    }

    /// Shows every register.
    pub(super) fn slots(&self, see: &mut Visitor<'_>) {
        let file = File::by_width(self.ty.is_wide());
        self.address.slots(see);
        show(see, [(file, self.b), (file, self.c)], [(file, self.d)]);
    }
}
