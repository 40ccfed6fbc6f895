//! The administrator's file: whether and how a machine is shared. A personal machine has none.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use serde::{Deserialize, Deserializer};

use super::LeaseError;
use crate::domain::units;
use crate::host::read;

/// Where the file is, unless HVD_LAB_SHARE_FILE names another.
const PLACE: &str = "/etc/hvd-lab.toml";
const VARIABLE: &str = "HVD_LAB_SHARE_FILE";
/// Where locks and tickets are, unless the file says so. Not in /dev/shm: some systems clear that when a user logs out.
const FOLDER: &str = "/var/tmp/hvd-lab-share";
const MOST_BYTES: u64 = 64 << 10;

/// What a shared machine shares: GPUs, or cores if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Devices {
    Gpus,
    Cores,
}

impl Devices {
    /// `1 GPU`, `4 cores`.
    pub fn counted(self, count: usize) -> String {
        units::counted(count, if self == Devices::Gpus { "GPU" } else { "core" })
    }

    /// The name of a core among the devices; GPUs have their UUID.
    pub fn core(number: usize) -> String {
        format!("core-{number}")
    }

    /// The number of a core, from its name among the devices.
    pub fn number_of_core(name: &str) -> Option<usize> {
        name.strip_prefix("core-")?.parse().ok()
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Devices::Gpus { "GPUs" } else { "cores" })
    }
}

/// How this machine is shared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// For locks and tickets; all users may write there.
    #[serde(default = "usual_folder")]
    pub folder: PathBuf,
    /// What is shared; if left out, GPUs if there are any, else cores.
    pub devices: Option<Devices>,
    /// GPUs that one user may have at a time.
    pub gpus_per_user: Option<usize>,
    /// Cores that one user may have at a time.
    pub cores_per_user: Option<usize>,
    /// Seconds that a run may take at most, from the moment when it gets its devices.
    #[serde(default, deserialize_with = "time")]
    pub time_limit: Option<f64>,
    /// The file that says so.
    #[serde(skip)]
    pub file: PathBuf,
}

fn usual_folder() -> PathBuf {
    FOLDER.into()
}

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    share: Rules,
}

/// Seconds as a number, or a text such as `0:30:00`.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let refuse = |why: String| serde::de::Error::custom(format!("time_limit: {why}"));
    let seconds = match toml::Value::deserialize(deserializer)? {
        toml::Value::Integer(seconds @ 0..=0xffff_ffff) => seconds as f64,
        toml::Value::String(text) => units::parse_clock(&text).map_err(refuse)?,
        _ => return Err(refuse("use a text such as \"0:30:00\", or a number of seconds".into())),
    };
    if seconds == 0.0 { Err(refuse("0 would stop every run at once".into())) } else { Ok(Some(seconds)) }
}

impl Rules {
    /// What the file says; `None` where there is none: then nothing is shared.
    ///
    /// # Errors
    /// [`LeaseError::Rules`].
    pub fn of_machine() -> Result<Option<Rules>, LeaseError> {
        let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let is_named = named.is_some();
        let path = named.unwrap_or_else(|| PLACE.into());
        match read::small_text(&path, MOST_BYTES) {
            Ok(text) => Rules::parse(&text, &path).map(Some),
            // A name that was given is meant.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => Ok(None),
            Err(error) => Err(LeaseError::Rules { path, why: error.to_string() }),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Rules, LeaseError> {
        let refuse = |why: String| LeaseError::Rules { path: path.to_owned(), why };
        let whole: Whole = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            refuse(format!("{line}{}", error.message().lines().collect::<Vec<_>>().join(" ")))
        })?;
        let rules = Rules { file: path.to_owned(), ..whole.share };
        if !rules.folder.is_absolute() {
            return Err(refuse(format!("folder is `{}`: give a whole path, such as {FOLDER}", rules.folder.display())));
        }
        if rules.gpus_per_user == Some(0) || rules.cores_per_user == Some(0) {
            return Err(refuse("with 0 devices per user nobody could run anything: use at least 1".into()));
        }
        Ok(rules)
    }

    /// Devices of this kind that one user may have at a time.
    pub fn per_user(&self, devices: Devices) -> Option<usize> {
        match devices {
            Devices::Gpus => self.gpus_per_user,
            Devices::Cores => self.cores_per_user,
        }
    }

    /// The time limit in seconds of a run that asks for this one.
    pub fn time_limit(&self, asked_s: Option<f64>) -> Option<f64> {
        match (asked_s, self.time_limit) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Rules, String> {
        Rules::parse(text, Path::new("/etc/x.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_says_what_is_shared_and_how() {
        let text = "[share]\nfolder = \"/srv/lab\"\ndevices = \"cores\"\ngpus_per_user = 2\ntime_limit = \"0:30:00\"\n";
        let rules = parse(text).unwrap();
        assert_eq!((rules.folder.as_path(), rules.devices), (Path::new("/srv/lab"), Some(Devices::Cores)));
        assert_eq!((rules.per_user(Devices::Gpus), rules.per_user(Devices::Cores)), (Some(2), None));
        assert_eq!(rules.time_limit, Some(1800.0));
        assert_eq!(parse("[share]\ntime_limit = 90").unwrap().time_limit, Some(90.0));
        assert_eq!(parse("[share]").unwrap(), Rules { folder: FOLDER.into(), file: "/etc/x.toml".into(), ..Rules::default() });
    }

    #[test]
    fn a_mistake_is_told_with_file_and_line() {
        let told = parse("[share]\ngpu_per_user = 2\n").unwrap_err();
        assert!(told.contains("/etc/x.toml") && told.contains("line 2") && told.contains("gpu_per_user"), "{told}");
        for (text, word) in [
            ("", "share"),
            ("[share]\nfolder = \"here\"", "whole path"),
            ("[share]\ngpus_per_user = 0", "at least 1"),
            ("[share]\ntime_limit = \"soon\"", "soon"),
            ("[share]\ntime_limit = -1", "0:30:00"),
            ("[share]\ntime_limit = 0", "at once"),
            ("[share]\ndevices = \"disks\"", "line 2"),
            ("[share", "line 1"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.contains(word) && !told.contains('\n'), "{text}: {told}");
        }
    }

    #[test]
    fn a_run_may_take_less_time_but_not_more() {
        let rules = Rules { time_limit: Some(600.0), ..Rules::default() };
        let limits = [None, Some(60.0), Some(601.0)].map(|asked_s| rules.time_limit(asked_s));
        assert_eq!(limits, [Some(600.0), Some(60.0), Some(600.0)]);
        assert_eq!(Rules::default().time_limit(Some(601.0)), Some(601.0));
        assert_eq!(Rules::default().time_limit(None), None);
    }
}
