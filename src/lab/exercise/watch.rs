//! Waits until the learner saves the program.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use notify::{Config, Event, PollWatcher, RecursiveMode, Watcher};

use super::folder::Folder;

/// Editors write a file in several steps. It counts as saved when nothing has changed for this long.
const QUIET: Duration = Duration::from_millis(200);
/// Polling interval for file systems without notifications, such as network file systems.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reports every save.
pub struct Watch {
    saved: Receiver<()>,
    _watcher: Box<dyn Watcher + Send>,
}

impl Watch {
    /// # Errors
    /// The folder cannot be watched.
    pub fn start(folder: &Folder) -> notify::Result<Watch> {
        let (sender, saved) = channel();
        let program = folder.program();
        let tell = move |event: notify::Result<Event>| {
            let is_program = |path: &PathBuf| path.file_name() == program.file_name();
            let is_change = |event: &Event| !event.kind.is_access() && event.paths.iter().any(is_program);
            if event.is_ok_and(|event| is_change(&event)) {
                // Sending fails only when the lab is closing.
                let _ = sender.send(());
            }
        };
        // The folder, not the file: many editors put a new file in the place of the old one.
        let native = notify::recommended_watcher(tell.clone()).and_then(|mut watcher| {
            watcher.watch(folder.path(), RecursiveMode::NonRecursive)?;
            Ok(Box::new(watcher) as Box<dyn Watcher + Send>)
        });
        let polling = || -> notify::Result<Box<dyn Watcher + Send>> {
            let mut watcher = PollWatcher::new(tell, Config::default().with_poll_interval(LOOK_EVERY))?;
            watcher.watch(folder.path(), RecursiveMode::NonRecursive)?;
            Ok(Box::new(watcher))
        };
        Ok(Watch { saved, _watcher: native.or_else(|_| polling())? })
    }

    /// Wait for the next save, for `limit` at most; whether there was one.
    pub fn next(&self, limit: Duration) -> bool {
        let is_saved = self.saved.recv_timeout(limit).is_ok();
        while is_saved && self.saved.recv_timeout(QUIET).is_ok() {}
        is_saved
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::exercise::Track;

    #[test]
    fn a_save_is_told_once_however_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::of_track(home.path(), Track::default());
        folder.start().unwrap();
        let watch = Watch::start(&folder).unwrap();
        assert!(!watch.next(Duration::from_millis(300)), "nothing was saved");
        fs::write(folder.program(), "one").unwrap();
        fs::write(folder.program(), "two").unwrap();
        assert!(watch.next(Duration::from_secs(10)));
        assert!(!watch.next(Duration::from_millis(300)), "one save, told twice");
        let new = folder.path().join("swap");
        fs::write(&new, "three").unwrap();
        fs::rename(new, folder.program()).unwrap();
        assert!(watch.next(Duration::from_secs(10)));
        fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        assert!(!watch.next(Duration::from_millis(300)), "another file");
    }
}
