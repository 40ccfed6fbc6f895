//! A shared machine for a test: its file, its folder, three users with a home each, and their runs.
//!
//! The program of a run writes down when it began, what it was given, and when it ended.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::run::RunStatus;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::nvml::stand_in;

/// No test takes nearly as long; a machine under load might.
const LIMIT: Duration = Duration::from_secs(240);
/// Users that no machine has.
const USERS: [u32; 3] = [61_001, 61_002, 61_003];

/// What a run does: `script FILE SECONDS`, in the words of a launcher where it has several GPUs.
const PROGRAM: &str = "#!/bin/sh
for word; do before=$file; file=$hold; hold=$word; done
cores=$(sed -n 's/Cpus_allowed_list:[^0-9]*//p' /proc/self/status)
echo \"$(date +%s%N) gpus=$CUDA_VISIBLE_DEVICES cores=$cores\" > \"$file.new\" && mv \"$file.new\" \"$file\"
sleep \"$hold\"
date +%s%N >> \"$file\"
";

pub struct Room {
    place: tempfile::TempDir,
    env: Vec<(String, String)>,
    /// When which supervisor got its devices, as seen in their tickets so far.
    granted: RefCell<BTreeMap<u32, f64>>,
}

/// A run that was started.
#[derive(Clone, Debug)]
pub struct Client {
    pub count: usize,
    /// Of its supervisor.
    pub pid: u32,
    file: PathBuf,
    run: PathBuf,
}

/// What a program wrote down. Times in nanoseconds.
#[derive(Clone, Debug)]
pub struct Told {
    pub begin: u128,
    pub end: u128,
    pub gpus: Vec<String>,
    pub cores: String,
}

/// By a process of its own. A file that this process has open for writing is open in whatever another test starts at that moment as
/// well, and nobody can start it as long as it is.
fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

impl Room {
    /// With so many GPUs; `None` where no stand-in can be built.
    pub fn with_gpus(gpus: usize, rules: &str) -> Option<Room> {
        let library = stand_in()?;
        let room = Room::new(rules);
        // Where every user may read it.
        let copy = room.path("libnvml.so");
        fs::copy(library, &copy).unwrap();
        Some(room.with_env("HVD_LAB_NVML", &copy.display().to_string()).with_env("HVD_STAND_IN_GPUS", &gpus.to_string()))
    }

    /// With the cores of this machine; `None` where there is but one.
    pub fn with_cores() -> Option<Room> {
        let cores = std::thread::available_parallelism().unwrap().get();
        let room = (cores > 1).then(|| Room::new("devices = \"cores\""))?;
        let no_driver = room.path("no-driver/libnvidia-ml.so").display().to_string();
        Some(room.with_env("HVD_LAB_NVML", &no_driver))
    }

    fn new(rules: &str) -> Room {
        let room = Room { place: tempfile::tempdir().unwrap(), env: Vec::new(), granted: RefCell::default() };
        fs::set_permissions(room.place.path(), Permissions::from_mode(0o755)).unwrap();
        let text = format!("[share]\nfolder = {:?}\n{rules}\n", room.folder());
        fs::write(room.path("share.toml"), text).unwrap();
        fs::set_permissions(room.path("share.toml"), Permissions::from_mode(0o644)).unwrap();
        for common in ["told", "share"] {
            fs::create_dir(room.path(common)).unwrap();
            fs::set_permissions(room.path(common), Permissions::from_mode(0o1777)).unwrap();
        }
        copy_program(Path::new(env!("CARGO_BIN_EXE_hvd-lab")), &room.path("hvd-lab"));
        fs::write(room.path("program"), PROGRAM).unwrap();
        fs::set_permissions(room.path("program"), Permissions::from_mode(0o755)).unwrap();
        for name in ["train.sh", "torchrun"] {
            copy_program(&room.path("program"), &room.path(name));
        }
        for (user, id) in USERS.iter().enumerate() {
            fs::create_dir(room.home(user)).unwrap();
            if room.has_users() {
                chown(room.home(user), Some(*id), Some(*id)).unwrap();
            }
        }
        let file = room.path("share.toml").display().to_string();
        room.with_env("HVD_LAB_SHARE_FILE", &file)
    }

