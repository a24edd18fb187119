//! Every kind of message that NVRTC has, provoked, and as it is shown.

use std::fmt::Write;

use super::Package;

/// The cause of each message: a name, the body of `kernels/bad.cu`.
const ERRORS: [(&str, &str); 20] = [
    ("identifier", "__global__ void k(float* x) {\n\tx[0] = undefined_here;\n}\n"),
    ("semicolon", "__global__ void k(float* x) {\n    x[0] = 1\n}\n"),
    ("pointer", "__global__ void k(float* x) { int* y = x; y[0] = 1; }\n"),
    (
        "arguments",
        "__device__ int one(int a) { return a; }\n__global__ void k(int* x) { x[0] = one(1, 2); }\n",
    ),
    ("constant", "__global__ void k(const float* x) { x[0] = 1; }\n"),
    ("kernel that returns", "__global__ int k(float* x) { return 1; }\n"),
    ("defined twice", "__global__ void k(float* x) {}\n__global__ void k(float* x) {}\n"),
    ("assertion", "static_assert(sizeof(int) == 8, \"ints are long\");\n__global__ void k() {}\n"),
    ("error directive", "#error \"not for this compiler\"\n__global__ void k() {}\n"),
    ("header of the user's", "#include \"missing.cuh\"\n__global__ void k() {}\n"),
    ("header of CUDA's", "#include <curand_kernel.h>\n__global__ void k() {}\n"),
    ("error in a header", "#include \"broken.cuh\"\n__global__ void k() {}\n"),
    (
        "member in a template",
        "template <class T> __device__ int size_of(T x) { return x.size; }\n\
         template <class T> __global__ void all(T* x) { x[0] = size_of(x[0]); }\n\
         template __global__ void all<float>(float*);\n",
    ),
    (
        "launch with too much",
        "__global__ void k(int* x) {}\nvoid host(int* x) { k<<<1, 1>>>(x, 2); }\n",
    ),
    ("library function", "__global__ void k(char* x) { x[0] = *getenv(\"HOME\"); }\n"),
    ("container", "#include <vector>\nstd::vector<int> all;\n__global__ void k() {}\n"),
    ("exception", "__global__ void k(int* x) { if (x[0]) throw 1; }\n"),
    ("end of the file", "__global__ void k(int* x) { if (x[0]) {\n"),
    ("preprocessor", "#if 1\n__global__ void k() {}\n"),
    ("redefined", "struct A { int a; };\nstruct A { int b; };\n__global__ void k() {}\n"),
];

/// What is only warned of, with the number of the message.
const WARNINGS: [(&str, &str, u32); 6] = [
    ("unused", "extern \"C\" __global__ void k(int* x) { int unused; x[0] = 1; }\n", 177),
    ("too large", "extern \"C\" __global__ void k(int* x) { x[0] = 1 << 40; }\n", 63),
    ("division", "extern \"C\" __global__ void k(int* x) { x[0] = x[1] / 0; }\n", 39),
    ("not set", "extern \"C\" __global__ void k(int* x) { int a; x[0] = a; }\n", 549),
    (
        "no return",
        "__device__ int f(int a) { if (a) return 1; }\n\
         extern \"C\" __global__ void k(int* x) { x[0] = f(x[1]); }\n",
        940,
    ),
    (
        "directive",
        "#warning \"be warned\"\nextern \"C\" __global__ void k(int* x) { x[0] = 1; }\n",
        1105,
    ),
];

#[test]
fn errors_are_shown_as_cargo_shows_those_of_rustc() {
    let mut all = String::new();
    for (name, source) in ERRORS {
        let files = [("kernels/bad.cu", source), ("kernels/broken.cuh", "\n  int broken = ;\n")];
        let error = Package::new(&files).kernel("k", &[]).compile();
        let Err(error) = error else { panic!("{name} compiles") };
        let _ = writeln!(all, "## {name}\n{error}\n");
    }
    assert!(!all.contains("/tmp/.tmp"), "paths start at the package: {all}");
    insta::assert_snapshot!(all);
}

#[test]
fn warnings_come_with_what_compiled() {
    let mut all = String::new();
    for (name, source, number) in WARNINGS {
        let package =
            Package::new(&[("kernels/odd.cu", source)]).kernel("k", &[("int*", "*mut i32")]);
        let compiled = package.compiled();
        let numbers: Vec<_> = compiled.warnings.iter().filter_map(|it| it.number).collect();
        assert_eq!(numbers, [number], "{name}: {}", super::render(&compiled.warnings));
        let _ = writeln!(all, "## {name}\n{}\n", super::render(&compiled.warnings));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn unknown_options_and_architectures_are_reported() {
    let package =
        || Package::new(&[("k.cu", "extern \"C\" __global__ void k() {}\n")]).kernel("k", &[]);
    let mut with_option = package();
    with_option.program.options.push("--expt-relaxed-constexpr".into());
    insta::assert_snapshot!("option", with_option.compile().unwrap_err());
    let mut for_another = package();
    for_another.program.architecture.compute = 35;
    insta::assert_snapshot!("architecture", for_another.compile().unwrap_err());
    let mut without_source = package();
    without_source.program.sources.push("absent.cu".into());
    let error = without_source.compile().unwrap_err().to_string();
    assert!(error.contains("package/absent.cu: No such file or directory"), "{error}");
}
