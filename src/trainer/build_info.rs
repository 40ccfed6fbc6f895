//! What this build can do, as one JSON object: `hvd-train --build-info`, for `hvd-lab doctor`.
//!
//! Never initialises MPI, so it needs no mpirun.

use serde_json::{Value, json};

use super::device;
use crate::comm;

/// Version of libtorch that `tch` binds to.
pub const LIBTORCH: &str = "2.11.0";

/// libtorch, MPI, CUDA and NCCL: version, or why there is none.
pub fn build_info() -> Value {
    let cuda = device::open_cuda();
    let nccl = nccl_version();
    json!({
        "libtorch": LIBTORCH,
        "mpi": comm::library_version(),
        "mpi_standard": comm::standard_version(),
        "cuda": cuda.is_ok(),
        "cuda_reason": cuda.err(),
        "gpus": device::gpu_count(),
        "nccl": nccl.as_ref().ok(),
        "nccl_reason": nccl.as_ref().err(),
    })
}

/// `2.28.9`: NCCL writes it as 22809.
fn nccl_version() -> Result<String, String> {
    device::open_cuda()?;
    // SAFETY: it only tries to open a shared library.
    if !unsafe { cudarc::nccl::sys::is_culib_present() } {
        return Err("libnccl.so.2 is not found".to_owned());
    }
    let number = cudarc::nccl::result::get_nccl_version().map_err(|error| format!("{error:?}"))?;
    Ok(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
}
