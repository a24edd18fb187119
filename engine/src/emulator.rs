//! The emulated driver and its CUDA runtimes: unpacked where only their owner writes, and checked
//! before each run.
//!
//! Input: the target folder. Output: the folder in which harnesses find the driver. A harness loads
//! it with its user's rights, so other users must not be able to write there: the folder belongs to
//! the user and has no writable group, no link leads there from a folder that everyone can write
//! to, and each library is compared byte by byte with the embedded one. A library that differs is
//! replaced; a folder that others could have prepared is refused.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use gpuprof_model::ExitCode;
use sha2::{Digest, Sha256};

use gpuprof_system::error::{Failure, Result};
use gpuprof_system::hex::hex;
use gpuprof_system::whole::write_whole;

/// A library that was built with this tool: its name and its bytes.
type Built = (&'static str, &'static [u8]);

macro_rules! built {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name)))
    };
}

/// The emulated driver, the CUDA runtimes of programs that nvcc built, and the library that reports
/// NVTX ranges.
static LIBRARIES: [Built; 4] = [
    built!("libcuda.so"),
    built!("libcudart.so.12"),
    built!("libcudart.so.13"),
    built!("libgpuprof_nvtx.so"),
];

/// The static CUDA runtimes, and the folders of their versions.
static STATIC_RUNTIMES: [Built; 2] = [
    ("12", include_bytes!(concat!(env!("OUT_DIR"), "/libcudart_static.12.a"))),
    ("13", include_bytes!(concat!(env!("OUT_DIR"), "/libcudart_static.13.a"))),
];

/// The name by which nvcc links a static runtime.
const STATIC_RUNTIME: &str = "libcudart_static.a";

const DRIVER: &str = LIBRARIES[0].0;

const NVTX: &str = LIBRARIES[3].0;

/// The name that linked programs look for.
const LINK: &str = "libcuda.so.1";

/// Permission to write for everybody, and for the group as well.
const EVERYBODY: u32 = 0o002;
const OTHERS: u32 = 0o022;

/// In a folder with this bit each user renames and removes only what is theirs.
const STICKY: u32 = 0o1000;

/// The folder that holds the emulated driver, which is written if it is not there or differs.
///
/// # Errors
/// It cannot be written (exit code 110); another user could change it (exit code 107).
pub fn emulator_folder(target_directory: &Utf8Path) -> Result<Utf8PathBuf> {
    unpacked(target_directory, rustix::process::geteuid().as_raw())
}

/// The library for `NVTX_INJECTION64_PATH`, which is written if it is not there or differs.
///
/// # Errors
/// As [`emulator_folder`].
pub fn nvtx_library(target_directory: &Utf8Path) -> Result<Utf8PathBuf> {
    Ok(emulator_folder(target_directory)?.join(NVTX))
}

/// Writes a static CUDA runtime of each version, for programs to link, into a folder of `folder`.
/// The library opens the shared runtime of that version, from the loader's search path.
///
/// # Errors
/// A file cannot be written (exit code 110).
pub fn write_static_runtimes(folder: &Utf8Path) -> Result<()> {
    for (version, bytes) in STATIC_RUNTIMES {
        let library = folder.join(version).join(STATIC_RUNTIME);
        let written =
            fs::create_dir_all(folder.join(version)).and_then(|()| write_whole(&library, bytes));
        written.map_err(Failure::writing(&library))?;
    }
    Ok(())
}

/// The files in the driver's `folder` that harnesses load.
pub fn emulator_files(folder: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> {
    LIBRARIES.iter().map(|(name, _)| *name).chain([LINK]).map(|name| folder.join(name))
}

/// As [`emulator_folder`], for this `user`.
fn unpacked(target_directory: &Utf8Path, user: u32) -> Result<Utf8PathBuf> {
    let mut hash = Sha256::new();
    LIBRARIES.iter().for_each(|(_, bytes)| hash.update(bytes));
    let id = &hex(&hash.finalize())[..12];
    // Users that share a target folder have one each.
    let name = format!("emulator-{id}-{user}");
    let parent = target_directory.join("gpuprof");
    let failed = |e: io::Error| Failure::output(parent.join(&name).as_std_path(), &e);
    fs::create_dir_all(&parent).map_err(failed)?;
    let folder = parent.canonicalize_utf8().map_err(failed)?.join(&name);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    if let Some(reason) = distrusted(&folder, user).map_err(failed)? {
        let message = format!("the emulated driver cannot be loaded from {folder}: {reason}");
        return Err(Failure::new(ExitCode::NotPossible, message));
    }
    fill(&folder, user).map_err(failed)?;
    Ok(folder)
}

/// Writes what is not in `folder` as it must be.
fn fill(folder: &Utf8Path, user: u32) -> io::Result<()> {
    for (name, bytes) in LIBRARIES {
        let library = folder.join(name);
        let intact =
            fs::symlink_metadata(&library).is_ok_and(|known| known.is_file() && only(&known, user));
        if !intact || fs::read(&library)? != bytes {
            write_whole(&library, bytes)?;
        }
    }
    let link = folder.join(LINK);
    match symlink(DRIVER, &link) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        Err(_) if fs::read_link(&link).is_ok_and(|to| to == *DRIVER) => Ok(()),
        Err(_) => fs::remove_file(&link).and_then(|()| symlink(DRIVER, &link)),
        Ok(()) => Ok(()),
    }
}

