//! Declarations that do not fit, at the parameter; instances that do not compile, alone.

use super::Package;

const KERNELS: &str = r#"#include <cuda_fp16.h>
#define N 5
enum Kind : unsigned char { First };
template <int M> __global__ void fill(float* x) {
    static_assert(M < 4, "at most 3");
    x[threadIdx.x] = M + N;
}
template <class T> __device__ float half_of(T value) { return value.half; }
template <class T> __global__ void halved(T* x) { x[0] = half_of(x[0]); }
extern "C" __global__ void plain(const float* __restrict__ x, unsigned n, __half h, long q,
                                 float4 f, Kind k, char c, bool b) {}
__global__ void twice(float* x) {}
__global__ void twice(int* x) {}
"#;

fn package() -> Package {
    Package::new(&[
        ("kernels/k.cu", KERNELS),
        ("src/lib.rs", &(1..20).map(|n| format!("    // line {n}\n")).collect::<String>()),
    ])
}

const FLOATS: (&str, &str) = ("float*", "*mut f32");

const PLAIN: [(&str, &str); 8] = [
    ("const float*", "*const f32"),
    ("unsigned int", "u32"),
    ("__half", "f16"),
    ("long long", "i64"),
    ("float4", "Float4"),
    ("unsigned char", "u8"),
    ("signed char", "i8"),
    ("bool", "bool"),
];

#[test]
fn a_declaration_with_other_type_names_is_accepted() {
    package().kernel("plain", &PLAIN).compiled();
    let mut anything = PLAIN;
    anything[0] = ("const void*", "*const c_void");
    package().kernel("plain", &anything).compiled();
}

/// A kernel's `void *` may be declared as a pointer to anything, as in C.
#[test]
fn void_pointers_match_every_pointer_and_const_is_checked() {
    let source = "#include <cuda_fp16.h>\n\
                  __global__ void bytes(const void* from, void* to) {}\n\
                  __global__ void halves(const __half* from, volatile unsigned* flag) {}\n";
    let of = |kernel: &str, parameters: &[(&str, &str)]| {
        Package::new(&[("k.cu", source)]).kernel(kernel, parameters)
    };
    let halves = ("const __half*", "*const f16");
    of("bytes", &[halves, ("float4*", "*mut f32x4")]).compiled();
    of("halves", &[halves, ("unsigned int*", "*mut u32")]).compiled();
    let said = |kernel: &str, parameters: &[(&str, &str)]| of(kernel, parameters).said_of(kernel);
    insta::assert_snapshot!(said("bytes", &[("unsigned char*", "*mut u8"), halves]));
    let writable = ("__half*", "*mut f16");
    insta::assert_snapshot!(said("halves", &[writable, ("unsigned int*", "*mut u32")]));
}

#[test]
fn a_mismatched_parameter_is_reported_at_its_rust_position() {
    let mut signed = PLAIN;
    signed[1] = ("int", "i32");
    insta::assert_snapshot!(package().kernel("plain", &signed).said_of("plain"));
    let constant = package().kernel("fill<1>", &[("const float*", "*const f32")]);
    insta::assert_snapshot!(constant.said_of("fill<1>"));
    insta::assert_snapshot!(package().kernel("fill<1>", &[]).said_of("fill<1>"));
    let unknown = package().kernel("fill<1>", &[("Unknown*", "*mut Unknown")]);
    insta::assert_snapshot!(unknown.said_of("fill<1>"));
}

#[test]
fn a_struct_is_compared_by_its_size() {
    let source = "struct Pair { int a; double b; };\n__global__ void k(Pair p) {}\n";
    let mut package = Package::new(&[("k.cu", source)]).kernel("k", &[("Pair", "Pair")]);
    let layout = |size| Some(gpuprof_build::cuda_cpp::Layout { size, align: 8 });
    package.program.kernels[0].parameters[0].layout = layout(16);
    package.compiled();
    package.program.kernels[0].parameters[0].layout = layout(12);
    insta::assert_snapshot!(package.said_of("k"));
}

/// The compiler takes the arguments of such a template for an expression, and says only that.
#[test]
fn a_misspelt_template_is_reported_with_the_existing_one() {
    for (name, meant) in [("fil<3>", "fill"), ("havled<float>", "halved")] {
        let compiled = package().kernel("plain", &PLAIN).kernel(name, &[FLOATS]).compile().unwrap();
        let said = super::render(compiled.entries[name].as_ref().unwrap_err());
        let expected = format!("error: `{name}` names no kernel");
        assert!(said.starts_with(&expected) && said.contains(&format!("`{meant}`")), "{said}");
        assert!(!said.contains("not allowed") && !said.contains("an expression"), "{said}");
    }
}

#[test]
fn an_instance_that_does_not_compile_does_not_affect_others() {
    let package = package()
        .kernel("fill<2>", &[FLOATS])
        .kernel("fill<7>", &[FLOATS])
        .kernel("halved<float>", &[FLOATS])
        .kernel("nothing", &[])
        .kernel("fill", &[FLOATS])
        .kernel("twice", &[FLOATS])
        .kernel("static_cast<void (*)(float*)>(twice)", &[FLOATS])
        .kernel("half_of<float>", &[FLOATS])
        .kernel("fill<3>", &[("int*", "*mut i32")]);
    let compiled = package.compile().unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = compiled.entries.iter().partition(|(_, it)| it.is_ok());
    let good: Vec<&str> = good.into_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(good, ["fill<2>", "static_cast<void (*)(float*)>(twice)"]);
    let said = bad
        .into_iter()
        .map(|(name, said)| format!("## {name}\n{}", super::render(said.as_ref().unwrap_err())));
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn code_for_a_later_architecture_is_refused_with_the_option() {
    let source = "__global__ void ranked(float* x) { x[0] = __clusterRelativeBlockRank(); }\n";
    let told = |source: &str| {
        let mut package = Package::new(&[("k.cu", source)]).kernel("ranked", &[FLOATS]);
        package.program.architecture = super::Architecture { compute: 80 };
        package.compile().unwrap_err().to_string()
    };
    let remedy = "it compiles for compute_90: add `--kernel-arch sm_90`";
    assert!(told(source).contains(remedy), "{}", told(source));
    let misspelt = told("__global__ void ranked(float* x) { x[0] = __clusterRank(); }\n");
    assert!(!misspelt.contains("--kernel-arch"), "{misspelt}");
}

#[test]
fn a_kernel_in_a_namespace_is_suggested_by_its_full_name() {
    let header = "namespace my { template <int M> __global__ void sc(float* x) { x[0] = M; } }\n";
    let files = [("k.cu", "#include \"k.cuh\"\n"), ("k.cuh", header)];
    let compiled = Package::new(&files).kernel("sc<3>", &[FLOATS]).compile().unwrap();
    let said = super::render(compiled.entries["sc<3>"].as_ref().unwrap_err());
    assert!(said.contains("`my::sc` is there: write symbol = \"my::sc<3>\""), "{said}");
}

/// The error's trace names no declared instance: the source itself makes this one.
#[test]
fn an_error_in_an_explicit_instantiation_is_reported_in_the_source() {
    let source = "template <int M> __global__ void fill(float* x) { static_assert(M < 4); }\n\
                  template __global__ void fill<9>(float*);\n";
    let package = Package::new(&[("k.cu", source)]).kernel("fill<9>", &[FLOATS]);
    let error = package.compile().unwrap_err().to_string();
    assert!(error.contains("static assertion failed") && error.contains("k.cu:1:51"), "{error}");
}
