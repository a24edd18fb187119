//! Input: the root file of a crate. Output: its modules, the definitions and imports of each, and
//! the paths that its code mentions.
//!
//! Code under `#[cfg(test)]` is left out: a test may depend on everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, mem};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path as it is written: `crate`, `store`, `Journal`.
pub type Segments = Vec<String>;

/// An import that binds a name.
pub struct Import {
    pub path: Segments,
    pub public: bool,
}

/// One module, inline or in a separate file.
#[derive(Default)]
pub struct Module {
    pub file: PathBuf,
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    pub items: BTreeSet<String>,
    pub imports: BTreeMap<String, Import>,
    /// Modules of which everything is imported.
    pub globs: Vec<Segments>,
    /// Paths in the code, single names included.
    pub mentions: BTreeSet<Segments>,
}

/// The modules of a crate; the first is its root.
#[derive(Default)]
pub struct Modules(pub Vec<Module>);

impl Modules {
    pub fn of_crate(root: &Path) -> Modules {
        let mut modules = Modules::default();
        let folder = root.parent().unwrap().to_path_buf();
        modules.read(root.to_path_buf(), folder, None);
        modules
    }

    /// Reads a file with child modules in `folder`.
    fn read(&mut self, file: PathBuf, folder: PathBuf, parent: Option<usize>) -> usize {
        let file = file.canonicalize().unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let tokens = text.parse().unwrap_or_else(|error| panic!("{file:?}: {error}"));
        self.add(file, folder, parent, tokens)
    }

    fn add(
        &mut self,
        file: PathBuf,
        folder: PathBuf,
        parent: Option<usize>,
        tokens: TokenStream,
    ) -> usize {
        let number = self.0.len();
        self.0.push(Module { file, parent, ..Module::default() });
        Scan { modules: self, number, folder }.tokens(tokens, true);
        number
    }
}

/// Words before the name of an item.
const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// Reads the tokens of one module.
struct Scan<'a> {
    modules: &'a mut Modules,
    number: usize,
    folder: PathBuf,
}

impl Scan<'_> {
    /// `outside` is true outside of functions and types, where names are the module's.
    fn tokens(&mut self, tokens: TokenStream, outside: bool) {
        let mut cursor = Cursor { trees: tokens.into_iter().collect(), at: 0 };
        let mut attribute = Attribute::default();
        let mut public = false;
        while let Some(tree) = cursor.next() {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let body = attribute.read(&mut cursor);
                    self.tokens(body, false);
                }
                TokenTree::Punct(punct) => self.punctuation(punct.as_char(), &mut cursor),
                TokenTree::Literal(_) => {}
                TokenTree::Ident(word) if mem::take(&mut attribute.test) && word != "use" => {
                    cursor.skip_item();
                }
                TokenTree::Ident(word) if word == "pub" => {
                    public = true;
                    cursor.group(Delimiter::Parenthesis);
                    continue;
                }
                TokenTree::Ident(word) if word == "use" => {
                    let tree = cursor.until_semicolon();
                    self.import(Segments::new(), tree, public);
                }
                TokenTree::Ident(word) if word == "mod" => {
                    self.child(&mut cursor, attribute.path.take());
                }
                TokenTree::Ident(word) => {
                    let word = word.to_string();
                    if outside && ITEMS.contains(&word.as_str()) {
                        self.item(&cursor);
                    }
                    self.mention(word, &mut cursor);
                }
                TokenTree::Group(group) => self.tokens(group.stream(), false),
            }
            public = false;
        }
    }

    /// The name after `.` is a field's or a method's, after `'` a lifetime's.
    fn punctuation(&mut self, punct: char, cursor: &mut Cursor) {
        if (punct == '.' || punct == '\'') && cursor.word(0).is_some() {
            cursor.at += 1;
        }
    }

    fn item(&mut self, cursor: &Cursor) {
        if let Some(name) = cursor.word(0).or_else(|| cursor.word(1)) {
            self.module().items.insert(name);
        }
    }

    fn mention(&mut self, word: String, cursor: &mut Cursor) {
        let mut path = vec![word];
        while cursor.is_separator()
            && let Some(next) = cursor.word(2)
        {
            path.push(next);
            cursor.at += 3;
        }
        self.module().mentions.insert(path);
    }

    /// `mod name;` or `mod name { … }`.
    fn child(&mut self, cursor: &mut Cursor, path: Option<String>) {
        let Some(name) = cursor.word(0) else { return };
        cursor.at += 1;
        let parent = Some(self.number);
        let inner = self.folder.join(&name);
        let child = match (cursor.group(Delimiter::Brace), path) {
            (Some(body), _) => {
                let file = self.module().file.clone();
                self.modules.add(file, inner, parent, body)
            }
            (None, Some(path)) => {
                let file = self.module().file.with_file_name(path);
                let folder = file.parent().unwrap().to_path_buf();
                self.modules.read(file, folder, parent)
            }
            (None, None) => {
                let file = self.folder.join(format!("{name}.rs"));
                let file = if file.exists() { file } else { inner.join("mod.rs") };
                self.modules.read(file, inner, parent)
            }
        };
        self.module().children.insert(name, child);
    }

    /// One branch of a `use`: the text between `use` and `;`, or between commas.
    fn import(&mut self, mut path: Segments, tree: Vec<TokenTree>, public: bool) {
        let mut cursor = Cursor { trees: tree, at: 0 };
        let mut name = None;
        while let Some(tree) = cursor.next() {
            match tree {
                TokenTree::Ident(word) if word == "as" => name = cursor.word(0),
                TokenTree::Ident(_) if name.is_some() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    return self.module().globs.push(path);
                }
                TokenTree::Group(group) => {
                    for branch in branches(group.stream()) {
                        self.import(path.clone(), branch, public);
                    }
                    return;
                }
                _ => {}
            }
        }
        if path.len() > 1 && path.last().is_some_and(|it| it == "self") {
            path.pop();
        }
        if let Some(name) = name.or_else(|| path.last().cloned()) {
            self.module().imports.insert(name, Import { path, public });
        }
    }

    fn module(&mut self) -> &mut Module {
        &mut self.modules.0[self.number]
    }
}

