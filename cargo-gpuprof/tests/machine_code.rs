//! Reads back the output of ptxas and fatbinary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpuprof_build::cuda_cpp::Entry;
use gpuprof_build::machine_code::{MachineCode, read};

use crate::cupti::unpacked;

const NVCC: &str = "nvidia-cuda-nvcc==13.0.88";

const PTX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 weights[16];
.visible .global .align 4 .u32 calls;
.visible .func (.param .u32 out) helper(.param .u32 in)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [in];
    st.param.u32 [out], %r1;
    ret;
}
.visible .entry none() { ret; }
.visible .entry scale(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
.maxntid 256, 1, 1
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [y];
    ld.const.u32 %r1, [weights];
    st.global.u32 [%rd1], %r1;
    ld.global.u32 %r2, [calls];
    st.global.u32 [%rd1], %r2;
    ret;
}
.visible .entry tail(.param .align 8 .b8 s[24], .param .u8 c, .param .align 2 .b8 h[2])
.reqntid 32, 2, 1
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [s];
    st.global.u64 [%rd1], %rd1;
    ret;
}
";

const OF_CLUSTERS: &str = r"
.version 8.0
.target sm_90
.address_size 64
.visible .entry grouped(.param .u64 x)
.explicitcluster
.reqnctapercluster 2, 1, 1
{ ret; }
";

/// The folder with the tools of the pinned wheel.
struct Tools {
    folder: tempfile::TempDir,
}

impl Tools {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("k.ptx"), PTX).unwrap();
        fs::write(folder.path().join("clusters.ptx"), OF_CLUSTERS).unwrap();
        Self { folder }
    }

    fn call(&self, tool: &str, arguments: &[&str]) {
        let file = unpacked(NVCC).join("nvidia/cu13/bin").join(tool);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(file).args(arguments).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn cubin(&self, ptx: &str, arch: &str) -> PathBuf {
        let file = format!("{arch}.cubin");
        self.call("ptxas", &["-arch", arch, ptx, "-o", &file]);
        self.folder.path().join(file)
    }
}

fn code(file: &Path) -> MachineCode {
    read(&fs::read(file).unwrap()).unwrap()
}

/// `name(size, …)` with its bounds.
fn entry(entry: &Entry) -> String {
    let sizes: Vec<String> = entry.parameters.iter().map(|it| it.size.to_string()).collect();
    let bounds = [entry.max_block, entry.required_block, entry.required_cluster];
    format!("{}({}) {bounds:?}", entry.name, sizes.join(", "))
}

fn entries(code: &MachineCode) -> Vec<String> {
    let mut all: Vec<String> = code.entries.iter().map(entry).collect();
    all.sort();
    all
}

const EXPECTED: [&str; 3] = [
    "none() [None, None, None]",
    "scale(4, 4, 8, 8) [Some([256, 1, 1]), None, None]",
    "tail(24, 1, 2) [None, Some([32, 2, 1]), None]",
];

#[test]
fn a_cubin_has_its_target_entry_points_and_variables() {
    let tools = Tools::new();
    for arch in ["sm_80", "sm_90"] {
        let code = code(&tools.cubin("k.ptx", arch));
        assert_eq!((code.targets.as_slice(), code.ptx), (&[arch.to_owned()][..], false));
        assert_eq!(entries(&code), EXPECTED);
        let mut variables: Vec<(&str, u64, bool)> =
            code.variables.iter().map(|it| (it.name.as_str(), it.bytes, it.constant)).collect();
        variables.sort_unstable();
        assert_eq!(variables, [("calls", 4, false), ("weights", 16, true)]);
    }
    let code = code(&tools.cubin("clusters.ptx", "sm_90"));
    assert_eq!(entries(&code), ["grouped(8) [None, None, Some([2, 1, 1])]"]);
}

#[test]
fn a_fatbin_lists_every_member_whatever_its_compression() {
    let tools = Tools::new();
    tools.cubin("k.ptx", "sm_80");
    tools.cubin("k.ptx", "sm_90");
    let members = [
        "--image3=kind=elf,sm=80,file=sm_80.cubin",
        "--image3=kind=elf,sm=90,file=sm_90.cubin",
        "--image3=kind=ptx,sm=80,file=k.ptx",
    ];
    let with = |more: &[&str], members: &[&str]| {
        let _ = fs::remove_file(tools.folder.path().join("k.fatbin"));
        tools.call("fatbinary", &[&["--create", "k.fatbin", "-64"], more, members].concat());
        code(&tools.folder.path().join("k.fatbin"))
    };
    for mode in ["none", "size", "speed", "balance"] {
        let mode = format!("--compress-mode={mode}");
        for more in [&["--compress-all", &mode][..], &[&mode]] {
            let code = with(more, &members);
            assert_eq!(code.targets, ["sm_80", "sm_90"], "{more:?}");
            assert!(code.ptx, "{more:?}");
            let mut names = entries(&code);
            names.dedup();
            assert_eq!(names, EXPECTED, "{more:?}");
            let only_ptx = with(more, &members[2..]);
            assert_eq!((only_ptx.targets.len(), only_ptx.ptx), (0, true), "{more:?}");
            assert_eq!(entries(&only_ptx), EXPECTED, "{more:?}");
        }
    }
}

#[test]
fn unloadable_and_truncated_machine_code_is_refused() {
    let tools = Tools::new();
    tools.call("ptxas", &["-arch", "sm_80", "-c", "k.ptx", "-o", "unlinked.cubin"]);
    let unlinked = fs::read(tools.folder.path().join("unlinked.cubin")).unwrap();
    let told = read(&unlinked).unwrap_err();
    assert!(told.starts_with("it is relocatable device code"), "{told}");
    let whole = fs::read(tools.cubin("k.ptx", "sm_80")).unwrap();
    for length in [10, 100, whole.len() / 2, whole.len() - 1000] {
        assert!(read(&whole[..length]).is_err(), "{length}");
    }
}
