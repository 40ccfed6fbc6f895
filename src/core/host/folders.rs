//! A folder of many files that is there as a whole or not at all: it is filled under another name, and renamed at the end.
//!
//! Never writes into a folder that is there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{access, file_limit, files, read};

const LOCK: &str = ".being-written";
/// A process that fills a folder locks it at once: one of this age without a lock was left by a process that was killed.
const LEFT_OVER: Duration = Duration::from_secs(10);

/// A folder in the making. Unless it is finished, nothing is left of it.
pub struct NewFolder {
    target: PathBuf,
    temporary: PathBuf,
    /// Holds the lock of the folder. On a file system without locks, only the folder's age shows whether it is still being filled.
    lock: Option<File>,
}

impl NewFolder {
    /// Begins a folder that will be at `target`, where nothing is yet or an empty folder. Those above it are made if need be.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and the system's.
    pub fn create(target: &Path) -> io::Result<NewFolder> {
        if target.symlink_metadata().is_ok() && !is_empty_folder(target) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let above = target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // The system says of a file in the way that it exists, which sounds as if it were the folder.
        if above.ancestors().any(Path::is_file) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        builder().recursive(true).create(above)?;
        let prefix = format!(".{}.part-", name.to_string_lossy());
        sweep(above, &prefix);
        let temporary = above.join(format!("{prefix}{}", files::unique()));
        builder().create(&temporary)?;
        let mut folder = NewFolder { target: target.to_owned(), temporary, lock: None };
        let lock = folder.open(LOCK)?;
        let _ = lock.try_lock();
        folder.lock = Some(lock);
        Ok(folder)
    }

    fn open(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(access::of_user()).open(self.temporary.join(name))
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// The system's.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        builder().create(self.temporary.join(name))
    }

    /// Writes a file in it and syncs it.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut file = io::BufWriter::with_capacity(1 << 20, self.open(name)?);
        file_limit::explained(fill(&mut file).and_then(|()| file.flush()).and_then(|()| file.get_ref().sync_all()))
    }

    /// Gives the folder its name. Of two that were filled at once for the same name, one gets it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and the system's.
    pub fn finish(self) -> io::Result<()> {
        fs::remove_file(self.temporary.join(LOCK))?;
        File::open(&self.temporary)?.sync_all()?;
        // An empty folder is replaced, any other is not.
        fs::rename(&self.temporary, &self.target).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => io::ErrorKind::AlreadyExists.into(),
            _ => error,
        })?;
        // Without it the name may be gone after a power cut, but never a part of what is in the folder.
        let above = self.target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let _ = File::open(above).and_then(|above| above.sync_all());
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// As another program would make it: the user asked for it by name.
fn builder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o755 & !access::users_umask());
    builder
}

fn is_empty_folder(path: &Path) -> bool {
    path.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes what killed processes left of the same folder.
fn sweep(above: &Path, prefix: &str) {
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let age = files::age(&entry);
        let lock = read::open(&entry.path().join(LOCK));
        if lock.map_or(age > LEFT_OVER, |lock| lock.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn fill(folder: &NewFolder, text: &str) {
        folder.make_folder("a").unwrap();
        folder.write("a/file", |file| file.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn a_folder_is_there_when_it_is_whole_and_not_before() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("above/set");
        let folder = NewFolder::create(&target).unwrap();
        fill(&folder, "x");
        assert!(!target.exists());
        folder.finish().unwrap();
        assert_eq!((names(&target), names(&place.path().join("above"))), (vec!["a".to_owned()], vec!["set".to_owned()]));
        assert_eq!(NewFolder::create(&target).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn one_of_two_at_once_gets_the_name_and_nothing_is_left_of_the_other() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("set");
        fs::create_dir(&target).unwrap();
        let (first, second) = (NewFolder::create(&target).unwrap(), NewFolder::create(&target).unwrap());
        fill(&first, "first");
        fill(&second, "second");
        second.finish().unwrap();
        assert_eq!(first.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            (fs::read_to_string(target.join("a/file")).unwrap(), names(place.path())),
            ("second".into(), vec!["set".to_owned()])
        );
    }

    #[test]
    fn what_is_given_up_or_was_killed_is_swept_and_what_others_fill_is_not() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("set");
        fill(&NewFolder::create(&target).unwrap(), "given up");
        assert!(names(place.path()).is_empty());
        let busy = NewFolder::create(&target).unwrap();
        // As a killed process leaves it: the lock file is there, and nobody holds it.
        let killed = place.path().join(".set.part-1-2-3");
        fs::create_dir(&killed).unwrap();
        File::create(killed.join(LOCK)).unwrap();
        let other = NewFolder::create(&target).unwrap();
        assert!(!killed.exists() && busy.temporary.exists() && other.temporary.exists());
    }
}
