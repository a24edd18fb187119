//! Two and four words of shared memory at once.

/// The words from a shared address on.
///
/// # Safety
/// `at` is the shared address of two words, and a multiple of 8.
#[inline(always)]
pub(super) unsafe fn load2(at: u32) -> [u32; 2] {
    let (a, b): (u32, u32);
    // SAFETY: the caller vouches for the address. The read is not `pure`, so that it stays where it
    // is among barriers and writes.
    unsafe {
        core::arch::asm!(
            "ld.shared.v2.b32 {{{a}, {b}}}, [{at}];",
            at = in(reg32) at,
            a = out(reg32) a,
            b = out(reg32) b,
            options(readonly, nostack, preserves_flags),
        );
    }
    [a, b]
}

/// The words from a shared address on.
///
/// # Safety
/// `at` is the shared address of four words, and a multiple of 16.
#[inline(always)]
pub(super) unsafe fn load4(at: u32) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: as in `load2`.
    unsafe {
        core::arch::asm!(
            "ld.shared.v4.b32 {{{a}, {b}, {c}, {d}}}, [{at}];",
            at = in(reg32) at,
            a = out(reg32) a,
            b = out(reg32) b,
            c = out(reg32) c,
            d = out(reg32) d,
            options(readonly, nostack, preserves_flags),
        );
    }
    [a, b, c, d]
}

/// Sets the words from a shared address on.
///
/// # Safety
/// As for [`load2`].
#[inline(always)]
pub(super) unsafe fn store2(at: u32, [a, b]: [u32; 2]) {
    // SAFETY: the caller vouches for the address; the instruction writes nothing else.
    unsafe {
        core::arch::asm!(
            "st.shared.v2.b32 [{at}], {{{a}, {b}}};",
            at = in(reg32) at,
            a = in(reg32) a,
            b = in(reg32) b,
            options(nostack, preserves_flags),
        );
    }
}

/// Sets the words from a shared address on.
///
/// # Safety
/// As for [`load4`].
#[inline(always)]
pub(super) unsafe fn store4(at: u32, [a, b, c, d]: [u32; 4]) {
    // SAFETY: as in `store2`.
    unsafe {
        core::arch::asm!(
            "st.shared.v4.b32 [{at}], {{{a}, {b}, {c}, {d}}};",
            at = in(reg32) at,
            a = in(reg32) a,
            b = in(reg32) b,
            c = in(reg32) c,
            d = in(reg32) d,
            options(nostack, preserves_flags),
        );
    }
}
