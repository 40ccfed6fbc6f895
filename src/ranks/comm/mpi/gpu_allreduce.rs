//! NCCL's sum from GPU to GPU, without a negotiation before it: what a measurement calls.

use super::{MpiComm, gpu_transport};
use crate::comm::communicator::Communicator;
use crate::comm::error::CommError;
use crate::comm::nccl::{Gpu, GpuMemory, Nccl};

/// Two buffers in this rank's GPU, and the connection to those of the other ranks.
pub struct GpuAllreduce<'a> {
    nccl: &'a Nccl,
    source: GpuMemory,
    target: GpuMemory,
}

impl MpiComm {
    /// NCCL between one GPU of each rank, for up to so many numbers.
    ///
    /// # Collective
    /// All ranks, which succeed or fail together.
    ///
    /// # Errors
    /// Why the ranks have no NCCL, in one sentence.
    pub fn gpu_allreduce(&self, numbers: usize) -> Result<GpuAllreduce<'_>, String> {
        let said = |error: CommError| error.to_string();
        if self.gpu.get().is_none() {
            let gpu = Gpu::of_local_rank(self.topology.local_rank.0);
            let missing = gpu.as_ref().err().cloned().unwrap_or_default();
            match gpu_transport::connect(self, gpu.ok()).map_err(said)? {
                (Some(nccl), _) => drop(self.gpu.set(nccl)),
                (None, Some(transport)) => return Err(format!("data would travel by {}", transport.text)),
                (None, None) => return Err(format!("it needs a GPU for each rank ({missing})")),
            }
        }
        let nccl = self.gpu.get().ok_or("NCCL is not connected")?;
        let memory = || GpuMemory::new(&nccl.context, numbers);
        let made = memory().and_then(|source| Ok(GpuAllreduce { nccl, source, target: memory()? })).map_err(said);
        // A rank without room would leave the others waiting.
        let problem = made.as_ref().err().map_or("", String::as_str);
        let problems = self.allgather(problem.as_bytes()).map_err(said)?;
        match problems.iter().position(|problem| !problem.is_empty()) {
            Some(rank) => Err(format!("rank {rank}: {}", String::from_utf8_lossy(&problems[rank]))),
            None => made,
        }
    }
}

impl GpuAllreduce<'_> {
    /// What this rank gives.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub fn load(&self, numbers: &[f32]) -> Result<(), CommError> {
        self.source.write(numbers)
    }

    /// Sums the first `len` numbers over all ranks. The host waits for the GPU, awake.
    ///
    /// # Collective
    /// All ranks, with equal lengths.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub fn sum(&self, len: usize) -> Result<(), CommError> {
        self.nccl.sum(self.source.region(len), self.target.region(len))?;
        self.nccl.make_compute_wait()?;
        while !self.nccl.is_last_done()? {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// What came of it.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub fn read(&self, numbers: &mut [f32]) -> Result<(), CommError> {
        self.target.read(numbers)
    }
}
