//! A run that is over, from its folder, from a file, or out of this program.
//!
//! Never played here: `player` does.

use std::path::Path;

use super::error::RecordingError;
use crate::domain::device::DeviceKind;
use crate::domain::run::RunStatus;
use crate::host::read;
use crate::process::Scratch;
use crate::runs::{RunFolder, RunRecord};

/// The recordings inside the program, on two cores of a CPU and on one NVIDIA H200, in the order in which they stand in the table of
/// runs: real runs of the real trainer.
pub(super) const SHIPPED: [(DeviceKind, &str, &[u8]); 3] = [
    (DeviceKind::Cpu, "np-1-no-steps.hvdrun", include_bytes!("../../../../assets/recordings/np-1-no-steps.hvdrun")),
    (DeviceKind::Cpu, "np-2-all-steps.hvdrun", include_bytes!("../../../../assets/recordings/np-2-all-steps.hvdrun")),
    (DeviceKind::Gpu, "one-gpu.hvdrun", include_bytes!("../../../../assets/recordings/one-gpu.hvdrun")),
];

/// A run that is over, to be played again.
#[derive(Debug)]
pub struct Recording {
    pub folder: RunFolder,
    pub record: RunRecord,
    pub status: RunStatus,
    /// The folder that it was unpacked into, removed when this is dropped: keep it until the threads that play have ended.
    pub unpacked: Option<Scratch>,
}

impl Recording {
    /// A run's folder as it is.
    ///
    /// # Errors
    /// [`RecordingError::Going`], [`RecordingError::Store`].
    pub fn of_folder(folder: RunFolder) -> Result<Recording, RecordingError> {
        let (record, status) = (folder.read_record()?, folder.read_status()?);
        if !status.state.is_over() {
            return Err(RecordingError::Going { run: record.id });
        }
        Ok(Recording { folder, record, status, unpacked: None })
    }

    /// A file that [`pack`](super::pack()) wrote, unpacked into a temporary folder.
    ///
    /// # Errors
    /// [`RecordingError`], with what is wrong with the file.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        let file = read::open(path).map_err(|cause| RecordingError::Io { path: path.to_owned(), cause })?;
        Recording::unpack(file, path)
    }

    /// The recordings on such devices that come with the lab: one rank, then two, of the same training; or one rank on a GPU.
    ///
    /// # Errors
    /// No temporary folder.
    pub fn shipped(kind: DeviceKind) -> Result<Vec<Recording>, RecordingError> {
        let on_it = SHIPPED.iter().filter(|(on, ..)| *on == kind);
        on_it.map(|(_, name, bytes)| Recording::unpack(*bytes, Path::new(name))).collect()
    }
}
