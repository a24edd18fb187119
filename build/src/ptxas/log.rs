//! The output of `ptxas -v`.
//!
//! Input: its log. Output: the resources of each entry point, or why it refused the module.

use std::collections::BTreeMap;

use gpuprof_model::assembled::Resources;

/// The data of an entry point so far.
#[derive(Default)]
struct Said {
    resources: Resources,
    frame: bool,
    used: bool,
}

/// The entry points of a log that says all of them.
pub(super) fn entries(log: &str) -> BTreeMap<String, Resources> {
    let mut entries: BTreeMap<String, Said> = BTreeMap::new();
    let (mut entry, mut function) = (None, None);
    let mut called = 0;
    for line in log.lines() {
        let text = line.split_once(" : ").map_or(line, |(_, text)| text);
        if let Some(rest) = text.strip_prefix("Compiling entry function '") {
            entry = rest.split('\'').next().map(ToOwned::to_owned);
            entries.extend(entry.clone().map(|name| (name, Said::default())));
        } else if let Some(rest) = text.strip_prefix("Function properties for ") {
            function = Some(rest.trim().to_owned());
        } else if text.contains("bytes stack frame") {
            let numbers = numbers(text);
            let of_entry = function.as_ref().and_then(|name| entries.get_mut(name));
            match (of_entry, numbers.as_slice()) {
                (Some(said), [stack, stores, ..]) => {
                    said.frame = true;
                    said.resources.stack_bytes = *stack;
                    said.resources.spill_store_bytes = *stores;
                }
                (None, [_, stores, ..]) => called += stores,
                _ => {}
            }
        } else if text.starts_with("Used ")
            && let Some(entry) = entry.as_ref().and_then(|name| entries.get_mut(name))
        {
            entry.used = used(text, &mut entry.resources);
        }
    }
    let whole = entries.into_iter().filter(|(_, said)| said.frame && said.used);
    whole
        .map(|(name, said)| (name, Resources { called_spill_bytes: called, ..said.resources }))
        .collect()
}

/// Of `Used 14 registers, used 1 barriers, 192 bytes cumulative stack size`. False: it does not say
/// the registers.
fn used(said: &str, resources: &mut Resources) -> bool {
    // For older versions, which do not print it, the occupancy calculator's default.
    resources.barriers = 1;
    let mut known = false;
    for part in said.split(", ") {
        let Some(number) = numbers(part).first().copied() else { continue };
        if part.contains("registers") {
            resources.registers = number;
            known = true;
        } else if part.contains("barriers") {
            resources.barriers = number;
        } else if part.contains("cumulative stack size") {
            resources.stack_bytes = number;
        }
    }
    known
}

/// The numbers among the words of a line.
fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Why it refused a module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its first error, with the line.
    pub(super) told: String,
    /// Whether a newer one would take the module.
    pub(super) too_old: bool,
}

/// The refusal in a log.
pub(super) fn refusal(log: &str) -> Option<Refusal> {
    let error_line = |line: &str| {
        let (before, text) = line.split_once(" : ")?;
        let before = before.trim_end();
        let place = before.split_once(", ").and_then(|(_, rest)| rest.split(';').next());
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        (before.ends_with("error") || before.ends_with("fatal")).then(|| Refusal {
            told: format!("{place}{}", text.trim()),
            too_old: text.starts_with("Unsupported .version"),
        })
    };
    log.lines().find_map(error_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_point_has_resources_including_called_functions() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    128 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 14 registers, used 2 barriers, 192 bytes cumulative stack size
ptxas info    : Compile time = 23.394 ms
ptxas info    : Compiling entry function 'old' for 'sm_90'
ptxas info    : Function properties for old
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 360 bytes cmem[0]
ptxas info    : Function properties for helper
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'half_told' for 'sm_90'
ptxas info    : Used 8 registers
";
        let entries = entries(log);
        let k = Resources {
            registers: 14,
            stack_bytes: 192,
            spill_store_bytes: 8,
            called_spill_bytes: 4,
            barriers: 2,
        };
        assert_eq!(entries["k"], k);
        let old =
            Resources { registers: 8, called_spill_bytes: 4, barriers: 1, ..Resources::default() };
        assert_eq!(entries["old"], old);
        assert_eq!(entries.len(), 2, "a missing value is not 0");
    }

    #[test]
    fn a_refusal_is_the_first_error_with_its_line() {
        let log = "\
ptxas u.ptx, line 1; fatal   : Unsupported .version 9.3; current version is '9.0'
ptxas fatal   : Ptx assembly aborted due to errors
";
        let told = |told: &str, too_old| Some(Refusal { told: told.into(), too_old });
        let version = "line 1: Unsupported .version 9.3; current version is '9.0'";
        assert_eq!(refusal(log), told(version, true));
        let log = "ptxas info    : x\nptxas fatal   : Unresolved extern function 'expf'\n";
        assert_eq!(refusal(log), told("Unresolved extern function 'expf'", false));
        assert_eq!(refusal("ptxas info    : 0 bytes gmem\n"), None);
    }
}
