//! Whether declarations fit the kernels: asked of the compiler, and its answer read.
//!
//! Input: instances. Output: C++ that follows the sources, a line each, and of every message
//! about it which instance it is about and what does not fit. PTX says neither signedness nor
//! pointee nor `const`; the type of the function does.

use std::collections::BTreeSet;
use std::path::Path;

use gpuprof_model::suggest::{nearest, which};
use serde::{Deserialize, Serialize};

use super::diagnostic::{Diagnostic, Note, Severity, Span};
use super::kernel_names::{SourceKernel, bare, own};
use super::program::{Declared, FilePosition, Instance, Layout};

/// The file name of the lines of the checks.
pub(super) const FILE: &str = "gpuprof-instances";

/// The file name of the lines of [`names`].
pub(super) const NAMES: &str = "gpuprof-names";

/// NVRTC's file name for the name expressions.
const NAME_MAP: &str = "__nv_name_map";

/// How many names a message lists.
const NAMED: usize = 10;

/// What is wrong with an instance. It is about no place in Rust, so it can be kept while lines of
/// the declaration move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fault {
    /// A parameter of the kernel is of this type, in C++, and declared as another one.
    Parameter {
        /// Its number, from 0.
        index: usize,
        /// The kernel's type.
        actual: String,
        /// Its size and alignment.
        layout: Layout,
    },
    /// The kernel takes that many parameters, and another number is declared.
    Count {
        /// The kernel's.
        actual: usize,
        /// Their types in C++, if the compiler reports them.
        types: Option<String>,
    },
    /// The expression names no kernel: the compiler's words.
    Expression(Diagnostic),
    /// The declared types do not compile: the compiler's words, and which parameter they are about,
    /// from 0.
    Declaration(Diagnostic, Option<usize>),
    /// The instance does not compile.
    Body(Diagnostic),
}

/// The checks: line `i + 1` is about instance `i`, and empty where that is not wanted.
pub(super) fn checks(instances: &[Instance], wanted: &[usize]) -> String {
    let mut text = format!("#line 1 \"{FILE}\"\n");
    for (number, instance) in instances.iter().enumerate() {
        if wanted.contains(&number) && !instance.expression.trim_start().starts_with('&') {
            let types = instance.parameters.iter().map(|it| format!(", {}", spelled(it)));
            let (types, expression) = (types.collect::<String>(), &instance.expression);
            let start = start(number);
            text.push_str(&format!("{start}{types}>::gpuprof_fits({expression}));"));
        }
        text.push('\n');
    }
    text
}

/// A variable for each expression, for a compiler without name expressions: line `i + 1` is about
/// instance `i`.
pub(super) fn names(instances: &[Instance], wanted: &[usize]) -> String {
    let mut text = format!("#line 1 \"{NAMES}\"\n");
    for (number, instance) in instances.iter().enumerate() {
        if wanted.contains(&number) {
            let expression = instance.expression.trim_start();
            let address = expression.strip_prefix('&').unwrap_or(expression);
            text.push_str(&format!("extern \"C\" __device__ auto gpuprof_{number} = &{address};"));
        }
        text.push('\n');
    }
    text
}

fn start(number: usize) -> String {
    format!("static_assert(gpuprof_declared<{number}")
}

/// The parameter with a type at this column of the line of an instance, both from 0.
fn parameter_at(instance: &Instance, number: usize, column: usize) -> Option<usize> {
    let mut end = start(number).len();
    instance.parameters.iter().position(|parameter| {
        let begin = end + ", ".len();
        end = begin + spelled(parameter).len();
        (begin..end).contains(&column)
    })
}

fn spelled(parameter: &Declared) -> String {
    match parameter.layout {
        Some(it) => format!("gpuprof_sized<{}, {}, {}>", parameter.cpp, it.size, it.align),
        None => parameter.cpp.clone(),
    }
}

