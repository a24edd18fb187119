//! The static CUDA runtime: each of its functions jumps to that of the shared one, which is opened
//! before the constructors of the program, in which nvcc's code registers kernels.
//!
//! Input, at compile time: `CUDART_FUNCTIONS`, a file with a line `forward NAME` for each function,
//! and `CUDART_LIBRARY`, the name of the shared runtime. Linked into a program of Rust, it adds
//! nothing but the runtime's names, since it has no library of Rust.

#![no_std]

use core::arch::global_asm;
use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    /// The first function and the end of all, which the assembly below makes.
    static mut cudart_static_first: Function;
    static mut cudart_static_end: Function;
}

/// `RTLD_NOW`.
const NOW: c_int = 2;

/// `cudaErrorInsufficientDriver`, as NVIDIA's static runtime returns it without a driver.
const INSUFFICIENT_DRIVER: usize = 35;

/// A function's address in the shared runtime, or that of [`error`] or [`text`], and its name.
#[repr(C)]
struct Function {
    address: *const c_void,
    name: *const c_char,
}

/// Takes the place of functions while the shared runtime is missing.
extern "C" fn error() -> usize {
    INSUFFICIENT_DRIVER
}

/// Takes the place of functions that return text.
extern "C" fn text() -> *const c_char {
    c"the CUDA runtime was not found".as_ptr()
}

/// Finds the functions of the shared runtime.
extern "C" fn find() {
    // SAFETY: the names end with a NUL. The functions lie between the two symbols, and constructors
    // run one after the other, before any function is called.
    unsafe {
        let library = dlopen(concat!(env!("CUDART_LIBRARY"), "\0").as_ptr().cast(), NOW);
        let (mut function, end) = (&raw mut cudart_static_first, &raw mut cudart_static_end);
        while !library.is_null() && function != end {
            let found = dlsym(library, (*function).name);
            if !found.is_null() {
                (*function).address = found;
            }
            function = function.add(1);
        }
    }
}

/// Before the constructors without a priority.
#[used]
#[unsafe(link_section = ".init_array.00101")]
static FIND: extern "C" fn() = find;

#[cfg(target_arch = "x86_64")]
global_asm!(".macro jump_to place", "jmp *\\place(%rip)", ".endm", options(att_syntax));

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".macro jump_to place",
    "adrp x16, \\place",
    "ldr x16, [x16, :lo12:\\place]",
    "br x16",
    ".endm",
);

global_asm!(
    ".macro forward name",
    ".pushsection .text.cudart_static, \"ax\", %progbits",
    ".globl \\name",
    ".type \\name, %function",
    "\\name: jump_to .Lplace_\\name",
    ".size \\name, . - \\name",
    ".section .rodata.cudart_static, \"a\", %progbits",
    ".Lname_\\name: .asciz \"\\name\"",
    ".section .data.cudart_static, \"aw\", %progbits",
    ".Lplace_\\name:",
    ".ifc \\name, cudaGetErrorName",
    ".quad {text}",
    ".else",
    ".ifc \\name, cudaGetErrorString",
    ".quad {text}",
    ".else",
    ".quad {error}",
    ".endif",
    ".endif",
    ".quad .Lname_\\name",
    ".popsection",
    ".endm",
    ".pushsection .data.cudart_static, \"aw\", %progbits",
    ".balign 8",
    "cudart_static_first:",
    ".popsection",
    include_str!(env!("CUDART_FUNCTIONS")),
    ".pushsection .data.cudart_static, \"aw\", %progbits",
    "cudart_static_end:",
    ".popsection",
    error = sym error,
    text = sym text,
    options(att_syntax),
);
