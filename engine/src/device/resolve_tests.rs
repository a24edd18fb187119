use gpuprof_model::ExitCode;
use serde::Deserialize;

use super::*;
use gpuprof_analysis::fixture::h200;

fn devices() -> Vec<DeviceRecord> {
    let device = |uuid: &str| DeviceRecord { uuid: uuid.into(), ..h200() };
    vec![device("GPU-22-c"), device("GPU-11-a"), device("GPU-12-b")]
}

fn chosen(text: &str) -> Result<Vec<String>> {
    let asked: DeviceSelection = text.parse().unwrap();
    let (shown, found) = (devices(), asked.find(&devices())?);
    let found = of_one_model(found.into_iter().map(|at| shown[at].clone()).collect())?;
    Ok(found.into_iter().map(|device| device.uuid).collect())
}

#[test]
fn devices_are_selected_by_ordinal_or_uuid_and_sorted() {
    assert_eq!(chosen("all").unwrap(), ["GPU-11-a", "GPU-12-b", "GPU-22-c"]);
    assert_eq!(chosen("0,1").unwrap(), ["GPU-11-a", "GPU-22-c"]);
    assert_eq!(chosen("GPU-22, 2").unwrap(), ["GPU-12-b", "GPU-22-c"]);
    assert_eq!(chosen("2").unwrap(), ["GPU-12-b"]);
}

#[test]
fn an_unknown_device_is_refused_with_the_list() {
    let failure = chosen("7").unwrap_err();
    assert_eq!(failure.code, ExitCode::Usage);
    assert_eq!(
        failure.message,
        "no device matches 7; the driver reports\n  0  GPU-22-c  NVIDIA H200\n  1  GPU-11-a  NVIDIA \
         H200\n  2  GPU-12-b  NVIDIA H200"
    );
    let failure = chosen("GPU-1").unwrap_err();
    assert!(failure.message.starts_with("GPU-1 matches 2 UUIDs;"), "{failure}");
    assert_eq!(
        chosen("1,GPU-11-a").unwrap_err().message,
        "GPU-11-a is named twice (1,GPU-11-a); name every device once"
    );
    for text in ["", "0,", "one", "-1"] {
        let word = text.trim_start_matches("0,");
        let error = text.parse::<DeviceSelection>().unwrap_err();
        assert!(error.starts_with(&format!("`{word}` is not a device; ")), "{error}");
    }
}

#[test]
fn different_models_are_refused_by_name() {
    let mut mixed = devices();
    mixed[1].name = "NVIDIA A100".into();
    let failure = of_one_model(mixed.clone()).unwrap_err();
    assert_eq!(
        failure.message,
        "the devices of a run must be of one model, but these differ: NVIDIA H200 (sm_90, 132 SMs, \
         GPU-22-c) and NVIDIA A100 (sm_90, 132 SMs, GPU-11-a). Results of two models cannot be \
         compared: start one run per model and name its devices with --devices"
    );
    assert!(of_one_model(vec![mixed[0].clone(), mixed[2].clone()]).is_ok());
}

#[test]
fn mig_instances_are_selected_by_their_own_uuid() {
    let slice = |uuid: &str| DeviceRecord { uuid: uuid.into(), ..h200() };
    let asked: DeviceSelection = "MIG-1,MIG-2,MIG-3,GPU-4".parse().unwrap();
    let mut seen = Vec::new();
    let see = |start: &str| {
        seen.push(start.to_owned());
        // For an instance that does not exist the driver shows its default one.
        Ok(vec![slice(if start == "MIG-2" { "MIG-2-b" } else { "MIG-1-a" })])
    };
    let all = asked.with_hidden(vec![slice("MIG-1-a")], see).unwrap();
    let uuids: Vec<&str> = all.iter().map(|device| &*device.uuid).collect();
    assert_eq!((uuids, seen), (vec!["MIG-1-a", "MIG-2-b"], vec!["MIG-2".into(), "MIG-3".into()]));
    let whole: DeviceSelection = "GPU-11".parse().unwrap();
    let failure = whole.find(&all).unwrap_err();
    assert!(failure.message.contains("by its instances: `nvidia-smi -L`"), "{failure}");
}

#[test]
fn devices_in_the_configuration_file_are_text_or_lists() {
    #[derive(Deserialize)]
    struct File {
        devices: DeviceSelection,
    }
    let read = |text: &str| toml::from_str::<File>(text).map(|f| f.devices.to_string());
    assert_eq!(read("devices = \"all\"").unwrap(), "all");
    assert_eq!(read("devices = [0, \"GPU-1\"]").unwrap(), "0,GPU-1");
    assert_eq!(read("devices = 1").unwrap(), "1");
    let refused = |text: &str| read(text).unwrap_err().to_string();
    assert!(refused("devices = []").contains("the list of devices is empty;"));
    assert!(refused("devices = [\"0,1\"]").contains("`0,1` is not a device;"));
    assert!(refused("devices = [[0]]").contains("expected \"all\", \"0,1\" or a list"));
    assert!(read("devices = true").is_err());
}
