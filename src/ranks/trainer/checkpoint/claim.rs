//! One training at a time writes to a folder of checkpoints: two would go on from each other's and overwrite them.

use std::fs::File;
use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Held as long as it lives; it goes with the process, however that ends.
pub struct Claim {
    /// `None` where the file system has no locks.
    _lock: Option<Flock<File>>,
}

impl Claim {
    /// # Errors
    /// The folder cannot be opened, or another training holds it.
    pub fn take(folder: &Path) -> io::Result<Claim> {
        match Flock::lock(File::open(folder)?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Claim { _lock: Some(lock) }),
            Err((_, Errno::EWOULDBLOCK)) => {
                Err(io::Error::other("another training writes to it: wait for its end, or give another one"))
            }
            Err(_) => Ok(Claim { _lock: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Claim::take(folder.path()).unwrap();
        let second = Claim::take(folder.path()).err().unwrap();
        assert!(second.to_string().contains("another training writes to it"), "{second}");
        drop(first);
        assert!(Claim::take(folder.path()).is_ok());
        assert!(Claim::take(&folder.path().join("gone")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing there");
    }
}