/// Whether `user` owns `known`, and only that user can write to it.
fn only(known: &Metadata, user: u32) -> bool {
    known.uid() == user && known.mode() & OTHERS == 0
}

/// Why another user than `user` may control the contents of `folder`; none if that is impossible.
/// The path has no links, except perhaps itself.
fn distrusted(folder: &Utf8Path, user: u32) -> io::Result<Option<String>> {
    let known = fs::symlink_metadata(folder)?;
    if !known.is_dir() || !only(&known, user) {
        let (kind, owner) = (if known.is_dir() { "a folder" } else { "no folder" }, known.uid());
        let mode = known.mode() & 0o7777;
        return Ok(Some(format!(
            "it must be a folder that only user {user} writes, and it is {kind} of user {owner} \
             with mode {mode:04o}; remove it"
        )));
    }
    let elsewhere = "use a folder of your own with --target-dir";
    let mut below = folder;
    for above in folder.ancestors().skip(1) {
        let mode = fs::metadata(above)?.mode();
        let owner = fs::symlink_metadata(below)?.uid();
        if mode & EVERYBODY != 0 && mode & STICKY == 0 {
            return Ok(Some(format!("every user can write {above}; {elsewhere}")));
        }
        if mode & EVERYBODY != 0 && owner != user && owner != 0 {
            return Ok(Some(format!(
                "{below} belongs to user {owner}, and every user can write {above}; {elsewhere}"
            )));
        }
        below = above;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn target() -> (tempfile::TempDir, Utf8PathBuf, u32) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
        let user = fs::metadata(&path).unwrap().uid();
        (folder, path, user)
    }

    fn mode(path: &Utf8Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(target: &Utf8Path, user: u32) -> String {
        let failure = unpacked(target, user).unwrap_err();
        assert_eq!(failure.code, ExitCode::NotPossible);
        failure.message
    }

    #[test]
    fn a_library_that_differs_in_one_byte_is_replaced() {
        let (_keep, target, user) = target();
        let folder = unpacked(&target, user).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        for (name, bytes) in LIBRARIES {
            let library = folder.join(name);
            let mut flipped = bytes.to_vec();
            flipped[bytes.len() / 2] ^= 1;
            fs::write(&library, &flipped).unwrap();
            assert_eq!(unpacked(&target, user).unwrap(), folder);
            assert!(fs::read(&library).unwrap() == bytes);
            let before = fs::metadata(&library).unwrap().ino();
            unpacked(&target, user).unwrap();
            assert_eq!(fs::metadata(&library).unwrap().ino(), before, "what is right stays");
        }
    }

    #[test]
    fn links_instead_of_the_library_are_replaced() {
        let (_keep, target, user) = target();
        let folder = unpacked(&target, user).unwrap();
        let other = target.join("other.so");
        fs::write(&other, LIBRARIES[0].1).unwrap();
        for name in [DRIVER, LINK] {
            fs::remove_file(folder.join(name)).unwrap();
            symlink(&other, folder.join(name)).unwrap();
        }
        unpacked(&target, user).unwrap();
        assert!(fs::symlink_metadata(folder.join(DRIVER)).unwrap().is_file());
        assert_eq!(fs::read_link(folder.join(LINK)).unwrap().to_str(), Some(DRIVER));
        // A library that its group writes is another file afterwards.
        mode(&folder.join(DRIVER), 0o664);
        unpacked(&target, user).unwrap();
        assert_eq!(fs::metadata(folder.join(DRIVER)).unwrap().mode() & OTHERS, 0);
    }

    #[test]
    fn a_folder_writable_by_others_is_refused() {
        let (_keep, target, user) = target();
        let folder = unpacked(&target, user).unwrap();
        mode(&folder, 0o770);
        let told = refusal(&target, user);
        assert!(
            told.contains(&format!("a folder of user {user} with mode 0770; remove it")),
            "{told}"
        );
        fs::remove_dir_all(&folder).unwrap();
        symlink(&target, &folder).unwrap();
        assert!(refusal(&target, user).contains("it is no folder of user"));
    }

    #[test]
    fn a_world_writable_folder_is_refused_unless_its_files_are_the_users() {
        let (_keep, target, user) = target();
        unpacked(&target, user).unwrap();
        mode(&target, 0o777);
        let told = refusal(&target, user);
        assert!(told.contains(": every user can write /"), "{told}");
        assert!(told.ends_with("; use a folder of your own with --target-dir"), "{told}");
        mode(&target, 0o1777);
        unpacked(&target, user).unwrap();
        // To another user all of this belongs to someone else.
        let folder = unpacked(&target, user).unwrap();
        if user != 0 {
            assert!(distrusted(&folder, user + 1).unwrap().is_some());
        }
        assert!(distrusted(&folder, user + 1).unwrap().unwrap().contains("only user"));
    }
}
