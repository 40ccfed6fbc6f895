//! NCCL: collectives from GPU to GPU, on a stream of their own beside the one that computes.
//!
//! Never decides what is sent, and never checks it with other ranks: [`MpiComm`](super::MpiComm) negotiates first.
//!
//! # Streams
//! A GPU runs the work of one stream in order, and several streams side by side. Two CUDA events keep the order between the
//! compute stream (libtorch's) and this module's own stream:
//!
//! ```text
//! compute   gradients of bucket 0 | gradients of bucket 1 | ... end of backward |           | optimizer
//!                                 \ ready                 \ ready                           ^ done
//! nccl                             v allreduce 0           v allreduce 1 -------------------'
//! ```
//!
//! Without `ready` a bucket is sent before it is computed. Without `done` the optimizer applies averages that have not
//! arrived. The variable [`WITHOUT_EVENTS`] takes one of them away, to prove that on real streams: see `assets/gpu_proof/`.
//!
//! # Where the host waits
//! The host does not wait for this step's allreduces: [`Nccl::make_compute_wait`] makes the compute stream wait instead.
//! `finish_allreduces` waits only until the allreduces of the step before are done ([`Nccl::is_previous_done`]). The one
//! sync point of a step is in the training loop (`src/ranks/bin/hvd-train.rs`), where the host reads the loss.

mod library;
mod memory;

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result as driver, sys as cuda};
use cudarc::nccl::sys;

use self::library::Functions;
pub(super) use self::memory::GpuMemory;
use super::error::CommError;
use super::region::Region;
use crate::domain::topology::{Rank, Topology};

/// For the proof on a GPU alone, which must see wrong gradients then: `ready` or `done`, the event that nobody waits for.
const WITHOUT_EVENTS: &str = "HVD_LAB_PROOF_WITHOUT_EVENTS";

/// The GPU that a rank computes on.
pub struct Gpu {
    /// CUDA's device index in this process.
    pub index: usize,
    /// NVML's UUID, unique over all hosts.
    pub uuid: String,
    /// The stream (`CUstream`) that receives the calling thread's computations.
    pub compute_stream: Box<dyn Fn() -> *mut c_void>,
}

impl Gpu {
    /// The GPU of a rank that computes nothing on it: it shares out the host's GPUs as the trainer does, by local rank.
    ///
    /// # Errors
    /// Which library or device is missing.
    pub(super) fn of_local_rank(local_rank: usize) -> Result<Gpu, String> {
        version()?;
        let count = CudaContext::device_count().map_err(|error| format!("CUDA: {error}"))?;
        if count <= 0 {
            return Err("CUDA finds no GPU".into());
        }
        let index = local_rank % count as usize;
        let uuid = Gpu::uuid_of(index).ok_or("CUDA does not tell the GPU's UUID")?;
        // The default stream.
        Ok(Gpu { index, uuid, compute_stream: Box::new(std::ptr::null_mut) })
    }

