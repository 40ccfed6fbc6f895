//! What can be wrong with the data, each with the file, what was expected and found, and what to do.
//!
//! Never carries a backtrace or a source: the message is complete in one line.

use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error(
        "{folder} has no {file}.gz{there}: a data folder holds the four IDX files of Fashion-MNIST (or of your own 28x28 images); \
         check the path, or run `hvd-lab data fetch`"
    )]
    Missing { folder: String, file: String, there: String },

    #[error("{folder} holds several sets of images ({one}, {other}): give a folder that holds one of them only")]
    Several { folder: String, one: String, other: String },

    #[error("{file}: expected {expected}, found {found}; replace the file, or run `hvd-lab data fetch` for the official ones")]
    Damaged { file: String, expected: String, found: String },

    #[error("cannot read {file}: {cause}; check the path and its permissions")]
    Unreadable { file: String, cause: String },

    #[error("cannot write {file}: {cause}; free some space there, or set HVD_LAB_HOME to a folder that you can write")]
    Unwritable { file: String, cause: String },

    #[error(
        "{file} is not an official file of Fashion-MNIST or MNIST: expected {expected}, found {found}; \
         train on your own images with --data-dir instead of importing them"
    )]
    NotOfficial { file: String, expected: String, found: String },

    #[error("the images in {folder} are not {wanted}, which was asked for by name; use --data auto to train on them")]
    NotWhatWasAskedFor { folder: String, wanted: &'static str },

    #[error(
        "{name} is not in {cache} and cannot be fetched offline: unset HVD_LAB_OFFLINE (or drop --offline), copy the files with \
         `hvd-lab data import DIR`, or train on --data {stand_in}"
    )]
    Offline { name: &'static str, cache: String, stand_in: String },

    #[error(
        "cannot download {file} ({attempts}); check the network and HTTPS_PROXY and run it again (it continues where it stopped), \
         or copy the files with `hvd-lab data import DIR`"
    )]
    Download { file: String, attempts: String },

    #[error("cannot tell where your data directory is ({cause}): set HVD_LAB_HOME to a folder that you can write")]
    NoHome { cause: String },
}

impl DatasetError {
    pub(super) fn damaged(file: &Path, expected: impl Into<String>, found: impl Into<String>) -> DatasetError {
        DatasetError::Damaged { file: file.display().to_string(), expected: expected.into(), found: found.into() }
    }

    pub(super) fn unreadable(file: &Path, cause: &std::io::Error) -> DatasetError {
        DatasetError::Unreadable { file: file.display().to_string(), cause: cause.to_string() }
    }

    pub fn unwritable(file: &Path, cause: &std::io::Error) -> DatasetError {
        DatasetError::Unwritable { file: file.display().to_string(), cause: cause.to_string() }
    }
}
