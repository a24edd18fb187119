use super::*;

#[test]
fn a_source_line_is_shown_verbatim_with_an_aligned_caret() {
    // As nvcc 13.0.88 wrote it.
    let log = "kernels/broken.cu(1): error: identifier \"undefined_name\" is undefined
  __attribute__((global)) void k(int *y) { y[threadIdx.x] = undefined_name; }
                                                            ^

1 error detected in the compilation of \"s/gpuprof-sources.cu\".";
    assert_eq!(
        as_written(log),
        "kernels/broken.cu(1): error: identifier \"undefined_name\" is undefined
  __global__ void k(int *y) { y[threadIdx.x] = undefined_name; }
                                               ^

1 error detected in the compilation of \"s/gpuprof-sources.cu\"."
    );
    let before = "  f(); __attribute__((device)) int x;\n  ^";
    assert_eq!(as_written(before), "  f(); __device__ int x;\n  ^");
}

#[test]
fn a_missing_host_compiler_is_distinguished_from_a_missing_header() {
    // As nvcc 13.0.88 wrote it.
    let log = "gcc: No such file or directory\n\
               nvcc fatal   : Failed to preprocess host compiler properties.\n";
    assert!(lacks_host_compiler(log));
    assert!(!lacks_host_compiler("k.cu:1:10: fatal error: a.h: No such file or directory"));
}

#[test]
fn names_are_the_values_of_the_variables() {
    let ptx = ".visible .entry plain(\n)\n{\nret;\n}\n\
               .global .align 8 .u64 gpuprof_0 = _Z5scaleILi1EfEvjT0_PKS0_PS0_;\n\
               .visible .global .align 8 .u64 gpuprof_12 = plain;\n\
               .global .align 8 .u64 gpuprof_2 = generic(_ZN7weights4tapsE);\n";
    let named = names(ptx, &[2, 0, 12]).unwrap();
    assert_eq!(named, ["_ZN7weights4tapsE", "_Z5scaleILi1EfEvjT0_PKS0_PS0_", "plain"]);
    assert_eq!(names(ptx, &[1]), None);
}

#[test]
fn dependency_files_with_spaces_are_parsed() {
    let rule = "s/out.ptx : s/gpuprof-sources.cu \\\n    /usr/include/stdc-predef.h \\\n    \
                /home/me/my\\ crate/a$$b.cuh \\\n    gpuprof-names\n";
    assert_eq!(
        files(rule),
        [
            "s/gpuprof-sources.cu",
            "/usr/include/stdc-predef.h",
            "/home/me/my crate/a$b.cuh",
            "gpuprof-names"
        ]
    );
    assert!(files("").is_empty());
}