/// Which of the instances a message is about, and what is wrong with it; none where it is about the
/// sources.
pub(super) fn fault(diagnostic: &Diagnostic, instances: &[Instance]) -> Option<(usize, Fault)> {
    let instance_at = |span: &Span| -> Option<usize> {
        let line = span.place.line.checked_sub(1)?;
        let file = &span.place.file;
        (file == Path::new(FILE) || file == Path::new(NAMES)).then_some(line as usize)
    };
    let span = diagnostic.span.as_ref()?;
    if span.place.file == Path::new(NAME_MAP) {
        let text = span.text.as_deref()?.strip_prefix("#pragma nv_mangled_name")?;
        let of_text = |it: &Instance| same_words(&it.expression, text);
        return Some((instances.iter().position(of_text)?, Fault::Expression(diagnostic.clone())));
    }
    if let Some(number) = instance_at(span).filter(|_| span.place.file == Path::new(NAMES)) {
        return Some((number, Fault::Expression(diagnostic.clone())));
    }
    if let Some(number) = instance_at(span) {
        let column = span.place.column.and_then(|it| (it as usize).checked_sub(1));
        let parameter = instances.get(number).zip(column);
        let parameter = parameter.and_then(|(it, column)| parameter_at(it, number, column));
        return Some((number, Fault::Declaration(diagnostic.clone(), parameter)));
    }
    let steps = diagnostic.notes.iter().filter_map(|note| note.span.as_ref());
    let number = steps.filter_map(instance_at).next_back()?;
    let mut check = diagnostic.notes.iter().find_map(|note| mismatch(&note.message));
    if let Some(Fault::Count { types, .. }) = &mut check {
        *types = diagnostic.notes.iter().find_map(|note| taken(&note.message));
    }
    Some((number, check.unwrap_or_else(|| Fault::Body(diagnostic.clone()))))
}

/// If an instance's name is wrong, the compiler reports the name, our check that uses it, and a
/// general error: keeps the most specific one. If the number of its parameters is wrong, each may
/// be in another's position.
pub(super) fn best(faults: &mut Vec<Fault>) {
    if faults.iter().any(|fault| matches!(fault, Fault::Count { .. })) {
        faults.retain(|fault| !matches!(fault, Fault::Parameter { .. }));
    }
    let diagnostic_of = |fault: &Fault| match fault {
        Fault::Expression(diagnostic) => Some(diagnostic.clone()),
        Fault::Declaration(diagnostic, _) => Some(diagnostic.clone()),
        _ => None,
    };
    if !faults.iter().any(|fault| matches!(fault, Fault::Expression(_))) {
        return;
    }
    let general = |fault: &Fault| {
        let text = diagnostic_of(fault).map(|it| it.message).unwrap_or_default();
        match fault {
            Fault::Expression(_) if !text.starts_with("Error in parsing name") => 0,
            Fault::Declaration(..) if !text.contains("gpuprof_") => 1,
            Fault::Expression(_) => 2,
            _ => 3,
        }
    };
    let best = faults.iter().min_by_key(|fault| general(fault)).and_then(diagnostic_of);
    *faults = best.map(Fault::Expression).into_iter().collect();
}

fn same_words(one: &str, other: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<String>();
    words(one) == words(other)
}

/// The mismatch that a step of a trace reports.
fn mismatch(step: &str) -> Option<Fault> {
    let after = |mark: &str| Some(step.split_once(mark)?.1.trim_end_matches([']', '"']));
    if step.contains("class \"gpuprof_parameter<") {
        let index = after(", Index=")?.split(',').next()?.parse().ok()?;
        let number = |mark: &str| after(mark)?.split(',').next()?.parse().ok();
        let layout = Layout { size: number(", Size=")?, align: number(", Align=")? };
        return Some(Fault::Parameter { index, actual: after(", Actual=")?.to_owned(), layout });
    }
    if step.contains("class \"gpuprof_count<") {
        return Some(Fault::Count { actual: after(", Actual=")?.parse().ok()?, types: None });
    }
    None
}

