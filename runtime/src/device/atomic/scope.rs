//! Which threads an atomic is atomic for, and which memory it is in.

mod sealed {
    pub trait Sealed {}
}

/// How far a scope reaches.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The block: PTX's `.cta`.
    Block,
    /// The GPU: PTX's `.gpu`.
    Device,
    /// All GPUs and the CPU: PTX's `.sys`.
    System,
}

/// The threads that see an atomic operation as one step: [`Block`], [`Device`] or [`System`].
///
/// Two threads may access the same element at the same time only if the scope of each includes the
/// other.
///
/// ```
/// use gpuprof::atomic::{Atomic, Ordering, Scope};
///
/// /// Takes a ticket, among whichever threads share the counter.
/// fn ticket<S: Scope>(counter: Atomic<u32, S>) -> u32 {
///     counter.fetch_add(1, Ordering::Relaxed)
/// }
/// ```
#[doc(alias = "thread_scope")]
pub trait Scope: Copy + sealed::Sealed {
    /// How far it reaches.
    #[doc(hidden)]
    const LEVEL: Level;
}

/// The threads of one block: CUDA's `…_block` functions, PTX's `.cta`.
///
/// ```
/// use gpuprof::atomic::{Atomic, Block, Ordering};
///
/// /// Adds to a counter that only this block uses.
/// unsafe fn count(counter: *mut u32) {
///     let counter = unsafe { Atomic::from_ptr(counter) }.with_scope::<Block>();
///     counter.fetch_add(1, Ordering::Relaxed);
/// }
/// ```
#[doc(alias(
    "thread_scope_block",
    "atomicAdd_block",
    "BlockAtomicU32",
    "BlockAtomicF32",
    "BlockAtomicU64",
    "BlockAtomicI32",
    "BlockAtomicI64",
    "BlockAtomicF64"
))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block;

/// All threads of the GPU, PTX's `.gpu`: the scope of CUDA's `atomicAdd` and similar functions.
///
/// ```
/// use gpuprof::atomic::{Atomic, Device, Ordering};
///
/// /// The same as `Atomic<u32>`.
/// fn increment(counter: Atomic<u32, Device>) {
///     counter.fetch_add(1, Ordering::Relaxed);
/// }
/// ```
#[doc(alias(
    "thread_scope_device",
    "DeviceAtomicU32",
    "DeviceAtomicF32",
    "DeviceAtomicU64",
    "DeviceAtomicI32",
    "DeviceAtomicI64",
    "DeviceAtomicF64"
))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device;

/// All threads of all GPUs and of the CPU: CUDA's `…_system` functions, PTX's `.sys`.
///
/// ```
/// use gpuprof::atomic::{Atomic, Ordering, System};
///
/// /// Signals a thread of the CPU, which polls `flag` in mapped memory.
/// unsafe fn tell(flag: *mut u32) {
///     unsafe { Atomic::from_ptr(flag) }.with_scope::<System>().store(1, Ordering::Release);
/// }
/// ```
#[doc(alias(
    "thread_scope_system",
    "atomicAdd_system",
    "SystemAtomicU32",
    "SystemAtomicF32",
    "SystemAtomicU64",
    "SystemAtomicI32",
    "SystemAtomicI64",
    "SystemAtomicF64"
))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System;

impl sealed::Sealed for Block {}
impl sealed::Sealed for Device {}
impl sealed::Sealed for System {}

impl Scope for Block {
    const LEVEL: Level = Level::Block;
}

impl Scope for Device {
    const LEVEL: Level = Level::Device;
}

impl Scope for System {
    const LEVEL: Level = Level::System;
}

/// The memory of an atomic's element: [`GlobalMemory`] or [`SharedMemory`].
///
/// ```
/// use gpuprof::atomic::{Atomic, Memory, Ordering, Scope};
///
/// /// Counts in global or in shared memory.
/// fn count<S: Scope, M: Memory>(counter: Atomic<u32, S, M>) {
///     counter.fetch_add(1, Ordering::Relaxed);
/// }
/// ```
pub trait Memory: Copy + sealed::Sealed {
    /// The address of an element.
    #[doc(hidden)]
    type Address: Copy;
    /// Which of the two addresses there is.
    #[doc(hidden)]
    const IS_SHARED: bool;
    /// The pointer, of global memory.
    #[doc(hidden)]
    fn global(address: Self::Address) -> *mut u8;
    /// The 32-bit address, of shared memory.
    #[doc(hidden)]
    fn shared(address: Self::Address) -> u32;
}

/// Global memory, to which kernel parameters point.
///
/// ```
/// use gpuprof::atomic::{Atomic, Device, GlobalMemory, Ordering};
///
/// /// The same as `Atomic<u32>`.
/// fn increment(counter: Atomic<u32, Device, GlobalMemory>) {
///     counter.fetch_add(1, Ordering::Relaxed);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalMemory;

/// The block's shared memory: what [`Shared::atomic`](crate::Shared::atomic) gives.
///
/// ```
/// use gpuprof::atomic::{Atomic, Block, Ordering, SharedMemory};
///
/// /// Counts in shared memory.
/// fn increment(counter: Atomic<u32, Block, SharedMemory>) {
///     counter.fetch_add(1, Ordering::Relaxed);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedMemory;

impl sealed::Sealed for GlobalMemory {}
impl sealed::Sealed for SharedMemory {}

impl Memory for GlobalMemory {
    type Address = *mut u8;
    const IS_SHARED: bool = false;

    #[inline(always)]
    fn global(address: *mut u8) -> *mut u8 {
        address
    }

    #[inline(always)]
    fn shared(_: *mut u8) -> u32 {
        0
    }
}

impl Memory for SharedMemory {
    type Address = u32;
    const IS_SHARED: bool = true;

    #[inline(always)]
    fn global(_: u32) -> *mut u8 {
        core::ptr::null_mut()
    }

    #[inline(always)]
    fn shared(address: u32) -> u32 {
        address
    }
}
