//! A user's repository with a history: kernels that get slower, vanish and appear.
//!
//! The package is in a workspace that is a folder of the repository, and depends on one next to the
//! repository. Common builds of all revisions go to the shared folder.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::support::workspace::{outside, write};
use crate::support::{Outcome, Tool, Workspace, repository_folder};

/// A kernel that doubles the elements at an index.
const KERNEL: &str = "
#[gpuprof::kernel(
    series(block = [64, 128], n = [1K]),
    grid = n.div_ceil(block),
    args(n, random(8 * n)),
    metrics(duration, load_sectors_per_request),
    THRESHOLD
)]
pub unsafe fn NAME(n: u32, data: *mut f32) {
    let i = thread::global_x();
    if i < n {
        // SAFETY: the buffer holds 8 n elements, and no two threads have one in common.
        unsafe { *data.add((INDEX) as usize) *= 2.0 };
    }
}
";

/// A series of the user, with a kernel in PTX.
const SERIES: &str = r#"
#[cfg(not(target_arch = "nvptx64"))]
#[gpuprof::series(block = [32, 64], metrics(duration, load_sectors_per_request))]
fn copy(run: &mut gpuprof::prelude::Run<'_>) -> gpuprof::Result<()> {
    use gpuprof::cudarc::driver::PushKernelArg;
    let module = gpuprof::cudarc::nvrtc::Ptx::from_src(PTX);
    let kernel = run.context().load_module(module)?.load_function("copy")?;
    let stream = run.stream();
    let data = stream.alloc_zeros::<f32>(64)?;
    run.grid(1)?;
    run.measure(|launch| unsafe {
        stream.launch_builder(&kernel).arg(&data).launch(launch.config())
    })
}

#[cfg(not(target_arch = "nvptx64"))]
const PTX: &str = ".version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 a)
{
.reg .b64 %rd<4>;
.reg .b32 %r<2>;
.reg .f32 %f<2>;
ld.param.u64 %rd1, [a];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
st.global.f32 [%rd3], %f1;
ret;
}
";
"#;

