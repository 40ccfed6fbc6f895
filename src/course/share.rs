//! The copy of a learner's progress in a folder of the class, where `hvd-lab class` reads it.
//!
//! Never stands in a learner's way: a folder that is gone, full or slow costs a note, not the lab.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use serde::{Deserialize, Serialize};

use crate::domain::bounds::Bounded;
use crate::host::{access, files};
use crate::runs::{self, StoreError};

/// Names the folder of the class where no `--share` did, and wins over it.
pub const CLASS_VARIABLE: &str = "HVD_LAB_CLASS";
/// A network folder that does not answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the copy goes: `FOLDER/LEARNER.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub folder: PathBuf,
    pub learner: String,
}

/// The learner is part of a path, which stays in the folder of the class.
impl Bounded for Share {
    fn out_of_bounds(&self) -> Option<String> {
        let is_name = file_name(&self.learner).is_some_and(|name| name == self.learner);
        (!is_name).then(|| format!("`{}` is not a name for a file", self.learner.escape_debug()))
    }
}

impl Share {
    /// What HVD_LAB_CLASS names, else what was kept with [`Share::keep`].
    pub fn of(home: &Path) -> Option<Share> {
        let kept: Option<Share> = runs::read_json(&Share::file(home)).ok();
        match std::env::var_os(CLASS_VARIABLE).filter(|folder| !folder.is_empty()) {
            None => kept,
            Some(folder) => {
                let learner = kept.map(|share| share.learner).or_else(login_name).unwrap_or_else(|| "learner".into());
                Some(Share { folder: folder.into(), learner })
            }
        }
    }

    /// From now on. `None` for nowhere.
    ///
    /// # Errors
    /// The home folder cannot be written.
    pub fn keep(home: &Path, share: Option<&Share>) -> Result<(), StoreError> {
        let path = Share::file(home);
        match share {
            Some(share) => {
                access::make_folder(home).map_err(StoreError::io(StoreError::MAKE_FOLDER, home))?;
                runs::write_json(&path, share)
            }
            None if path.exists() => fs::remove_file(&path).map_err(StoreError::io("cannot remove", &path)),
            None => Ok(()),
        }
    }

    fn file(home: &Path) -> PathBuf {
        home.join("share.json")
    }

    /// The copy.
    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.learner))
    }

    /// Put the copy there as a whole, or say in one sentence why not.
    ///
    /// # Errors
    /// The folder is not there, cannot be written, or does not answer.
    pub fn copy<T: Serialize + Clone + Send + 'static>(&self, progress: &T) -> Result<(), String> {
        let (path, folder, progress) = (self.path(), self.folder.clone(), progress.clone());
        let (sender, answer) = mpsc::channel();
        // In a thread that may be left behind: writing to a network folder that is gone can block for ever.
        thread::spawn(move || {
            let written = match folder.is_dir() {
                true => runs::json(&path, &progress).map_err(|error| error.to_string()).and_then(|text| {
                    files::share(&path, &text).map_err(|error| format!("cannot write {}: {error}", path.display()))
                }),
                false => Err(format!("{} is not a folder", folder.display())),
            };
            // Nobody waits for it any more.
            let _ = sender.send(written);
        });
        let written = answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(format!("{} does not answer", self.folder.display())));
        written.map_err(|why| {
            format!("your progress is kept, but the class does not see it: {why} (`hvd-lab progress --share` sets the folder)")
        })
    }
}

/// The name of this user, if it tells anything about them.
pub fn login_name() -> Option<String> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
    (user.name != "root").then(|| file_name(&user.name)).flatten()
}

/// A name as part of a path: letters, digits and a few marks. `None` if nothing of it is left.
pub fn file_name(name: &str) -> Option<String> {
    let safe = |c: char| if c.is_alphanumeric() || "-_.@".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().map(safe).take(64).collect();
    let name = name.trim_matches(['.', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        let cases = [
            ("ada", Some("ada")),
            ("Ada Lovelace", Some("Ada-Lovelace")),
            ("Zoë.K", Some("Zoë.K")),
            ("../../etc/passwd", Some("etc-passwd")),
            (".hidden", Some("hidden")),
            ("a/b\0\n", Some("a-b")),
            ("  ", None),
            ("..", None),
        ];
        for (name, expected) in cases {
            assert_eq!(file_name(name).as_deref(), expected, "{name:?}");
        }
        let home = tempfile::tempdir().unwrap();
        for (learner, is_taken) in [("ada", true), ("../../elsewhere/ada", false), ("/etc/ada", false), ("", false)] {
            let share = Share { folder: home.path().to_owned(), learner: learner.to_owned() };
            fs::write(Share::file(home.path()), serde_json::to_string(&share).unwrap()).unwrap();
            assert_eq!(Share::of(home.path()).is_some(), is_taken, "{learner}");
        }
    }
}
