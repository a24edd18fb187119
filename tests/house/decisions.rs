//! Input: the text of a Rust file. Output: the lines on which a message decides something, and
//! those with a result inside a result.
//!
//! A message is for people. Reactions to a failure depend on its kind, so that rewording a message
//! changes nothing else.

/// Who holds a message, and what is asked of it.
const MESSAGES: [&str; 7] =
    ["message", "message()", "reason", "to_string()", "stderr", "said", "told"];
const QUESTIONS: [&str; 4] = [".contains(", ".starts_with(", ".ends_with(", ".find("];

/// The lines of `text`, up to its tests, that ask a message something.
pub fn by_text(text: &str) -> Vec<usize> {
    let asks = |line: &str| {
        let question = |message: &&str| QUESTIONS.map(|question| format!("{message}{question}"));
        MESSAGES.iter().flat_map(question).any(|pattern| line.contains(&pattern))
    };
    matching(text, asks)
}

/// The lines of `text`, up to its tests, with a result inside a result.
pub fn nested_results(text: &str) -> Vec<usize> {
    matching(text, |line| {
        ["Result<Result<", "Result<std::result::Result<"].iter().any(|it| line.contains(it))
    })
}

fn matching(text: &str, asks: impl Fn(&str) -> bool) -> Vec<usize> {
    let code = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
    let code = code.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter(|(_, line)| asks(line)).map(|(index, _)| index + 1).collect()
}

#[test]
fn a_question_to_a_message_is_found_and_one_in_a_test_or_to_a_name_is_not() {
    let text = "if failure.message.contains(\"memory\") {\nname.contains(\"__\")\n\
                // reason.contains(\"x\")\nerror.to_string().starts_with(word)\n\
                fn f() -> Result<Result<u8, String>> {\n#[cfg(test)]\nreason.contains(\"x\")\n";
    assert_eq!((by_text(text), nested_results(text)), (vec![1, 4], vec![5]));
}
