//! The source files that PTX lists.

/// The folder of files that belong to a library and not to the user: the emulated driver reports
/// the user's line that called them.
pub(crate) const LIBRARY: &str = "/library";

/// The module with `name` applied to every path of a `.file` line.
pub(crate) fn with_files(ptx: &str, name: impl Fn(&str) -> String) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let quoted = line.trim_start().strip_prefix(".file").and_then(|_| {
            let (before, rest) = line.split_once('"')?;
            let (path, after) = rest.split_once('"')?;
            Some((before, path, after))
        });
        match quoted {
            Some((before, path, after)) => {
                text.push_str(&format!("{before}\"{}\"{after}", name(path)));
            }
            None => text.push_str(line),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_file_directives_are_replaced() {
        let ptx = "\tret;\n\t.file\t1 \"/home/me/crate/kernels/a.cu\"\n\
                   \t.file\t2 \"/other/x.h\", 5, 6\n// \"/home/me/crate/\"";
        let named = with_files(ptx, |path| path.replace("/home/me/crate/", ""));
        assert_eq!(named, ptx.replacen("/home/me/crate/", "", 1));
    }
}
