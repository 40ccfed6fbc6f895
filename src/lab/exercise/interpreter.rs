//! Which Python a learner's program runs in, and where the native module of the package `hvd_lab` is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::host::installation::{Installation, PYTHON_MODULE};
use crate::launch::find_trainer;

/// Says where it is, where that is elsewhere. The package reads it too.
pub(super) const MODULE_VARIABLE: &str = "HVD_LAB_PYTHON_MODULE";
const PYTHON_VARIABLE: &str = "HVD_LAB_PYTHON";

/// Python, by its name or path: HVD_LAB_PYTHON, else python3.
pub(super) fn interpreter() -> OsString {
    std::env::var_os(PYTHON_VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into())
}

/// The native module of the package: where HVD_LAB_PYTHON_MODULE says, else with the libraries of an installed lab, else beside
/// hvd-train, else beside this program.
///
/// # Errors
/// It is not there: the path where it was looked for.
pub fn find_module() -> Result<PathBuf, PathBuf> {
    let named = std::env::var_os(MODULE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let beside = || {
        if let Some(installation) = Installation::here() {
            return installation.python_module();
        }
        let me = std::env::current_exe().unwrap_or_else(|_| "hvd-lab".into());
        find_trainer().unwrap_or(me).with_file_name(PYTHON_MODULE)
    };
    let path = named.unwrap_or_else(beside);
    // An absolute path, because ranks work in another folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    if path.is_file() { Ok(path) } else { Err(path) }
}

/// Whether a program in Python can probably be run here. It starts nothing to find out.
pub(super) fn is_there() -> bool {
    find_module().is_ok() && on_path(&interpreter()).is_some()
}

/// The absolute path of a program that is given by its name or its path.
pub(super) fn on_path(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return std::path::absolute(path).ok().filter(|path| path.is_file());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(path)).find(|file| file.is_file())
}
