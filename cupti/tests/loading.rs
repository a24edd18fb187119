//! Finding and loading CUPTI, and refusing unusable libraries.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{isolated, isolated_with, pinned};
use gpuprof_cupti::driver::{probe, probe_nvidia};
use gpuprof_cupti::locate::{CUPTI, Search, SearchLocation, locate_by};
use gpuprof_cupti::target::TargetError;
use gpuprof_cupti::{Host, HostApi, LoadError, Target, Version, locate};

/// A libcupti of our own, with nothing but the functions in `source`, and a libnvperf_host next to
/// it.
fn imitation(folder: &Path, source: &str) -> PathBuf {
    let compile = |name: &str, text: &str| {
        let (input, output) = (folder.join(format!("{name}.c")), folder.join(name));
        fs::write(&input, text).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}"), "-o"]).arg(&output).arg(input);
        assert!(cc.status().unwrap().success(), "cc builds {name}");
        output
    };
    compile("libnvperf_host.so", "");
    compile("libcupti.so.13", source)
}

#[test]
fn a_folder_and_a_file_lead_to_the_library_and_its_version() {
    isolated("a_folder_and_a_file_lead_to_the_library_and_its_version", || {
        for path in [pinned().to_owned(), pinned().join("libcupti.so.13")] {
            let found = locate(Some(&path)).unwrap();
            assert_eq!(found.path(), pinned().join("libcupti.so.13").canonicalize().unwrap());
            assert_eq!(found.version(), Version::new(13, 0));
            assert_eq!(found.place(), &SearchLocation::Explicit(path));
        }
    });
}

#[test]
fn the_variable_wins_over_the_toolkit() {
    let prepare = |child: &mut Command| {
        child.env("GPUPROF_CUPTI", pinned()).env("CUDA_HOME", "/nowhere");
    };
    isolated_with("the_variable_wins_over_the_toolkit", prepare, || {
        assert_eq!(
            locate(None).unwrap().place(),
            &SearchLocation::Variable(pinned().into(), "GPUPROF_CUPTI")
        );
    });
}

#[test]
fn a_toolkit_is_searched_in_its_cupti_folder() {
    let toolkit = tempfile::tempdir().unwrap();
    let folder = toolkit.path().join("extras/CUPTI/lib64");
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    symlink(pinned(), &folder).unwrap();
    let prepare = |child: &mut Command| {
        child.env("CUDA_HOME", toolkit.path());
    };
    isolated_with("a_toolkit_is_searched_in_its_cupti_folder", prepare, || {
        let found = locate(None).unwrap();
        assert!(
            matches!(found.place(), SearchLocation::Toolkit(it) if it.ends_with("extras/CUPTI/lib64"))
        );
        HostApi::load(&found).unwrap().chips().unwrap();
    });
}

#[test]
fn the_library_path_is_searched() {
    let prepare = |child: &mut Command| {
        child.env("LD_LIBRARY_PATH", format!("/nowhere:{}", pinned().display()));
    };
    isolated_with("the_library_path_is_searched", prepare, || {
        let search = Search { prefix: None, ..Search::from_environment(&CUPTI, None) };
        assert_eq!(
            locate_by(&search).unwrap().place(),
            &SearchLocation::LibraryPath(pinned().into())
        );
        // The linker finds it by its bare name, and nvperf is found next to it.
        let search = Search { library_path: None, ..search };
        let found = locate_by(&search).unwrap();
        assert_eq!(found.place(), &SearchLocation::Linker);
        assert_eq!(found.path(), pinned().join("libcupti.so.13").canonicalize().unwrap());
    });
}

#[test]
fn the_site_packages_of_the_active_python_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let packages = pinned().ancestors().nth(3).unwrap();
    let python = folder.path().join("python3");
    let text = format!("#!/bin/sh\necho {}\n", packages.display());
    // A separate process writes it: a child that another thread is starting would share the open
    // file, and the system does not start a file that is open for writing.
    let write = "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", write, "sh", &text]).arg(&python).env("PATH", "/usr/bin:/bin");
    assert!(shell.status().unwrap().success());
    let prepare = |child: &mut Command| {
        child.env("PATH", folder.path());
    };
    isolated_with("the_site_packages_of_the_active_python_are_searched", prepare, || {
        let search = Search { python: true, ..Search::nowhere(&CUPTI) };
        assert_eq!(locate_by(&search).unwrap().place(), &SearchLocation::Python);
    });
}

#[test]
fn a_second_cupti_in_one_process_is_refused() {
    isolated("a_second_cupti_in_one_process_is_refused", || {
        let other = tempfile::tempdir().unwrap();
        fs::copy(pinned().join("libcupti.so.13"), other.path().join("libcupti.so.13")).unwrap();
        symlink(pinned().join("libnvperf_host.so"), other.path().join("libnvperf_host.so"))
            .unwrap();
        let first = locate(Some(pinned())).unwrap();
        HostApi::load(&first).unwrap();
        HostApi::load(&first).unwrap();
        let second = locate(Some(other.path())).unwrap();
        let error = HostApi::load(&second).err().unwrap();
        assert!(matches!(error, LoadError::AnotherLoaded { .. }), "{error}");
    });
}

