//! The expansion conflicts with no name in the user's code and needs no import there.

#![no_implicit_prelude]
#![deny(missing_docs, unused, unsafe_op_in_unsafe_fn)]

extern crate gpuprof as renamed;

/// Names that the expansion has inside, as axes and as functions.
pub mod names {
    /// A function called like a generator.
    pub fn random() -> u32 {
        4
    }

    /// Axes called like the expansion's variables.
    #[::renamed::kernel(
        series(k = 1..=4, h = 2, p0 = 3, run = 4, gp = 5, ENTRY = 6, block = 8x8, 16x16),
        grid = (k + h, p0 + run, gp + ENTRY),
        args(block.x * block.y, random(k)),
        verify = self::check,
        crate = ::renamed,
    )]
    pub unsafe fn r#loop(n: u32, x: *mut u8) {
        let _ = (n, x);
    }

    /// A table in constant memory.
    #[::renamed::constant(crate = ::renamed)]
    pub static TABLE: [u8; 2] = [1, 2];

    /// The same for what is made of closures.
    #[::renamed::kernel(
        series(checks = 1..=2, p0 = 2, h = 3, block = 32),
        grid = p0,
        args(zeros(checks), zeros(checks)),
        verify = |x, y| reference(checks + h, x, y),
        compare(y = |device, host| compare(checks, device, host)),
        tolerance(x = absolute(p0)),
        crate = ::renamed,
    )]
    pub unsafe fn closures(x: *mut f32, y: *mut u8) {
        let _ = (x, y);
    }

    fn reference(sum: u64, x: &mut [f32], y: &mut [u8]) {
        x[0] = sum as f32;
        y[0] = sum as u8;
    }

    #[::renamed::host]
    fn compare(_: u64, device: &[u8], host: &[u8]) -> ::std::result::Result<(), &'static str> {
        if device == host { ::std::result::Result::Ok(()) } else { ::std::result::Result::Err("x") }
    }

    fn check(_: u32, x: &mut [u8]) {
        x[0] = self::random() as u8;
    }
}

/// A series function in its own module.
#[::renamed::series(n = [1 << 20], name = "empty", crate = ::renamed)]
pub fn series(run: &mut ::gpuprof::Run<'_>) -> ::gpuprof::Result<()> {
    run.measure(|_| -> ::gpuprof::Result<()> { ::std::result::Result::Ok(()) })
}

fn main() {
    ::std::assert_eq!((names::random(), names::TABLE.read(1)), (4, 2));
    let mut names: ::std::vec::Vec<&str> =
        ::std::iter::Iterator::collect(::std::iter::Iterator::map(
            renamed::__private::SERIES.iter(),
            |entry| entry.kernel,
        ));
    names.sort_unstable();
    ::std::assert_eq!(names, ["closures", "empty", "loop"]);
}