/// The types of the kernel's parameters, in a step of a trace that has them all.
fn taken(step: &str) -> Option<String> {
    let (_, types) = step.split_once(", Cs=<").filter(|_| step.contains("gpuprof_fits("))?;
    let types = types.trim_end_matches(['"', ']', ' ']).strip_suffix('>')?;
    Some(types.to_owned())
}

impl Fault {
    /// The message, at the declaration. `line` gives a line of a file of the package, and `kernels`
    /// the names of the kernels in its sources.
    pub(super) fn diagnostic(
        &self,
        instance: &Instance,
        line: impl Fn(&FilePosition) -> Option<String>,
        kernels: impl Fn() -> Vec<SourceKernel>,
    ) -> Diagnostic {
        let name = &instance.expression;
        let at = |place: &FilePosition| Some(Span { place: place.clone(), text: line(place) });
        let error = |message, place, notes: Vec<String>| Diagnostic {
            severity: Severity::Error,
            number: None,
            message,
            span: at(place),
            notes: notes.into_iter().map(|message| Note { message, span: None }).collect(),
        };
        match self {
            Self::Parameter { index, actual, layout } => {
                let Some(declared) = instance.parameters.get(*index) else {
                    return error(unlike(name), &instance.declared_at, Vec::new());
                };
                let message = format!(
                    "parameter {} of `{name}` is declared as `{}`{}, and the kernel takes `{actual}`",
                    index + 1,
                    declared.rust,
                    in_cpp(declared)
                );
                error(message, &declared.declared_at, remedies(declared, actual, *layout))
            }
            Self::Count { actual, types } => {
                let declared = instance.parameters.len();
                let message = format!(
                    "`{name}` is declared with {}, and the kernel takes {actual}",
                    counted(declared)
                );
                let types = types.iter().map(|types| format!("the kernel takes ({types})"));
                error(message, &instance.declared_at, types.collect())
            }
            Self::Expression(diagnostic) => {
                let (message, notes) = nameless(name, diagnostic, kernels);
                error(message, &instance.named_at, notes)
            }
            Self::Declaration(diagnostic, parameter) => {
                let parameter = parameter.and_then(|index| instance.parameters.get(index));
                if let Some(what) = no_kernel(diagnostic) {
                    let message = format!("`{name}` names no kernel: it is `{what}`");
                    return error(message, &instance.named_at, Vec::new());
                }
                let place = parameter.map_or(&instance.declared_at, |it| &it.declared_at);
                let (message, notes) = unfit(name, diagnostic, parameter);
                error(message, place, notes)
            }
            Self::Body(diagnostic) => {
                let mut diagnostic = diagnostic.clone();
                diagnostic.notes.retain(|note| !is_ours(note));
                let message = format!("`{name}` is declared here");
                diagnostic.notes.push(Note { message, span: at(&instance.declared_at) });
                diagnostic
            }
        }
    }
}

/// The name of a struct in C++, if it differs.
fn in_cpp(declared: &Declared) -> String {
    let differs = declared.layout.is_some() && declared.cpp != declared.rust;
    if differs { format!(" (`{}`)", declared.cpp) } else { String::new() }
}

/// How a struct is called in C++, for a name that is not there.
fn of_struct(parameter: &Declared) -> Option<String> {
    let Declared { rust, cpp, .. } = parameter;
    parameter.layout?;
    Some(format!(
        "`{rust}` is called `{cpp}` in C++, unless #[link_name = \"ns::{cpp}\"] in front of the \
         parameter says otherwise"
    ))
}

fn unlike(name: &str) -> String {
    format!("the declaration of `{name}` does not fit the kernel")
}

fn counted(parameters: usize) -> String {
    if parameters == 1 { "1 parameter".into() } else { format!("{parameters} parameters") }
}

