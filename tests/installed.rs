//! The lab as it is installed: a wheel in a fresh virtual environment, without cargo, without the checkout's libraries on any path, and
//! without a network.
//!
//! Without the programs of the ranks, `make setup`'s libraries or Python's venv it is skipped by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::needs::skip;
use crate::support::trainer::turn;

const LIMIT: Duration = Duration::from_secs(300);

fn root() -> &'static Path {
    Path::new(env!("HVD_LAB_CHECKOUT"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    said(&output)
}

/// What `make dist` makes of the programs beside this test.
fn wheel() -> Option<&'static Path> {
    static WHEEL: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let packed = WHEEL.get_or_init(|| {
        let built = assert_cmd::cargo::cargo_bin("hvd-lab").parent().unwrap().to_owned();
        let is_there = ["hvd-train", "hvd-measure", "libhvd_lab_python.so"].iter().all(|name| built.join(name).is_file())
            && root().join(".deps/ready.json").is_file();
        if !is_there {
            skip("train", "the programs of the ranks are not built, or `make setup` was not run; `make test` does both");
            return None;
        }
        let out = tempfile::tempdir().unwrap();
        let script = root().join("assets/setup/dist.py");
        done(Command::new("python3").arg(script).arg("--wheel-only").arg("--built").arg(&built).arg("--out").arg(out.path()));
        let wheel =
            fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "whl");
        Some((out, wheel.unwrap()))
    });
    packed.as_ref().map(|(_, wheel)| wheel.as_path())
}

