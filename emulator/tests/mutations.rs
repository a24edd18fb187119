//! PTX text with random damage is loaded or refused, and never a panic.

use crate::reference::random::Random;
use crate::reference::{flat, generate, ptx};
use gpuprof_emulator::device::Device;

const FIXTURES: [&str; 5] = [
    include_str!("fixtures/kernels.ptx"),
    include_str!("fixtures/calls.ptx"),
    include_str!("fixtures/masks.ptx"),
    include_str!("fixtures/arithmetic.ptx"),
    include_str!("fixtures/rust_kernels.ptx"),
];
/// Tokens that mean something in many places.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "|",
    "!",
    "@",
    "%",
    ".",
    "-",
    "+",
    "0",
    "-1",
    "18446744073709551615",
    "0x",
    "1e999",
    ".b64",
    ".pred",
    "_",
];

/// The kernels of the fixtures, each with the header of its module, and some generated ones.
fn corpus() -> Vec<Vec<String>> {
    let mut kernels = Vec::new();
    for fixture in FIXTURES {
        let mut parts = fixture.split(".visible .entry");
        let header = parts.next().unwrap_or_default();
        kernels.extend(parts.map(|kernel| format!("{header}.visible .entry{kernel}")));
    }
    for seed in 0..20 {
        let program = generate::program(seed);
        kernels.push(ptx::module("program", &program, &flat::flatten(&program)));
    }
    kernels.iter().map(|kernel| tokens(kernel)).collect()
}

/// Words, numbers, spaces and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let mut in_word = false;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if in_word && is_word(c) => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        in_word = is_word(c);
    }
    tokens
}

fn damage(tokens: &mut Vec<String>, corpus: &[Vec<String>], random: &mut Random) {
    let at = random.below(tokens.len() as u32) as usize;
    let end = (at + 1 + random.below(12) as usize).min(tokens.len());
    let donor = &corpus[random.below(corpus.len() as u32) as usize];
    let other = donor[random.below(donor.len() as u32) as usize].clone();
    match random.below(8) {
        0 => drop(tokens.remove(at)),
        1 => drop(tokens.drain(at..end)),
        2 => {
            let copy = tokens[at..end].to_vec();
            tokens.splice(at..at, copy);
        }
        3 => tokens[at] = other,
        4 => tokens.insert(at, other),
        5 => tokens[at] = random.pick(&WORDS).to_string(),
        6 => tokens[at] = (random.next() >> random.below(64)).to_string(),
        _ => {
            let with = random.below(tokens.len() as u32) as usize;
            tokens.swap(at, with);
        }
    }
    if random.one_in(50) {
        tokens.truncate(at + 1);
    }
}

#[test]
fn damaged_text_is_loaded_or_refused() {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let first = number("MUTATED_SEED").unwrap_or(0);
    let count = number("MUTATED_TEXTS").unwrap_or(300);
    let corpus = corpus();
    let (mut loaded, mut refused) = (0, 0);
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let mut tokens = random.pick(&corpus);
        for _ in 0..1 + random.below(4) {
            if !tokens.is_empty() {
                damage(&mut tokens, &corpus, &mut random);
            }
        }
        let text = tokens.concat();
        match std::panic::catch_unwind(|| Device::default().load(&text).is_ok()) {
            Ok(true) => loaded += 1,
            Ok(false) => refused += 1,
            Err(_) => panic!("seed {seed} panics:\n{text}"),
        }
    }
    // Damage that is always refused, or never, would test little.
    assert!(loaded > 0 && refused > 0, "{loaded} loaded, {refused} refused");
}
