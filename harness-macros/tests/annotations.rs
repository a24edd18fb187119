//! The attributes as a user meets them: what compiles, and what the compiler says where it does
//! not.

/// `tests/ui` holds annotations with mistakes and the messages they get; `tests/pass` annotations
/// that compile, each of which checks what it registered when it runs. Messages are rustc's of the
/// workspace's `rust-version`: `TRYBUILD=overwrite` writes them anew.
#[test]
fn annotations() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/pass/*.rs");
}
