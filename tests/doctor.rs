//! `hvd-lab doctor` on machines that lack this or that: stand-ins for the trainer, the launcher and NVML play them.
//!
//! Never needs libtorch, MPI or a GPU, and writes to folders of its own only.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command as Lab;
use serde_json::Value;

use crate::support::needs::skip;

mod hosts;

const BUILD_INFO: &str = r#"{"libtorch":"2.11.0","mpi":"Open MPI v5.0.11, package: somebody, ident: 5.0.11","mpi_standard":"3.1",
"cuda":false,"cuda_reason":"libcuda.so.1 is not there","nccl":null,"nccl_reason":"libnccl.so.2 is not there"}"#;

/// A machine where all is well, to be broken in one place.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        let version = "[ \"$1\" = --version ] && exec echo hvd-train 0.1.0\n";
        machine.script("hvd-train", &format!("{version}[ \"$1\" = --build-info ] && echo '{}'", BUILD_INFO.replace('\n', " ")));
        // Runs what follows `-np 1`, as a launcher does.
        let launcher = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 5.0.11'; exit; }\n\
                        [ \"$1\" = --allow-run-as-root ] && shift\nshift 2\nexec \"$@\"";
        machine.script("mpirun", launcher);
        std::fs::write(machine.path("libhvd_lab_python.so"), "").unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn lab(&self, arguments: &[&str]) -> Lab {
        let mut lab = Lab::cargo_bin("hvd-lab").unwrap();
        lab.arg("doctor").args(arguments).timeout(Duration::from_secs(120));
        for name in ["HVD_LAB_DATA", "HVD_LAB_OFFLINE"] {
            lab.env_remove(name);
        }
        lab.env("HVD_TRAIN", self.path("hvd-train")).env("HVD_LAB_MPIRUN", self.path("mpirun"));
        lab.env("HVD_LAB_HOME", self.path("home")).env("HVD_LAB_NVML", self.path("gone/libnvidia-ml.so"));
        lab
    }
}

/// Exit code and checks.
fn examine(lab: &mut Lab) -> (i32, Value) {
    let output = lab.arg("--json").output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), serde_json::from_slice(&output.stdout).unwrap())
}

/// State, what was found, and the remedy.
fn check(report: &Value, name: &str) -> (String, String, String) {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {report}"));
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    (text("state"), text("found"), text("remedy"))
}

/// Exactly this check fails (and no run can start), with these words in its cause and its remedy.
fn fails(report: &(i32, Value), name: &str, cause: &str, remedy: &str) {
    let (code, report) = report;
    assert_eq!((*code, &report["ok"]), (1, &Value::Bool(false)), "{report}");
    let (state, found, advice) = check(report, name);
    assert_eq!(state, "fail", "{report}");
    assert!(found.contains(cause), "{name}: `{cause}` not in `{found}`");
    assert!(advice.contains(remedy), "{name}: `{remedy}` not in `{advice}`");
    let failures = report["checks"].as_array().unwrap().iter().filter(|check| check["state"] == "fail").count();
    assert_eq!(failures, 1, "{report}");
}

#[test]
fn a_good_machine_passes_and_every_line_is_there() {
    let machine = Machine::new();
    let (code, report) = examine(&mut machine.lab(&[]));
    assert_eq!((code, &report["ok"]), (0, &Value::Bool(true)), "{report}");
    for name in ["hvd-train", "libtorch", "CUDA", "NCCL", "MPI library", "mpirun", "start", "GPUs", "home"] {
        assert_eq!(check(&report, name).0, "ok", "{name}: {report}");
    }
    for name in ["cores", "memory", "disk"] {
        assert_ne!(check(&report, name).0, "fail", "{name}: {report}");
    }
    assert_eq!(check(&report, "MPI library").1, "Open MPI v5.0.11 (MPI 3.1)");
    let (state, _, remedy) = check(&report, "data");
    assert_eq!((state.as_str(), remedy.contains("data fetch")), ("warn", true), "generated garments are second best");
    let left: Vec<_> = std::fs::read_dir(machine.path("home")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["runs"], "nothing of its own is left");
}

