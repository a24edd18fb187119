use super::*;

const TEMPLATES: &str = r#"k/x.cu(2): error: expression must have class type but it has type "float"
  template <class T> __device__ T h(T a) { return a.foo; }
                                                  ^
          detected during:
            instantiation of "T h(T) [with T=float]" at line 9
            instantiation of "void k(T *) [with T=float]" at line 3 of gpuprof-instances

k/x.cu(3): error: static assertion failed with "small"
  	static_assert(N < 4, "small");
  	^
k/x.cu(3): note #3453-D: the final comparison was 5 < 4
  	static_assert(N < 4, "small");
  	              ^
          detected during instantiation of "void k<N>(float *) [with N=5]" 

k/x.cu(5): error: no instance of overloaded function "f" matches the argument list
            argument types are: (int)
  f(1);
  ^

2 errors detected in the compilation of "gpuprof-sources".
"#;

fn span(file: &str, line: u32, column: Option<u32>, text: Option<&str>) -> Option<Span> {
    let place = FilePosition { file: file.into(), line, column };
    Some(Span { place, text: text.map(Into::into) })
}

#[test]
fn a_message_has_its_source_line_its_caret_and_its_trace() {
    let read = log(TEMPLATES);
    let [member, assertion, overload] = read.diagnostics.as_slice() else { panic!("{read:?}") };
    let source = "template <class T> __device__ T h(T a) { return a.foo; }";
    assert_eq!(member.span, span("k/x.cu", 2, Some(49), Some(source)));
    let inner = span("k/x.cu", 9, None, None);
    let outer = span("gpuprof-instances", 3, None, None);
    assert_eq!(member.notes.iter().map(|it| it.span.clone()).collect::<Vec<_>>(), [inner, outer]);
    assert!(member.notes.iter().all(Note::is_step), "{member:?}");
    // A tab is one column, and stays a tab.
    assert_eq!(assertion.span.as_ref().unwrap().place.column, Some(2));
    let [note, step] = assertion.notes.as_slice() else { panic!("{assertion:?}") };
    assert_eq!(note.message, "the final comparison was 5 < 4");
    assert_eq!(note.span.as_ref().unwrap().place.column, Some(16));
    assert_eq!(
        (step.message.as_str(), &step.span),
        ("instantiation of \"void k<N>(float *) [with N=5]\"", &None)
    );
    assert!(overload.message.ends_with("; argument types are: (int)"), "{overload:?}");
    assert_eq!(read.rest, ["2 errors detected in the compilation of \"gpuprof-sources\"."]);
    let shown = assertion.to_string();
    assert!(shown.contains("\n3 | \tstatic_assert(N < 4, \"small\");\n  | \t^\n"), "{shown}");
}

#[test]
fn a_message_without_a_position_is_parsed() {
    let read = log("At end of source: error: expected a \"}\"\n\
                    nvrtc: error: unrecognized option --nope found\n\
                    Command-line error: cannot open source file \"pre.h\"\n\
                    Error limit reached.\n100 errors detected\nCompilation terminated.\n");
    let messages: Vec<&str> = read.diagnostics.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "at the end of the source: expected a \"}\"",
            "unrecognized option --nope found",
            "cannot open source file \"pre.h\""
        ]
    );
    assert!(read.diagnostics.iter().all(|it| it.severity == Severity::Error && it.span.is_none()));
    assert_eq!(read.rest.len(), 3);
}

/// NVRTC 12.0 writes neither source line nor caret.
#[test]
fn a_message_of_nvrtc_12_0_has_a_line_and_no_column() {
    let read = log("a (1)/k.cu(7): warning #177-D: variable \"u\" was declared but never \
                    referenced\n\na (1)/k.cu(8): catastrophic error: cannot open source file \"x.h\"\n");
    let [warning, error] = read.diagnostics.as_slice() else { panic!("{read:?}") };
    assert_eq!((warning.severity, warning.number), (Severity::Warning, Some(177)));
    assert_eq!(warning.span, span("a (1)/k.cu", 7, None, None));
    assert_eq!((error.severity, error.number), (Severity::Error, None));
    assert_eq!(error.message, "cannot open source file \"x.h\"");
}

#[test]
fn messages_of_the_host_compiler_are_parsed() {
    // As g++ 12.2 wrote it for nvcc.
    let read = log("In file included from s/gpuprof-sources.cu:1:\n\
        kernels/broken.cu:1:2: error: #error \"no such: thing\"\n    \
        1 | #error \"no such: thing\"\n      |  ^~~~~\n\
        kernels/broken.cu:2:2: warning: #warning careful [-Wcpp]\n    \
        2 | #warning careful\n      |  ^~~~~~~\n\
        a b.cu:3:10: fatal error: x/y.h: No such file or directory\n\
        compilation terminated.\n");
    let told: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        told.join("\n"),
        "error: #error \"no such: thing\"\n --> kernels/broken.cu:1:2\n  |\n1 | #error \"no such: \
         thing\"\n  |  ^\nwarning: #warning careful [-Wcpp]\n --> kernels/broken.cu:2:2\n  |\n2 | \
         #warning careful\n  |  ^\nerror: cannot open source file \"x/y.h\"\n --> a b.cu:3:10"
    );
    assert!(read.has_errors());
    let fatal = log("gcc: No such file or directory\n\
        nvcc fatal   : Failed to preprocess host compiler properties.\n");
    assert!(!fatal.has_errors(), "{fatal:?}");
    assert!(fatal.rest.join("; ").contains("Failed to preprocess host compiler"), "{fatal:?}");
}
