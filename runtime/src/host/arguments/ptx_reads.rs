//! Which of its buffers a kernel reads, by its PTX.
//!
//! Input: a module's PTX and an entry point. Output: for each parameter, whether memory may be read
//! through it. A register depends on the parameters from which any instruction computes it, in any
//! order of the instructions. Every instruction that takes an address of such a register reads,
//! unless it is a store or a prefetch; and a pointer that is stored or passed to a function may be
//! read anywhere. So a *no* is certain, and a *yes* may be wrong. A reduction (`red`) reads: its
//! result depends on the old value.

use std::collections::BTreeMap;

use gpuprof_model::ptx::without_comments;

/// Parameters by their position, as bits.
type Parameters = u128;

/// The part after `@p`, with the names in it.
struct Instruction<'p> {
    /// `ld`, of `ld.global.f32`.
    operation: &'p str,
    /// Whether it accesses the space of parameters.
    of_parameters: bool,
    /// The names in its first operand.
    first: Vec<&'p str>,
    /// The names in the others.
    others: Vec<&'p str>,
    /// The names in any brackets: addresses.
    addresses: Vec<&'p str>,
}

/// For each parameter of `entry`, whether memory may be read through it; none if the PTX is not
/// understood.
pub(crate) fn reads(ptx: &str, entry: &str) -> Option<Vec<bool>> {
    let text = statements(ptx);
    let (parameters, body) = find(&text, entry)?;
    if parameters.len() > Parameters::BITS as usize {
        return None;
    }
    let instructions: Vec<Instruction<'_>> = body.split(';').filter_map(instruction).collect();
    let mut depends: BTreeMap<&str, Parameters> =
        parameters.iter().enumerate().map(|(at, name)| (*name, 1 << at)).collect();
    let mut read = 0;
    while step(&instructions, &mut depends, &mut read) {}
    Some((0..parameters.len()).map(|at| read >> at & 1 == 1).collect())
}

/// Follows each instruction once; returns whether anything changed.
fn step<'p>(
    instructions: &[Instruction<'p>],
    depends: &mut BTreeMap<&'p str, Parameters>,
    read: &mut Parameters,
) -> bool {
    let mut news = false;
    for instruction in instructions {
        let on = |names: &[&str]| {
            names.iter().fold(0, |all, name| all | depends.get(name).copied().unwrap_or(0))
        };
        let Instruction { operation, of_parameters, first, others, addresses } = instruction;
        let (address, value) = (on(addresses), on(others));
        let (reads, made) = match *operation {
            "prefetch" | "prefetchu" | "discard" | "applypriority" => (0, 0),
            "ld" if *of_parameters => (0, address),
            // What is stored may be found again by any load.
            "st" => (value, 0),
            "call" => (on(first) | value, 0),
            _ if addresses.is_empty() => (0, value),
            _ => (address | value, 0),
        };
        news |= reads & !*read != 0;
        *read |= reads;
        for name in first.iter().filter(|_| made != 0) {
            let known = depends.entry(name).or_default();
            news |= made & !*known != 0;
            *known |= made;
        }
    }
    news
}

/// The PTX without comments and without `.loc` lines, which no semicolon ends.
fn statements(ptx: &str) -> String {
    let text = without_comments(ptx);
    let is_place =
        |line: &&str| [".loc", ".file"].iter().any(|word| line.trim_start().starts_with(word));
    text.lines().filter(|line| !is_place(line)).collect::<Vec<_>>().join("\n")
}

/// The names of the parameters of `entry`, and its body.
fn find<'p>(text: &'p str, entry: &str) -> Option<(Vec<&'p str>, &'p str)> {
    let mut rest = text;
    loop {
        rest = rest.split_once(".entry")?.1.trim_start();
        let after = rest.strip_prefix(entry).map(str::trim_start);
        // Another one may begin with this name, or be declared only.
        let Some(after) = after.filter(|after| after.starts_with(['(', '{', '.'])) else {
            continue;
        };
        let (head, body) = after.split_once('{')?;
        if head.contains(';') {
            continue;
        }
        let list = head.split_once('(').and_then(|(_, list)| Some(list.split_once(')')?.0));
        let list = list.unwrap_or_default().split(',').map(str::trim);
        let parameters =
            list.filter(|text| !text.is_empty()).filter_map(|text| names(text).last().copied());
        return Some((parameters.collect(), block(body)?));
    }
}

/// `text` up to the brace that closes the one before it.
fn block(text: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// The instruction of a statement, after braces, labels and a predicate; none for a directive.
fn instruction(statement: &str) -> Option<Instruction<'_>> {
    let mut text = statement.trim();
    loop {
        if let Some(inside) = text.strip_prefix(['{', '}']) {
            text = inside.trim_start();
        } else if let Some((label, after)) = text.split_once(':')
            && names(label) == [label.trim()]
            && !after.starts_with(':')
        {
            text = after.trim_start();
        } else {
            break;
        }
    }
    if text.starts_with('@') {
        text = text.split_once(char::is_whitespace)?.1.trim_start();
    }
    if text.is_empty() || text.starts_with('.') {
        return None;
    }
    let (code, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut parts = code.split('.');
    let operation = parts.next()?;
    let (first, others) = operands.split_at(first_operand(operands));
    Some(Instruction {
        operation,
        of_parameters: parts.any(|part| part.starts_with("param")),
        first: names(first),
        others: names(others),
        addresses: in_brackets(operands),
    })
}

/// The end of the first operand: the first comma outside of braces, brackets and parentheses.
fn first_operand(operands: &str) -> usize {
    let mut depth = 0_i32;
    for (at, c) in operands.char_indices() {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => return at,
            _ => {}
        }
    }
    operands.len()
}