    fn with_env(mut self, name: &str, value: &str) -> Room {
        self.env.push((name.into(), value.into()));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn folder(&self) -> PathBuf {
        self.path("share")
    }

    pub fn home(&self, user: usize) -> PathBuf {
        self.path(&format!("home-{user}"))
    }

    /// Only root can be several.
    pub fn has_users(&self) -> bool {
        nix::unistd::geteuid().is_root()
    }

    fn command(&self, user: usize, args: &[&str]) -> Command {
        let mut command = Command::new(self.path("hvd-lab"));
        command.args(args).current_dir(self.home(user)).env("HVD_LAB_HOME", self.home(user)).env("HOME", self.home(user));
        command.envs(self.env.iter().map(|(name, value)| (name, value))).env_remove("CUDA_VISIBLE_DEVICES");
        if self.has_users() {
            command.uid(USERS[user]).gid(USERS[user]);
        }
        command
    }

    pub fn lab(&self, user: usize, args: &[&str]) -> Output {
        self.command(user, args).stdin(Stdio::null()).output().unwrap()
    }

    /// What `hvd-lab queue` says.
    pub fn queue(&self) -> String {
        let output = self.lab(2, &["queue"]);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// A program that the lab takes for a launcher of so many ranks, or for one rank.
    pub fn launcher(&self, count: usize) -> String {
        self.path(if count == 1 { "train.sh" } else { "torchrun" }).display().to_string()
    }

    /// A run of this user that needs so many devices for so long. Returns when it stands in the queue.
    pub fn start(&self, user: usize, count: usize, hold_s: f64) -> Client {
        let number = fs::read_dir(self.home(user).join("runs")).map_or(0, Iterator::count);
        let number = (number.max(1)..).find(|number| !self.home(user).join(format!("runs/{number:04}")).exists()).unwrap();
        let file = self.path("told").join(format!("{user}-{number}"));
        let (launcher, count_text) = (self.launcher(count), format!("--nproc_per_node={count}"));
        let (told, hold) = (file.display().to_string(), hold_s.to_string());
        let mut args = vec!["run", "--detach", "--", launcher.as_str()];
        if count > 1 {
            args.push(&count_text);
        }
        let output = self.lab(user, &[args, vec![told.as_str(), hold.as_str()]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let run = self.home(user).join(format!("runs/{number:04}"));
        let is_there = || {
            let pid = status(&run).map_or(0, |status| status.supervisor_pid);
            (pid > 0 && self.slips().iter().any(|slip| slip["pid"] == pid)).then_some(pid)
        };
        let mut pid = 0;
        self.until(|| {
            is_there().is_some_and(|found| {
                pid = found;
                true
            }) || status(&run).is_some_and(|status| status.state.is_over())
        });
        assert!(pid > 0, "{:?}", status(&run));
        Client { count, pid, file, run }
    }

    /// The tickets of this machine as they stand in its folder.
    fn slips(&self) -> Vec<serde_json::Value> {
        let folders = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let files = folders.flat_map(|boot| ["queue", "held"].map(|name| boot.path().join(name)));
        let files = files.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let slips = files.filter_map(|file| serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok());
        let slips: Vec<serde_json::Value> = slips.collect();
        for slip in &slips {
            if let (Some(pid), Some(granted_s)) = (slip["pid"].as_u64(), slip["granted_s"].as_f64()) {
                self.granted.borrow_mut().insert(pid as u32, granted_s);
            }
        }
        slips
    }

    /// Tickets that are left once each user has looked: only one's own can be removed.
    pub fn tickets(&self) -> usize {
        (0..USERS.len()).for_each(|user| drop(self.lab(user, &["queue"])));
        self.slips().len()
    }

    /// The lock of the one device.
    pub fn lock(&self) -> fs::File {
        let boots = fs::read_dir(self.folder()).unwrap().flatten();
        let files = boots.flat_map(|boot| fs::read_dir(boot.path()).unwrap().flatten());
        let lock = files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "lock"));
        fs::File::open(lock.unwrap()).unwrap()
    }

    pub fn until(&self, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < LIMIT, "it took too long\n{}", self.queue());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Wait until each has ended or was killed before it could begin; returns when which supervisor got its devices.
    pub fn watch_to_the_end(&self, clients: &[Client]) -> BTreeMap<u32, f64> {
        self.until(|| {
            self.slips();
            clients.iter().all(Client::is_over)
        });
        self.granted.borrow().clone()
    }
}

impl Drop for Room {
    /// After a failed test runs may be left that wait for ever.
    fn drop(&mut self) {
        for user in 0..USERS.len() {
            let runs = fs::read_dir(self.home(user).join("runs")).into_iter().flatten().flatten();
            for run in runs.filter(|run| status(&run.path()).is_some_and(|status| !status.state.is_over())) {
                self.lab(user, &["stop", &run.file_name().to_string_lossy()]);
            }
        }
    }
}

impl Client {
    /// Kill its supervisor, and nothing else.
    pub fn kill_after(&self, after: Duration) {
        let pid = Pid::from_raw(self.pid as i32);
        std::thread::spawn(move || {
            std::thread::sleep(after);
            // It may have ended by itself.
            let _ = kill(pid, Signal::SIGKILL);
        });
    }

    pub fn status(&self) -> String {
        status(&self.run).map_or_else(String::new, |status| format!("{}: {}", status.state.name(), status.message))
    }

    pub fn has_begun(&self) -> bool {
        self.file.exists()
    }

    fn is_over(&self) -> bool {
        let is_gone = !Path::new(&format!("/proc/{}", self.pid)).exists() || is_zombie(self.pid);
        if self.has_begun() { is_gone && self.told().is_some() } else { is_gone }
    }

    /// What its program wrote down, if it ran to its end.
    pub fn told(&self) -> Option<Told> {
        let text = fs::read_to_string(&self.file).ok()?;
        let (first, last) = text.trim().split_once('\n')?;
        let field = |name: &str| first.split_whitespace().find_map(|word| word.strip_prefix(name)).unwrap_or_default();
        Some(Told {
            begin: first.split_whitespace().next()?.parse().ok()?,
            end: last.parse().ok()?,
            gpus: field("gpus=").split(',').filter(|gpu| !gpu.is_empty()).map(String::from).collect(),
            cores: field("cores=").into(),
        })
    }
}

fn is_zombie(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim().starts_with('Z')))
}

fn status(run: &Path) -> Option<RunStatus> {
    serde_json::from_str(&fs::read_to_string(run.join("status.json")).ok()?).ok()
}
