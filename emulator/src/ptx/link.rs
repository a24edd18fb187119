//! Modules of relocatable device code in, one module out, as nvlink joins machine code.
//!
//! A name with `.extern`, `.visible` or `.weak` is the same in all modules, and any other one is
//! its module's own. Tables for debuggers are dropped.

use std::collections::{HashMap, HashSet};

/// The kind of a piece of a module's top level.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind<'t> {
    Version,
    Target,
    /// With its number.
    File(&'t str),
    /// For debuggers, or the same in every module.
    Dropped,
    Declared(Name<'t>),
    /// An alias or a pragma.
    Other,
}

/// A variable or a function.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Name<'t> {
    name: &'t str,
    linkage: Linkage,
    /// Whether it has a place or a body.
    is_defined: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Linkage {
    Own,
    Visible,
    /// One of several equal definitions is kept.
    Weak,
}

/// A piece of a module's top level, as words, quoted texts and single characters.
#[derive(Debug)]
struct Item<'t> {
    pieces: Vec<&'t str>,
    kind: Kind<'t>,
}

/// Joins modules. A name that is defined twice stays so, for the parser to refuse.
pub fn link(texts: &[&str]) -> String {
    let modules: Vec<Vec<Item<'_>>> = texts.iter().map(|text| items(text)).collect();
    let mut linked = Linked::new(&modules);
    for (number, items) in modules.iter().enumerate() {
        linked.add(number, items);
    }
    linked.text
}

/// The text so far, and the names of all modules.
#[derive(Default)]
struct Linked<'t> {
    text: String,
    /// For each name, the modules that have it.
    modules: HashMap<&'t str, HashSet<usize>>,
    /// Names that some module defines, and those of which the definition is not weak.
    defined: HashSet<&'t str>,
    strong: HashSet<&'t str>,
    /// Names that the text defines.
    written: HashSet<&'t str>,
    files: usize,
}

impl<'t> Linked<'t> {
    fn new(modules: &[Vec<Item<'t>>]) -> Self {
        let newest = |kind| {
            let own = modules.iter().flatten().filter(|item| item.kind == kind);
            own.map(|item| item.pieces.concat())
                .max_by_key(|text| numbers(text))
                .unwrap_or_default()
        };
        let text = format!("{}{}.address_size 64\n", newest(Kind::Version), newest(Kind::Target));
        let mut linked = Self { text, ..Self::default() };
        for (number, items) in modules.iter().enumerate() {
            for name in items.iter().filter_map(Item::declared) {
                linked.modules.entry(name.name).or_default().insert(number);
                if name.is_defined && name.linkage != Linkage::Own {
                    linked.defined.insert(name.name);
                    if name.linkage == Linkage::Visible {
                        linked.strong.insert(name.name);
                    }
                }
            }
        }
        linked
    }

    /// Appends module `number`, except for definitions that the text already has.
    fn add(&mut self, number: usize, items: &[Item<'t>]) {
        let own = items.iter().filter_map(Item::declared);
        let own = own.filter(|name| name.linkage == Linkage::Own);
        let shared = own.filter(|name| self.modules[name.name].len() > 1);
        let renamed: HashMap<&str, String> =
            shared.map(|name| (name.name, format!("{}${number}", name.name))).collect();
        // nvcc writes them behind the code.
        let files = items.iter().filter_map(|item| match item.kind {
            Kind::File(file) => Some(file),
            _ => None,
        });
        let files: HashMap<&str, String> =
            files.zip(self.files + 1..).map(|(file, number)| (file, number.to_string())).collect();
        self.files += files.len();
        for item in items {
            match item.kind {
                Kind::Version | Kind::Target | Kind::Dropped => continue,
                Kind::Declared(name) if !self.takes(item, name) => continue,
                Kind::Declared(_) | Kind::File(_) | Kind::Other => {}
            }
            self.write(item, &renamed, &files);
        }
    }

    /// Whether the text needs this definition or declaration.
    fn takes(&mut self, item: &Item<'_>, name: Name<'t>) -> bool {
        if name.linkage == Linkage::Own {
            return true;
        }
        if !name.is_defined {
            // A function may be declared before its definition.
            let has_place = !item.is_function() && self.defined.contains(name.name);
            return !has_place && !self.written.contains(name.name);
        }
        if name.linkage == Linkage::Weak && self.strong.contains(name.name) {
            return false;
        }
        self.written.insert(name.name) || name.linkage == Linkage::Visible
    }

    /// Appends an item with the names and the numbers of files that it has here.
    fn write(
        &mut self,
        item: &Item<'_>,
        renamed: &HashMap<&str, String>,
        files: &HashMap<&str, String>,
    ) {
        let mut is_file = false;
        for piece in &item.pieces {
            let known = if is_file { files.get(piece) } else { renamed.get(piece) };
            self.text.push_str(known.map_or(piece, String::as_str));
            is_file = matches!(*piece, "loc" | "file" | "inlined_at") || is_file && is_blank(piece);
        }
        self.text.push('\n');
    }
}

impl<'t> Item<'t> {
    fn declared(&self) -> Option<Name<'t>> {
        if let Kind::Declared(name) = self.kind { Some(name) } else { None }
    }

    fn words(&self) -> impl Iterator<Item = &'t str> {
        self.pieces.iter().copied().filter(|piece| is_word(piece))
    }

