//! Programs of the ranks that are still being built: `make run` opens the screen before they are there, the first time.
//!
//! The build holds the lock of a log beside this program (assets/setup/behind.py). The system releases it however the build ends, so a
//! killed build is not waited for.

use std::path::{Path, PathBuf};

use crate::domain::units;
use crate::host::{files, read};

/// The name of the log.
const LOG: &str = "build.log";

/// The last build of the programs beside this one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Build {
    pub log: PathBuf,
    pub is_going_on: bool,
}

impl Build {
    /// `None` where there was none behind a screen.
    pub fn beside(program: &Path) -> Option<Build> {
        let log = program.with_file_name(LOG);
        let is_going_on = files::is_held(&read::open(&log).ok()?);
        Some(Build { log, is_going_on })
    }

    /// How far it is, in words: the packages that cargo says it compiles.
    pub fn progress(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let packages = text.lines().filter(|line| line.trim_start().starts_with("Compiling ")).count();
        units::counted(packages, "package") + " so far"
    }
}

/// Whether programs beside this one are still being built.
pub fn is_going_on() -> bool {
    std::env::current_exe().is_ok_and(|me| Build::beside(&me).is_some_and(|build| build.is_going_on))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_build_goes_on_as_long_as_its_log_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let (program, log) = (folder.path().join("hvd-lab"), folder.path().join(LOG));
        assert_eq!(Build::beside(&program), None, "there is no log");
        fs::write(&log, "   Compiling tch v0.24.0\nwarning: slow\n").unwrap();
        let build = |is_going_on| Some(Build { log: log.clone(), is_going_on });
        assert_eq!(Build::beside(&program), build(false), "nobody has its lock");
        let builder = File::open(&log).unwrap();
        builder.try_lock().unwrap();
        assert_eq!(Build::beside(&program), build(true));
        assert_eq!(build(true).unwrap().progress(), "1 package so far");
        drop(builder);
        assert_eq!(Build::beside(&program), build(false));
    }

    #[test]
    fn a_log_that_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&folder.path().join(LOG), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(Build::beside(&folder.path().join("hvd-lab")), None);
    }
}
