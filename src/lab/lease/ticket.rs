//! A place in the queue, until it is one's turn and the devices are there.

use std::fs::{self, File};
use std::path::PathBuf;

use super::{Allocation, Estimate, Lease, LeaseError, Request, Share, Stray, files};
use crate::host;

/// A place in the queue. It is given up when this is dropped or its process ends.
#[derive(Debug)]
pub struct Ticket {
    share: Share,
    request: Request,
    per_user: Option<usize>,
    /// Those that it may get, the best first.
    devices: Vec<String>,
    file: File,
    path: PathBuf,
    /// What it has got so far of what it wants: kept while it is its turn.
    taken: Vec<(String, File)>,
    fresh: files::Fresh,
}

/// The result of a look at the queue.
#[derive(Debug)]
pub enum Turn {
    Granted(Box<Lease>),
    /// With the devices that are locked without a ticket.
    Waits(Estimate, Vec<Stray>),
}

impl Ticket {
    /// Stand in line, for some of these devices.
    ///
    /// # Errors
    /// [`LeaseError::Io`], [`LeaseError::Folder`].
    pub fn enter(share: Share, request: Request, per_user: Option<usize>, devices: Vec<String>) -> Result<Ticket, LeaseError> {
        let allocation = Allocation { request: request.clone(), ..Allocation::default() };
        let (file, path) = share.ticket(&share.waiting_folder(), &allocation)?;
        Ok(Ticket { share, request, per_user, devices, file, path, taken: Vec::new(), fresh: files::Fresh::default() })
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Check whether it is its turn, and take free devices then. To be called several times a second.
    ///
    /// # Errors
    /// [`LeaseError::Io`], [`LeaseError::Folder`].
    pub fn look(&mut self) -> Result<Turn, LeaseError> {
        if !files::is_in_place(&self.file, &self.path) {
            // The folder was cleaned: the place is lost, and everybody else's too.
            let allocation = Allocation { request: self.request.clone(), ..Allocation::default() };
            (self.file, self.path) = self.share.ticket(&self.share.waiting_folder(), &allocation)?;
        }
        let (queue, mut strays) = (self.share.queue()?, Vec::new());
        if queue.turn(self.per_user) == Some(self.name()) {
            self.take()?;
            if self.taken.len() >= self.request.count {
                return self.grant().map(|lease| Turn::Granted(Box::new(lease)));
            }
            strays = self.share.strays(&queue, &self.devices);
        } else {
            // Somebody who was passed over may go first now: two that keep a part each would wait for each other for ever.
            self.taken.clear();
        }
        let devices = self.devices.len() - strays.len();
        let estimate = queue.estimate(self.name(), self.per_user, devices, host::now_s());
        // The ticket is not listed for a moment, as in a folder that was just cleaned.
        let unknown = Estimate { place: 1, of: 1, start_s: None, is_skipped: false };
        Ok(Turn::Waits(estimate.unwrap_or(unknown), strays))
    }

    fn take(&mut self) -> Result<(), LeaseError> {
        self.taken.retain(|(device, file)| files::is_in_place(file, &self.share.lock_of(device)));
        for device in &self.devices {
            if self.taken.len() >= self.request.count {
                break;
            }
            if self.taken.iter().any(|(taken, _)| taken == device) {
                continue;
            }
            let path = self.share.lock_of(device);
            if self.fresh.is_fresh(&path).map_err(LeaseError::io("lock", &path))? {
                continue;
            }
            if let Some(file) = files::try_lock(&path).map_err(LeaseError::io("lock", &path))? {
                self.taken.push((device.clone(), file));
            }
        }
        Ok(())
    }

    /// It is listed among the holders before it leaves the queue, so that it is always in one of the two.
    fn grant(&mut self) -> Result<Lease, LeaseError> {
        let now_s = host::now_s();
        self.taken.sort_by_key(|(device, _)| self.devices.iter().position(|listed| listed == device));
        let allocation = Allocation {
            request: self.request.clone(),
            devices: self.taken.iter().map(|(device, _)| device.clone()).collect(),
            granted_s: Some(now_s),
            ends_s: self.request.limit_s.map(|limit_s| now_s + limit_s),
        };
        let share = self.share.clone();
        let (ticket, path) = share.ticket(&share.granted_folder(), &allocation)?;
        let _ = fs::remove_file(&self.path);
        let locks = std::mem::take(&mut self.taken);
        Ok(Lease { share, allocation, ticket, path, locks, missed: Vec::new(), lost: Vec::new() })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // Only its own: after a grant there is nothing at its path.
        if files::is_in_place(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
