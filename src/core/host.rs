//! This host: its clock, its name, its processor, where the lab keeps what is the user's, and how it writes files.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use etcetera::{BaseStrategy, HomeDirError};
use sha2::{Digest, Sha256};

use crate::domain::process_location::ProcessLocation;

pub mod access;
mod cgroup;
pub mod cores;
pub mod cpu;
pub mod driver;
pub mod file_limit;
pub mod files;
pub mod folders;
pub mod installation;
pub mod load;
pub mod numa;
pub mod owners;
pub mod process;
pub mod read;
pub mod reserve;
pub mod shared_memory;
pub mod signals;
pub mod starved;

/// Unix time in seconds; 0 on a clock that stands before 1970.
pub fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The name by which ranks and runs of this host know each other, `localhost` where it has none.
pub fn name() -> String {
    nix::unistd::gethostname().map_or_else(|_| "localhost".into(), |name| name.to_string_lossy().into_owned())
}

/// A secret that cannot be guessed: 128 random bits, in hexadecimal.
///
/// # Errors
/// The system gives none.
pub fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where this process runs.
pub fn place() -> ProcessLocation {
    let line = |path| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    ProcessLocation {
        host: name(),
        machine: line("/etc/machine-id").map(|id| pseudonym(&id)),
        boot: line("/proc/sys/kernel/random/boot_id").or_else(boot_of_macos),
        pid_namespace: namespace.map(|link| link.to_string_lossy().into_owned()),
    }
}

/// The id of this boot on macOS. `sysctl` is asked once.
fn boot_of_macos() -> Option<String> {
    static ANSWER: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let answer = Command::new("/usr/sbin/sysctl").args(["-n", "kern.bootsessionuuid"]).stderr(Stdio::null()).output().ok()?;
        let uuid = String::from_utf8(answer.stdout).ok()?.trim().to_owned();
        (answer.status.success() && !uuid.is_empty()).then_some(uuid)
    };
    ANSWER.get_or_init(|| if cfg!(target_os = "macos") { ask() } else { None }).clone()
}

/// machine-id(5) asks that the id itself is not passed on: run folders may be.
fn pseudonym(machine_id: &str) -> String {
    let digest = Sha256::digest(format!("hvd-lab {machine_id}"));
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The configuration of the screen: HVD_LAB_CONFIG, else in HVD_LAB_HOME where that is set, else in the user's
/// configuration folder. It may not be there.
pub fn config_file() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("HVD_LAB_CONFIG").or_else(|| Some(variable("HVD_LAB_HOME")?.join("config.toml"))).or_else(|| {
        let folders = etcetera::choose_base_strategy().ok()?;
        Some(folders.config_dir().join("hvd-lab/config.toml"))
    })
}

/// The home of runs and images: HVD_LAB_HOME, else `hvd-lab` in the user's data folder. It may not be there yet.
///
/// # Errors
/// Neither HVD_LAB_HOME nor a home folder is set.
pub fn home_dir() -> Result<PathBuf, HomeDirError> {
    match std::env::var_os("HVD_LAB_HOME").filter(|home| !home.is_empty()) {
        // From the root: what is printed of it holds in any folder.
        Some(home) => Ok(std::path::absolute(&home).unwrap_or_else(|_| home.into())),
        None => Ok(etcetera::choose_base_strategy()?.data_dir().join("hvd-lab")),
    }
}