const MANIFEST: &str = "[package]
name = \"shop\"
version = \"0.1.0\"
edition = \"2024\"
[lib]
bench = false
[[bench]]
name = \"kernels\"
harness = false
[dependencies]
gpuprof = { path = RUNTIME }
[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]
neighbour = { path = \"../../../neighbour\" }
";

/// The library at a revision: its kernels by name and index. The build must read the revision's own
/// configuration of cargo.
fn library(revision: &str, kernels: &[(&str, &str)]) -> String {
    // A limit that only the first revision has, and that applies to no device.
    let threshold = match revision {
        Commits::GOOD => r#"threshold("on \"Nowhere\" every duration <= 1 s"),"#,
        _ => "",
    };
    let kernel = KERNEL.replace("    THRESHOLD\n", &format!("    {threshold}\n"));
    let of = |(name, index): &(&str, &str)| kernel.replace("NAME", name).replace("INDEX", index);
    let kernels: String = kernels.iter().map(of).collect();
    let check = format!(
        "const _: () = assert!(env!(\"SHOP\").len() == {}, \"the configuration of another revision\");\n",
        revision.len()
    );
    format!("use gpuprof::prelude::*;\n{check}{kernels}{SERIES}")
}

/// The repository.
#[derive(Debug)]
pub struct Commits {
    /// Locked, so that another test process waits.
    _busy: File,
    /// The workspace in it.
    pub workspace: Workspace,
    /// An archive of [`Commits::GOOD`].
    pub base: PathBuf,
    /// An archive of [`Commits::WORSE`].
    pub head: PathBuf,
}

static COMMITS: LazyLock<Commits> = LazyLock::new(Commits::made);

impl Commits {
    /// The revision that holds nothing of gpuprof.
    pub const BEFORE: &str = "before";

    /// The revision that the others are compared with: the series `scale`, `gone` and `copy`.
    pub const GOOD: &str = "good";

    /// A revision that does not compile.
    pub const BROKEN: &str = "broken";

    /// The revision in which `scale` reads with a stride, `gone` is gone and `fresh` is new. It is
    /// checked out.
    pub const WORSE: &str = "worse";

    /// The repository of this process, built once.
    pub fn get() -> &'static Self {
        &COMMITS
    }

    fn made() -> Self {
        let root = outside("commits");
        fs::create_dir_all(&root).expect("the folder can be made");
        let busy = File::create(root.join("lock")).expect("the folder can be written");
        busy.lock().expect("files can be locked");
        for left in ["project", "built/gpuprof/workspaces"] {
            let _ = fs::remove_dir_all(root.join(left));
        }
        let lock = fs::read(repository_folder().join("Cargo.lock")).expect("it is locked");
        write(&root.join("project/gpu/Cargo.lock"), &lock);
        let neighbour =
            "[package]\nname = \"neighbour\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let files = [
            ("neighbour/Cargo.toml", neighbour),
            ("neighbour/src/lib.rs", "//! Next to the repository.\n"),
            ("project/README", "nothing yet\n"),
        ];
        for (path, text) in files {
            write(&root.join(path), text.as_bytes());
        }
        let workspace = Workspace { root: root.join("project/gpu"), target: shared_builds(&root) };
        let [base, head] = ["good.tar.zst", "worse.tar.zst"].map(|name| root.join(name));
        let commits = Self { _busy: busy, workspace, base, head };
        commits.write_history();
        commits
    }

    fn write_history(&self) {
        let runtime = format!("{:?}", repository_folder().join("runtime"));
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.commit(Self::BEFORE, &[]);
        let files = [
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"shop\"]\n".to_owned()),
            ("shop/Cargo.toml", MANIFEST.replace("RUNTIME", &runtime)),
            ("shop/benches/kernels.rs", "use neighbour as _;\ngpuprof::main!(shop);\n".to_owned()),
            (".cargo/config.toml", "[env]\nSHOP = \"good\"\n".to_owned()),
            ("shop/src/lib.rs", library(Self::GOOD, &[("scale", "i"), ("gone", "i")])),
        ];
        self.write(&files);
        // Cargo removes unused entries from the lock file.
        self.archive(&self.base);
        seed(&self.workspace.target, Path::new("checkout-0"));
        self.commit(Self::GOOD, &[]);
        self.commit(Self::BROKEN, &[("shop/src/lib.rs", "no Rust".to_owned())]);
        let files = [
            (".cargo/config.toml", "[env]\nSHOP = \"worse\"\n".to_owned()),
            ("shop/src/lib.rs", library(Self::WORSE, &[("scale", "i * 8"), ("fresh", "i")])),
        ];
        self.commit(Self::WORSE, &files);
        self.archive(&self.head);
    }

    /// The top folder of the repository.
    pub fn toplevel(&self) -> &Path {
        self.workspace.root.parent().expect("the workspace is a folder of it")
    }

    /// The output of git on the repository.
    ///
    /// # Panics
    /// It refuses.
    pub fn git(&self, arguments: &[&str]) -> String {
        let who = ["-c", "user.name=gate", "-c", "user.email=gate@example.com"];
        let output = Command::new("git")
            .args(who)
            .args(arguments)
            .current_dir(self.toplevel())
            .output()
            .expect("git can be started");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("it is UTF-8").trim().to_owned()
    }

    fn write(&self, files: &[(&str, String)]) {
        for (path, text) in files {
            write(&self.workspace.root.join(path), text.as_bytes());
        }
    }

    fn commit(&self, tag: &str, files: &[(&str, String)]) {
        self.write(files);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", tag]);
        self.git(&["tag", tag]);
    }

    fn archive(&self, file: &Path) {
        let file = file.display().to_string();
        self.workspace.gpuprof(&["archive", "--offline", "--archive-file", &file]).exits_with(0);
    }

    /// As [`Commits::run`], next to the workspace in another checkout at `folder`.
    pub fn run_next_to(&self, folder: &Path, arguments: &[&str]) -> Outcome {
        let own = folder.join("gpu").display().to_string();
        seed(&self.workspace.target, &Path::new("folders").join(own.trim_start_matches('/')));
        let folder = folder.display().to_string();
        self.run(&[&["--base", &folder], arguments].concat())
    }

    /// `cargo gpuprof run` in the workspace with `arguments`.
    pub fn run(&self, arguments: &[&str]) -> Outcome {
        self.workspace.gpuprof(&[&["run", "--offline", "--all"], arguments].concat())
    }

    /// A folder without a workspace, and there `cargo gpuprof run` of the archive of `head` next to
    /// that of `base`, both on the emulator.
    pub fn archives(&self, (base, head): (&Path, &Path), arguments: &[&str]) -> (TempDir, Tool) {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let [base, head] = [base, head].map(|path| path.display().to_string());
        let run = ["run", "--archive-file", &head, "--base-archive", &base];
        let run = [&run[..], arguments].concat();
        let tool = Tool::new(&run, folder.path(), &folder.path().join("not-used"));
        (folder, tool)
    }
}

/// A target folder with separate runs, below `root`. This revision builds in the shared folder; the
/// other one begins with a copy of that.
fn shared_builds(root: &Path) -> PathBuf {
    let shared = Workspace::repository().target;
    let target = root.join("built");
    for built in ["release", "gpuprof/kernels"] {
        let (all, here) = (shared.join(built), target.join(built));
        fs::create_dir_all(&all).expect("the folder can be made");
        fs::create_dir_all(here.parent().expect("it has one")).expect("the folder can be made");
        if symlink(all, &here).is_err() {
            assert!(here.exists(), "the link can be made");
        }
    }
    target
}

/// Copies the builds of this revision to the build folder of another one, `folder`, unless an
/// earlier test has left something there. If another test's build replaces a file meanwhile, the
/// copy may lack it, and cargo builds it again.
fn seed(target: &Path, folder: &Path) {
    let other = target.join("gpuprof/base").join(folder).join("target");
    for built in ["release", "gpuprof/kernels"] {
        let to = other.join(built);
        if !to.exists() {
            fs::create_dir_all(to.parent().expect("it has one")).expect("the folder can be made");
            let copy = Command::new("cp").arg("-aL").args([target.join(built), to]).status();
            copy.expect("cp can be started");
        }
    }
}
