//! Float32 numbers in a GPU's memory, for a program that measures NCCL and needs no libtorch.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result as driver, sys as cuda};

use super::cuda_error;
use crate::comm::error::CommError;
use crate::comm::region::Region;

/// So many numbers on one GPU. All copies are on the default stream, and the host waits for them.
pub(in crate::comm) struct GpuMemory {
    context: Arc<CudaContext>,
    start: cuda::CUdeviceptr,
    len: usize,
}

impl GpuMemory {
    /// Its numbers are what happens to be there.
    ///
    /// # Errors
    /// [`CommError::Gpu`], where the GPU has no room.
    pub(in crate::comm) fn new(context: &Arc<CudaContext>, len: usize) -> Result<GpuMemory, CommError> {
        context.bind_to_thread().map_err(cuda_error)?;
        // SAFETY: the context is current. What is there at first is a number whatever its bits are.
        let start = unsafe { driver::malloc_sync((len * size_of::<f32>()).max(1)) }.map_err(cuda_error)?;
        Ok(GpuMemory { context: context.clone(), start, len })
    }

    /// Overwrites its first numbers.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    ///
    /// # Panics
    /// If there are more than it has.
    pub(in crate::comm) fn write(&self, numbers: &[f32]) -> Result<(), CommError> {
        assert!(numbers.len() <= self.len, "too many numbers");
        self.context.bind_to_thread().map_err(cuda_error)?;
        // SAFETY: as many numbers as fit, into memory of the current context that nothing else works on.
        unsafe { driver::memcpy_htod_sync(self.start, numbers) }.map_err(cuda_error)
    }

    /// Its first numbers.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    ///
    /// # Panics
    /// If more are wanted than it has.
    pub(in crate::comm) fn read(&self, numbers: &mut [f32]) -> Result<(), CommError> {
        assert!(numbers.len() <= self.len, "too many numbers");
        self.context.bind_to_thread().map_err(cuda_error)?;
        // SAFETY: as for `write`.
        unsafe { driver::memcpy_dtoh_sync(numbers, self.start) }.map_err(cuda_error)
    }

    /// The first `len` numbers, for a collective that is over before this is used otherwise.
    ///
    /// # Panics
    /// If it has less.
    pub(in crate::comm) fn region(&self, len: usize) -> Region {
        assert!(len <= self.len, "too many numbers");
        // SAFETY: live memory of this GPU, and the callers in this crate wait for what they start.
        unsafe { Region::new_on_gpu(self.start as *mut f32, len) }
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: its last use. CUDA waits for what still works on it.
            let _ = unsafe { driver::free_sync(self.start) };
        }
    }
}