/// A step of a trace that repeats the last one.
fn is_ours(note: &Note) -> bool {
    let ours = [FILE, NAMES].map(Path::new);
    note.span.as_ref().is_some_and(|span| ours.contains(&span.place.file.as_path()))
}

fn remedies(declared: &Declared, actual: &str, theirs: Layout) -> Vec<String> {
    if let Some(ours) = declared.layout.filter(|ours| *ours != theirs) {
        let layout_text = |it: Layout| format!("{} bytes aligned to {}", it.size, it.align);
        return vec![format!(
            "`{}` has {} in Rust, and `{actual}` has {} in C++; has it the same fields?",
            declared.rust,
            layout_text(ours),
            layout_text(theirs)
        )];
    }
    if declared.layout.is_some() {
        return vec![format!("if it is the same struct, say so by #[link_name = \"{actual}\"]")];
    }
    let rust = rust(actual).or_else(|| with_its_const(declared, actual));
    rust.map(|rust| format!("declare it as `{rust}`")).into_iter().collect()
}

/// The declared type, with the `const` of the kernel's type `actual` if nothing else differs:
/// `void` matches every pointee.
fn with_its_const(declared: &Declared, actual: &str) -> Option<String> {
    let is_const = |cpp: &str| cpp.trim_start().starts_with("const ");
    let pointee = |cpp: &str| {
        let pointee = cpp.trim().strip_suffix('*')?.trim();
        Some(pointee.strip_prefix("const ").unwrap_or(pointee).to_owned())
    };
    let (ours, theirs) = (pointee(&declared.cpp)?, pointee(actual)?);
    if ours != theirs && theirs != "void" || is_const(&declared.cpp) == is_const(actual) {
        return None;
    }
    let (_, ours) = declared.rust.strip_prefix('*')?.split_once(' ')?;
    Some(format!("*{} {ours}", if is_const(actual) { "const" } else { "mut" }))
}

/// The Rust declaration of a C++ type that is a number or a pointer to one.
fn rust(cpp: &str) -> Option<String> {
    if let Some(pointee) = cpp.strip_suffix('*') {
        return match pointee.trim_end().strip_prefix("const ") {
            Some(pointee) => Some(format!("*const {}", rust(pointee)?)),
            None => Some(format!("*mut {}", rust(pointee.trim_end())?)),
        };
    }
    let known = match cpp {
        "float" => "f32",
        "double" => "f64",
        "signed char" | "char" => "i8",
        "unsigned char" => "u8",
        "short" => "i16",
        "unsigned short" => "u16",
        "int" => "i32",
        "unsigned int" => "u32",
        "long" | "long long" => "i64",
        "unsigned long" | "unsigned long long" => "u64",
        "__nv_bool" | "bool" => "bool",
        _ => return None,
    };
    Some(known.into())
}

/// That `name` names nothing, and what to do about it.
fn nameless(
    name: &str,
    diagnostic: &Diagnostic,
    kernels: impl Fn() -> Vec<SourceKernel>,
) -> (String, Vec<String>) {
    // The rest is the expression, which is named already.
    let words = diagnostic.message.split(". Input name expression was").next().unwrap_or_default();
    if let Some(variable) = name.strip_prefix('&') {
        return (format!("`{variable}` names no variable: {words}"), hints(diagnostic));
    }
    let known = kernels();
    match others(name, diagnostic, &known).or_else(|| misfit(name, &known)) {
        Some(note) => (format!("`{name}` names no kernel"), vec![note]),
        None => (format!("`{name}` names no kernel: {words}"), hints(diagnostic)),
    }
}

/// Whether the compiler reports that the name does not exist.
fn is_unknown(diagnostic: &Diagnostic) -> bool {
    // NVIDIA's words, as for `hints`.
    let text = &diagnostic.message;
    ["is undefined", "has no member"].iter().any(|it| text.contains(it))
}