    fn is_function(&self) -> bool {
        self.words().take(2).any(|word| matches!(word, "func" | "entry"))
    }
}

/// The numbers in a text, by which versions and targets are ordered.
fn numbers(text: &str) -> Vec<u32> {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

fn is_word(piece: &str) -> bool {
    piece.starts_with(is_part_of_word)
}

fn is_name(piece: &str) -> bool {
    is_word(piece) && !piece.starts_with(|c: char| c.is_ascii_digit())
}

fn is_blank(piece: &str) -> bool {
    piece.trim().is_empty()
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// The words, quoted texts and other characters of `text`, without comments.
fn pieces(text: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::with_capacity(text.len() / 4), text);
    while let Some(first) = rest.chars().next() {
        let closed = |end: &str, from: usize| {
            rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len())
        };
        let (bytes, is_comment) = match first {
            _ if is_part_of_word(first) => {
                (rest.find(|c| !is_part_of_word(c)).unwrap_or(rest.len()), false)
            }
            '"' => (closed("\"", 1), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => (closed("*/", 2), true),
            _ => (first.len_utf8(), false),
        };
        if !is_comment {
            all.push(&rest[..bytes]);
        }
        rest = &rest[bytes..];
    }
    all
}

/// The items of a module.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut open, mut depth) = (Vec::new(), 0_u32);
    for piece in pieces(text) {
        // Between items there are blanks, and the NUL at the end of a text.
        if open.is_empty() && piece != "." {
            continue;
        }
        open.push(piece);
        match piece {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && ends(&open, piece) {
            let pieces = std::mem::take(&mut open);
            items.push(Item { kind: kind(&pieces), pieces });
        }
    }
    items
}

/// Whether `last` ends an item, outside of parentheses and braces.
fn ends(item: &[&str], last: &str) -> bool {
    match item.get(1) {
        Some(&"version" | &"target" | &"address_size" | &"file") => last == "\n",
        Some(&"section") => last == "}",
        Some(_) => last == ";" || last == "}" && !item.contains(&"="),
        None => false,
    }
}

fn kind<'t>(item: &[&'t str]) -> Kind<'t> {
    let word = |at: usize| item.iter().copied().filter(|piece| is_word(piece)).nth(at);
    match word(0) {
        Some("version") => Kind::Version,
        Some("target") => Kind::Target,
        Some("file") => word(1).map_or(Kind::Dropped, Kind::File),
        Some("address_size" | "section") => Kind::Dropped,
        Some("alias" | "pragma") | None => Kind::Other,
        Some(_) => name(item).map_or(Kind::Other, Kind::Declared),
    }
}

