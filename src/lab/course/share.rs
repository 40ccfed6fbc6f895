//! The copy of a learner's progress in a folder of the class, where `hvd-lab class` reads it.
//!
//! Never stands in a learner's way: a folder that is gone, full or slow costs a note, not the lab. Others write to that folder too:
//! a copy is replaced only by the home that made it, and no link in its place is followed.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io, thread};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::domain::bounds::Bounded;
use crate::domain::printable;
use crate::host::{self, access, files, read};
use crate::runs::{self, StoreError};

/// Names the folder of the class where no `--share` did, and wins over it.
pub const CLASS_VARIABLE: &str = "HVD_LAB_CLASS";
/// A network folder that does not answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Characters of a learner's name.
pub const LONGEST_NAME: usize = 64;
/// Most file systems take 255 bytes with the ending.
const MOST_NAME_BYTES: usize = 200;
/// A copy is some kilobytes.
const MOST_BYTES: u64 = 8 << 20;
/// Numbers that are tried to suggest a free name.
const SUGGESTIONS: std::ops::RangeInclusive<usize> = 2..=99;

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
        (!is_name).then(|| format!("`{}` is not a name for a file", printable::excerpt(&self.learner)))
    }
}

/// The content of a file in the folder of the class.
#[derive(Serialize)]
struct ClassCopy<'a, T> {
    /// The home that made it: names are not unique, and two learners may have one account.
    owner: &'a str,
    #[serde(flatten)]
    progress: &'a T,
}

/// The fields of such a file that say who owns it.
#[derive(Deserialize)]
struct Header {
    owner: Option<String>,
    /// Of a progress file.
    version: Option<IgnoredAny>,
    done: Option<IgnoredAny>,
    /// Of a report.
    report: Option<IgnoredAny>,
}

impl Share {
    /// What HVD_LAB_CLASS names, else what was kept with [`Share::keep`]. `None`: nothing is shared.
    ///
    /// # Errors
    /// What was kept cannot be read, in one sentence.
    pub fn of(home: &Path) -> Result<Option<Share>, String> {
        let kept: Option<Share> = runs::read_json_if_any(&Share::file(home)).map_err(|error| {
            format!("your progress is not shared: {error}. Share it again with `hvd-lab progress --share DIR`")
        })?;
        Ok(match std::env::var_os(CLASS_VARIABLE).filter(|folder| !folder.is_empty()) {
            None => kept,
            Some(folder) => {
                let learner = kept.map(|share| share.learner).or_else(login_name).unwrap_or_else(|| "learner".into());
                Some(Share { folder: folder.into(), learner })
            }
        })
    }

    /// Remembers where to share; `None` stops sharing.
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

