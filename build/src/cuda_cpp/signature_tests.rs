use super::*;

fn instance(expression: &str, types: &[&str]) -> Instance {
    let declared_at = FilePosition { file: "src/lib.rs".into(), line: 1, column: None };
    let parameters = types.iter().map(|cpp| Declared {
        cpp: (*cpp).into(),
        rust: "…".into(),
        declared_at: declared_at.clone(),
        layout: None,
    });
    let parameters = parameters.collect();
    let named_at = declared_at.clone();
    Instance { expression: expression.into(), parameters, declared_at, named_at }
}

#[test]
fn instances_keep_their_lines_and_columns_map_to_parameters() {
    let all =
        [instance("k<1>", &["float*", "int"]), instance("&coef", &[]), instance("k<2>", &["int"])];
    let text = checks(&all, &[0, 1, 2]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "static_assert(gpuprof_declared<0, float*, int>::gpuprof_fits(k<1>));");
    assert_eq!((lines[2], lines[3].contains("k<2>")), ("", true));
    assert_eq!(checks(&all, &[2]).lines().nth(3), Some(lines[3]));
    let at = |text: &str| parameter_at(&all[0], 0, lines[1].find(text).unwrap());
    assert_eq!(
        (at("float*"), at("int>"), at("k<1>"), at("gpuprof")),
        (Some(0), Some(1), None, None)
    );
}

#[test]
fn cpp_numbers_and_pointers_map_to_rust_types() {
    for (cpp, expected) in [
        ("unsigned int", Some("u32")),
        ("const float *", Some("*const f32")),
        ("long long **", Some("*mut *mut i64")),
        ("__nv_bool", Some("bool")),
        ("Pair", None),
        ("const Pair *", None),
    ] {
        assert_eq!(rust(cpp).as_deref(), expected, "{cpp}");
    }
}
