//! Launch bounds, for which rustc has no attribute.
//!
//! Input: PTX with comments that give the bounds of entry points (`// gpuprof: launch bounds of
//! NAME MAX MIN`), left by `#[kernel]`. Output: the PTX with `.maxntid` and `.minnctapersm` after
//! the parameters of these entry points, without the comments.

/// How the comment begins.
const MARK: &str = "// gpuprof: launch bounds of ";

/// `ptx` with the bounds that its comments say.
pub(super) fn applied(ptx: &str) -> String {
    let bounds_of: Vec<(&str, &str)> =
        ptx.lines().filter_map(|line| line.trim().strip_prefix(MARK)?.split_once(' ')).collect();
    if bounds_of.is_empty() {
        return ptx.to_owned();
    }
    let (mut out, mut waiting) = (String::with_capacity(ptx.len()), None);
    for line in ptx.lines().filter(|line| !line.trim().starts_with(MARK)) {
        if let Some((_, entry)) = line.split_once(".entry ") {
            let name = entry.split(['(', ' ']).next().unwrap_or_default();
            waiting = bounds_of.iter().find(|(of, _)| *of == name).map(|(_, bounds)| *bounds);
        }
        // Parameters end where the body begins, and hold no brace.
        if line.starts_with('{')
            && let Some((max, min)) = waiting.take().and_then(|bounds| bounds.split_once(' '))
        {
            out += &format!(".maxntid {max}, 1, 1\n");
            if min != "0" {
                out += &format!(".minnctapersm {min}\n");
            }
        }
        out += line;
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_the_parameters_of_their_entry_point() {
        let ptx = "\t// gpuprof: launch bounds of scale$1$ 256 2\n\
                   // gpuprof: launch bounds of empty$2$ 64 0\n\
                   .visible .entry scaled$3$(\n\t.param .u32 a\n)\n{\n}\n\
                   .visible .entry scale$1$(\n\t.param .u32 a\n)\n{\n\t{\n\t}\n}\n\
                   .visible .entry empty$2$()\n{\n}\n";
        let expected = ".visible .entry scaled$3$(\n\t.param .u32 a\n)\n{\n}\n\
                        .visible .entry scale$1$(\n\t.param .u32 a\n)\n\
                        .maxntid 256, 1, 1\n.minnctapersm 2\n{\n\t{\n\t}\n}\n\
                        .visible .entry empty$2$()\n.maxntid 64, 1, 1\n{\n}\n";
        assert_eq!(applied(ptx), expected);
        assert_eq!(applied("no comment\n"), "no comment\n");
    }
}
