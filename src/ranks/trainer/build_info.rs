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
    let nccl = device::open_cuda().and_then(|()| comm::nccl_version());
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
