use super::*;
use crate::cuda_cpp::program::Layout;

const MODULE: &str = r#"// Compiler Build ID: CL-1

.version 9.3
.target sm_90
.address_size 64

	// .globl	first
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
);
.global .align 4 .u32 counter;
.global .align 8 .u64 table[2] = {counter, helper};
.const .align 4 .b8 coef[64];
.shared .align 4 .b8 tile[1024];
.extern .shared .align 16 .b8 dynamic[];
.global .align 1 .b8 text[3] = {37, 59, 0}; // a ; and a } in a comment

.visible .entry first(
	.param .u64 first_param_0,
	.param .align 8 .b8 first_param_1[24],
	.param .u8 first_param_2
)
.maxntid 256, 2, 1
.minnctapersm 2
{
	.reg .b32 	%r<2>;
	.loc	1 4 0
	{ // scope
	mov.u64 %rd1, table;
	}
	mov.u32 %r1, tile;
	ret;
}
.weak .entry second()
.reqntid 32
{
	.shared .align 4 .f32 mine[8];
	mov.u32 %r1, dynamic;
	ret;
}
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	ret;
}
	.file	1 "/home/me/crate/kernels/a.cu"
	.file	2 "/other/x.h", 5, 6
"#;

#[test]
fn a_module_is_cut_to_what_an_entry_references() {
    let cut_to = |names: &[&str]| cut(MODULE, &names.iter().copied().collect());
    assert_eq!(items::items(MODULE).iter().map(|it| it.text).collect::<String>(), MODULE);
    let first = cut_to(&["first"]);
    for kept in ["entry first", "counter;", "table[2]", "helper(", "tile[1024]", ".file\t2"] {
        assert!(first.contains(kept), "{kept}: {first}");
    }
    assert_eq!(first.matches(") helper(").count(), 2, "declared and defined: {first}");
    for gone in ["second", "coef", "text[3]", "vprintf", "dynamic"] {
        assert!(!first.contains(gone), "{gone}: {first}");
    }
    assert!(first.starts_with("// Compiler Build ID: CL-1\n\n.version 9.3\n.target sm_90"));
    let variable = cut_to(&["coef"]);
    assert!(variable.contains("coef[64];") && !variable.contains("entry"), "{variable}");
    let all = ["first", "second", "helper", "counter", "table", "coef", "tile", "dynamic", "text"];
    let all: Vec<&str> = all.into_iter().chain(["vprintf"]).collect();
    assert_eq!(cut_to(&all), MODULE);
}

#[test]
fn comments_and_file_names_are_not_parsed_as_code() {
    let kept = ".visible .entry first() { /* } ; \" // */ ret; }";
    let head = "/* ü { */\n.version 9.3\n.file 1 \"/home/jürgen/a.cu\"\n";
    let ptx = format!(
        "{head}/* .visible .entry no() {{}} */\n{kept}\n\
         .visible .entry second() /* {{ */ {{ ret; }}\n"
    );
    assert_eq!(entries(&ptx), ["first", "second"]);
    let cut = cut(&ptx, &BTreeSet::from(["first"]));
    assert!(cut.starts_with(head) && cut.contains(kept), "{cut}");
    assert!(!cut.contains("second"), "{cut}");
}

#[test]
fn an_entry_has_its_parameters_bounds_and_shared_memory() {
    let first = entry(MODULE, "first").unwrap();
    let layout = |size, align| Layout { size, align };
    assert_eq!(first.parameters, [layout(8, 8), layout(24, 8), layout(1, 1)]);
    assert_eq!((first.max_block, first.required_block), (Some([256, 2, 1]), None));
    assert_eq!(first.min_blocks_per_multiprocessor, Some(2));
    assert_eq!((first.static_shared, first.dynamic_shared), (1024, false));
    let second = entry(MODULE, "second").unwrap();
    assert_eq!(second.parameters, []);
    assert_eq!(second.required_block, Some([32, 1, 1]));
    assert_eq!((second.static_shared, second.dynamic_shared), (32, true));
    assert_eq!(entry(MODULE, "helper"), None);
}

#[test]
fn variables_have_their_size_space_and_initial_value() {
    let of = |name: &str| variables(MODULE).into_iter().find(|it| it.name == name).unwrap();
    let told = |it: Variable| (it.bytes, it.constant, it.has_value);
    assert_eq!(told(of("coef")), (64, true, false));
    assert_eq!(told(of("counter")), (4, false, false));
    assert_eq!(told(of("table")), (16, false, true));
    assert_eq!(told(of("text")), (3, false, true));
    assert!(variables(MODULE).iter().all(|it| it.name != "tile"), "shared memory is none");
}

#[test]
fn uninitialised_constants_are_found_through_called_functions() {
    let module = "
.const .align 4 .b8 read[8];
.const .align 4 .b8 given[8] = {1};
.const .align 4 .b8 other[8];
.func helper() { ld.const.u32 %r1, [read]; ld.const.u32 %r1, [given]; ret; }
.entry first() { call helper; ret; } // other
.entry second() { ret; }
";
    assert_eq!(constants_without_value(module, "first"), ["read"]);
    assert_eq!(constants_without_value(module, "second"), [""; 0]);
}

#[test]
fn every_entry_has_its_sizes_and_blocks() {
    let text = "
.version 8.0
.target sm_80
.address_size 64
// .visible .entry no(.param .u32 a) /* never closed
/* .visible .entry neither(.param .u32 a) */
.visible .entry _Z4scanjPKfPf(
\t.param .u32 _Z4scanjPKfPf_param_0,
\t.param .u64 .ptr .align 1 _Z4scanjPKfPf_param_1,
\t.param .align 8 .b8 _Z4scanjPKfPf_param_2[24]
)
.maxntid 256, 2, 1
.minnctapersm 2
{
\tret;
}
.visible .entry plain() { ret; }
.weak .entry fixed() .maxntid 128, 1, 1 .reqntid 128 { ret; }
";
    let all = every_entry(text);
    let names: Vec<&str> = all.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["_Z4scanjPKfPf", "plain", "fixed"]);
    let sizes: Vec<u64> = all[0].parameters.iter().map(|layout| layout.size).collect();
    assert_eq!(sizes, [4, 8, 24]);
    assert_eq!((all[0].max_block, all[0].required_block), (Some([256, 2, 1]), None));
    assert_eq!((all[1].parameters.len(), all[1].max_block), (0, None));
    assert_eq!(all[2].max_block, Some([128, 1, 1]));
    assert_eq!(all[2].required_block, Some([128, 1, 1]));
}

#[test]
fn an_entry_that_is_declared_and_defined_is_listed_once_with_its_bounds() {
    let ptx = ".version 9.0\n.target sm_90\n.visible .entry k\n(\n\t.param .u64 k_param_0\n)\n;\n\
               .global .align 8 .u64 gpuprof_0 = k;\n\
               .visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 256, 1, 1\n{\n\tret;\n}\n";
    let all = every_entry(ptx);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].max_block, Some([256, 1, 1]));
    assert_eq!(entries(ptx), ["k"]);
    let cut = cut(ptx, &BTreeSet::from(["k"]));
    assert!(!cut.contains("gpuprof_0") && cut.contains(".maxntid"), "{cut}");
}
