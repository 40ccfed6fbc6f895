//! A home folder with one of everything that the lab reads: made once with the lab itself, copied for each case.
//!
//! Nothing in it is going, and nothing that a case starts outlives it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hvd_lab_terminal::process;
use nix::sys::signal::Signal;

use super::program::run;

/// Runs of a home: three of an earlier version, one of this.
pub const RUNS: usize = 4;

/// A home of its own for a case.
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    /// A copy of the one that is made once.
    pub fn copied() -> Home {
        static MADE: OnceLock<PathBuf> = OnceLock::new();
        let home = Home::empty();
        copy(MADE.get_or_init(Home::make), &home.path());
        home.share_with_class();
        home
    }

    pub fn empty() -> Home {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("temporary")).unwrap();
        Home { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The lab in this home, away from the user's own and from every real launcher.
    pub fn lab(&self, args: &[impl AsRef<str>]) -> Command {
        // What takes too much is ended before it takes all there is.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hvd-lab")]);
        command.args(args.iter().map(AsRef::as_ref));
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        for name in
            ["HVD_LAB_DATA", "HVD_LAB_DATA_URL", "HVD_LAB_CLASS", "HVD_LAB_LESSONS", "STAND_IN", "NO_COLOR", "RUST_BACKTRACE"]
        {
            command.env_remove(name);
        }
        command.current_dir(self.path());
        command
    }

    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let stand_in = |name: &str| Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch").join(name);
        vec![
            ("HVD_LAB_HOME", self.path()),
            ("HVD_LAB_CONFIG", self.path().join("config.toml")),
            ("HVD_LAB_OFFLINE", "1".into()),
            ("HVD_LAB_MPIRUN", stand_in("mpirun.sh")),
            ("HVD_TRAIN", stand_in("hvd-train.sh")),
            ("FAKE_MPI", "4".into()),
            ("TMPDIR", self.folder.path().join("temporary")),
        ]
    }

    /// In a place that cargo keeps for tests: a static is never dropped.
    fn make() -> PathBuf {
        let home = Home::empty();
        let old = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/data/version_0.1.0");
        copy(&old.join("runs"), &home.path().join("runs"));
        for (from, to) in
            [("progress/tried.json", "progress.json"), ("screen.json", "screen.json"), ("recordings/run-1.hvdrun", "old.hvdrun")]
        {
            fs::copy(old.join(from), home.path().join(to)).unwrap();
        }
        for args in [
            ["run", "--np", "2", "--data", "generated", "--name", "made here"].as_slice(),
            &["runs"],
            &["record", "4", "--out", "new.hvdrun"],
            &["config", "write"],
            &["exercise", "start"],
            &["report", "--name", "Bob", "--out", "bob.json"],
        ] {
            let ran = run(&mut home.lab(args));
            assert_eq!(ran.code(), Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
        }
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("class/cy")).unwrap();
        fs::rename(at("bob.json"), at("class/bob.json")).unwrap();
        for place in ["class/ada.json", "class/cy/progress.json"] {
            fs::copy(at("progress.json"), at(place)).unwrap();
        }
        fs::write(at("hosts"), "# two hosts\nlocalhost slots=2\nnode2 slots=4 max_slots=8\n").unwrap();
        copy_lessons(&at("lessons"));
        images(&at("images"), 200, 100);
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults-home");
        let _ = fs::remove_dir_all(&kept);
        copy(&home.path(), &kept);
        kept
    }

    /// Its folder of the class is in this home, not in the one that was copied.
    fn share_with_class(&self) {
        let share = serde_json::json!({ "folder": self.path().join("class"), "learner": "ada" });
        fs::write(self.path().join("share.json"), share.to_string()).unwrap();
    }

    /// Whatever is left of its runs, by the folder in the environment of each process.
    pub fn left_running(&self) -> Vec<u32> {
        let runs = fs::read_dir(self.path().join("runs")).into_iter().flatten().flatten();
        runs.flat_map(|run| process::of_run(&run.path().canonicalize().unwrap_or(run.path()))).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.left_running().into_iter().for_each(|pid| process::signal(pid, Signal::SIGKILL));
    }
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn copy_lessons(to: &Path) {
    fs::create_dir(to).unwrap();
    let lessons = fs::read_dir(Path::new(env!("HVD_LAB_CHECKOUT")).join("lessons")).unwrap().map(Result::unwrap);
    for lesson in lessons.filter(|entry| entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit())) {
        fs::copy(lesson.path(), to.join(lesson.file_name())).unwrap();
    }
}

/// Few images in the format of the real ones, half of the files packed.
pub fn images(folder: &Path, train: u32, test: u32) {
    fs::create_dir_all(folder).unwrap();
    for (split, count) in [("train", train), ("t10k", test)] {
        let header = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        // Stripes that are wider for the later classes.
        let pixels = (0..count * 784)
            .map(|place| if place % 784 / (1 + place / 784 % 10) % 2 == 0 { 0 } else { 90 + (place * 7 % 151) as u8 });
        let images: Vec<u8> = header(&[0x803, count, 28, 28]).into_iter().chain(pixels).collect();
        let labels: Vec<u8> = header(&[0x801, count]).into_iter().chain((0..count).map(|place| (place % 10) as u8)).collect();
        let mut packed =
            GzEncoder::new(fs::File::create(folder.join(format!("{split}-images-idx3-ubyte.gz"))).unwrap(), Compression::fast());
        packed.write_all(&images).unwrap();
        packed.finish().unwrap();
        fs::write(folder.join(format!("{split}-labels-idx1-ubyte")), labels).unwrap();
    }
}
