//! Constant memory, in which rustc can put no static.
//!
//! Input: PTX with the statics of `#[gpuprof::constant]` as global variables. Output: the PTX with
//! them as `.const` variables. Their reads are `ld.const` already, and nothing else knows their
//! addresses.

/// How their names begin.
const PREFIX: &str = "gpuprof_constant_";

/// The bytes of constant memory that a module has.
const ROOM: u64 = 64 << 10;

/// `ptx` with those variables in constant memory.
///
/// # Errors
/// They do not fit: the text says how large they are.
pub(super) fn placed(ptx: &str) -> Result<String, String> {
    let (mut out, mut bytes) = (String::with_capacity(ptx.len()), 0_u64);
    for line in ptx.split_inclusive('\n') {
        match moved(line) {
            Some((line, end)) => {
                bytes = end.after(bytes);
                out += &line;
            }
            None => out += line,
        }
    }
    if bytes > ROOM {
        return Err(format!(
            "the statics of #[gpuprof::constant] are {bytes} bytes, and a module has {ROOM} bytes \
             of constant memory: pass a larger table as a `&[T]` parameter"
        ));
    }
    Ok(out)
}

/// How a variable lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    align: u64,
    size: u64,
}

impl Extent {
    /// Its end if it begins at the first aligned place from `at` on.
    fn after(self, at: u64) -> u64 {
        at.next_multiple_of(self.align.max(1)) + self.size
    }
}

/// The declaration of such a variable in constant memory: `.global .align 4 .b8 NAME[20] = {…};`
/// without its linkage, since no other module needs it.
fn moved(line: &str) -> Option<(String, Extent)> {
    let (_, declaration) = line.split_once(".global ")?;
    let (head, _) = declaration.split_once(['=', ';'])?;
    let (element, rest) = head.split_once(PREFIX)?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let mut words = element.split_whitespace();
    let align = words.by_ref().skip_while(|word| *word != ".align").nth(1).and_then(number);
    let width = number(words.next()?.trim_start_matches(|c: char| !c.is_ascii_digit()))? / 8;
    let elements = match rest.split_once('[') {
        Some((_, length)) => number(length.split(']').next()?)?,
        None => 1,
    };
    let extent = Extent { align: align.unwrap_or(width), size: width * elements };
    Some((format!(".const {declaration}"), extent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_constant_variables_move_to_constant_memory() {
        let ptx = ".visible .global .align 4 .b8 gpuprof_constant_a_0[8] = {0, 0, 128, 63};\n\
                   .visible .global .align 8 .u64 gpuprof_constant_a_1 = 5;\n\
                   .global .align 1 .b8 anon_0[3] = {97};\n\
                   \tmov.u64 %rd1, gpuprof_constant_a_0;\n";
        let expected = ".const .align 4 .b8 gpuprof_constant_a_0[8] = {0, 0, 128, 63};\n\
                        .const .align 8 .u64 gpuprof_constant_a_1 = 5;\n\
                        .global .align 1 .b8 anon_0[3] = {97};\n\
                        \tmov.u64 %rd1, gpuprof_constant_a_0;\n";
        assert_eq!(placed(ptx).as_deref(), Ok(expected));
    }

    #[test]
    fn constants_above_64_kib_are_refused_with_their_size() {
        let of = |size: u32| {
            placed(&format!(
                ".visible .global .align 1 .b8 gpuprof_constant_a_0[3];\n\
                 .visible .global .align 8 .b8 gpuprof_constant_a_1[{size}];\n"
            ))
        };
        assert!(of(65_528).is_ok());
        let said = of(65_529).unwrap_err();
        assert!(said.contains("are 65537 bytes, and a module has 65536"), "{said}");
    }
}
