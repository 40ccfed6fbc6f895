//! Decides whether the ranks' GPUs talk to each other by NCCL, and connects them.
//!
//! Never chooses differently on two ranks: all decide from the same facts.

use serde::{Deserialize, Serialize};

use crate::comm::communicator::{Communicator, Transport};
use crate::comm::error::CommError;
use crate::comm::gather::allgather_json;
use crate::comm::nccl::{self, Gpu, Nccl};
use crate::domain::topology::{ROOT_RANK, Rank};

/// The first NCCL that lets ranks share a GPU, where this variable allows it.
const SHARES: i32 = 23_003;
const SHARING: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// What the ranks have to know about each other's GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Facts {
    /// `None` if the rank computes on a CPU.
    uuid: Option<String>,
    /// NCCL's number, or why there is none.
    nccl: Result<i32, String>,
    may_share: bool,
}

/// Why NCCL cannot be used, in a sentence. `facts` are in rank order.
fn objection(facts: &[Facts]) -> Option<String> {
    if let Some(rank) = facts.iter().position(|facts| facts.uuid.is_none()) {
        return Some(format!("rank {rank} computes on a CPU"));
    }
    if let Some((rank, why)) = facts.iter().enumerate().find_map(|(rank, facts)| Some((rank, facts.nccl.as_ref().err()?))) {
        return Some(format!("rank {rank} has no NCCL: {why}"));
    }
    let version = |facts: &Facts| facts.nccl.as_ref().copied().unwrap_or_default();
    let least = facts.iter().map(version).min().unwrap_or_default();
    if let Some(rank) = facts.iter().position(|other| version(other) != version(&facts[0])) {
        return Some(format!("ranks 0 and {rank} have different versions of NCCL"));
    }
    let shares = |(rank, one): (usize, &Facts)| {
        let first = facts[..rank].iter().position(|other| other.uuid == one.uuid)?;
        Some((first, rank, one.uuid.clone().unwrap_or_default()))
    };
    let (first, second, uuid) = facts.iter().enumerate().find_map(shares)?;
    let shared = format!("ranks {first} and {second} share {uuid}");
    if least < SHARES {
        let (this, needed) = (nccl::version_text(least), nccl::version_text(SHARES));
        return Some(format!("{shared}, which NCCL {this} refuses (from {needed} on, {SHARING}=1 allows it)"));
    }
    (!facts.iter().all(|facts| facts.may_share)).then(|| format!("{shared}, which NCCL allows with {SHARING}=1 only"))
}

/// Connects the ranks' GPUs if all ranks can. Says how data in GPU memory travels, or `None` if no rank has a GPU.
///
/// # Collective
/// All ranks, once.
///
/// # Errors
/// Of the collectives. GPUs that cannot be connected are no error, but the reason in the [`Transport`].
pub(super) fn connect(comm: &dyn Communicator, gpu: Option<Gpu>) -> Result<(Option<Nccl>, Option<Transport>), CommError> {
    let own = Facts {
        uuid: gpu.as_ref().map(|gpu| gpu.uuid.clone()),
        nccl: if gpu.is_some() { nccl::version().map_err(|why| why.replace('\n', " ")) } else { Err(String::new()) },
        may_share: std::env::var(SHARING).is_ok_and(|value| value == "1"),
    };
    let facts: Option<Vec<Facts>> = allgather_json(comm, &own)?.into_iter().collect();
    let facts = facts.unwrap_or_default();
    if facts.iter().all(|facts| facts.uuid.is_none()) {
        return Ok((None, None));
    }
    let connected = match (objection(&facts), gpu) {
        (None, Some(gpu)) => connect_all(comm, gpu)?,
        (objection, _) => Err(objection.unwrap_or_default()),
    };
    let version = facts[0].nccl.as_ref().copied().map(nccl::version_text).unwrap_or_default();
    Ok(match connected {
        Err(why) => (None, Some(Transport { direct: false, text: format!("MPI through host memory, as {why}") })),
        Ok(nccl) => {
            let warned = nccl.without().map(|event| format!(", WITHOUT waiting for `{event}`: its gradients are wrong"));
            let text = format!("NCCL {version} between {} GPUs{}", facts.len(), warned.unwrap_or_default());
            (Some(nccl), Some(Transport { direct: true, text }))
        }
    })
}

/// Connects all GPUs or none, and says why none.
///
/// # Collective
/// All ranks, each with its GPU.
fn connect_all(comm: &dyn Communicator, gpu: Gpu) -> Result<Result<Nccl, String>, CommError> {
    // An empty id means that the root could make none.
    let made = if comm.topology().is_root() { nccl::new_id() } else { Ok(Vec::new()) };
    let mut id = made.clone().unwrap_or_default();
    comm.broadcast_bytes(&mut id, ROOT_RANK)?;
    let connected = made.and_then(|_| match id.as_slice() {
        [] => Ok(None),
        id => Nccl::connect(gpu, &comm.topology(), id).map(Some),
    });
    // If one rank has no connection, none may use its own: all must take the same transport.
    let error = connected.as_ref().err().map_or("", String::as_str);
    let errors = comm.allgather(error.as_bytes())?;
    if let Some((rank, why)) = errors.iter().enumerate().find(|(_, why)| !why.is_empty()) {
        return Ok(Err(format!("rank {}: {}", Rank(rank), String::from_utf8_lossy(why))));
    }
    Ok(connected.and_then(|nccl| nccl.ok_or_else(|| "the root made no NCCL id".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(uuid: &str, nccl: i32, may_share: bool) -> Facts {
        Facts { uuid: Some(uuid.into()), nccl: Ok(nccl), may_share }
    }

    #[test]
    fn facts_survive_the_transfer() {
        let none = Facts { uuid: None, nccl: Err("libnccl.so.2 is not found".into()), may_share: false };
        for facts in [facts("GPU-1", 22_809, true), none] {
            let bytes = serde_json::to_vec(&facts).unwrap();
            assert_eq!(serde_json::from_slice::<Facts>(&bytes).unwrap(), facts);
        }
    }

    #[test]
    fn ranks_with_a_gpu_each_go_directly() {
        assert_eq!(objection(&[facts("GPU-1", 22_809, false)]), None);
        assert_eq!(objection(&[facts("GPU-1", 22_809, false), facts("GPU-2", 22_809, false)]), None);
    }

    #[test]
    fn ranks_that_share_a_gpu_need_a_new_nccl_and_permission() {
        let share = |nccl, may| objection(&[facts("GPU-1", nccl, may), facts("GPU-2", nccl, may), facts("GPU-1", nccl, may)]);
        let old = share(22_809, true).unwrap();
        assert!(old.contains("ranks 0 and 2 share GPU-1") && old.contains("2.28.9") && old.contains("2.30.3"), "{old}");
        assert!(share(23_003, false).unwrap().contains("with NCCL_MULTI_RANK_GPU_ENABLE=1 only"));
        assert_eq!(share(23_003, true), None);
    }

    #[test]
    fn one_that_cannot_is_named() {
        let cpu = Facts { uuid: None, nccl: Err(String::new()), may_share: false };
        assert!(objection(&[facts("GPU-1", 22_809, false), cpu]).unwrap().contains("rank 1 computes on a CPU"));
        let without = Facts { nccl: Err("libnccl.so.2 is not found".into()), ..facts("GPU-2", 0, false) };
        assert!(objection(&[facts("GPU-1", 22_809, false), without]).unwrap().contains("rank 1 has no NCCL: libnccl.so"));
        assert!(objection(&[facts("GPU-1", 22_809, true), facts("GPU-2", 23_003, true)]).unwrap().contains("versions"));
    }
}
