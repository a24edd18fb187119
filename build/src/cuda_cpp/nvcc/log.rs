//! Translates nvcc's log into NVRTC's form.

use gpuprof_system::pad;

/// The expansions of CUDA's attributes in front of a function, and the attributes.
const ATTRIBUTES: [(&str, &str); 6] = [
    ("__attribute__((global))", "__global__"),
    ("__attribute__((device))", "__device__"),
    ("__attribute__((host))", "__host__"),
    ("__attribute__((shared))", "__shared__"),
    ("__attribute__((constant))", "__constant__"),
    ("__attribute__((managed))", "__managed__"),
];

/// The log with source lines as they were before the preprocessor, and carets below the same words.
pub(super) fn as_written(log: &str) -> String {
    let mut lines: Vec<String> = log.lines().map(ToOwned::to_owned).collect();
    for at in 0..lines.len() {
        if !lines[at].starts_with(' ') {
            continue;
        }
        let caret = lines.get(at + 1).filter(|next| next.trim() == "^").map(|next| next.len());
        let mut caret = caret.map(|end| end - 1);
        for (long, short) in ATTRIBUTES {
            while let Some(start) = lines[at].find(long) {
                lines[at].replace_range(start..start + long.len(), short);
                caret = caret.map(|caret| match caret > start {
                    true => caret.saturating_sub(long.len() - short.len()).max(start),
                    false => caret,
                });
            }
        }
        if let Some(caret) = caret {
            lines[at + 1] = format!("{}^", pad::left("", caret));
        }
    }
    lines.join("\n")
}

/// Whether nvcc reports a missing host compiler: `gcc: No such file or directory`.
pub(super) fn lacks_host_compiler(log: &str) -> bool {
    let is_of_gcc = |line: &str| {
        line.split_once(": ").is_some_and(|(program, said)| {
            said == "No such file or directory" && !program.contains(['/', ' '])
        })
    };
    log.contains("preprocess host compiler properties") || log.lines().any(is_of_gcc)
}

/// The names that the expressions `numbers` have in `ptx`, in their order: the values of variables
/// that were made of them. None where one is missing.
pub(super) fn names(ptx: &str, numbers: &[usize]) -> Option<Vec<String>> {
    let name_of = |number: &usize| {
        let (_, rest) = ptx.split_once(&format!(" gpuprof_{number} = "))?;
        let value = rest.split(';').next()?.trim();
        let generic = value.strip_prefix("generic(").and_then(|it| it.strip_suffix(')'));
        Some(generic.unwrap_or(value).to_owned())
    };
    numbers.iter().map(name_of).collect()
}

/// The files of a rule for make, as `-MD` writes it.
pub(super) fn files(rule: &str) -> Vec<String> {
    let (_, files) = rule.split_once(" : ").or_else(|| rule.split_once(": ")).unwrap_or_default();
    let mut all = vec![String::new()];
    let mut escaped = false;
    for c in files.chars() {
        match (c, escaped) {
            ('\\', false) => escaped = true,
            ('\n' | '\r', _) | (' ' | '\t', false) => {
                escaped = false;
                all.push(String::new());
            }
            (c, _) => {
                let backslash = escaped && !" #\\".contains(c);
                escaped = false;
                let last = all.last_mut().expect("there is always one");
                last.extend(backslash.then_some('\\'));
                last.push(c);
            }
        }
    }
    all.into_iter().filter(|file| !file.is_empty()).map(|file| file.replace("$$", "$")).collect()
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
