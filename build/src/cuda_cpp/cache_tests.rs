use super::*;

struct FilePosition {
    folder: tempfile::TempDir,
}

impl FilePosition {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn roots(&self) -> Roots {
        Roots::new(self.folder.path(), &["first".into(), "second".into()], &[])
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> Read {
        let roots = self.roots();
        let named = roots.named(Path::new(name));
        let hash = Hash::digest(&fs::read(roots.file(&named)).unwrap());
        Read { absent: roots.shadowing(&named), files: vec![(named, hash)] }
    }

    fn held(cache: &Cache) -> LockedProgram<'_> {
        cache.hold(Hash::digest(b"program"), &Interrupt::default()).unwrap()
    }

    fn cache(&self) -> Cache {
        Cache::new(self.folder.path().join("cache"))
    }
}

#[test]
fn a_cached_result_is_reused_while_all_files_are_unchanged() {
    let place = FilePosition::new();
    let (cache, roots) = (place.cache(), place.roots());
    place.write("second/a.h", "one");
    let held = FilePosition::held(&cache);
    assert_eq!(held.find::<String>(&roots), None);
    held.keep(&place.read("second/a.h"), &"of one").unwrap();
    let found = || held.find::<String>(&roots).map(|(result, _)| result);
    assert_eq!(found().as_deref(), Some("of one"));
    // Another content, and the first one again.
    place.write("second/a.h", "two");
    assert_eq!(found(), None);
    held.keep(&place.read("second/a.h"), &"of two").unwrap();
    assert_eq!(found().as_deref(), Some("of two"));
    place.write("second/a.h", "one");
    assert_eq!(found().as_deref(), Some("of one"));
    // A file of the same name in a folder that is searched earlier.
    place.write("first/a.h", "one");
    assert_eq!(found(), None);
    fs::remove_dir_all(place.folder.path().join("first")).unwrap();
    assert_eq!(found().as_deref(), Some("of one"));
    fs::remove_file(place.folder.path().join("second/a.h")).unwrap();
    assert_eq!(found(), None);
}

#[test]
fn unused_cache_contents_are_dropped() {
    let place = FilePosition::new();
    let (cache, roots) = (place.cache(), place.roots());
    let held = FilePosition::held(&cache);
    for number in 0..=VARIANTS {
        place.write("second/a.h", &number.to_string());
        held.keep(&place.read("second/a.h"), &number).unwrap();
    }
    let found = |number: usize| {
        place.write("second/a.h", &number.to_string());
        held.find::<usize>(&roots).map(|(result, _)| result)
    };
    assert_eq!((found(0), found(1), found(VARIANTS)), (None, Some(1), Some(VARIANTS)));
    // Results, the list of them, and the lock.
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), VARIANTS + 2);
}

#[test]
fn a_corrupt_cache_file_is_recompiled() {
    let place = FilePosition::new();
    let (cache, roots) = (place.cache(), place.roots());
    place.write("second/a.h", "one");
    let held = FilePosition::held(&cache);
    held.keep(&place.read("second/a.h"), &"of one").unwrap();
    for entry in fs::read_dir(cache.folder()).unwrap() {
        fs::write(entry.unwrap().path(), "{").unwrap();
    }
    assert_eq!(held.find::<String>(&roots), None);
    held.keep(&place.read("second/a.h"), &"again").unwrap();
    assert_eq!(held.find::<String>(&roots).map(|it| it.0).as_deref(), Some("again"));
}

#[test]
fn a_second_compile_of_a_program_waits_for_the_lock() {
    let place = FilePosition::new();
    let cache = place.cache();
    let held = FilePosition::held(&cache);
    let (told, tells) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let cache = &cache;
        scope.spawn(move || {
            let _second = FilePosition::held(cache);
            told.send("second").unwrap();
        });
        assert!(tells.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        drop(held);
        assert_eq!(tells.recv(), Ok("second"));
    });
}