#[test]
fn a_version_that_needs_a_driver_is_refused_before_it_is_called() {
    isolated("a_version_that_needs_a_driver_is_refused_before_it_is_called", || {
        let folder = tempfile::tempdir().unwrap();
        let called = folder.path().join("called");
        let source = format!(
            "#include <stdio.h>\n\
             int cuptiProfilerHostGetSinglePassSets(void) {{ return 0; }}\n\
             int cuptiGetVersion(unsigned *v) {{ fclose(fopen(\"{}\", \"w\")); *v = 130202; return 0; }}\n",
            called.display()
        );
        imitation(folder.path(), &source);
        let found = locate(Some(folder.path())).unwrap();
        let error = HostApi::load(&found).err().unwrap();
        match probe_nvidia() {
            Err(driver) => {
                assert!(!called.exists(), "cuptiGetVersion was called");
                let (path, version) = (found.path().into(), Version::at_least(13, 2));
                assert_eq!(error, LoadError::NeedsDriver { path, version, driver });
            }
            Ok(_) => assert!(matches!(error, LoadError::MissingSymbol { .. }), "{error}"),
        }
    });
}

#[test]
fn an_old_cupti_and_one_without_the_functions_are_refused() {
    isolated("an_old_cupti_and_one_without_the_functions_are_refused", || {
        for (api, expected) in [
            (23, "is CUPTI 12.5; the Range Profiler API needs 12.6 or newer"),
            (130_000, "has no function cuptiProfilerHostGetSupportedChips"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            imitation(
                folder.path(),
                &format!("int cuptiGetVersion(unsigned *v) {{ *v = {api}; return 0; }}"),
            );
            let found = locate(Some(folder.path())).unwrap();
            let error = HostApi::load(&found).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    });
}

#[test]
fn an_old_toolkit_does_not_hide_a_newer_library() {
    let toolkit = tempfile::tempdir().unwrap();
    let folder = toolkit.path().join("lib64");
    fs::create_dir(&folder).unwrap();
    imitation(&folder, "int cuptiGetVersion(unsigned *v) { *v = 18; return 0; }");
    let prepare = |child: &mut Command| {
        child.env("CUDA_HOME", toolkit.path()).env("LD_LIBRARY_PATH", pinned());
    };
    isolated_with("an_old_toolkit_does_not_hide_a_newer_library", prepare, || {
        let search =
            Search { prefix: None, python: false, ..Search::from_environment(&CUPTI, None) };
        let found = locate_by(&search).unwrap();
        assert_eq!(found.place(), &SearchLocation::LibraryPath(pinned().into()));
        // It works with its own nvperf, not with the old one's.
        HostApi::load(&found).unwrap().chips().unwrap();
        // Nor does the linker return it for the same bare name.
        let by_name = Search { library_path: None, ..search.clone() };
        assert_eq!(locate_by(&by_name).unwrap().place(), &SearchLocation::Linker);
        let none = Search { library_path: None, linker: false, ..search };
        let text = locate_by(&none).unwrap_err().to_string();
        assert!(
            text.contains("lib64/libcupti.so.13 is CUPTI 11.8; the Range Profiler API"),
            "{text}"
        );
    });
}

#[test]
fn a_named_file_that_is_not_a_library_is_described() {
    isolated("a_named_file_that_is_not_a_library_is_described", || {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("libcupti.so.13");
        fs::write(&text, "not a library, and longer than the head of one would be if it were one")
            .unwrap();
        for (path, reason) in [
            (
                folder.path().join("gone"),
                "cannot open shared object file: No such file or directory",
            ),
            (text, "invalid ELF header"),
        ] {
            let error = locate(Some(&path)).unwrap_err().to_string();
            assert!(error.contains(&format!("cannot be loaded: {reason}\n")), "{error}");
            assert!(error.contains("nowhere else was searched: correct --cupti-path"), "{error}");
        }
    });
}

#[test]
fn a_library_without_nvperf_is_skipped() {
    isolated("a_library_without_nvperf_is_skipped", || {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(pinned().join("libcupti.so.13"), folder.path().join("libcupti.so.13")).unwrap();
        let error = locate(Some(folder.path())).unwrap_err();
        assert!(
            matches!(error.searched[0].reason, Some(LoadError::NvperfMissing { .. })),
            "{error}"
        );
    });
}

#[test]
fn collection_needs_a_working_driver() {
    isolated("collection_needs_a_working_driver", || {
        let api = HostApi::load(&locate(Some(pinned())).unwrap()).unwrap();
        match (probe(), Target::initialize(api)) {
            (Err(problem), Err(TargetError::Driver(refused))) => assert_eq!(refused, problem),
            (Ok(_), Ok(_)) => {}
            (driver, target) => panic!("driver {driver:?}, target {:?}", target.err()),
        }
    });
}

/// CUPTI sets itself up in its first call, and two first calls at once make one of them fail.
#[test]
fn threads_may_call_cupti_at_the_same_time() {
    isolated("threads_may_call_cupti_at_the_same_time", || {
        let api = HostApi::load(&locate(Some(pinned())).unwrap()).unwrap();
        let together = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    if number % 2 == 0 {
                        api.chips().unwrap();
                    }
                    Host::new(api, ["TU102", "GH100"][number / 4], None).unwrap();
                });
            }
        });
    });
}
