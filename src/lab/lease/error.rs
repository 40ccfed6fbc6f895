//! Why devices of a shared machine could not be asked for.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("the file about sharing this machine, {}, cannot be used: {why}. Whoever looks after this machine can mend it", path.display())]
    Rules { path: PathBuf, why: String },
    #[error(
        "the folder for sharing this machine, {}, cannot be used: {why}. Whoever looks after this machine makes it with `install -d -m 1777 {}`",
        path.display(), path.display()
    )]
    Folder { path: PathBuf, why: String },
    #[error("cannot {what} {}: {cause}", path.display())]
    Io { what: &'static str, path: PathBuf, cause: io::Error },
}

impl LeaseError {
    /// For `map_err`.
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> LeaseError {
        let path = path.into();
        move |cause| LeaseError::Io { what, path, cause }
    }
}
