//! The real NVML path against a stand-in library, which the test builds with `cc`; and `hvd-lab devices` on top of it.
//!
//! Never needs a GPU or a driver. Without `cc` it is skipped, unless HVD_LAB_REQUIRE names `cc`.

mod faults;

use std::process::Command;

use assert_cmd::Command as Lab;
use hvd_lab_terminal::domain::device::{DeviceKind, RankPlace, Reading, TelemetrySample};
use hvd_lab_terminal::domain::event::{Event, EventLine, TopologyReport};
use hvd_lab_terminal::domain::run::{RunState, RunStatus};
use hvd_lab_terminal::domain::topology::Topology;
use hvd_lab_terminal::runs::{RunRecord, RunRequest, RunStore};
use hvd_lab_terminal::telemetry::NvmlProbe;

use crate::support::nvml::stand_in;

fn devices(arguments: &[&str], variables: &[(&str, &str)]) -> Option<(TelemetrySample, String)> {
    let library = stand_in()?;
    let mut lab = Lab::cargo_bin("hvd-lab").unwrap();
    lab.arg("devices").args(arguments).env("HVD_LAB_NVML", library).envs(variables.iter().copied());
    let output = lab.timeout(std::time::Duration::from_secs(60)).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    let json = if arguments.contains(&"--json") { serde_json::from_str(&text).unwrap() } else { empty() };
    Some((json, text))
}

fn empty() -> TelemetrySample {
    TelemetrySample { time_s: 0.0, host: String::new(), devices: vec![], gpu_missing: None, machine: None }
}

#[test]
fn every_field_is_a_figure_or_a_reason() {
    let Some((sample, _)) = devices(&["--json"], &[]) else { return };
    assert_eq!((sample.devices.len(), sample.gpu_missing), (2, None));
    let (full, bare) = (&sample.devices[0], &sample.devices[1]);
    assert_eq!((full.kind, full.index, full.name.as_str(), full.uuid.as_str()), (DeviceKind::Gpu, 0, "Stand-in GPU", "GPU-0000"));
    assert_eq!(full.bus_id, Reading::Value("00000000:41:00.0".into()));
    assert_eq!(full.utilization_percent, Reading::Value(61.0));
    assert_eq!(full.memory_used_bytes, Reading::Value(41 << 30));
    assert_eq!(full.memory_total_bytes, Reading::Value(100 << 30));
    assert_eq!(full.temperature_celsius, Reading::Value(37.0));
    assert_eq!(full.power_watts, Reading::Value(120.5));
    assert_eq!(full.power_limit_watts, Reading::Value(700.0));
    assert_eq!(full.fan_percent.reason(), Some("no fan of its own"));
    assert_eq!(full.sm_clock_mhz, Reading::Value(1980));
    assert_eq!(full.memory_clock_mhz, Reading::Value(3201));
    assert_eq!(full.performance_state, Reading::Value("P0".into()));
    assert_eq!((full.compute_mode.clone(), full.mig_enabled.clone()), (Reading::Value("default".into()), Reading::Value(false)));
    assert_eq!(full.ecc_enabled, Reading::Value(true));
    assert_eq!(full.ecc_errors, Reading::Value(0), "no errors counted is a figure");
    assert_eq!(full.pcie_tx_bytes_per_sec, Reading::Value(1000 * 1024));
    assert_eq!(full.pcie_rx_bytes_per_sec, Reading::Value(2000 * 1024));
    assert_eq!(full.nvlink_bytes_per_sec, Reading::Value(300 << 20));

    assert_eq!((&full.throttled, &full.memory_bandwidth_percent), (&Reading::Value("no".into()), &Reading::Value(20.0)));
    assert_eq!(full.pcie_link, Reading::Value("gen 5 x16".into()));
    assert_eq!(full.ways_to_gpus, Reading::Value("GPU 1 by NVLink x3".into()));
    let machine = sample.machine.as_ref().unwrap();
    assert_eq!((&machine.driver, &machine.cuda), (&Reading::Value("580.99.01".into()), &Reading::Value("13.0".into())));
    assert!(machine.memory_total_bytes.value().is_some_and(|bytes| *bytes > 0), "{machine:?}");

    for reading in [&bare.throttled, &bare.pcie_link, &bare.ways_to_gpus] {
        assert_eq!(reading.reason(), Some("not supported by this device"));
    }
    assert_eq!(bare.memory_bandwidth_percent.reason(), Some("not supported by this device"));
    assert_eq!(bare.utilization_percent.reason(), Some("not supported by this device"));
    assert!(bare.power_watts.reason().is_some_and(|reason| reason.contains("no permission")));
    assert!(bare.compute_mode.reason().is_some_and(|reason| reason.contains("no permission")));
    assert_eq!(bare.ecc_enabled.reason(), Some("no ECC built in"));
    assert!(bare.ecc_errors.reason().is_some_and(|reason| reason.contains("ECC")));
    assert_eq!(bare.nvlink_bytes_per_sec.reason(), Some("no active NVLink"));
}