/// The names in every `[…]`.
fn in_brackets(operands: &str) -> Vec<&str> {
    let inside = operands.split('[').skip(1);
    inside.filter_map(|text| text.split(']').next()).flat_map(names).collect()
}

/// The identifiers of a text: `%rd1`, `$L1`, `param_0`.
fn names(text: &str) -> Vec<&str> {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_$%.".contains(c);
    let words = text.split(|c: char| !part_of_name(c));
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || "_$%".contains(c)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read by the body of a kernel of three pointers, which are in %rd1 to %rd3.
    fn parameters_read(body: &str) -> [bool; 3] {
        let ptx = format!(
            ".version 7.0\n.target sm_80\n// .entry k(\n.visible .entry kk(.param .u64 kk_param_0)\n{{\nret;\n}}\n\
             .visible .entry k(\n\t.param .u64 .ptr .align 1 k_param_0,\n\t.param .u64 k_param_1,\n\
             \t.param .align 8 .b8 k_param_2[8]\n)\n.maxntid 64, 1, 1\n{{\n\t.reg .b64 %rd<9>;\n\t.loc 1 2 3\n\
             \tld.param.u64 %rd1, [k_param_0];\n\tld.param.b64 \t%rd2, [k_param_1+0];\n\
             \tld.param.u64 %rd3, [k_param_2];\n{body}\tret;\n}}\n"
        );
        reads(&ptx, "k").expect("it is understood").try_into().expect("three parameters")
    }

    #[test]
    fn a_load_reads_its_argument_and_a_store_does_not() {
        assert_eq!(parameters_read(""), [false; 3]);
        assert_eq!(
            parameters_read("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\n"),
            [true, false, false]
        );
        assert_eq!(parameters_read("st.global.v2.f32 [%rd3+8], {%f1, %f2};\n"), [false; 3]);
        let with_comment = "// /*\nld.global.f32 %f1, [%rd1];\n";
        assert_eq!(parameters_read(with_comment), [true, false, false]);
        assert_eq!(
            parameters_read("@%p1 ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2+16];\n"),
            [false, true, false]
        );
        assert_eq!(parameters_read("prefetch.global.L2 [%rd1];\n"), [false; 3]);
    }

    #[test]
    fn atomics_reductions_and_asynchronous_copies_read() {
        assert_eq!(parameters_read("atom.global.add.u32 %r1, [%rd1], 1;\n"), [true, false, false]);
        assert_eq!(parameters_read("red.global.add.f32 [%rd2], %f1;\n"), [false, true, false]);
        assert_eq!(
            parameters_read("cp.async.ca.shared.global [%r1], [%rd3], 16;\n"),
            [false, false, true]
        );
    }

    #[test]
    fn addresses_are_followed_through_arithmetic_loops_and_inline_assembly() {
        let body = "$L__BB0_1:\n\t.loc\t1 9 5, function_name $L__info_string0, inlined_at 1 4 9\n\
                    ld.global.u32 %r2, [%rd6];\n\
                    add.s64 %rd6, %rd5, 4;\n\
                    cvta.to.global.u64 %rd4, %rd1; mad.wide.u32 %rd5, %r1, 4, %rd4;\n\
                    { .reg .b64 t; mov.b64 t, %rd2; st.global.u32 [t], %r2; }\n\
                    @%p1 bra $L__BB0_1;\n";
        assert_eq!(parameters_read(body), [true, false, false]);
        assert_eq!(
            parameters_read("selp.b64 %rd5, %rd1, %rd2, %p1;\nld.global.u32 %r1, [%rd5];\n"),
            [true, true, false]
        );
        let halves = "mov.b64 {%r1, %r2}, %rd3;\nmov.b64 %rd4, {%r1, %r2};\nld.u32 %r3, [%rd4];\n";
        assert_eq!(parameters_read(halves), [false, false, true]);
    }

    #[test]
    fn a_pointer_that_is_stored_or_passed_on_may_be_read_anywhere() {
        assert_eq!(parameters_read("st.local.u64 [%SP+8], %rd1;\n"), [true, false, false]);
        let call = "{ // callseq 0, 0\n.param .b64 param0;\nst.param.b64 [param0], %rd2;\n\
                    call.uni \n_Zfunction, \n(\nparam0\n);\n}\n";
        assert_eq!(parameters_read(call), [false, true, false]);
        assert_eq!(parameters_read("call (%r1), helper, (%rd3, %r2);\n"), [false, false, true]);
        assert_eq!(
            parameters_read(
                "mov.b64 %rd4, k_param_2;\nld.param.u64 %rd5, [%rd4];\nld.u8 %r1, [%rd5];\n"
            ),
            [false, false, true]
        );
    }

    #[test]
    fn entries_without_a_body_are_refused() {
        assert_eq!(reads(".visible .entry other() { ret; }", "k"), None);
        assert_eq!(reads(".visible .entry k(.param .u64 a)", "k"), None);
        assert_eq!(reads("/* .entry k() { */ .entry k { ret; }", "k"), Some(Vec::new()));
    }
}
