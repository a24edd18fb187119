//! Forms of instructions that ptxas 13.0.88 refuses (`-`) or accepts (`+`) for `sm_90`: wrong
//! types, registers, constants, dot-words and numbers of operands (fixtures/forms.txt). Then
//! declarations of a module or of a function (fixtures/declarations.txt), and forms with the lowest
//! `.target` for which ptxas accepts them (fixtures/targets.txt).

use gpuprof_emulator::device::Device;

/// A module with one instruction, and registers of every type.
fn module(form: &str, target: u32) -> String {
    format!(
        ".version 8.8\n.target sm_{target}\n.address_size 64\n.global .align 16 .b8 g[64];\n\
         .visible .entry k(.param .u64 out) {{\n.reg .pred %p<8>; .reg .b8 %o<2>; .reg .b16 %h<8>;\n\
         .reg .b32 %r<16>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .f64 %e<8>; .reg .u16 %uh<4>;\n\
         .reg .s16 %sh<4>; .reg .u32 %u<8>; .reg .s32 %s<8>; .reg .u64 %ud<4>; .reg .s64 %sd<4>;\n\
         .reg .f16 %fh<8>; .reg .f16x2 %fx<8>; .reg .b128 %q<4>;\n{form};\nret;\n}}\n"
    )
}

#[test]
fn forms_are_accepted_and_refused_as_ptxas_does() {
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/forms.txt").lines() {
        let (sign, form) = line.split_once(' ').expect("a sign and a form");
        let loaded = Device::default().load(&module(form, 90));
        if loaded.is_ok() != (sign == "+") {
            wrong.push(format!("{line}: {:?}", loaded.err().map(|error| error.to_string())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn declarations_are_accepted_and_refused_as_ptxas_does() {
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/declarations.txt").lines() {
        let (sign, text) = line.split_once(' ').expect("a sign and declarations");
        let is_module = text.contains(".entry") || text.contains(".func");
        let head = ".version 8.8\n.target sm_90\n.address_size 64\n";
        let whole = if is_module { format!("{head}{text}\n") } else { module(text, 90) };
        let loaded = Device::default().load(&whole);
        if loaded.is_ok() != (sign == "+") {
            wrong.push(format!("{line}: {:?}", loaded.err().map(|error| error.to_string())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_form_needs_the_target_that_ptxas_wants() {
    const TARGETS: [u32; 12] = [50, 52, 53, 60, 61, 70, 72, 75, 80, 86, 89, 90];
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/targets.txt").lines() {
        let (lowest, form) = line.split_once(' ').expect("a target and a form");
        let lowest: u32 = lowest.parse().expect("a number");
        for target in TARGETS {
            let loaded = Device::default().load(&module(form, target));
            let needs = loaded.err().map(|error| error.to_string());
            let is_right = match &needs {
                None => target >= lowest,
                Some(text) => text.contains("needs '.target sm_") && target < lowest,
            };
            if !is_right {
                wrong.push(format!("{line} for sm_{target}: {needs:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
