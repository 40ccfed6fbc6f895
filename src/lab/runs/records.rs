//! The small JSON files of the lab: each is read within bounds, and replaced as a whole by one writer at a time.
//!
//! What cannot be used is an error that names the file and says what is wrong with it.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StoreError;
use crate::domain::bounds::Bounded;
use crate::host::{files, read};

/// No record of any run is larger.
const MOST_BYTES: u64 = 16 << 20;

/// A record as JSON.
///
/// # Errors
/// [`StoreError::Io`]; [`StoreError::Damaged`] for a text that is no such record, or a number that no run can have.
pub fn read_json<T: DeserializeOwned + Bounded>(path: &Path) -> Result<T, StoreError> {
    let damaged = |cause: String| StoreError::damaged(path, &cause);
    let text = match read::small_file(path, MOST_BYTES) {
        Ok(text) => text,
        // Not the system's refusal: what is there is no record.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            return Err(damaged(error.to_string()));
        }
        Err(error) => return Err(StoreError::io("cannot read", path)(error)),
    };
    let record: T = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    record.out_of_bounds().map_or(Ok(record), |problem| Err(damaged(problem)))
}

/// As [`read_json`]; `None` if there is no file.
///
/// # Errors
/// As [`read_json`], for any other reason.
pub fn read_json_if_any<T: DeserializeOwned + Bounded>(path: &Path) -> Result<Option<T>, StoreError> {
    match read_json(path) {
        Err(error) if error.is_not_found() => Ok(None),
        read => read.map(Some),
    }
}

/// Take the lock for changing the small files of this folder, waiting for other labs that hold it.
///
/// # Errors
/// [`StoreError::Io`] where the folder cannot be opened or locked.
pub fn lock(folder: &Path) -> Result<File, StoreError> {
    let file = File::open(folder).map_err(StoreError::io("cannot open the folder", folder))?;
    file.lock().map_err(StoreError::io("cannot lock", folder))?;
    Ok(file)
}

/// Replace `path` by `value` as JSON, as a whole or not at all.
///
/// # Errors
/// [`StoreError::Io`] with the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    files::write(path, &json(path, value)?).map_err(StoreError::io("cannot write", path))
}

/// A value as the text of the file `path`.
///
/// # Errors
/// [`StoreError::Damaged`] with the path, for a value that JSON cannot hold.
pub fn json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| StoreError::damaged(path, &error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwritable_place_is_named() {
        let error = write_json(Path::new("/proc/nowhere/status.json"), &1).unwrap_err();
        assert!(error.to_string().starts_with("cannot write /proc/nowhere/status.json: "), "{error}");
    }
}