    /// Put the copy of the progress in `home` there as a whole, or say in one sentence why not.
    ///
    /// # Errors
    /// The folder is not there, cannot be written, or does not answer; or the name is another learner's.
    pub fn copy<T: Serialize + Clone + Send + 'static>(&self, home: &Path, progress: &T) -> Result<(), String> {
        let (share, home, progress) = (self.clone(), home.to_owned(), progress.clone());
        let (sender, answer) = mpsc::channel();
        // In a thread that may be left behind: writing to a network folder that is gone can block for ever.
        thread::spawn(move || {
            // Nobody waits for it any more.
            let _ = sender.send(share.write(&home, &progress));
        });
        let written = answer.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(format!("{} does not answer", self.folder.display())));
        written.map_err(|why| format!("your progress is kept, but the class does not see it: {why}"))
    }

    fn write<T: Serialize>(&self, home: &Path, progress: &T) -> Result<(), String> {
        let path = self.path();
        let another = "`hvd-lab progress --share DIR` sets the folder";
        if !self.folder.is_dir() {
            return Err(format!("{} is not a folder ({another})", printable::excerpt(&self.folder.display().to_string())));
        }
        let owner = owner(home).map_err(|error| error.to_string())?;
        let text = runs::json(&path, &ClassCopy { owner: &owner, progress }).map_err(|error| error.to_string())?;
        let mut put = files::share(&path, self.may_replace(&path, &owner)?, &text);
        // Another home was faster.
        if matches!(&put, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
            put = files::share(&path, self.may_replace(&path, &owner)?, &text);
        }
        put.map_err(|error| match error.get_ref() {
            // What is in the way, with what to do about it.
            Some(_) => format!("cannot write {}: {error}. {}", path.display(), self.other_name()),
            None => format!("cannot write {}: {error} ({another})", path.display()),
        })
    }

    /// Whether there is a copy that this home may replace; where there is none, false.
    fn may_replace(&self, path: &Path, owner: &str) -> Result<bool, String> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            // Nothing was written, or it is no file: whether it may go does not depend on what is in it.
            Ok(there) if !there.is_file() || there.len() == 0 => return Ok(true),
            _ => {}
        }
        let header = match read::small_file(path, MOST_BYTES) {
            Ok(text) => serde_json::from_slice::<Header>(&text).ok(),
            // It is another user's, and what is said of that is better.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(true),
            Err(_) => None,
        };
        let is_labs = |header: &Header| header.report.is_some() || header.version.is_some() && header.done.is_some();
        match header.filter(is_labs) {
            None => Err(format!("{} is there and is not a progress file. {}", path.display(), self.other_name())),
            // Older versions did not say.
            Some(Header { owner: None, .. }) => Ok(true),
            Some(Header { owner: Some(there), .. }) if there == owner => Ok(true),
            Some(_) => Err(format!(
                "{} belongs to another learner, or to another home of yours. {}. If it is an old one of yours, remove it",
                path.display(),
                self.other_name()
            )),
        }
    }

    fn other_name(&self) -> String {
        let name = |number: usize| Share { learner: format!("{}-{number}", self.learner), ..self.clone() };
        let free = SUGGESTIONS.map(name).find(|share| share.path().symlink_metadata().is_err());
        let name = free.map_or("NAME".to_owned(), |share| share.learner);
        format!("Choose another name: `hvd-lab progress --share {} --name {name}`", self.folder.display())
    }
}

/// The random name of this home, made once, which no other home has.
fn owner(home: &Path) -> Result<String, StoreError> {
    let path = home.join("learner-id");
    let kept = || read::small_text(&path, 64).ok().map(|text| text.trim().to_owned()).filter(|id| id.len() == 32);
    if let Some(id) = kept() {
        return Ok(id);
    }
    let made = host::secret().and_then(|id| {
        access::make_folder(home)?;
        match files::write_new(&path, format!("{id}\n").as_bytes()) {
            // Another program of this home was faster, or what is there is damaged.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match kept() {
                Some(id) => Ok(id),
                None => files::write(&path, format!("{id}\n").as_bytes()).map(|()| id),
            },
            written => written.map(|()| id),
        }
    });
    made.map_err(StoreError::io("cannot write", &path))
}

/// The login name of this user; `None` for root, whom several people may be.
pub fn login_name() -> Option<String> {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
    (user.name != "root").then(|| file_name(&user.name)).flatten()
}

/// A name as part of a path: letters, digits and a few marks. `None` if nothing of it is left.
pub fn file_name(name: &str) -> Option<String> {
    let safe = |c: char| if c.is_alphanumeric() || "-_.@".contains(c) { c } else { '-' };
    let mut bytes = 0;
    let fits = |c: &char| {
        bytes += c.len_utf8();
        bytes <= MOST_NAME_BYTES
    };
    let name: String = name.trim().chars().map(safe).take(LONGEST_NAME).take_while(fits).collect();
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
            (&"x".repeat(7 << 20), Some(&"x".repeat(64))),
            (&"\u{20000}".repeat(64), Some(&"\u{20000}".repeat(50))),
        ];
        for (name, expected) in cases {
            assert_eq!(file_name(name).as_deref(), expected, "{name:?}");
        }
        let home = tempfile::tempdir().unwrap();
        for (learner, is_taken) in [("ada", true), ("../../elsewhere/ada", false), ("/etc/ada", false), ("", false)] {
            let share = Share { folder: home.path().to_owned(), learner: learner.to_owned() };
            fs::write(Share::file(home.path()), serde_json::to_string(&share).unwrap()).unwrap();
            assert_eq!(Share::of(home.path()).is_ok_and(|share| share.is_some()), is_taken, "{learner}");
        }
    }
}
