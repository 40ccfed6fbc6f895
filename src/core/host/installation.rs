//! An installed lab: its programs in `bin`, and beside that `lib/hvd-lab` with what they need (see `assets/setup/dist.py`). A lab
//! that was built in a checkout is none.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The file of the native half of the Python package.
pub const PYTHON_MODULE: &str = if cfg!(target_os = "macos") { "libhvd_lab_python.dylib" } else { "libhvd_lab_python.so" };

/// The folder `lib/hvd-lab` beside the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    folder: PathBuf,
}

impl Installation {
    /// The one that this program is of.
    pub fn here() -> Option<Installation> {
        Installation::of(&std::env::current_exe().ok()?)
    }

    fn of(program: &Path) -> Option<Installation> {
        let folder = program.parent()?.parent()?.join("lib/hvd-lab");
        let installation = Installation { folder };
        installation.script().is_file().then_some(installation)
    }

    /// Whether the libraries are there that a run needs. The set-up writes its last file when all others are in place.
    pub fn is_set_up(&self) -> bool {
        self.folder.join("ready.json").is_file() && self.mpirun().is_file()
    }

    /// The launcher of the MPI library that the trainer finds at run time.
    pub fn mpirun(&self) -> PathBuf {
        self.folder.join("openmpi/bin/mpirun")
    }

    pub fn libtorch(&self) -> PathBuf {
        self.folder.join("libtorch")
    }

    /// What Python loads.
    pub fn python_module(&self) -> PathBuf {
        self.folder.join(PYTHON_MODULE)
    }

    /// The set-up, by the Python that the lab was installed with, or else the one on PATH.
    pub fn set_up(&self) -> Command {
        let own = self.folder.parent().and_then(Path::parent).map(|prefix| prefix.join("bin/python3"));
        let mut command = Command::new(own.filter(|python| python.is_file()).unwrap_or_else(|| "python3".into()));
        command.arg(self.script());
        command
    }

    fn script(&self) -> PathBuf {
        self.folder.join("setup/setup.py")
    }
}

/// What fetches the libraries here, as a command to type.
pub fn set_up_command() -> &'static str {
    if Installation::here().is_some() { "`hvd-lab setup`" } else { "`make setup`" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_installed_where_its_set_up_lies_beside_it_and_ready_when_that_has_ended() {
        let prefix = tempfile::tempdir().unwrap();
        let (program, folder) = (prefix.path().join("bin/hvd-lab"), prefix.path().join("lib/hvd-lab"));
        assert_eq!(Installation::of(&program), None);
        std::fs::create_dir_all(folder.join("setup")).unwrap();
        std::fs::write(folder.join("setup/setup.py"), "").unwrap();
        let here = Installation::of(&program).unwrap();
        assert!(!here.is_set_up());
        std::fs::create_dir_all(folder.join("openmpi/bin")).unwrap();
        std::fs::write(here.mpirun(), "").unwrap();
        assert!(!here.is_set_up(), "it was interrupted");
        std::fs::write(folder.join("ready.json"), "{}").unwrap();
        assert!(here.is_set_up());
    }
}
