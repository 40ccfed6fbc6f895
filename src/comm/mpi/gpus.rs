//! Whether the ranks' GPUs may talk to each other by NCCL, and the start of it.
//!
//! Never chooses differently on two ranks: all decide from the same offers.

use super::super::nccl::{self, Gpu, Nccl};
use super::super::{CommError, Communicator, Way};
use super::MpiComm;
use crate::domain::topology::{ROOT_RANK, Rank};

/// The first NCCL that lets ranks share a GPU, where this variable allows it.
const SHARES: i32 = 23_003;
const SHARING: &str = "NCCL_MULTI_RANK_GPU_ENABLE";

/// What a rank brings along.
#[derive(Clone, Debug, PartialEq)]
struct Offer {
    /// `None` where it computes on a CPU.
    uuid: Option<String>,
    /// NCCL's number, or why there is none.
    nccl: Result<i32, String>,
    may_share: bool,
}

impl Offer {
    /// Three lines.
    fn to_bytes(&self) -> Vec<u8> {
        let uuid = self.uuid.as_deref().unwrap_or_default();
        let nccl = self.nccl.as_ref().map_or_else(|why| why.replace('\n', " "), i32::to_string);
        format!("{uuid}\n{nccl}\n{}", u8::from(self.may_share)).into_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Offer {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split('\n');
        let mut line = || lines.next().unwrap_or_default().to_owned();
        let (uuid, nccl, share) = (line(), line(), line());
        let nccl = nccl.parse().map_err(|_| nccl);
        Offer { uuid: (!uuid.is_empty()).then_some(uuid), nccl, may_share: share == "1" }
    }
}

/// Why NCCL will not do, in a sentence. Offers are in rank order.
fn objection(offers: &[Offer]) -> Option<String> {
    if let Some(rank) = offers.iter().position(|offer| offer.uuid.is_none()) {
        return Some(format!("rank {rank} computes on a CPU"));
    }
    if let Some((rank, why)) = offers.iter().enumerate().find_map(|(rank, offer)| Some((rank, offer.nccl.as_ref().err()?))) {
        return Some(format!("rank {rank} has no NCCL: {why}"));
    }
    let version = |offer: &Offer| offer.nccl.as_ref().copied().unwrap_or_default();
    let least = offers.iter().map(version).min().unwrap_or_default();
    if let Some(rank) = offers.iter().position(|offer| version(offer) != version(&offers[0])) {
        return Some(format!("ranks 0 and {rank} have different versions of NCCL"));
    }
    let twin = |(rank, offer): (usize, &Offer)| {
        let first = offers[..rank].iter().position(|other| other.uuid == offer.uuid)?;
        Some((first, rank, offer.uuid.clone().unwrap_or_default()))
    };
    let (first, second, uuid) = offers.iter().enumerate().find_map(twin)?;
    let shared = format!("ranks {first} and {second} share {uuid}");
    if least < SHARES {
        let (this, needed) = (nccl::version_text(least), nccl::version_text(SHARES));
        return Some(format!("{shared}, which NCCL {this} refuses (from {needed} on, {SHARING}=1 allows it)"));
    }
    (!offers.iter().all(|offer| offer.may_share)).then(|| format!("{shared}, which NCCL allows with {SHARING}=1 only"))
}

impl MpiComm {
    /// Links the ranks' GPUs where all ranks can, and says how gradients on a GPU travel. `None` where nobody has one.
    ///
    /// # Collective
    /// All ranks, once.
    pub(super) fn link(&self, gpu: Option<Gpu>) -> Result<Option<Way>, CommError> {
        let offer = Offer {
            uuid: gpu.as_ref().map(|gpu| gpu.uuid.clone()),
            nccl: if gpu.is_some() { nccl::version() } else { Err(String::new()) },
            may_share: std::env::var(SHARING).is_ok_and(|value| value == "1"),
        };
        let offers: Vec<Offer> = self.allgather(&offer.to_bytes())?.iter().map(|bytes| Offer::from_bytes(bytes)).collect();
        if offers.iter().all(|offer| offer.uuid.is_none()) {
            return Ok(None);
        }
        let trouble = match (objection(&offers), gpu) {
            (None, Some(gpu)) => self.connect_gpus(gpu)?,
            (objection, _) => objection,
        };
        let version = offers[0].nccl.as_ref().copied().map(nccl::version_text).unwrap_or_default();
        Ok(Some(match trouble {
            Some(why) => Way { direct: false, text: format!("MPI through host memory, as {why}") },
            None => Way { direct: true, text: format!("NCCL {version} between {} GPUs", offers.len()) },
        }))
    }