/// Whether it may not know the name: it takes the arguments of a template that is not there for an
/// expression, and says what is wrong with that.
fn may_be_unknown(diagnostic: &Diagnostic) -> bool {
    let (text, words) =
        (&diagnostic.message, ["type name is not allowed", "expected an expression"]);
    is_unknown(diagnostic) || words.iter().any(|it| text.contains(it))
}

/// The existing kernels, if none is called `name`.
fn others(name: &str, diagnostic: &Diagnostic, known: &[SourceKernel]) -> Option<String> {
    let asked = bare(name);
    if !may_be_unknown(diagnostic) || known.is_empty() || known.iter().any(|it| it.full == asked) {
        return None;
    }
    let called = |near: &dyn Fn(&SourceKernel) -> bool| {
        let full: BTreeSet<&str> =
            known.iter().filter(|it| near(it)).map(|it| it.full.as_str()).collect();
        full
    };
    let elsewhere = called(&|it| it.own() == own(asked));
    if let Some(full) = elsewhere.first().filter(|_| elsewhere.len() == 1) {
        let arguments = &name[name.find('<').unwrap_or(name.len())..];
        return Some(format!("`{full}` is there: write symbol = \"{full}{arguments}\""));
    }
    let near = nearest(own(asked), known.iter().map(SourceKernel::own));
    let near = match elsewhere.is_empty() {
        true => called(&|it| near.contains(&it.own())),
        false => elsewhere,
    };
    // A kernel from a macro may exist without being found.
    if near.is_empty() && !is_unknown(diagnostic) {
        return None;
    }
    which(&near.into_iter().collect::<Vec<_>>()).or_else(|| {
        let names: Vec<&str> = called(&|_| true).into_iter().collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let named = names.iter().take(NAMED).copied().collect::<Vec<_>>();
        Some(format!("the kernels there are {}{more}", named.join(", ")))
    })
}

/// The problem with the template arguments of `name`, if the sources have exactly one such kernel.
fn misfit(name: &str, known: &[SourceKernel]) -> Option<String> {
    let mut called = known.iter().filter(|it| it.full == bare(name));
    let kernel = called.next()?;
    called.next().is_none().then(|| kernel.misfit(name))?
}

/// That the declared types of `name` do not compile, of which `parameter` may be the reason, and
/// what to do about it.
fn unfit(
    name: &str,
    diagnostic: &Diagnostic,
    parameter: Option<&Declared>,
) -> (String, Vec<String>) {
    let message = format!("{}: {}", unlike(name), diagnostic.message);
    let of_struct = parameter.and_then(of_struct);
    (message, of_struct.map_or_else(|| hints(diagnostic), |note| vec![note]))
}

/// The type of an expression that does not name a function; our check takes only functions.
fn no_kernel(diagnostic: &Diagnostic) -> Option<&str> {
    let (check, types) = diagnostic.message.split_once("argument types are: (")?;
    let what = types.strip_suffix(')')?;
    (check.contains("gpuprof_fits") && !what.starts_with('<')).then_some(what)
}

/// What to do about a name that the compiler does not take: NVIDIA's words for it, which do not
/// change.
fn hints(diagnostic: &Diagnostic) -> Vec<String> {
    let text = &diagnostic.message;
    let hint = |part: &str, hint: &str| text.contains(part).then(|| hint.to_owned());
    hint("overloaded", "choose one of the overloads: `static_cast<void (*)(float*)>(name)`")
        .or_else(|| hint("cannot deduce \"auto\"", "a template needs its arguments: `name<4, float>`, and one of several overloads is chosen by `static_cast<void (*)(float*)>(name)`"))
        .or_else(|| hint("function template", "a template needs its arguments: `name<4, float>`"))
        .or_else(|| hint("non-__global__", "it is a function for kernels to call"))
        .or_else(|| hint("undefined", "is its namespace missing, or the file that defines it?"))
        .into_iter()
        .collect()
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
