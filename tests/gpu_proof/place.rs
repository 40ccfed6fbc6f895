//! A built tree of stand-ins for `make gpu-proof`, and how the proof is started, cut off and awaited.
//!
//! Never leaves a process behind: what hangs is told by a pipe, which ends when it does.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(120);
const PROGRAMS: [&str; 3] = ["hvd-lab", "hvd-train", "hvd-measure"];

pub fn root() -> &'static Path {
    Path::new(env!("HVD_LAB_CHECKOUT"))
}

/// A built tree of stand-ins, and a folder for what the proof writes.
pub struct Place(pub TempDir);

impl Place {
    pub fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for folder in ["tree/target/release", "tree/.deps/openmpi/bin", "bin"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        PROGRAMS.iter().for_each(|name| place.stand_in("tree/target/release", name));
        place.stand_in("tree/.deps/openmpi/bin", "mpirun");
        place.stand_in("bin", "nvidia-smi");
        place.stand_in("bin", "torch-python");
        // Nothing else of this machine's PATH: an nvidia-smi of its own would be one too many.
        symlink("/bin/sh", place.path("bin/sh")).unwrap();
        symlink(python(), place.path("bin/python3")).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn stand_in(&self, folder: &str, name: &str) {
        let (file, script) = (self.path(folder).join(name), root().join("tests/gpu_proof/stand_in.py"));
        fs::write(&file, format!("#!/bin/sh\nexec {} -B {} {name} \"$@\"\n", python().display(), script.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The proof with these flags and in this environment; `before` is what a shell does first.
    pub fn command(&self, flags: &str, variables: &[(&str, &str)], before: &str) -> Command {
        let script = root().join("assets/gpu_proof/gpu_proof.py");
        let line = format!("{before} exec python3 {} {flags}", script.display());
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(line)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.0.path())
            .env("HVD_LAB_DATA", self.0.path())
            .current_dir(self.0.path());
        command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn flags(&self, more: &str) -> String {
        format!("--tree {} --out {} --python torch-python {more}", self.path("tree").display(), self.path("out").display())
    }

    /// Exit code and all that it said.
    pub fn proof(&self, more: &str, variables: &[(&str, &str)]) -> (i32, String) {
        ended(self.command(&self.flags(more), variables, "").spawn().unwrap())
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path("out").join(name)).unwrap()).unwrap()
    }

    pub fn part(&self, name: &str) -> (String, String) {
        let results = self.json("results.json");
        let part = results["parts"].as_array().unwrap().iter().find(|part| part["name"] == name).unwrap();
        (part["verdict"].as_str().unwrap().to_owned(), part["reason"].as_str().unwrap().to_owned())
    }

    /// The real lab in the place of its stand-in.
    pub fn with_the_real_lab(self) -> Place {
        let lab = self.path("tree/target/release/hvd-lab");
        fs::remove_file(&lab).unwrap();
        symlink(env!("CARGO_BIN_EXE_hvd-lab"), &lab).unwrap();
        self
    }

    /// A pipe that a stand-in holds open as long as it hangs.
    pub fn pipe(&self) -> PathBuf {
        mkfifo(&self.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        self.path("pipe")
    }
}

fn python() -> PathBuf {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().into()
}

fn within<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(what()));
    receiver.recv_timeout(LIMIT).ok()
}

pub fn ended(child: Child) -> (i32, String) {
    let pid = Pid::from_raw(child.id() as i32);
    let Some(output) = within(move || child.wait_with_output().unwrap()) else {
        let _ = kill(pid, Signal::SIGINT);
        panic!("the proof did not end within {LIMIT:?}");
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), said)
}

/// Starts the proof, lets a program of it hang, and sends a signal to it. The pipe ends when the hanging program does.
pub fn cut_off(place: &Place, parts: &str, program: &str, signal: Signal) -> (i32, String, fs::File) {
    let pipe = place.pipe();
    let (wish, path) = (format!("hang:{program}"), pipe.display().to_string());
    let child = place.command(&place.flags(parts), &[("STAND_IN", &wish), ("STAND_IN_PIPE", &path)], "").spawn().unwrap();
    let open = within(move || fs::File::open(pipe).unwrap()).expect("no stand-in hangs");
    let mut told = open.try_clone().unwrap();
    assert_eq!(within(move || told.read(&mut [0; 6]).unwrap()), Some(6));
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    let (code, said) = ended(child);
    (code, said, open)
}

/// Waits until nobody holds the pipe any more.
pub fn assert_gone(mut open: fs::File) {
    assert_eq!(within(move || open.read(&mut [0; 6]).unwrap()), Some(0), "the hanging program is left");
}