fn place(rank: usize, pid: u32, device_uuid: Option<&str>) -> RankPlace {
    RankPlace { rank, pid, device_uuid: device_uuid.map(String::from) }
}

#[test]
fn processes_are_matched_to_ranks_by_pid() {
    let Some(library) = stand_in() else { return };
    let mut probe = NvmlProbe::open_library(library.as_os_str()).unwrap();
    let own = std::process::id();
    let sample = probe.sample(&[place(0, 1, None), place(3, own, None)]);
    // Rank 0 is on no GPU: the CPU is shown as well, with it.
    assert_eq!(sample.devices.len(), 3);
    assert_eq!((sample.devices[2].kind, sample.devices[2].processes[0].rank), (DeviceKind::Cpu, Some(0)));
    assert_eq!(sample.devices[2].processes.len(), 1);
    assert_eq!(probe.sample(&[place(3, own, None)]).devices.len(), 2, "all ranks are on GPUs");
    let processes = &sample.devices[0].processes;
    assert_eq!(processes.len(), 2);
    assert_eq!((processes[0].pid, processes[0].rank), (own, Some(3)));
    assert_eq!(processes[0].memory_bytes, Reading::Value(40 << 30));
    assert_eq!(processes[0].utilization_percent, Reading::Value(55.0), "the newest sample counts");
    assert!(!processes[0].command.is_empty() && !processes[0].command.starts_with('('));
    assert_eq!((processes[1].rank, processes[1].command.as_str()), (None, "(not visible here)"));
    assert!(processes[1].owner.reason().is_some_and(|why| why.contains("container")), "{:?}", processes[1].owner);
    assert_eq!(processes[1].memory_bytes.reason(), Some("the driver does not say"));
    assert!(sample.devices[1].processes.is_empty());
    let system = probe.system();
    assert_eq!((system.driver, system.cuda), (Reading::Value("580.99.01".into()), Reading::Value("13.0".into())));
    // The first sample has no traffic to compare with; those after it have.
    assert!(sample.devices[0].nvlink_bytes_per_sec.reason().is_some());
    assert_eq!(probe.sample(&[]).devices[0].nvlink_bytes_per_sec, Reading::Value(300 << 20));
}

#[test]
fn mig_devices_are_rows_of_their_own_and_say_why_they_give_no_use() {
    let Some((sample, text)) = devices(&["--json"], &[("HVD_STAND_IN_MIG", "1")]) else { return };
    let names: Vec<&str> = sample.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["Stand-in GPU", "Stand-in GPU", "Stand-in MIG 1g.10gb"], "{text}");
    assert_eq!((sample.devices[2].index, sample.devices[2].uuid.as_str()), (1, "MIG-0000"));
    assert_eq!(sample.devices[1].mig_enabled, Reading::Value(true));
    assert_eq!(sample.devices[1].memory_bandwidth_percent.reason(), Some("NVML gives no utilisation in MIG mode"));
    assert!(sample.devices[2].mig_enabled.reason().is_some_and(|reason| reason.contains("MIG device itself")));
    for device in &sample.devices[1..] {
        assert_eq!(device.utilization_percent.reason(), Some("NVML gives no utilisation in MIG mode"));
    }
}

#[test]
fn a_lost_gpu_is_a_row_with_its_reason_and_the_others_go_on() {
    let Some((sample, _)) = devices(&["--json"], &[("HVD_STAND_IN_LOST", "1")]) else { return };
    assert_eq!(sample.devices[0].utilization_percent, Reading::Value(61.0));
    assert!(sample.devices[1].name.contains("fallen off the bus"));
    assert!(sample.devices[1].power_watts.reason().is_some());
}

#[test]
fn without_a_usable_gpu_the_cpu_is_shown_and_says_why() {
    let reasons = [
        ("HVD_STAND_IN_INIT", "9", "kernel driver is not loaded"),
        ("HVD_STAND_IN_INIT", "18", "restart the machine"),
        ("HVD_STAND_IN_INIT", "4", "/dev/nvidia"),
        ("HVD_STAND_IN_GPUS", "0", "sees no GPU"),
    ];
    for (name, value, expected) in reasons {
        let Some((sample, text)) = devices(&["--json"], &[(name, value)]) else { return };
        assert_eq!(sample.devices[0].kind, DeviceKind::Cpu, "{name}={value}: {text}");
        assert!(sample.gpu_missing.as_ref().is_some_and(|reason| reason.contains(expected)), "{name}={value}: {text}");
    }
}

