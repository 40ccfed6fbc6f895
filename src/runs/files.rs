//! Small files that are either the old or the new version, never half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;

use super::StoreError;

/// Replace `path` by `bytes`: written to a temporary file beside it, synced, renamed.
///
/// On a full disk, where no second file fits, a file that is there is overwritten in its own blocks instead: a run that
/// fails for want of space must still be able to say so.
///
/// # Errors
/// [`StoreError::Io`] with the path.
fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    match written.and_then(|()| fs::rename(&temporary, path)) {
        Ok(()) => Ok(()),
        Err(error) => {
            // It may not exist; either way the first error is the one to report.
            let _ = fs::remove_file(&temporary);
            match is_out_of_space(&error) {
                true => overwrite(path, bytes).map_err(|_| error),
                false => Err(error),
            }
            .map_err(StoreError::io("cannot write", path))
        }
    }
}

fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// The order matters: new text first, then the length, so that only blocks which are there already are needed.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Wait until nobody else in any lab changes the small files of this folder; until the lock is dropped it is ours.
///
/// # Errors
/// [`StoreError::Io`] where the folder cannot be opened or locked.
pub fn lock(folder: &Path) -> Result<Flock<File>, StoreError> {
    let file = File::open(folder).map_err(StoreError::io("cannot open the folder", folder))?;
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| StoreError::io("cannot lock", folder)(errno.into()))
}

/// Replace `path` by `value` as JSON, as a whole or not at all.
///
/// # Errors
/// [`StoreError::Io`] with the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| StoreError::Damaged { path: path.to_owned(), cause: error.to_string() })?;
    text.push(b'\n');
    write_atomically(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_new_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.json");
        write_atomically(&path, b"a long first version").unwrap();
        write_atomically(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unwritable_place_is_named() {
        let error = write_atomically(Path::new("/proc/nowhere/status.json"), b"x").unwrap_err();
        assert!(error.to_string().starts_with("cannot write /proc/nowhere/status.json: "), "{error}");
    }

    #[test]
    fn overwriting_in_place_shortens_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.json");
        fs::write(&path, "a long first version").unwrap();
        overwrite(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }
}
