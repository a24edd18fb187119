//! The place of a fault: the user's line, the library's line that it called, and its callers.

use crate::common::Bench;

/// Made from `fixtures/places.cu`.
const NESTED: &str = include_str!("fixtures/places.ptx");

/// The place of a fault, as its message has it.
fn place(message: &str) -> &str {
    let place = message.split_once("' ").expect("a kernel").1;
    place.split_once(", block ").expect("a block").0
}

#[test]
fn a_function_that_is_inlined_twice_names_the_call_that_failed() {
    for (first, second, expected) in [
        (-100, 0, "at places.cu:3:5, called at places.cu:7:5 and at places.cu:12:5"),
        (0, -100, "at places.cu:3:5, called at places.cu:7:5 and at places.cu:14:5"),
        (28, 0, "at places.cu:3:5, called at places.cu:8:5 and at places.cu:12:5"),
        (0, 28, "at places.cu:3:5, called at places.cu:8:5 and at places.cu:14:5"),
    ] {
        let mut bench = Bench::new(NESTED);
        let out = bench.upload(&[0i32; 128]);
        let fault = bench.fault("nested", 1, 1, &[&out, &first, &second]);
        assert_eq!(place(&fault), expected);
    }
}

/// A store through a null pointer after `locs`.
fn fault_behind(locs: &str) -> String {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .visible .entry k() {{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 0;\n{locs}\n\
         st.global.b32 [%rd1], 0;\nret;\n}}\n\
         .file 1 \"./src/lib.rs\"\n.file 2 \"/usr/local/cuda-13.0/include/cub/block.cuh\"\n\
         .file 3 \"/library/tiles-0.1.0/src/shared.rs\"\n.file 4 \"/rustc/1/library/core/src/a.rs\"\n\
         .section .debug_str {{\n$n:\n.b8 102,0\n}}\n"
    );
    place(&Bench::new(&text).fault("k", 1, 1, &[])).to_owned()
}

#[test]
fn a_fault_in_a_library_names_the_line_that_called_it() {
    for (file, inner) in [
        (2, "/usr/local/cuda-13.0/include/cub/block.cuh"),
        (3, "tiles-0.1.0/src/shared.rs"),
        (4, "core/src/a.rs"),
    ] {
        let locs = format!(
            ".loc 1 30 5\n.loc 1 12 9, function_name $n, inlined_at 1 30 5\n\
             .loc {file} 70 3, function_name $n, inlined_at 1 12 9\n\
             .loc {file} 7 0, function_name $n, inlined_at {file} 70 3"
        );
        let expected = format!("at src/lib.rs:12:9 (in {inner}:7), called at src/lib.rs:30:5");
        assert_eq!(fault_behind(&locs), expected);
    }
}

#[test]
fn without_a_call_site_the_preceding_line_is_named_as_near() {
    let inlined = ".loc 1 30 5\nadd.u64 %rd1, %rd1, 0;\n.loc 3 7 5";
    assert_eq!(fault_behind(inlined), "near src/lib.rs:30:5 (in tiles-0.1.0/src/shared.rs:7:5)");
    let compiler_made = ".loc 1 30 5\nadd.u64 %rd1, %rd1, 0;\n.loc 1 0 5";
    assert_eq!(fault_behind(compiler_made), "near src/lib.rs:30:5");
    assert_eq!(fault_behind(".loc 3 7 5"), "at tiles-0.1.0/src/shared.rs:7:5");
    assert_eq!(fault_behind(""), "at PTX line 8");
}
