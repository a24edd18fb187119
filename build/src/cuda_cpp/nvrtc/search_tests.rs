use std::fs;

use super::*;

fn tree(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    root
}

#[test]
fn toolkits_are_searched_before_wheels() {
    let root = tree(&["cuda-12.9/x", "cuda-13.0/x", "cuda/x"]);
    let search = Search {
        toolkits: vec!["/home".into()],
        prefix: Some(root.path().into()),
        library_path: Some("/ld:relative:".into()),
        loader: true,
        python: true,
        ..Search::default()
    };
    let places = search.places();
    let toolkit = |name: &str| SearchStep::Toolkit(root.path().join(name).join("lib64"));
    let position = |place: &SearchStep| places.iter().position(|it| it == place).unwrap();
    let order = [
        SearchStep::Toolkit("/home/lib64".into()),
        SearchStep::Toolkit("/home/lib".into()),
        toolkit("cuda"),
        toolkit("cuda-13.0"),
        toolkit("cuda-12.9"),
        SearchStep::LibraryPath("/ld".into()),
        SearchStep::Loader,
        SearchStep::Python,
    ];
    assert!(order.is_sorted_by_key(position), "{places:?}");
    assert!(!places.contains(&SearchStep::LibraryPath("relative".into())));
}

#[test]
fn an_explicit_path_stops_the_search_and_settings_precede_variables() {
    let mut search = Search {
        explicit: Some("/a".into()),
        variable: Some("/b".into()),
        toolkits: vec!["/home".into()],
        ..Search::default()
    };
    assert_eq!(search.places(), [SearchStep::Explicit("/a".into())]);
    search.explicit = None;
    assert_eq!(search.places(), [SearchStep::Variable("/b".into())]);
}

#[test]
fn a_folder_gives_its_newest_nvrtc_and_no_variant_builds() {
    let root = tree(&[
        "libnvrtc.so.12",
        "libnvrtc.so.13",
        "libnvrtc-builtins.so.13.0",
        "libnvrtc.alt.so.13",
        "libnvrtc_static.a",
    ]);
    let names: Vec<_> = libraries_in(root.path(), LIBRARY)
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["libnvrtc.so.13", "libnvrtc.so.12"]);
}

#[test]
fn libraries_of_the_loader_cache_are_sorted_newest_first() {
    let list = "2 libs found in cache `/etc/ld.so.cache'\n\
                \tlibnvrtc.so.12 (libc6,x86-64) => /nowhere/libnvrtc.so.12\n\
                \tlibnvrtc.so.13 (libc6,x86-64) => /nowhere/libnvrtc.so.13\n\
                \tlibnvrtc-builtins.so.13.0 (libc6,x86-64) => /nowhere/libnvrtc-builtins.so.13.0\n";
    let expected: [PathBuf; 2] =
        ["/nowhere/libnvrtc.so.13".into(), "/nowhere/libnvrtc.so.12".into()];
    assert_eq!(in_the_loaders_list(list), expected);
}
