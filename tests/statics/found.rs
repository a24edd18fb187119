//! Input: the tokens of a Rust file. Output: its process-wide state.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Types with a value that changes through a shared reference, or is made at its first use. Those
/// that begin with `Atomic` count as well.
const CHANGING: [&str; 11] = [
    "Cell",
    "LazyCell",
    "LazyLock",
    "Mutex",
    "Once",
    "OnceCell",
    "OnceLock",
    "RefCell",
    "RwLock",
    "SyncUnsafeCell",
    "UnsafeCell",
];

/// The name of a leak here: a call has no name.
pub const LEAK: &str = "leak";

/// The names of statics that change, and [`LEAK`] for each value that is leaked.
pub fn hidden_state(tokens: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    walk(tokens, false, &mut found);
    found
}

/// `local` says whether these are the tokens of a `thread_local!`; all its statics count.
fn walk(tokens: TokenStream, local: bool, found: &mut Vec<String>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => {
                let is_local = at > 1 && is(&trees[at - 2], "thread_local") && bang(&trees[at - 1]);
                walk(group.stream(), is_local, found);
            }
            TokenTree::Ident(word) if word == "static" && !after_quote(&trees, at) => {
                found.extend(changing_static(&trees[at + 1..], local));
            }
            TokenTree::Ident(word) if word == "leak" && is_call(&trees, at) => {
                found.push(LEAK.to_owned());
            }
            _ => {}
        }
    }
}

/// The name of the static with these tokens after the keyword, if it can change.
fn changing_static(trees: &[TokenTree], local: bool) -> Option<String> {
    let mutable = is(trees.first()?, "mut");
    let trees = &trees[usize::from(mutable)..];
    let TokenTree::Ident(name) = trees.first()? else { return None };
    let ends = |tree: &TokenTree| matches!(tree, TokenTree::Punct(it) if matches!(it.as_char(), '=' | ';'));
    let of_type = trees.iter().take_while(|tree| !ends(tree)).cloned();
    (local || mutable || names_changing(of_type.collect())).then(|| name.to_string())
}

fn names_changing(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => names_changing(group.stream()),
        TokenTree::Ident(word) => {
            let word = word.to_string();
            CHANGING.contains(&word.as_str()) || word.starts_with("Atomic")
        }
        _ => false,
    })
}

/// Whether the word at `at` is called as a method, or as a function of a type such as `Box`.
fn is_call(trees: &[TokenTree], at: usize) -> bool {
    let before = |by: usize| at.checked_sub(by).and_then(|at| trees.get(at));
    let punct = |tree: Option<&TokenTree>, char| matches!(tree, Some(TokenTree::Punct(it)) if it.as_char() == char);
    let is_type = |tree: Option<&TokenTree>| {
        let word = tree.map(ToString::to_string).unwrap_or_default();
        word.starts_with(|c: char| c.is_ascii_uppercase() || c == '>')
    };
    let called = punct(before(1), '.') || (punct(before(1), ':') && is_type(before(3)));
    let arguments = matches!(
        trees.get(at + 1),
        Some(TokenTree::Group(it)) if it.delimiter() == Delimiter::Parenthesis
    );
    called && arguments
}

fn is(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(it) if it == word)
}

fn bang(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(it) if it.as_char() == '!')
}

/// Whether the word at `at` is that of a lifetime.
fn after_quote(trees: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| trees.get(at));
    matches!(before, Some(TokenTree::Punct(it)) if it.as_char() == '\'')
}

#[test]
fn mutable_statics_are_found_everywhere() {
    let text = "
        static A: Mutex<u32> = Mutex::new(0);
        pub(crate) static B: std::sync::LazyLock<Vec<u8>> = LazyLock::new(Vec::new);
        fn f() { static C: [AtomicU32; 2] = x; if y { static mut D: u8 = 0; } }
        thread_local! { pub static E: Plain = const { Plain }; }
        static F: Option<&'static RwLock<()>> = None;
        const _: () = { static G: OnceLock<()> = OnceLock::new(); };";
    assert_eq!(hidden_state(text.parse().unwrap()), ["A", "B", "C", "D", "E", "F", "G"]);
}

#[test]
fn leaked_memory_is_found() {
    let text = "fn f() { let a = Box::leak(Box::new(1)); let b = String::new().leak();\n                leak(a); call::leak(b); Vec::<u8>::leak(c) }";
    assert_eq!(hidden_state(text.parse().unwrap()), [LEAK; 3]);
}

#[test]
fn immutable_statics_are_allowed() {
    let text = "
        static TABLE: &[(&str, Unit)] = &[];
        static NAMES: [&'static str; 2] = [\"Mutex\", \"leak\"];
        fn f(cell: &'static Mutex<u32>) -> impl Fn() + 'static { let leak = 1; move || () }
        struct S { lock: Mutex<u32> }";
    assert!(hidden_state(text.parse().unwrap()).is_empty());
}
