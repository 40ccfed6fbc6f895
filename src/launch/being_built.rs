//! Programs of the ranks that are still being built: `make run` opens the screen before they are there, the first time.
//!
//! Never builds. Whoever builds holds the lock of a log beside this program (assets/setup/behind.py) and lets it go however it ends, so
//! nobody waits for a build that was killed.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// The name of the log.
const LOG: &str = "build.log";

/// How far the build beside this program is, in words; `None` where none is going on.
pub(super) fn progress(program: &Path) -> Option<String> {
    let path = program.with_file_name(LOG);
    // Only a file: opening a pipe would wait for its writer.
    let file = path.is_file().then(|| File::open(&path).ok())??;
    let tried = flock(&file, FlockOperation::NonBlockingLockShared).map_err(io::Error::from);
    let is_held = tried.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
    is_held.then(|| format!("{} packages so far", packages(file)))
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
        assert_eq!(progress(&program), None, "there is no log");
        fs::write(&log, "   Compiling tch v0.24.0\nwarning: slow\n   Compiling hvd-lab v0.1.0\n").unwrap();
        assert_eq!(progress(&program), None, "nobody has its lock");
        let builder = File::open(&log).unwrap();
        flock(&builder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(progress(&program).unwrap(), "2 packages so far");
        drop(builder);
        assert_eq!(progress(&program), None);
    }

    #[test]
    fn a_log_that_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&folder.path().join(LOG), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(progress(&folder.path().join("hvd-lab")), None);
    }
}
