//! The names of the files of modules.

use camino::Utf8Path;

use gpuprof_system::sha256::sha256;

/// The longest part of a module's name that its file keeps.
const KEPT: usize = 60;

/// The name of PTX that a program holds as text.
pub(super) fn of_text(text: &str) -> String {
    format!("{}.ptx", &sha256(text.as_bytes())[..12])
}

/// The file name of the module `name`, now in the file `from`: unchanged for a package, unique for
/// each other module. Its extension gives its kind.
pub fn file_name(name: &str, from: &Utf8Path) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let end = from.extension().filter(|end| end.chars().all(plain)).unwrap_or("ptx");
    if name.chars().all(plain) {
        return format!("{name}.{end}");
    }
    let stem = name.strip_suffix(&format!(".{end}")).unwrap_or(name);
    let kept = stem.chars().map(|c| if plain(c) { c } else { '-' }).take(KEPT);
    format!("{}-{}.{end}", kept.collect::<String>(), &sha256(name.as_bytes())[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_files_have_unique_names_and_keep_their_extension() {
        assert_eq!(file_name("saxpy", "/x/saxpy.ptx".into()), "saxpy.ptx");
        assert_eq!(file_name("p", "/x/no-ending".into()), "p.ptx");
        let cubin = file_name("p/kernels/a b.cubin", "/p/kernels/a b.cubin".into());
        assert!(cubin.starts_with("p-kernels-a-b-") && cubin.ends_with(".cubin"), "{cubin}");
        let fatbin = file_name("p/kernels/a-b.fatbin", "/p/kernels/a-b.fatbin".into());
        assert!(fatbin.starts_with("p-kernels-a-b-") && fatbin.ends_with(".fatbin"), "{fatbin}");
        let other = file_name("p/kernels/a-b.cubin", "/p/kernels/a-b.cubin".into());
        assert_ne!(cubin, other);
    }
}