    /// Links all GPUs or none; why none.
    fn connect_gpus(&self, gpu: Gpu) -> Result<Option<String>, CommError> {
        // No id stands for: the root could make none.
        let made = if self.topology().is_root() { nccl::new_id() } else { Ok(Vec::new()) };
        let mut id = made.clone().unwrap_or_default();
        self.broadcast_bytes(&mut id, ROOT_RANK)?;
        let linked = made.and_then(|_| match id.as_slice() {
            [] => Ok(None),
            id => Nccl::connect(gpu, &self.topology(), id).map(Some),
        });
        // One rank without a link leaves all without: they must all take the same way.
        let trouble = linked.as_ref().err().map_or("", String::as_str);
        let troubles = self.allgather(trouble.as_bytes())?;
        if let Some((rank, why)) = troubles.iter().enumerate().find(|(_, why)| !why.is_empty()) {
            return Ok(Some(format!("rank {}: {}", Rank(rank), String::from_utf8_lossy(why))));
        }
        if let Ok(Some(linked)) = linked {
            // Called once, as the callers are told.
            let _ = self.gpu.set(linked);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(uuid: &str, nccl: i32, may_share: bool) -> Offer {
        Offer { uuid: Some(uuid.into()), nccl: Ok(nccl), may_share }
    }

    #[test]
    fn offers_survive_the_way() {
        let none = Offer { uuid: None, nccl: Err("libnccl.so is not found".into()), may_share: false };
        for offer in [offer("GPU-1", 22_809, true), none] {
            assert_eq!(Offer::from_bytes(&offer.to_bytes()), offer);
        }
    }

    #[test]
    fn ranks_with_a_gpu_each_go_directly() {
        assert_eq!(objection(&[offer("GPU-1", 22_809, false)]), None);
        assert_eq!(objection(&[offer("GPU-1", 22_809, false), offer("GPU-2", 22_809, false)]), None);
    }

    #[test]
    fn ranks_that_share_a_gpu_need_a_new_nccl_and_permission() {
        let share = |nccl, may| objection(&[offer("GPU-1", nccl, may), offer("GPU-2", nccl, may), offer("GPU-1", nccl, may)]);
        let old = share(22_809, true).unwrap();
        assert!(old.contains("ranks 0 and 2 share GPU-1") && old.contains("2.28.9") && old.contains("2.30.3"), "{old}");
        assert!(share(23_003, false).unwrap().contains("with NCCL_MULTI_RANK_GPU_ENABLE=1 only"));
        assert_eq!(share(23_003, true), None);
    }

    #[test]
    fn one_that_cannot_is_named() {
        let cpu = Offer { uuid: None, nccl: Err(String::new()), may_share: false };
        assert!(objection(&[offer("GPU-1", 22_809, false), cpu]).unwrap().contains("rank 1 computes on a CPU"));
        let without = Offer { nccl: Err("libnccl.so is not found".into()), ..offer("GPU-2", 0, false) };
        assert!(objection(&[offer("GPU-1", 22_809, false), without]).unwrap().contains("rank 1 has no NCCL: libnccl.so"));
        assert!(objection(&[offer("GPU-1", 22_809, true), offer("GPU-2", 23_003, true)]).unwrap().contains("versions"));
    }
}