    /// `GPU-8-4-4-4-12` hexadecimal digits, as NVML and nvidia-smi print it: CUDA's order of devices may differ from theirs. CUDA
    /// must be there.
    pub fn uuid_of(index: usize) -> Option<String> {
        let bytes = CudaContext::new(index).ok()?.uuid().ok()?.bytes;
        let hex: String = bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
        Some(format!("GPU-{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)))
    }
}

/// This rank's NCCL communicator, and the stream that it works on.
pub(super) struct Nccl {
    functions: &'static Functions,
    comm: sys::ncclComm_t,
    pub(super) context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    compute_stream: Box<dyn Fn() -> *mut c_void>,
    ready: CudaEvent,
    /// Of the last two [`Nccl::make_compute_wait`]s, in turn.
    done: [CudaEvent; 2],
    turn: Cell<usize>,
    aborted: Cell<bool>,
    /// The value of [`WITHOUT_EVENTS`]; empty in every run but that proof's.
    without: String,
}

/// `2.28.9`, or why there is no NCCL.
pub fn nccl_version() -> Result<String, String> {
    version().map(version_text)
}

/// NCCL's version as a number such as 22809, or why there is none.
///
/// # Errors
/// Which library is missing, or what NCCL said.
pub(super) fn version() -> Result<i32, String> {
    // SAFETY: opens a library, and runs nothing but what NVIDIA's library runs when it is opened.
    if !unsafe { cuda::is_culib_present() } {
        return Err("libcuda.so is not found".into());
    }
    let (functions, mut number) = (library::functions()?, 0);
    // SAFETY: a place for the answer.
    done(unsafe { (functions.ncclGetVersion)(&mut number) })?;
    Ok(number)
}

/// [`version`]'s number as people write it, such as `2.28.9`.
pub(super) fn version_text(number: i32) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// A unique id: one rank makes it, and all ranks give it to [`Nccl::connect`] (ncclGetUniqueId).
///
/// # Errors
/// What NCCL said.
pub(super) fn new_id() -> Result<Vec<u8>, String> {
    let mut id = sys::ncclUniqueId { internal: [0; 128] };
    // SAFETY: a place for the answer.
    done(unsafe { (library::functions()?.ncclGetUniqueId)(&mut id) })?;
    Ok(id.internal.map(|byte| byte as u8).to_vec())
}

impl Nccl {
    /// ncclCommInitRank.
    ///
    /// # Collective
    /// All ranks of the job, each with a GPU, and with the id that one of them made.
    ///
    /// # Errors
    /// What CUDA or NCCL said, in a sentence. Other ranks may have succeeded, and must drop their communicator then.
    pub(super) fn connect(gpu: Gpu, topology: &Topology, id: &[u8]) -> Result<Nccl, String> {
        let cuda = |error: DriverError| format!("CUDA: {error}");
        let context = CudaContext::new(gpu.index).map_err(cuda)?;
        let mut unique = sys::ncclUniqueId { internal: [0; 128] };
        if id.len() != unique.internal.len() {
            return Err(format!("an NCCL id has 128 bytes, not {}", id.len()));
        }
        unique.internal.iter_mut().zip(id).for_each(|(to, from)| *to = *from as _);
        let (size, rank) = (topology.size.0 as i32, topology.rank.0 as i32);
        let (functions, mut comm) = (library::functions()?, std::ptr::null_mut());
        // SAFETY: the GPU is this thread's current one, and `comm` is used only if NCCL succeeded and has written it.
        done(unsafe { (functions.ncclCommInitRank)(&mut comm, size, unique, rank) })?;
        let event = || context.new_event(None).map_err(cuda);
        Ok(Nccl {
            stream: context.new_stream().map_err(cuda)?,
            ready: event()?,
            done: [event()?, event()?],
            turn: Cell::new(0),
            aborted: Cell::new(false),
            without: std::env::var(WITHOUT_EVENTS).unwrap_or_default(),
            compute_stream: gpu.compute_stream,
            context,
            functions,
            comm,
        })
    }

    /// Averages `source` over the ranks into `target`, both in this GPU's memory, after all that the compute stream was given
    /// so far. The host does not wait.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    ///
    /// # Panics
    /// If the lengths differ, or a region lies in host memory.
    pub(super) fn allreduce(&self, source: Region, target: Region) -> Result<(), CommError> {
        self.reduce(source, target, sys::ncclRedOp_t::ncclAvg)
    }

    /// As [`Nccl::allreduce`], but sums.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    ///
    /// # Panics
    /// As [`Nccl::allreduce`].
    pub(super) fn sum(&self, source: Region, target: Region) -> Result<(), CommError> {
        self.reduce(source, target, sys::ncclRedOp_t::ncclSum)
    }

    fn reduce(&self, source: Region, target: Region, op: sys::ncclRedOp_t) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        self.make_nccl_wait()?;
        let kind = sys::ncclDataType_t::ncclFloat32;
        let (from, into) = (source.device_ptr().cast_const(), target.device_ptr());
        // SAFETY: both regions are live memory of this GPU until the work is done, as `Region::new_on_gpu` was promised.
        let sent = unsafe {
            (self.functions.ncclAllReduce)(from.cast(), into.cast(), target.len(), kind, op, self.comm, self.nccl_stream())
        };
        done(sent).map_err(CommError::Gpu)
    }

    /// Overwrites all ranks' region with the root's, after all that the compute stream was given so far.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub(super) fn broadcast(&self, region: Region, root: Rank) -> Result<(), CommError> {
        self.make_nccl_wait()?;
        let (kind, memory) = (sys::ncclDataType_t::ncclFloat32, region.device_ptr().cast::<c_void>());
        // SAFETY: as above. NCCL allows source and target to be the same.
        let sent = unsafe {
            let root = root.0 as i32;
            (self.functions.ncclBroadcast)(memory.cast_const(), memory, region.len(), kind, root, self.comm, self.nccl_stream())
        };
        done(sent).map_err(CommError::Gpu)
    }

