//! One training at a time writes to a folder of checkpoints: two would go on from each other's and overwrite them.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Claims a folder. It is held as long as the file lives, which goes with the process, however that ends.
///
/// # Errors
/// The folder cannot be opened, or another training holds it.
pub fn claim(folder: &Path) -> io::Result<File> {
    let folder = File::open(folder)?;
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another training writes to it: wait for its end, or give another one"))
        }
        // Not held where the file system has no locks.
        _ => Ok(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = claim(folder.path()).unwrap();
        let second = claim(folder.path()).err().unwrap();
        assert!(second.to_string().contains("another training writes to it"), "{second}");
        drop(first);
        assert!(claim(folder.path()).is_ok());
        assert!(claim(&folder.path().join("gone")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing there");
    }
}
