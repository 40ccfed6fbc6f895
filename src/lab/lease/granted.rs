//! Devices that a run has, until nothing of it is left.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::io::{FdFlags, fcntl_setfd};

use super::share::text_of;
use super::{Allocation, Share, files};

/// Devices that no other run gets while this, or a process that it was [handed on](Lease::hand_on) to, exists.
#[derive(Debug)]
pub struct Lease {
    pub(super) share: Share,
    pub(super) allocation: Allocation,
    pub(super) ticket: File,
    pub(super) path: PathBuf,
    pub(super) locks: Vec<(String, File)>,
    /// Devices whose lock another process had at the last look, perhaps only to look at it.
    pub(super) missed: Vec<String>,
    /// Devices whose lock was lost; each is reported once.
    pub(super) lost: Vec<String>,
}

impl Lease {
    /// Their names: UUIDs of GPUs, or `core-N`.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.allocation.devices.iter().map(String::as_str)
    }

    /// Whether programs that are started from now on hold the locks as well: with its supervisor killed, a launcher whose ranks still
    /// train keeps its devices.
    pub fn hand_on(&self, is_handed_on: bool) {
        let flags = if is_handed_on { FdFlags::empty() } else { FdFlags::CLOEXEC };
        for file in self.locks.iter().map(|(_, file)| file).chain([&self.ticket]) {
            // It fails for no open file.
            let _ = fcntl_setfd(file, flags);
        }
    }

    /// Say when it will probably end, in Unix time: those who wait are shown that.
    pub fn expect_end(&mut self, end_s: f64) {
        let limit_s =
            self.allocation.granted_s.zip(self.allocation.request.limit_s).map(|(granted_s, limit_s)| granted_s + limit_s);
        self.allocation.ends_s = Some(limit_s.map_or(end_s, |limit_s| limit_s.min(end_s)));
        // Only for those who read it: that it cannot be written changes nothing.
        let text = text_of(&self.allocation);
        let _ = self.ticket.write_all_at(text.as_bytes(), 0).and_then(|()| self.ticket.set_len(text.len() as u64));
    }

    /// See whether the locks are still those that everybody looks at, as about once a second. A folder that was cleaned gets them
    /// again. Returns the devices that another run has taken meanwhile, each once.
    pub fn keep(&mut self) -> Vec<String> {
        if !files::is_in_place(&self.ticket, &self.path)
            && let Ok((ticket, path)) = self.share.ticket(&self.share.granted_folder(), &self.allocation)
        {
            (self.ticket, self.path) = (ticket, path);
        }
        let (mut lost, before) = (Vec::new(), std::mem::take(&mut self.missed));
        for (device, lock) in &mut self.locks {
            let path = self.share.lock_of(device);
            if files::is_in_place(lock, &path) || self.lost.contains(device) {
                continue;
            }
            match files::try_lock(&path) {
                Ok(Some(again)) => *lock = again,
                Ok(None) if before.contains(device) => lost.push(device.clone()),
                Ok(None) => self.missed.push(device.clone()),
                // It may work at the next look.
                Err(_) => {}
            }
        }
        self.lost.extend(lost.iter().cloned());
        lost
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if files::is_in_place(&self.ticket, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
