//! GPUs as they are on a node: four of them, found by name, named by UUID, lost while one looks.
//!
//! Never a mock of the probe: `hvd-lab devices` opens the stand-in as it opens a driver.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hvd_lab_terminal::domain::device::{DeviceKind, Reading, TelemetrySample};
use hvd_lab_terminal::telemetry::NvmlProbe;

use super::{devices, place, stand_in};

#[test]
fn four_gpus_are_four_rows_each_with_its_own_figures() {
    let Some((sample, _)) = devices(&["--json"], &[("HVD_STAND_IN_GPUS", "4")]) else { return };
    let column = |pick: fn(&hvd_lab_terminal::domain::device::DeviceSample) -> String| -> Vec<String> {
        sample.devices.iter().map(pick).collect()
    };
    assert_eq!(column(|gpu| gpu.uuid.clone()), ["GPU-0000", "GPU-1111", "GPU-2222", "GPU-3333"]);
    assert_eq!(
        column(|gpu| gpu.bus_id.value().cloned().unwrap_or_default()),
        ["00000000:41:00.0", "00000000:42:00.0", "00000000:43:00.0", "00000000:44:00.0"]
    );
    assert_eq!(
        column(|gpu| format!("{:?}", gpu.utilization_percent.value())),
        ["Some(61.0)", "None", "Some(87.0)", "Some(12.0)"]
    );
    let last = &sample.devices[3];
    assert_eq!((&last.fan_percent, &last.performance_state), (&Reading::Value(30.0), &Reading::Value("P8".into())));
    assert_eq!((&last.compute_mode, &last.ecc_enabled), (&Reading::Value("exclusive".into()), &Reading::Value(false)));
    assert_eq!(last.ecc_errors.reason(), Some("ECC is off or not built in"));
}

#[test]
fn what_lies_between_gpus_and_what_slows_them_down_is_told() {
    for (switch, of_first) in
        [("0", "GPU 1 by NVLink x3, GPU 2-3 by the link between CPU sockets"), ("1", "GPU 1-3 by NVSwitch x3")]
    {
        let variables = [("HVD_STAND_IN_GPUS", "4"), ("HVD_STAND_IN_SWITCH", switch)];
        let Some((sample, text)) = devices(&["--json"], &variables) else { return };
        assert_eq!(sample.devices[0].ways_to_gpus, Reading::Value(of_first.into()), "{text}");
        let of_third = "GPU 3 by one PCIe switch, GPU 0-1 by the link between CPU sockets";
        assert_eq!(sample.devices[2].ways_to_gpus, Reading::Value(of_third.into()), "{text}");
        let slowed: Vec<Option<&String>> = sample.devices.iter().map(|gpu| gpu.throttled.value()).collect();
        assert_eq!(slowed, [Some(&"no".to_owned()), None, Some(&"power limit, too hot".to_owned()), Some(&"no".to_owned())]);
    }
    let Some((sample, _)) = devices(&["--json"], &[("HVD_STAND_IN_GPUS", "1")]) else { return };
    assert_eq!(sample.devices[0].ways_to_gpus.reason(), Some("it is the only GPU here"));
}

#[test]
fn the_driver_is_found_by_its_name_as_well() {
    let Some(library) = stand_in() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(library, folder.path().join("libnvidia-ml.so.1")).unwrap();
    let path = folder.path().to_str().unwrap();
    let mut lab = assert_cmd::Command::cargo_bin("hvd-lab").unwrap();
    let lab = lab.args(["devices", "--json"]).env_remove("HVD_LAB_NVML").env("LD_LIBRARY_PATH", path);
    let output = lab.assert().success().get_output().stdout.clone();
    let sample: TelemetrySample = serde_json::from_slice(&output).unwrap();
    assert_eq!((sample.devices.len(), sample.devices[0].uuid.as_str()), (2, "GPU-0000"));
}

/// What `hvd-lab devices` says without `--json`: the reason stands in the place of the figure.
#[test]
fn the_text_says_why_a_driver_does_not_start_and_what_to_do() {
    let Some((_, text)) = devices(&[], &[("HVD_STAND_IN_INIT", "18")]) else { return };
    assert!(
        text.contains("no GPU: the NVIDIA driver was updated under the running kernel module: restart the machine"),
        "{text}"
    );
    assert!(text.contains("\nCPU  "), "{text}");
    let Some((_, text)) = devices(&[], &[("HVD_STAND_IN_GPUS", "3"), ("HVD_STAND_IN_FALLEN", "/")]) else { return };
    assert!(text.contains("temperature  N/A (the GPU has fallen off the bus)"), "{text}");
    let Some((_, text)) = devices(&[], &[("HVD_STAND_IN_MIG", "1")]) else { return };
    assert!(text.contains("Stand-in MIG 1g.10gb  MIG-0000") && text.contains("MIG          on"), "{text}");
}

