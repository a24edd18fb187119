//! How the fake ends a process where NVIDIA's library crashes or hangs.

/// Something that no correct client does, and that NVIDIA's library does not survive.
pub fn crash(what: &str) -> ! {
    eprintln!("fake CUPTI: {what}");
    std::process::abort()
}
