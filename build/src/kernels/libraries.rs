//! The sources of gpuprof's device half among the sources that PTX lists.
//!
//! Input: PTX and its module in LLVM's text form, which knows the crate of each function. Output:
//! the PTX, in which paths of these sources begin with `/library/`.

use std::collections::BTreeSet;

use super::ir::Ir;
use crate::source_files::{LIBRARY, with_files};

/// The crate of the device half.
const CRATE: &str = "gpuprof";

/// `ptx` of the module `ir`, with the device half in the folder of libraries.
pub(super) fn applied(ptx: &str, ir: &Ir<'_>) -> String {
    let files: BTreeSet<String> = ir.files_of(CRATE).collect();
    with_files(ptx, |path| {
        let plain = path.strip_prefix("./").unwrap_or(path);
        match files.contains(plain) {
            true => format!("{LIBRARY}/{}", plain.trim_start_matches('/')),
            false => path.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_half_files_are_shown_as_library_files() {
        let ir = r#"
!1 = !DIFile(filename: "src/device/shared.rs", directory: "gpuprof-0.1.0")
!2 = !DIFile(filename: "runtime/src/device/warp.rs", directory: ".")
!3 = !DIFile(filename: "src/lib.rs", directory: ".")
!4 = !DIFile(filename: "/vendor/gpuprof/a.rs", directory: "/vendor/gpuprof")
!10 = !DINamespace(name: "gpuprof", scope: null)
!11 = !DINamespace(name: "device", scope: !10)
!12 = !DINamespace(name: "mine", scope: null)
!13 = !DINamespace(name: "gpuprof", scope: !12)
!20 = distinct !DISubprogram(name: "at", scope: !11, file: !1, line: 12)
!21 = distinct !DISubprogram(name: "ballot", scope: !11, file: !2, line: 12)
!22 = distinct !DISubprogram(name: "mine", scope: !13, file: !3, line: 12)
!23 = distinct !DISubprogram(name: "root", scope: !10, file: !4, line: 12)
"#;
        let ptx = |paths: [&str; 4]| {
            let line = |(number, path): (usize, &str)| format!("\t.file\t{number} \"{path}\"\n");
            paths.into_iter().enumerate().map(line).collect::<String>()
        };
        let llvms = [
            "gpuprof-0.1.0/src/device/shared.rs",
            "./runtime/src/device/warp.rs",
            "./src/lib.rs",
            "/vendor/gpuprof/a.rs",
        ];
        let ours = [
            "/library/gpuprof-0.1.0/src/device/shared.rs",
            "/library/runtime/src/device/warp.rs",
            "./src/lib.rs",
            "/library/vendor/gpuprof/a.rs",
        ];
        assert_eq!(applied(&ptx(llvms), &Ir::parse(ir)), ptx(ours));
    }
}