/// A virtual environment with the wheel in it, and a home of its own.
struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Option<Installed> {
        let wheel = wheel()?;
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("python3").args(["-m", "venv"]).arg(folder.path().join("venv")).output().unwrap();
        if !made.status.success() {
            eprintln!("skipped: python3 makes no virtual environment: {}", said(&made));
            return None;
        }
        let pip = folder.path().join("venv/bin/pip");
        done(Command::new(pip).args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(wheel));
        Some(Installed { folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> assert_cmd::Command {
        let mut command = assert_cmd::Command::new(self.path("venv/bin").join(program));
        command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", self.path("venv/bin").display()));
        command
            .env("HOME", self.folder.path())
            .env("HVD_LAB_HOME", self.path("home"))
            .env("HVD_LAB_NVML", self.path("no-driver/libnvidia-ml.so"));
        command.env("HVD_LAB_CUDA", "0").current_dir(self.folder.path()).timeout(LIMIT);
        command
    }

    fn lab(&self, words: &[&str]) -> (i32, String) {
        let output = self.command("hvd-lab").args(words).output().unwrap();
        (output.status.code().unwrap_or(-1), said(&output))
    }

    /// Where pip keeps what it knows of the wheel.
    fn info(&self) -> PathBuf {
        let output =
            self.command("python").args(["-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]).output().unwrap();
        let site = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        site.join(concat!("hvd_lab-", env!("CARGO_PKG_VERSION"), ".dist-info"))
    }

    fn set_up(&self) -> (i32, String) {
        self.lab(&["setup", "--from", root().join(".deps").to_str().unwrap()])
    }
}

#[test]
fn it_is_installed_set_up_and_trains_without_the_checkout() {
    let _turn = turn();
    let Some(installed) = Installed::new() else { return };
    // Before its libraries are there.
    assert_eq!(installed.lab(&["lessons", "show", "4"]).0, 0);
    let (code, text) = installed.lab(&["run", "--np", "2"]);
    assert!(code == 2 && text.contains("`hvd-lab setup` fetches them") && text.lines().count() == 1, "{code}: {text}");
    let (code, text) = installed.lab(&["doctor"]);
    assert!(code == 1 && text.contains("run `hvd-lab setup`") && !text.contains("make setup"), "{code}: {text}");

    let (code, text) = installed.set_up();
    assert!(code == 0 && text.contains("setup: done"), "{text}");
    let (code, text) = installed.set_up();
    assert!(code == 0 && text.contains("everything is there"), "{text}");
    let (code, text) = installed.lab(&["doctor"]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains(&root().join(".deps").display().to_string()), "it uses what is beside it: {text}");
    let (code, text) = installed.lab(&["run", "--np", "2", "--data", "generated", "--epochs", "1", "--target-accuracy", "1"]);
    assert_eq!(code, 0, "{text}");
    // hvd-train by hand, without the lab.
    let words = ["--oversubscribe", "--allow-run-as-root", "-np", "2", "hvd-train", "--build-info"];
    let output = installed.command("../lib/hvd-lab/openmpi/bin/mpirun").args(words).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));

    assert_eq!(installed.lab(&["exercise", "start", "--language", "python", "--track", "four-changes"]).0, 0);
    fs::copy(root().join("solutions/mnist.py"), installed.path("home/exercise/mnist.py")).unwrap();
    let (code, text) = installed.lab(&["exercise", "run", "--track", "four-changes"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("change  4 passed"), "{text}");
    // A program of one's own, in the environment.
    let output = installed.command("python").args(["-c", "import hvd_lab.keras; print(hvd_lab.__file__)"]).output().unwrap();
    assert!(output.status.success() && said(&output).contains("site-packages"), "{}", said(&output));
}

#[test]
fn it_looks_for_libraries_beside_itself_only() {
    let Some(installed) = Installed::new() else { return };
    for program in ["bin/hvd-train", "bin/hvd-measure", "lib/hvd-lab/libhvd_lab_python.so"] {
        let path = installed.path("venv").join(program);
        let dynamic = done(Command::new("readelf").args(["--dynamic", "--wide"]).arg(&path));
        let found = dynamic.lines().find(|line| line.contains("RUNPATH") || line.contains("RPATH")).unwrap();
        let folders = found.rsplit('[').next().unwrap().trim_end_matches(']');
        assert!(folders.split(':').all(|folder| folder.starts_with("$ORIGIN/")), "{program}: {folders}");
    }
    let name = wheel().unwrap().file_name().unwrap().to_str().unwrap();
    assert!(name.contains("-py3-none-manylinux_2_") && name.ends_with("_x86_64.whl"), "{name}");
}

/// Without the licences of what it contains it may not be handed on.
#[test]
fn it_carries_its_licences_and_a_short_description() {
    let Some(installed) = Installed::new() else { return };
    let info = installed.info();
    let read = |name: &str| fs::read_to_string(info.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));

    assert_eq!(read("licenses/LICENSE"), fs::read_to_string(root().join("LICENSE")).unwrap());
    let notice = read("licenses/NOTICE");
    for name in
        ["Fashion-MNIST", "libtorch", "Open MPI", "PRRTE", "hwloc", "libevent", "libjpeg-turbo", "CUDA runtime", "Recordings"]
    {
        assert!(notice.contains(name), "{name}: {notice}");
    }
    // Of the lab, of the ranks, of the module for Python, and one whose package is without a text.
    let crates = read("licenses/THIRD-PARTY.txt");
    for name in ["\nratatui ", "\ntch ", "\npyo3 ", "\nvtparse ", "\nthe Rust standard library "] {
        assert!(crates.contains(name), "{name}");
    }
    assert!(!crates.contains("\nhvd-lab "), "its own licence is LICENSE");
    assert!(crates.contains("Permission is hereby granted") && crates.contains("END OF TERMS AND CONDITIONS"));

    let metadata = read("METADATA");
    let (fields, text) = metadata.split_once("\n\n").unwrap();
    assert_eq!(fields.matches("License-File: ").count(), 3, "{fields}");
    assert!(metadata.len() < 2000 && text.contains("hvd-lab demo") && !text.contains("]("), "{metadata}");
}

#[test]
fn what_is_no_set_up_is_refused_and_half_of_one_is_done_again() {
    let Some(installed) = Installed::new() else { return };
    let refused = |from: &Path, words: &str| {
        let (code, text) = installed.lab(&["setup", "--from", from.to_str().unwrap()]);
        assert!(code == 1 && text.contains(words) && !text.contains("Traceback"), "{code}: {text}");
        assert!(!installed.path("venv/lib/hvd-lab/ready.json").exists());
    };
    let empty = installed.path("empty");
    fs::create_dir(&empty).unwrap();
    refused(&empty, "has no wheel of");
    refused(&installed.path("nothing"), "has no wheel of");
    // A file by the right name is not yet the right file.
    fs::write(empty.join("torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"), "another").unwrap();
    refused(&empty, "torch==2.11.0");
    fs::write(empty.join("ready.json"), r#"{"want": "", "files": {"libtorch/lib/libc10.so": 5}}"#).unwrap();
    refused(&empty, "is no set-up");
    fs::write(empty.join("ready.json"), "{").unwrap();
    refused(&empty, "is no set-up");

    assert_eq!(installed.set_up().0, 0);
    // As after a full disk, or an environment whose torch was updated.
    fs::write(installed.path("venv/lib/hvd-lab/libtorch/lib/libc10.so"), "").unwrap();
    let (code, text) = installed.set_up();
    assert!(code == 0 && text.contains("setup: done"), "{text}");
    assert_eq!(installed.lab(&["doctor"]).0, 0);
}

#[test]
fn two_set_ups_at_once_leave_one_whole() {
    let Some(installed) = Installed::new() else { return };
    let both: Vec<_> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..2).map(|_| scope.spawn(|| installed.set_up())).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(both.iter().all(|(code, _)| *code == 0), "{both:?}");
    assert_eq!(both.iter().filter(|(_, text)| text.contains("copying")).count(), 1, "the second finds it done: {both:?}");
    assert_eq!(installed.lab(&["doctor"]).0, 0);
}
