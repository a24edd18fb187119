//! Input: a line of prose. Output: the habits in it that make English hard to read.
//!
//! One hit is fine; the limits are densities over the whole repository. They lie a little above the
//! densities reached, so that the text cannot become worse. Lower a limit when you have made the
//! text better.

/// A habit, with its limits.
pub struct Habit {
    /// Advice to the writer, after the name of the habit.
    pub name: &'static str,
    /// Sequences of words, see [`matches_at`].
    patterns: &'static [&'static str],
    /// The most hits in 1,000 lines of comments, of messages and of Markdown.
    pub limits: [f64; 3],
}

/// The habits.
pub const HABITS: &[Habit] = &[
    Habit {
        name: "a clause with \"what\" as a noun: name the thing",
        patterns: &["what !is|are|was|were|do|does|did|to|if|about|kind|version|happens|happened"],
        limits: [4.0, 4.0, 7.5],
    },
    Habit {
        name: "\"where\" for a condition: write \"if\"",
        patterns: &["^ where !is|are|do|does|to"],
        limits: [3.0, 6.0, 2.5],
    },
    Habit {
        name: "a program that tells: it reports, shows or says",
        patterns: &["tell|tells|told|telling"],
        limits: [1.5, 0.5, 0.5],
    },
    Habit {
        name: "persons: programs and values are no persons",
        patterns: &["who|whoever|whose|whom|nobody|anybody|somebody"],
        limits: [5.0, 1.0, 3.0],
    },
    Habit {
        name: "\"is no NOUN\": write \"is not a\"",
        patterns: &["is|are|was|were no !longer|more"],
        limits: [3.0, 6.0, 0.5],
    },
    Habit {
        name: "\"beside\": write \"next to\" or \"in addition to\"",
        patterns: &["beside|besides"],
        limits: [0.6, 0.5, 0.5],
    },
    Habit {
        name: "\"comes to\", \"goes on\": write \"amounts to\", \"continues\"",
        patterns: &["comes|came to", "go|goes|went|going on"],
        limits: [0.6, 0.5, 0.5],
    },
    Habit {
        name: "old words: write \"again\", \"available\", \"similar\"",
        patterns: &["anew", "at hand", "for want of", "the like", "in vain", "thereby", "whereof"],
        limits: [0.3, 0.3, 0.5],
    },
    Habit {
        name: "things that stand or are held: write \"compared with\", \"means\", \"is\"",
        patterns: &["held against", "stand|stands for|in|under|at|beside", "so is|are|has|does"],
        limits: [1.0, 0.5, 1.5],
    },
    Habit {
        name: "\"of its own\", \"of theirs\": write \"its own\", \"their\"",
        patterns: &["of theirs|ours|others", "of its|their own"],
        limits: [1.5, 0.5, 0.5],
    },
    Habit {
        name: "\"those that\", \"one that\": repeat the noun, or use an adjective",
        patterns: &["those|one|ones that|which|who"],
        limits: [5.0, 1.0, 1.5],
    },
];

/// How often each of [`HABITS`] occurs in `text`.
pub fn count(text: &str) -> Vec<usize> {
    let words = words(text);
    let found = |habit: &Habit| {
        let any = |at: &usize| habit.patterns.iter().any(|it| matches_at(it, &words, *at));
        (0..words.len()).filter(any).count()
    };
    HABITS.iter().map(found).collect()
}

/// Whether `pattern` matches `words` from `at` on. Its parts are: `a|b`, one of these words;
/// `!a|b`, a word, but none of these; and `^`, the beginning of a clause.
fn matches_at(pattern: &str, words: &[String], at: usize) -> bool {
    let mut next = at;
    for part in pattern.split(' ') {
        if part == "^" {
            if at > 0 && !begins_clause(&words[at - 1]) {
                return false;
            }
            continue;
        }
        let Some(word) = words.get(next).filter(|it| is_word(it)) else { return false };
        let (expected, listed) = match part.strip_prefix('!') {
            Some(listed) => (false, listed),
            None => (true, part),
        };
        if listed.split('|').any(|it| it == word) != expected {
            return false;
        }
        next += 1;
    }
    true
}

/// Whether the word after `previous` begins a clause.
fn begins_clause(previous: &str) -> bool {
    !is_word(previous) || ["and", "or", "but"].contains(&previous)
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphanumeric)
}

/// The words of `text` in lower case, each punctuation mark as a word, and code in backquotes as
/// `code`.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            words.push("code".to_owned());
            continue;
        }
        for character in part.chars().chain([' ']) {
            if character.is_alphanumeric() || ['\'', '_', '-'].contains(&character) {
                word.extend(character.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            if !character.is_whitespace() {
                words.push(character.to_string());
            }
        }
    }
    words
}

#[test]
fn habits_are_found_in_words_and_not_in_code() {
    let habits = |text: &str| -> Vec<usize> {
        let counts = count(text).into_iter().enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(index, _)| index).collect()
    };
    assert_eq!(habits("What a run holds, where nobody tells."), [0, 1, 2, 3]);
    assert_eq!(habits("What is it? It is no use, besides."), [4, 5]);
    assert_eq!(habits("It goes on, and where it comes to a halt anew."), [1, 6, 7]);
    assert_eq!(habits("One that stands for another, of its own."), [8, 9, 10]);
    assert_eq!(habits("The folder where files are, `told` by `who`, is no longer there."), [0; 0]);
}