#[test]
fn the_text_shows_figures_reasons_and_the_missing_library() {
    let Some((_, text)) = devices(&[], &[]) else { return };
    for expected in
        ["GPU 0  Stand-in GPU  GPU-0000", "GPU-Util     61 %", "41 GiB of 100 GiB", "120 of 700 W", "N/A (no fan of its own)"]
    {
        assert!(text.contains(expected), "`{expected}` not in:\n{text}");
    }
    let mut lab = Lab::cargo_bin("hvd-lab").unwrap();
    let place = tempfile::tempdir().unwrap();
    let gone = place.path().join("libnvidia-ml.so");
    let output = lab.arg("devices").env("HVD_LAB_NVML", &gone).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    let expected = format!("no GPU: no NVIDIA driver on this machine ({} is not there)", gone.display());
    assert!(text.contains(&expected), "{text}");
    assert!(text.contains("\nCPU  ") && text.contains("cores in %: "), "{text}");
}

#[test]
fn ranks_of_a_run_that_is_going_are_shown_by_number() {
    let home = tempfile::tempdir().unwrap();
    let store = RunStore::open(home.path()).unwrap();
    let own = std::process::id();
    let request = RunRequest { offline: true, ..RunRequest::new(hvd_lab_terminal::launch::presets().remove(0).spec, "cpu") };
    let record = RunRecord { created_s: 1.0, ..RunRecord::new(request, "generated garments", Vec::new()) };
    let mut status = RunStatus { supervisor_pid: own, ..RunStatus::new(RunState::Running, "training", 1.0) };
    // With the lock of a supervisor, without which nothing proves that the run is still going.
    let (record, _lock) = store.create_claimed(record, &status).unwrap();
    let folder = store.folder(record.id);
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    let topology = |process: usize, host: &str, pid: u32| {
        let report = TopologyReport {
            topology: Topology::ALONE,
            host: host.into(),
            pid,
            communicator: "mpi".into(),
            device: "cpu".into(),
            device_uuid: None,
            cores: vec![],
            devices_found: None,
            threads: 1,
            versions: vec![],
            is_watched: false,
        };
        EventLine { time_s: 1.0, process, event: Event::Topology(report) }.to_line() + "\n"
    };
    std::fs::write(folder.events_file(), topology(0, "another-host", own) + &topology(1, &host, own)).unwrap();
    let look = || -> Vec<(u32, Option<usize>)> {
        let mut lab = Lab::cargo_bin("hvd-lab").unwrap();
        lab.args(["devices", "--json"]).env("HVD_LAB_HOME", home.path()).env("HVD_LAB_NVML", home.path().join("gone"));
        let output = lab.assert().success().get_output().stdout.clone();
        let sample: TelemetrySample = serde_json::from_slice(&output).unwrap();
        sample.devices[0].processes.iter().map(|process| (process.pid, process.rank)).collect()
    };
    assert_eq!(look(), [(own, Some(1))], "not the rank of the other host, whose pid means another process");
    status.state = RunState::Finished;
    folder.write_status(&status).unwrap();
    assert_eq!(look(), []);
}

#[test]
fn watching_ends_quietly_when_the_reader_leaves() {
    use std::io::{BufRead, BufReader};
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("hvd-lab"))
        .args(["devices", "--watch", "--json"])
        .env("HVD_LAB_NVML", place.path().join("gone"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        let sample: TelemetrySample = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(sample.devices.len(), 1);
    }
    drop(lines);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn on_a_terminal_watching_draws_over_itself() {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;
    // So few lines that a sample with all its figures would scroll.
    let (columns, rows) = (40, 4);
    let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(assert_cmd::cargo::cargo_bin("hvd-lab"));
    command.args(["devices", "--watch"]);
    let place = tempfile::tempdir().unwrap();
    command.env("HVD_LAB_NVML", place.path().join("gone"));
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (mut screen, mut drawn, mut bytes) = (vt100::Parser::new(rows, columns, 10), 0, [0; 4096]);
    // Reading blocks until something is drawn, and ends when the command does.
    while drawn < 3 {
        let count = reader.read(&mut bytes).unwrap();
        assert!(count > 0, "it ended");
        screen.process(&bytes[..count]);
        drawn += bytes[..count].windows(3).filter(|part| part == b"\x1b[J").count();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = screen.screen().contents();
    assert!(text.starts_with("host "), "{text}");
    assert_eq!((text.matches("host ").count(), text.matches("more line").count()), (1, 1), "{text}");
    screen.screen_mut().set_scrollback(10);
    assert_eq!(screen.screen().scrollback(), 0, "nothing scrolled away");
}