    /// The event that is taken away for the proof on a GPU, to be said wherever a run says how it sends gradients.
    pub(super) fn without(&self) -> Option<&str> {
        Some(self.without.as_str()).filter(|event| !event.is_empty())
    }

    /// The compute stream waits until all that was sent so far is done. The host does not wait.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub(super) fn make_compute_wait(&self) -> Result<(), CommError> {
        let done = &self.done[self.turn.get()];
        self.turn.set(1 - self.turn.get());
        done.record(&self.stream).map_err(cuda_error)?;
        if self.without == "done" {
            return Ok(());
        }
        // SAFETY: a live event, and this process's compute stream.
        let wait = unsafe {
            driver::stream::wait_event(self.compute_stream(), done.cu_event(), cuda::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
        };
        wait.map_err(cuda_error)
    }

    /// Whether all is done that the [`Nccl::make_compute_wait`] before the last one stood for, and nothing failed since.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub(super) fn is_previous_done(&self) -> Result<bool, CommError> {
        self.is_done(self.turn.get())
    }

    /// Whether all is done that the last [`Nccl::make_compute_wait`] stands for.
    ///
    /// # Errors
    /// [`CommError::Gpu`].
    pub(super) fn is_last_done(&self) -> Result<bool, CommError> {
        self.is_done(1 - self.turn.get())
    }

    fn is_done(&self, turn: usize) -> Result<bool, CommError> {
        if self.aborted.get() {
            return Ok(true);
        }
        let mut state = sys::ncclResult_t::ncclSuccess;
        // SAFETY: a live communicator, and a place for the answer.
        let asked = unsafe { (self.functions.ncclCommGetAsyncError)(self.comm, &mut state) };
        for answer in [asked, state] {
            done(answer).map_err(CommError::Gpu)?;
        }
        // SAFETY: a live event. CUDA calls one that was never recorded complete.
        match unsafe { driver::event::query(self.done[turn].cu_event()) } {
            Ok(()) => Ok(true),
            Err(DriverError(cuda::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(cuda_error(error)),
        }
    }

    /// Ends what is in flight, so that nothing waits for ranks that will not come (ncclCommAbort). Nothing can be sent any
    /// more.
    pub(super) fn abort(&self) {
        if !self.aborted.replace(true) {
            // SAFETY: the communicator's last use: `drop` and `make_nccl_wait` check `aborted` before any other.
            let _ = unsafe { (self.functions.ncclCommAbort)(self.comm) };
        }
    }

    /// This module's stream waits for all that the compute stream was given so far.
    fn make_nccl_wait(&self) -> Result<(), CommError> {
        if self.aborted.get() {
            return Err(CommError::Gpu("the link between the GPUs was given up".into()));
        }
        // The caller may be backward's own thread, for which no context is current yet.
        self.context.bind_to_thread().map_err(cuda_error)?;
        // SAFETY: a live event, and this process's compute stream.
        unsafe { driver::event::record(self.ready.cu_event(), self.compute_stream()) }.map_err(cuda_error)?;
        if self.without == "ready" {
            return Ok(());
        }
        self.stream.wait(&self.ready).map_err(cuda_error)
    }

    fn compute_stream(&self) -> cuda::CUstream {
        (self.compute_stream)().cast()
    }

    fn nccl_stream(&self) -> sys::cudaStream_t {
        self.stream.cu_stream().cast()
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        if !self.aborted.get() {
            // SAFETY: the communicator's last use.
            let _ = unsafe { (self.functions.ncclCommDestroy)(self.comm) };
        }
    }
}

/// Whether NCCL did, or began, what it was asked for; otherwise what it said, in a sentence.
fn done(answer: sys::ncclResult_t) -> Result<(), String> {
    if matches!(answer, sys::ncclResult_t::ncclSuccess | sys::ncclResult_t::ncclInProgress) {
        return Ok(());
    }
    let functions = library::functions()?;
    // SAFETY: NCCL's texts live as long as the library, and it accepts null in place of a communicator.
    let texts = unsafe { [(functions.ncclGetErrorString)(answer), (functions.ncclGetLastError)(std::ptr::null_mut())] };
    let [what, why] = texts.map(|text| {
        // SAFETY: as above; checked for null.
        if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned() }
    });
    Err(if why.is_empty() { format!("NCCL: {what}") } else { format!("NCCL: {what} ({why})") })
}

fn cuda_error(error: DriverError) -> CommError {
    CommError::Gpu(format!("CUDA: {error}"))
}