#[test]
fn the_text_has_a_remedy_under_each_warning_and_a_verdict() {
    let machine = Machine::new();
    let output = machine.lab(&[]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ok    libtorch     2.11.0\n"), "{text}");
    let data = text.lines().position(|line| line.starts_with("warn  data ")).unwrap();
    assert!(text.lines().nth(data + 1).unwrap().trim_start().starts_with("-> `hvd-lab data fetch`"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("A run can start; "), "{text}");

    std::fs::remove_file(machine.path("hvd-train")).unwrap();
    let output = machine.lab(&[]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("FAIL  hvd-train "), "{text}");
    assert!(text.ends_with("A run cannot start: 1 thing to fix first.\n"), "{text}");
}

#[test]
fn a_trainer_that_is_missing_or_does_not_start_is_told_with_its_own_words() {
    let machine = Machine::new();
    let linker = "hvd-train: error while loading shared libraries: libtorch_cpu.so: cannot open shared object file";
    machine.script("hvd-train", &format!("echo '{linker}' >&2; exit 127"));
    fails(&examine(&mut machine.lab(&[])), "hvd-train", linker, "make build");
    machine.script("hvd-train", "kill -SEGV $$");
    fails(&examine(&mut machine.lab(&[])), "hvd-train", "signal: 11", "make build");
    machine.script("hvd-train", "echo hello");
    fails(&examine(&mut machine.lab(&[])), "hvd-train", "does not answer", "make build");
    std::fs::remove_file(machine.path("hvd-train")).unwrap();
    fails(&examine(&mut machine.lab(&[])), "hvd-train", "HVD_TRAIN is ", "unset it");
}

#[test]
fn a_launcher_of_another_mpi_is_told() {
    let machine = Machine::new();
    machine.script("mpirun", "echo 'mpirun (Open MPI) 4.1.8'");
    fails(&examine(&mut machine.lab(&[])), "mpirun", "built with Open MPI v5.0.11", "HVD_LAB_MPIRUN");
    machine.script("mpirun", "echo 'HYDRA build details:'; echo '    Version:      4.2.0'");
    fails(&examine(&mut machine.lab(&[])), "mpirun", "MPICH Hydra 4.2.0", "MPICC");
    machine.script("mpirun", "echo 'srun 23.11'");
    fails(&examine(&mut machine.lab(&[])), "mpirun", "srun 23.11", "HVD_LAB_MPIRUN");
    std::fs::remove_file(machine.path("mpirun")).unwrap();
    fails(&examine(&mut machine.lab(&[])), "mpirun", "does not work as a launcher", "HVD_LAB_MPIRUN");
}

#[test]
fn a_launcher_that_starts_nothing_is_told() {
    let machine = Machine::new();
    let body = "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 5.0.11'; exit; }\n\
                echo '--------' >&2; echo 'There are not enough slots available' >&2; exit 1";
    machine.script("mpirun", body);
    fails(&examine(&mut machine.lab(&[])), "start", "There are not enough slots available", "/dev/shm");
}

#[test]
fn a_machine_that_others_keep_busy_is_told() {
    let machine = Machine::new();
    let looping = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut others: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from)).map(|_| looping()).collect();
    let (code, report) = examine(&mut machine.lab(&[]));
    for other in &mut others {
        other.kill().unwrap();
        other.wait().unwrap();
    }
    let (state, found, remedy) = check(&report, "load");
    assert_eq!((code, state.as_str()), (0, "warn"), "it is no reason not to start a run: {report}");
    assert!(found.starts_with("this machine is busy now: other programs used ") && remedy.contains("compare"), "{report}");
}