/// A container may have its own process ids, and CUDA_VISIBLE_DEVICES its own order: the UUID stays.
#[test]
fn a_rank_whose_process_is_not_listed_is_found_by_the_gpu_it_named() {
    let Some(library) = stand_in() else { return };
    let mut probe = NvmlProbe::open_library(library.as_os_str()).unwrap();
    let own = std::process::id();
    let sample = probe.sample(&[place(0, own, Some("GPU-0000")), place(1, 7_777_777, Some("GPU-1111"))]);
    assert!(sample.devices.iter().all(|device| device.kind == DeviceKind::Gpu), "no rank is left for the CPU");
    let ranks = |index: usize| -> Vec<Option<usize>> { sample.devices[index].processes.iter().map(|found| found.rank).collect() };
    assert_eq!(ranks(0), [Some(0), None], "listed by its process id, and once only");
    assert_eq!(ranks(1), [Some(1)]);
    let found = &sample.devices[1].processes[0];
    assert!(found.memory_bytes.reason().is_some_and(|reason| reason.contains("container")), "{found:?}");
    // Cores are where a rank goes that named a GPU of another machine.
    let sample = probe.sample(&[place(1, own + 1, Some("GPU-9999"))]);
    assert!(sample.devices[..2].iter().all(|device| device.processes.iter().all(|found| found.rank.is_none())));
}

#[test]
fn a_gpu_that_falls_off_the_bus_while_one_looks_is_told_and_nvml_is_started_once() {
    let Some(library) = stand_in() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (fallen, inits) = (folder.path().join("fallen"), folder.path().join("inits"));
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("hvd-lab"))
        .args(["devices", "--watch", "--json"])
        .env("HVD_LAB_NVML", library)
        .env("HVD_STAND_IN_GPUS", "4")
        .env("HVD_STAND_IN_FALLEN", &fallen)
        .env("HVD_STAND_IN_INITS", &inits)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Lines come twice a second, and end with the process.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> TelemetrySample { serde_json::from_str(&lines.next().expect("it ended").unwrap()).unwrap() };
    assert_eq!((next().devices[2].lost(), next().devices.len()), (None, 4));
    std::fs::write(&fallen, "").unwrap();
    let sample = (0..20).map(|_| next()).find(|sample| sample.devices[2].lost().is_some()).expect("it is never told");
    assert_eq!(sample.devices[2].lost(), Some("the GPU has fallen off the bus"));
    assert_eq!(sample.devices[3].utilization_percent, Reading::Value(12.0), "the others go on");
    assert_eq!(sample.devices.len(), 4);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(&inits).unwrap(), "i", "NVML is started once");
}

/// CUDA's rule, as one sees it: a number that names no GPU ends the list, and an empty list shows none.
#[test]
fn gpus_that_cuda_does_not_show_are_marked() {
    for (choice, hidden) in [("1", "0"), ("0,7,1", "1"), ("", "01"), ("GPU-1", "0"), ("NoDevFiles", "01"), ("1,0", "")] {
        let Some((sample, text)) = devices(&["--json"], &[("CUDA_VISIBLE_DEVICES", choice)]) else { return };
        let found = sample.devices.iter().filter(|gpu| gpu.hidden).map(|gpu| gpu.index.to_string()).collect::<String>();
        assert_eq!((found.as_str(), text.contains("hidden")), (hidden, !hidden.is_empty()), "CUDA_VISIBLE_DEVICES={choice}");
    }
    let Some((_, text)) = devices(&[], &[("CUDA_VISIBLE_DEVICES", "1")]) else { return };
    assert_eq!(text.matches("visible      no: hidden by CUDA_VISIBLE_DEVICES").count(), 1, "{text}");
    // A GPU is there with its MIG devices.
    let variables = [("CUDA_VISIBLE_DEVICES", "MIG-0000"), ("HVD_STAND_IN_MIG", "1")];
    let Some((sample, _)) = devices(&["--json"], &variables) else { return };
    assert_eq!(sample.devices.iter().map(|gpu| gpu.hidden).collect::<Vec<_>>(), [true, false, false]);
}

/// As on a Jetson and with some vGPUs: NVML lists it, and gives no reading at all.
#[test]
fn a_gpu_that_supports_no_reading_is_not_lost() {
    let Some((sample, text)) = devices(&["--json"], &[("HVD_STAND_IN_SILENT", "3")]) else { return };
    let gpu = &sample.devices[0];
    assert_eq!((gpu.lost(), gpu.temperature_celsius.reason()), (None, Some("not supported by this device")), "{text}");
    assert_eq!(gpu.memory_used_bytes.reason(), Some("not supported by this device"));
    let Some((sample, _)) = devices(&["--json"], &[("HVD_STAND_IN_SILENT", "15")]) else { return };
    assert_eq!(sample.devices[0].lost(), Some("the GPU has fallen off the bus"));
    let Some((sample, _)) = devices(&["--json"], &[("HVD_STAND_IN_SILENT", "999")]) else { return };
    assert!(
        sample.devices[0].lost().is_none() && sample.devices[0].power_watts.reason().is_some_and(|why| why.contains("dmesg"))
    );
}
