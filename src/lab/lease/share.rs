//! The folder of a shared machine: who holds and who waits there.

use std::path::{Path, PathBuf};

use super::{Allocation, LeaseError, Queue, Rules, files};
use crate::host;

/// A device that is locked without a ticket, such as by the rest of a run whose ticket was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    pub device: String,
    /// The process that took the lock, where the system says so; it may have ended, and handed the lock on.
    pub pid: Option<u32>,
    pub lock: PathBuf,
}

/// How this machine is shared, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub rules: Rules,
    /// Of this machine since it was started: a folder that several hosts see is one for each.
    folder: PathBuf,
}

impl Share {
    /// Of this machine, if it is shared. Makes the folders that are missing.
    ///
    /// # Errors
    /// [`LeaseError::Rules`], [`LeaseError::Folder`].
    pub fn of_machine() -> Result<Option<Share>, LeaseError> {
        Rules::of_machine()?.map(Share::new).transpose()
    }

    pub(super) fn new(rules: Rules) -> Result<Share, LeaseError> {
        let folder = rules.folder.join(host::place().boot.unwrap_or_else(host::name));
        let share = Share { folder, rules };
        share.make_folders()?;
        Ok(share)
    }

    fn make_folders(&self) -> Result<(), LeaseError> {
        for folder in [&self.rules.folder, &self.folder, &self.waiting_folder(), &self.granted_folder()] {
            files::common_folder(folder)
                .map_err(|error| LeaseError::Folder { path: self.rules.folder.clone(), why: error.to_string() })?;
        }
        Ok(())
    }

    pub(super) fn waiting_folder(&self) -> PathBuf {
        self.folder.join("queue")
    }

    pub(super) fn granted_folder(&self) -> PathBuf {
        self.folder.join("held")
    }

    pub(super) fn lock_of(&self, device: &str) -> PathBuf {
        self.folder.join(format!("{device}.lock"))
    }

    /// A ticket with this text in one of the folders, which may have been cleaned.
    pub(super) fn ticket(&self, folder: &Path, allocation: &Allocation) -> Result<(std::fs::File, PathBuf), LeaseError> {
        self.make_folders()?;
        files::new_ticket(folder, &text_of(allocation)).map_err(LeaseError::io("write a ticket to", folder))
    }

    /// The devices that are locked although no known run holds them.
    pub fn strays(&self, queue: &Queue, devices: &[String]) -> Vec<Stray> {
        let is_held = |device: &String| queue.held.iter().any(|entry| entry.allocation.devices.contains(device));
        let is_waiting = |pid: Option<u32>| match pid {
            // One that waits keeps what it has got so far.
            Some(pid) => queue.waiting.iter().any(|entry| entry.allocation.request.pid == pid),
            None => !queue.waiting.is_empty(),
        };
        let devices = devices.iter().filter(|device| !is_held(device));
        let strays = devices.filter_map(|device| {
            let lock = self.lock_of(device);
            let pid = files::holder(&lock)?;
            (!is_waiting(pid)).then(|| Stray { device: device.clone(), pid, lock })
        });
        strays.collect()
    }

    /// The runs that hold devices or wait, without those whose processes are gone.
    ///
    /// # Errors
    /// [`LeaseError::Io`].
    pub fn queue(&self) -> Result<Queue, LeaseError> {
        let living = |folder: PathBuf| files::living(&folder).map_err(LeaseError::io("read", &folder));
        // In this order: who gets devices is among the holders before leaving the queue, and is seen in one of them.
        let waiting = living(self.waiting_folder())?;
        Ok(Queue { held: living(self.granted_folder())?, waiting })
    }
}

/// As long as any that comes in its place, so that a new text covers the old one.
pub(super) fn text_of(allocation: &Allocation) -> String {
    let text = serde_json::to_string(allocation).unwrap_or_default();
    let room = text.len().next_multiple_of(512);
    format!("{text:<room$}")
}