#[test]
fn a_launcher_or_a_trainer_that_never_ends_is_told() {
    let machine = Machine::new();
    machine.script("mpirun", "[ \"$1\" = --version ] && sleep 300");
    fails(&examine(&mut machine.lab(&[])), "mpirun", "`mpirun --version` did not answer within 10 s", "HVD_LAB_MPIRUN");
    machine.script("mpirun", "exec yes");
    fails(&examine(&mut machine.lab(&[])), "mpirun", "`mpirun --version` printed more than 64 KiB", "HVD_LAB_MPIRUN");
    machine.script("mpirun", "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 5.0.11'; exit; }\nexec yes >&2");
    fails(&examine(&mut machine.lab(&[])), "start", "printed more than 64 KiB", "/dev/shm");
    machine.script("hvd-train", "exec yes");
    let report = examine(&mut machine.lab(&[]));
    assert!(check(&report.1, "hvd-train").1.contains("`hvd-train --build-info` printed more than 64 KiB"), "{}", report.1);
}

#[test]
fn damaged_data_and_an_unwritable_home_are_told() {
    let machine = Machine::new();
    let gone = machine.path("not/at/all");
    let report = examine(machine.lab(&[]).env("HVD_LAB_DATA", &gone));
    fails(&report, "data", &format!("cannot read {}", gone.display()), "check the path");
    std::fs::write(machine.path("file"), "no folder").unwrap();
    let report = examine(machine.lab(&[]).env("HVD_LAB_HOME", machine.path("file/home")));
    fails(&report, "home", "file/home", "HVD_LAB_HOME");
}

#[test]
fn a_trainer_with_cuda_and_nccl_passes() {
    let machine = Machine::new();
    let info = r#"{"libtorch":"2.11.0","mpi":"Open MPI v5.0.11","mpi_standard":"3.1","cuda":true,"cuda_reason":null,"gpus":8,
        "nccl":"2.28.9","nccl_reason":null}"#;
    machine.script("hvd-train", &format!("echo '{}'", info.replace('\n', " ")));
    let (code, report) = examine(&mut machine.lab(&[]));
    assert_eq!(code, 0, "{report}");
    assert_eq!(check(&report, "NCCL"), ("ok".into(), "2.28.9".into(), String::new()));
    assert_eq!(check(&report, "CUDA").0, "ok");
}

/// As in WSL 2: the driver's libraries, and neither device files nor anything in /proc.
#[test]
fn a_driver_is_there_where_both_of_its_libraries_open_for_the_lab_and_for_the_set_up() {
    let machine = Machine::new();
    let set_up = concat!(env!("HVD_LAB_CHECKOUT"), "/assets/setup");
    let answers = || {
        let (_, report) = examine(machine.lab(&[]).env("LD_LIBRARY_PATH", machine.path("")));
        let asked = format!("import sys; sys.path.insert(0, {set_up:?}); import setup; print(setup.has_nvidia_driver())");
        let mut python = std::process::Command::new("python3");
        python.args(["-B", "-c", &asked]).env("LD_LIBRARY_PATH", machine.path("")).env_remove("HVD_LAB_CUDA");
        let said = python.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        (check(&report, "GPUs").0, String::from_utf8_lossy(&said.stdout).trim().to_owned())
    };
    if std::path::Path::new("/proc/driver/nvidia").exists() {
        return eprintln!("skipped: this machine has a driver");
    }
    assert_eq!(answers(), ("ok".into(), "False".into()));
    for (name, state, is_there) in [("libnvidia-ml.so.1", "ok", "False"), ("libcuda.so.1", "warn", "True")] {
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
            .arg(machine.path(name))
            .status();
        if built.is_err() {
            return skip("cc", "cc does not start");
        }
        assert_eq!(answers(), (state.into(), is_there.into()), "with {name}");
    }
}

