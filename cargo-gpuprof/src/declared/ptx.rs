//! What PTX says of its entry points.
//!
//! Input: the text of a module. Output: each entry point with the sizes of its parameters and the
//! blocks that it is compiled for. PTX does not tell types: an `int`, an `unsigned` and a `float`
//! are all 4 bytes to a launch.

/// An entry point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryPoint {
    /// Its name.
    pub(super) name: String,
    /// The bytes of each parameter.
    pub(super) parameters: Vec<u64>,
    /// The most threads of a block (`.maxntid`).
    pub(super) max_threads: Option<u64>,
    /// The only block (`.reqntid`).
    pub(super) only_block: Option<[u32; 3]>,
}

/// The entry points of `text`, in order.
pub(super) fn entry_points(text: &str) -> Vec<EntryPoint> {
    let text = without_comments(text);
    text.split(".entry").skip(1).filter_map(entry_point).collect()
}

/// The text without its comments.
fn without_comments(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) = rest.find("/*") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    )
}

/// The entry point whose name `rest` begins with; none where it is declared only.
fn entry_point(rest: &str) -> Option<EntryPoint> {
    let head = rest.split(['{', ';']).next()?;
    if rest[head.len()..].starts_with(';') {
        return None;
    }
    let (name, rest) = match head.split_once('(') {
        Some((name, rest)) => (name.trim(), rest),
        None => (head.split('.').next()?.trim(), ""),
    };
    let (list, directives) = match rest.split_once(')') {
        Some((list, directives)) => (list, directives),
        None => ("", &head[name.len().min(head.len())..]),
    };
    let parameters = list.split(',').map(str::trim).filter(|text| !text.is_empty());
    Some(EntryPoint {
        name: name.to_owned(),
        parameters: parameters.map(bytes).collect(),
        max_threads: extents(directives, ".maxntid")
            .map(|all| all.iter().map(|&n| u64::from(n)).product()),
        only_block: extents(directives, ".reqntid"),
    })
}

/// The bytes of the parameter `.param .align 8 .b8 name[24]`.
fn bytes(parameter: &str) -> u64 {
    let one = parameter.split_whitespace().find_map(|word| match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" | ".texref" | ".samplerref" | ".surfref" => Some(8),
        ".b128" => Some(16),
        _ => None,
    });
    let count = parameter.split_once('[').and_then(|(_, count)| count.split(']').next());
    let count = count.and_then(|count| count.trim().parse().ok()).unwrap_or(1);
    one.unwrap_or(0) * count
}

/// The extents of the directive called `name`: `.maxntid 256, 1, 1`, or fewer of them.
fn extents(directives: &str, name: &str) -> Option<[u32; 3]> {
    let (_, rest) = directives.split_once(name)?;
    let mut numbers = rest.split('.').next()?.split(',').map(|n| n.trim().parse::<u32>().ok());
    let x = numbers.next()??;
    let mut next = || numbers.next().flatten().unwrap_or(1);
    Some([x, next(), next()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_point_tells_its_sizes_and_blocks() {
        let text = "
.version 8.0
.target sm_80
// .visible .entry no(.param .u32 a)
.extern .entry declared(.param .u32 a);
.visible .entry _Z4scanjPKfPf(
\t.param .u32 _Z4scanjPKfPf_param_0,
\t.param .u64 .ptr .align 1 _Z4scanjPKfPf_param_1, /* , */
\t.param .align 8 .b8 _Z4scanjPKfPf_param_2[24]
)
.maxntid 256, 2, 1
.minnctapersm 2
{
\tret;
}
.entry plain { ret; }
.weak .entry fixed() .reqntid 128 { ret; }
";
        let all = entry_points(text);
        let names: Vec<&str> = all.iter().map(|point| point.name.as_str()).collect();
        assert_eq!(names, ["_Z4scanjPKfPf", "plain", "fixed"]);
        assert_eq!(all[0].parameters, [4, 8, 24]);
        assert_eq!((all[0].max_threads, all[0].only_block), (Some(512), None));
        assert_eq!((all[1].parameters.len(), all[1].max_threads), (0, None));
        assert_eq!(all[2].only_block, Some([128, 1, 1]));
    }
}
