use super::*;

const LOG: &str = concat!(
    r#"{"process":7,"launch":{"kernel":"_ZN4shop3addE","grid":[4,1,1],"block":[16,16,1],"shared_bytes":0,"stream":0,"checks":{"init":true,"race":true,"checked_blocks":4,"blocks":4},"counters":{"ptx__inst_executed.sum":10,"ptx__barriers.sum":1}}}"#,
    "\n",
    r#"{"process":7,"unsupported":"cuGraphLaunch"}"#,
    "\n",
    r#"{"process":8,"launch":{"kernel":"=sum","grid":[2,3,4],"block":[32,1,1],"shared_bytes":64,"stream":1,"checks":{"init":true,"race":true,"checked_blocks":17,"blocks":24},"counters":{"ptx__inst_executed.sum":5}}}"#,
    "\n",
    r#"{"process":7,"launch":{"kernel":"_ZN4shop3addE","grid":[4,1,1],"block":[16,16,1],"shared_bytes":0,"stream":0,"checks":{"init":true,"race":true,"checked_blocks":4,"blocks":4},"counters":{"ptx__inst_executed.sum":10,"ptx__barriers.sum":1}}}"#,
    "\n",
    r#"{"process":8,"unsupported":"cuGraphLaunch"}"#,
    "\n",
);

fn read(log: &str) -> Emulated {
    Emulated::read(log.as_bytes()).unwrap()
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn launches_of_one_shape_are_one_row_with_their_sums() {
    let emulated = read(LOG);
    assert_eq!(
        written(|out| csv(&emulated, out)),
        "kernel,symbol,grid,block,shared_bytes,launches,ptx__barriers.sum,ptx__inst_executed.sum\n\
         shop::add,_ZN4shop3addE,4,16x16,0,2,2,20\n\
         '=sum,'=sum,2x3x4,32,64,1,0,5\n"
    );
    let document: Value = serde_json::from_str(&written(|out| json(&emulated, out))).unwrap();
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["launches"][0]["launches"], 2);
    let checks = serde_json::json!({
        "init": true, "race": true, "checked_blocks": 25, "blocks": 32,
    });
    assert_eq!(document["checks"], checks);
    assert_eq!(document["unsupported"], serde_json::json!(["cuGraphLaunch"]));
}

#[test]
fn the_table_fits_eighty_columns() {
    let shown = written(|out| table(&read(LOG), out));
    insta::assert_snapshot!(shown);
    assert_eq!(written(|out| table(&Emulated::default(), out)), "");
}

#[test]
fn kernels_of_cpp_have_distinct_names() {
    let namespaces = "23a_rather_long_namespace15of_some_library6detail";
    let symbols = [
        format!("_ZN{namespaces}22transform_kernel_firstIiLi4EEEvPT_"),
        format!("_ZN{namespaces}23transform_kernel_secondIiLi4EEEvPT_"),
        format!("_ZN{namespaces}23transform_kernel_secondIfLi8EEEvPT_"),
        "_Z28a_kernel_with_a_long_name_ofIfLi16ELi16ELi16EEvPT_".to_owned(),
        "_Z28a_kernel_with_a_long_name_ofIdLi16ELi16ELi16EEvPT_".to_owned(),
        format!("_ZN{namespaces}24SortManyKeysOfAHistogramIiLi16ELi16ELi16EEEvPT_"),
        format!("_ZN{namespaces}24SortManyKeysOfATileInAnyIiLi16ELi16ELi16EEEvPT_"),
    ];
    let line = |symbol: &String| {
        format!(
            r#"{{"process":1,"launch":{{"kernel":"{symbol}","grid":[1,1,1],"block":[1,1,1],"shared_bytes":0,"stream":0,"counters":{{}}}}}}"#
        ) + "\n"
    };
    let log: String = symbols.iter().map(line).collect();
    let names = shown_names(&read(&log).launches);
    assert_eq!(
        names[..3],
        ["transform_ke…rst<int, 4>", "transform_ke…ond<int, 4>", "transform_ke…d<float, 8>"]
    );
    // Cut, these two would be one.
    assert_eq!(names[3], "a_kernel_with_a_long_name_of<float, 16, 16, 16>");
    assert_eq!(names[4], "a_kernel_with_a_long_name_of<double, 16, 16, 16>");
    // These differ in the part that is cut.
    assert_eq!(names[5..], ["SortManyKeysOfAHistogram<…>", "SortManyKeysOfATileInAny<…>"]);
}

#[test]
fn times_between_events_are_marked_as_host_times() {
    let silent = written(|out| json(&read(LOG), out));
    assert!(!silent.contains("event_times"), "{silent}");
    let log = format!("{LOG}{}", r#"{"process":7,"event_times":"host"}"#);
    let document: Value = serde_json::from_str(&written(|out| json(&read(&log), out))).unwrap();
    assert_eq!(document["event_times"], "host");
    let shown = written(|out| table(&read(&log), out));
    assert!(shown.ends_with("how long emulation took, and nothing about a GPU\n"), "{shown}");
}

#[test]
fn only_faults_of_kernels_count_as_faults() {
    let refused = r#"{"process":1,"fault":{"kind":"unsupported_ptx","message":"no"}}"#;
    assert!(!read(refused).has_fault());
    let fault = r#"{"process":1,"fault":{"kind":"trap","message":"no","kernel":"k"}}"#;
    assert!(read(fault).has_fault());
    assert!(!read(fault).is_empty());
}

#[test]
fn a_malformed_log_line_is_an_error() {
    assert!(Emulated::read("{\"process\":1,\"launch\":".as_bytes()).is_err());
    assert!(Emulated::read("{\"process\":1}\n".as_bytes()).is_err());
}