#[test]
fn a_gpu_that_the_trainer_cannot_use_is_a_warning_with_the_reason() {
    let machine = Machine::new();
    let source = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/support/nvml_stand_in.c");
    let library: &Path = &machine.path("libnvidia-ml.so");
    let built = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(library).arg(source).status();
    if built.is_err() {
        return skip("cc", "cc does not start");
    }
    let (code, report) = examine(machine.lab(&[]).env("HVD_LAB_NVML", library));
    assert_eq!(code, 0, "{report}");
    let (state, found, remedy) = check(&report, "CUDA");
    assert_eq!(state, "warn", "{report}");
    assert!(found.contains("libcuda.so.1 is not there") && remedy.contains("make setup"), "{report}");
    assert_eq!(check(&report, "NCCL").0, "warn", "two GPUs want NCCL: {report}");
    let (_, found, _) = check(&report, "GPUs");
    assert_eq!(found, "2 (2 x Stand-in GPU), NVML with driver 580.99.01, up to CUDA 13.0");
    for (choice, state, counted) in
        [("1", "ok", "1 of 2 visible: "), ("0,5,1", "warn", "1 of 2 visible: "), ("", "warn", "0 of 2")]
    {
        let (_, report) = examine(machine.lab(&[]).env("HVD_LAB_NVML", library).env("CUDA_VISIBLE_DEVICES", choice));
        let (found_state, found, _) = check(&report, "GPUs");
        assert!(found_state == state && found.starts_with(counted), "CUDA_VISIBLE_DEVICES={choice}: {found_state} {found}");
    }
}

#[test]
fn a_class_is_more_than_one_run() {
    let machine = Machine::new();
    let small = examine(machine.lab(&["--class"]).env("HVD_LAB_DATA", "generated"));
    let names = |report: &Value| {
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(small.0, 0, "{}", small.1);
    assert!(!names(&small.1).contains(&"class homes".to_owned()), "one learner has the home that was checked: {}", small.1);
    let alone = names(&examine(&mut machine.lab(&[])).1);
    assert!(alone.iter().all(|name| !name.starts_with("class")), "{alone:?}");

    std::fs::set_permissions(machine.folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let (code, full) = examine(machine.lab(&["--class", "9999"]).env("HVD_LAB_DATA", "generated"));
    assert_eq!(code, 0, "a class that is too large is a warning: {full}");
    for (name, state, found, remedy) in [
        ("class cores", "warn", "19998 cores wanted", "turns"),
        ("class memory", "warn", "9999 learners: up to", "turns"),
        ("class images", "ok", "generated", ""),
        ("class homes", "warn", "share one list of runs", "$USER"),
        ("class files", "warn", "is closed to other accounts", "chmod o+rx"),
    ] {
        let check = check(&full, name);
        assert!(check.0 == state && check.1.contains(found) && check.2.contains(remedy), "{name}: {check:?}");
    }
    for wrong in ["0", "-1", "many"] {
        assert_eq!(machine.lab(&[&format!("--class={wrong}")]).output().unwrap().status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_folder_of_temporary_files_that_is_not_there_is_named_and_does_without() {
    let machine = Machine::new();
    let gone = machine.path("scratch/gone");
    for wrong in [gone.to_str().unwrap(), "relative", "", "/dev/null"] {
        let (_, report) = examine(machine.lab(&[]).env("TMPDIR", wrong));
        let (state, found, remedy) = check(&report, "temporary");
        assert!(state == "warn" && found.contains(&format!("`{wrong}`")) && found.ends_with("runs use /tmp"), "{report}");
        assert!(remedy.contains("set TMPDIR to one that you can write"), "{remedy}");
    }
    std::fs::create_dir_all(&gone).unwrap();
    let (_, report) = examine(machine.lab(&[]).env("TMPDIR", &gone));
    assert_eq!(check(&report, "temporary").0, "ok", "{report}");
    assert!(std::fs::read_dir(&gone).unwrap().next().is_none(), "nothing of its own is left");
}
