//! Room on the disk that is kept for what must be said when the disk is full.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{files, owners};

/// What [`keep`] keeps: more than a status of a run takes.
const RESERVED_BYTES: usize = 16 << 10;

/// As [`files::write`]; on a full disk the room is used that [`keep`] kept for this.
///
/// # Errors
/// As [`files::write`].
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match files::write(path, bytes) {
        Err(error) if files::is_full(&error) => match fill_reserved(path, bytes).and_then(|filled| fs::rename(filled, path)) {
            Ok(()) => Ok(()),
            Err(_) => release(path).and_then(|()| files::write(path, bytes)).map_err(|_| error),
        },
        done => done,
    }
}

/// Keep some room beside a file for [`write()`], until [`release`].
///
/// # Errors
/// The disk is full, or the folder is missing.
pub fn keep(path: &Path) -> io::Result<()> {
    if reserved(path).metadata().is_ok_and(|there| there.len() == RESERVED_BYTES as u64) {
        return Ok(());
    }
    // Written rather than marked as used: some file systems would not set the room aside.
    files::write(&reserved(path), &[b' '; RESERVED_BYTES])
}

/// Give the room back, if there is any.
///
/// # Errors
/// There is none, or it cannot be given back.
pub fn release(path: &Path) -> io::Result<()> {
    fs::remove_file(reserved(path))
}

fn reserved(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.reserved"))
}

/// Replace a file on a full disk, without a moment in which another program can take the room: what [`keep`] kept for `spare`
/// becomes the new version, and the old one is what is kept there from then on.
///
/// # Errors
/// The system's; the file is as it was then.
pub fn exchange(path: &Path, spare: &Path, bytes: &[u8]) -> io::Result<()> {
    let filled = fill_reserved(spare, bytes)?;
    // Some file systems cannot exchange two files.
    renameat_with(CWD, &filled, CWD, path, RenameFlags::EXCHANGE).or_else(|_| fs::rename(&filled, path))
}

/// The new version is written into the blocks that were reserved for it, which no other program can take.
fn fill_reserved(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = reserved(path);
    let mut file = owners::open(&path, OpenOptions::new().write(true), 0)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserved_room_takes_the_new_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status.json");
        files::write(&path, b"old").unwrap();
        assert!(fill_reserved(&path, b"new").is_err(), "none is kept yet");
        keep(&path).unwrap();
        fs::rename(fill_reserved(&path, b"new").unwrap(), &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(release(&path).is_err(), "it is used up");
    }

    #[test]
    fn an_exchange_keeps_the_room_of_the_old_version_for_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, spare) = (folder.path().join("status.json"), folder.path().join("notice.json"));
        files::write(&path, b"old").unwrap();
        keep(&spare).unwrap();
        for new in ["first", "second"] {
            exchange(&path, &spare, new.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), new);
        }
        assert_eq!(fs::read(reserved(&spare)).unwrap(), b"first");
        release(&spare).unwrap();
        assert!(exchange(&path, &spare, b"third").is_err() && fs::read(&path).unwrap() == b"second");
    }
}