fn branches(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut branches = vec![Vec::new()];
    for tree in tokens {
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' => branches.push(Vec::new()),
            _ => branches.last_mut().unwrap().push(tree),
        }
    }
    branches.retain(|it| !it.is_empty());
    branches
}

/// The attributes of an item.
#[derive(Default)]
struct Attribute {
    test: bool,
    path: Option<String>,
}

impl Attribute {
    /// Reads an attribute after its `#`, and returns the contents of its brackets.
    fn read(&mut self, cursor: &mut Cursor) -> TokenStream {
        let body = cursor.group(Delimiter::Bracket).unwrap_or_default();
        let text = body.to_string().replace(' ', "");
        self.test |= text == "cfg(test)";
        if let Some(path) = text.strip_prefix("path=\"") {
            self.path = Some(path.trim_end_matches('"').to_owned());
        }
        body
    }
}

struct Cursor {
    trees: Vec<TokenTree>,
    at: usize,
}

impl Cursor {
    fn next(&mut self) -> Option<TokenTree> {
        self.at += 1;
        self.trees.get(self.at - 1).cloned()
    }

    /// The word that stands so many tokens ahead.
    fn word(&self, ahead: usize) -> Option<String> {
        match self.trees.get(self.at + ahead)? {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        }
    }

    fn is_punct(&self, ahead: usize, punct: char) -> bool {
        matches!(self.trees.get(self.at + ahead), Some(TokenTree::Punct(it)) if it.as_char() == punct)
    }

    fn is_separator(&self) -> bool {
        self.is_punct(0, ':') && self.is_punct(1, ':')
    }

    /// Takes the next token if it is such a group.
    fn group(&mut self, delimiter: Delimiter) -> Option<TokenStream> {
        match self.trees.get(self.at)? {
            TokenTree::Group(group) if group.delimiter() == delimiter => {
                self.at += 1;
                Some(group.stream())
            }
            _ => None,
        }
    }

    fn until_semicolon(&mut self) -> Vec<TokenTree> {
        let start = self.at;
        while self.at < self.trees.len() && !self.is_punct(0, ';') {
            self.at += 1;
        }
        self.trees[start..self.at].to_vec()
    }

    /// Skips an item after its first word: to its body or its semicolon.
    fn skip_item(&mut self) {
        while let Some(tree) = self.next() {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                _ => {}
            }
        }
    }
}