/// The name that an item declares: the first word outside of parentheses that is neither a
/// directive (`.align`) nor a number.
fn name<'t>(item: &[&'t str]) -> Option<Name<'t>> {
    let (mut depth, mut name) = (0_u32, None);
    for pair in item.windows(2) {
        match pair[1] {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            word if depth == 0 && pair[0] != "." && is_name(word) => {
                name = Some(word);
                break;
            }
            _ => {}
        }
    }
    let has = |directive| {
        item.iter().take_while(|piece| Some(**piece) != name).any(|it| *it == directive)
    };
    let is_function = has("func") || has("entry");
    let linkage = match () {
        () if has("weak") || has("common") => Linkage::Weak,
        () if has("visible") || has("extern") => Linkage::Visible,
        () => Linkage::Own,
    };
    let is_defined = if is_function { item.last() == Some(&"}") } else { !has("extern") };
    name.map(|name| Name { name, linkage, is_defined })
}

#[cfg(test)]
mod tests {
    use super::link;

    const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

    fn linked(modules: &[&str]) -> String {
        let texts: Vec<String> = modules.iter().map(|text| format!("{HEAD}{text}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let text = link(&texts);
        let lines = text.strip_prefix(HEAD).expect("all modules have this head").lines();
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_declaration_is_replaced_by_the_definition_of_another_module() {
        let user = ".extern .const .align 4 .u32 factor;\n.extern .func (.param .b32 r) f\n();";
        let owner = ".visible .const .align 4 .u32 factor = 3;\n\
                     .visible .func (.param .b32 r) f ()\n{ ld.const.u32 %r1, [factor]; }";
        let (declared, defined) = (".extern .func (.param .b32 r) f\n();", owner);
        assert_eq!(linked(&[user, owner]), format!("{declared}\n{defined}"));
        assert_eq!(linked(&[owner, user]), defined);
    }

    #[test]
    fn names_of_one_module_alone_are_kept_apart() {
        let module =
            ".global .align 1 .b8 $str[2] = {1, 0};\n.visible .entry k()\n{ mov.u64 %rd1, $str; }";
        let other = module.replace("k()", "l()");
        let both =
            format!("{}\n{}", module.replace("$str", "$str$0"), other.replace("$str", "$str$1"));
        assert_eq!(linked(&[module, &other]), both);
        assert_eq!(linked(&[module]), module);
    }

    #[test]
    fn weak_definitions_yield_to_strong_ones() {
        let (weak, strong) = (".weak .func f()\n{ weak; }", ".visible .func f()\n{ strong; }");
        assert_eq!(linked(&[weak, weak]), weak);
        assert_eq!(linked(&[weak, strong]), strong);
        assert_eq!(linked(&[strong, strong]), format!("{strong}\n{strong}"));
    }

    #[test]
    fn source_lines_keep_their_files() {
        let module = |file| {
            format!(
                ".file 1 \"{file}\"\n.visible .func {file}()\n{{ .loc 1 1 2, function_name \
                 $L0+4, inlined_at 1 1 3\nret; // 1\n}}\n.section .debug_str\n{{\n$L0:\n.b8 1\n}}"
            )
        };
        assert_eq!(
            linked(&[&module("a"), &module("b")]),
            ".file 1 \"a\"\n.visible .func a()\n{ .loc 1 1 2, function_name $L0+4, inlined_at 1 1 \
             3\nret; \n}\n.file 2 \"b\"\n.visible .func b()\n{ .loc 2 1 2, function_name $L0+4, \
             inlined_at 2 1 3\nret; \n}"
        );
    }

    #[test]
    fn files_numbered_after_the_code_keep_their_lines() {
        let module = |file| {
            format!(".visible .func {file}()\n{{ .loc 1 1 2\nret;\n}}\n.file 1 \"{file}\"\n")
        };
        assert_eq!(
            linked(&[&module("a"), &module("b")]),
            ".visible .func a()\n{ .loc 1 1 2\nret;\n}\n.file 1 \"a\"\n.visible .func b()\n{ .loc 2 \
             1 2\nret;\n}\n.file 2 \"b\""
        );
    }

    #[test]
    fn the_newest_version_and_target_are_taken() {
        let new = HEAD.replace("8.0", "9.10").replace("sm_80", "sm_90");
        let old = HEAD.replace("8.0", "9.2");
        assert_eq!(link(&[&new, &old]), new);
    }
}
