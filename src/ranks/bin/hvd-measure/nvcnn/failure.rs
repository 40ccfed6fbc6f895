//! Why nothing more is trained, and how all ranks come to leave with one line of one of them.

use hvd_lab::comm::{CommError, Communicator};

pub enum Failure {
    /// All ranks know it and leave by themselves: what was asked for cannot be had.
    Agreed(String),
    /// Only this rank knows it: the others may wait for it.
    Own(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Own(error.into())
    }
}

/// What each rank found out by itself, or the reason of the first that could not.
///
/// # Collective
/// Every rank calls it.
pub fn agreed<T>(comm: &dyn Communicator, own: Result<T, String>) -> Result<T, Failure> {
    let reasons = comm.allgather(own.as_ref().err().map_or(b"".as_slice(), |reason| reason.as_bytes()))?;
    match reasons.iter().find(|reason| !reason.is_empty()) {
        Some(reason) => Err(Failure::Agreed(String::from_utf8_lossy(reason).into_owned())),
        None => own.map_err(Failure::Agreed),
    }
}

/// The lines of all ranks, each once, in their order.
///
/// # Collective
/// Every rank calls it.
pub fn gathered(comm: &dyn Communicator, own: &[String]) -> Result<Vec<String>, CommError> {
    // Texts are always written.
    let all = comm.allgather(&serde_json::to_vec(own).unwrap_or_default())?;
    let mut lines: Vec<String> =
        all.iter().flat_map(|one| serde_json::from_slice::<Vec<String>>(one).unwrap_or_default()).collect();
    lines.sort();
    lines.dedup();
    Ok(lines)
}
