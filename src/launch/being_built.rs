//! Programs of the ranks that are still being built: `make run` opens the screen before they are there, the first time.
//!
//! Never builds. Whoever builds holds the lock of a log beside this program (assets/setup/behind.py) and lets it go however it ends, so
//! nobody waits for a build that was killed.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::domain::units;

/// The name of the log.
const LOG: &str = "build.log";

/// The build of the programs beside this one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Build {
    /// With how far it is, in words.
    GoingOn(String),
    /// Whether it was well shows in what is there. With its log.
    Over(PathBuf),
}

/// The last build beside this program; `None` where there was none behind a screen.
pub(super) fn beside(program: &Path) -> Option<Build> {
    let path = program.with_file_name(LOG);
    // Only a file: opening a pipe would wait for its writer.
    let file = path.is_file().then(|| File::open(&path).ok())??;
    let tried = flock(&file, FlockOperation::NonBlockingLockShared).map_err(io::Error::from);
    Some(match tried {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Build::GoingOn(units::counted(packages(file), "package") + " so far")
        }
        _ => Build::Over(path),
    })
}

/// Whether programs beside this one are still being built.
pub fn is_going_on() -> bool {
    std::env::current_exe().is_ok_and(|me| matches!(beside(&me), Some(Build::GoingOn(_))))
}

/// Those that cargo says it compiles.
fn packages(log: File) -> usize {
    let lines = BufReader::new(log).lines().map_while(Result::ok);
    lines.filter(|line| line.trim_start().starts_with("Compiling ")).count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_build_goes_on_as_long_as_its_log_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let (program, log) = (folder.path().join("hvd-lab"), folder.path().join(LOG));
        assert_eq!(beside(&program), None, "there is no log");
        fs::write(&log, "   Compiling tch v0.24.0\nwarning: slow\n").unwrap();
        assert_eq!(beside(&program), Some(Build::Over(log.clone())), "nobody has its lock");
        let builder = File::open(&log).unwrap();
        flock(&builder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(beside(&program), Some(Build::GoingOn("1 package so far".into())));
        drop(builder);
        assert_eq!(beside(&program), Some(Build::Over(log)));
    }

    #[test]
    fn a_log_that_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&folder.path().join(LOG), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(beside(&folder.path().join("hvd-lab")), None);
    }
}
