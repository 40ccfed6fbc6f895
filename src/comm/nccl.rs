//! NCCL: collectives from GPU to GPU, on a stream of their own beside the one that computes.
//!
//! Never decides what is sent, nor checks it with other ranks: [`super::mpi`] starts it, and agrees before data moves.
//!
//! # Streams
//! A GPU does what one stream is given in order, and streams side by side. Two events keep order between the stream that
//! computes (libtorch's) and this one:
//!
//! ```text
//! compute   gradients of bucket 0 | gradients of bucket 1 | ... end of backward |           | optimizer
//!                                 \ ready                 \ ready                           ^ arrived
//! this                             v allreduce 0           v allreduce 1 -------------------'
//! ```
//!
//! Without `ready` a bucket is sent before it is computed, without `arrived` the optimizer applies what has not come. The
//! host waits for neither: it goes on with the next step, and looks back at the arrival of the one before.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result as driver, sys as cuda};
use cudarc::nccl::{result as nccl, sys};

use super::{CommError, Region};
use crate::domain::topology::{Rank, Topology};

/// A rank's GPU, as whoever computes on it knows it.
pub struct Gpu {
    /// CUDA's index of it in this process.
    pub index: usize,
    /// NVML's name of it, which tells it from all others on all hosts.
    pub uuid: String,
    /// The stream (`CUstream`) that the calling thread's computations are given to.
    pub compute_stream: Box<dyn Fn() -> *mut c_void>,
}

/// This rank's end of the link between all ranks' GPUs.
pub(super) struct Nccl {
    link: sys::ncclComm_t,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    compute_stream: Box<dyn Fn() -> *mut c_void>,
    ready: CudaEvent,
    /// Of the last two [`Nccl::hand_over`]s, in turn.
    arrived: [CudaEvent; 2],
    turn: Cell<usize>,
    abandoned: Cell<bool>,
}

/// NCCL's version as a number such as 22809, or why there is none.
pub(super) fn version() -> Result<i32, String> {
    // SAFETY: both open a library, and run nothing but what NVIDIA's libraries run when they are opened.
    if !unsafe { cuda::is_culib_present() } {
        return Err("libcuda.so is not found".into());
    }
    // SAFETY: as above.
    if !unsafe { sys::is_culib_present() } {
        return Err("libnccl.so is not found".into());
    }
    nccl::get_nccl_version().map_err(|error| explain(&error))
}

/// What [`version`] gives, as people write it.
pub(super) fn version_text(number: i32) -> String {
    format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
}

/// A name for a new link, for one rank to make and all to [`Nccl::connect`] with.
pub(super) fn new_id() -> Result<Vec<u8>, String> {
    let id = nccl::get_uniqueid().map_err(|error| explain(&error))?;
    Ok(id.internal.map(|byte| byte as u8).to_vec())
}

impl Nccl {
    /// # Collective
    /// All ranks of the job, each with a GPU, and with the id that one of them made.
    ///
    /// # Errors
    /// What CUDA or NCCL said, in a sentence. Some ranks may have a link then, and must drop it.
    pub(super) fn connect(gpu: Gpu, topology: &Topology, id: &[u8]) -> Result<Nccl, String> {
        let cuda = |error: DriverError| format!("CUDA: {error}");
        let context = CudaContext::new(gpu.index).map_err(cuda)?;
        let mut unique = sys::ncclUniqueId { internal: [0; 128] };
        if id.len() != unique.internal.len() {
            return Err(format!("an NCCL id has 128 bytes, not {}", id.len()));
        }
        unique.internal.iter_mut().zip(id).for_each(|(to, from)| *to = *from as _);
        let (size, rank) = (topology.size.0 as i32, topology.rank.0 as i32);
        let mut link = MaybeUninit::uninit();
        // SAFETY: the GPU is this thread's current one, and `link` is written before it is read, if all went well.
        let link = unsafe { nccl::comm_init_rank(link.as_mut_ptr(), size, unique, rank).map(|_| link.assume_init()) }
            .map_err(|error| explain(&error))?;
        let event = || context.new_event(None).map_err(cuda);
        Ok(Nccl {
            stream: context.new_stream().map_err(cuda)?,
            ready: event()?,
            arrived: [event()?, event()?],
            turn: Cell::new(0),
            abandoned: Cell::new(false),
            compute_stream: gpu.compute_stream,
            context,
            link,
        })
    }

    /// Averages `source` over the ranks into `target`, both on this GPU, after all that was computed so far.
    pub(super) fn allreduce(&self, source: Region, target: Region) -> Result<(), CommError> {
        assert_eq!(source.len(), target.len(), "a bucket has one length");
        self.follow()?;
        let (kind, op) = (sys::ncclDataType_t::ncclFloat32, sys::ncclRedOp_t::ncclAvg);
        let (from, into) = (source.on_gpu().cast_const(), target.on_gpu());
        // SAFETY: both regions are live memory of this GPU until the work is done, as `Region::on_gpu` was promised.
        let sent = unsafe { nccl::all_reduce(from.cast(), into.cast(), target.len(), kind, op, self.link, self.queue()) };
        sent.map(|_| ()).map_err(|error| failed(&error))
    }

    /// Overwrites all ranks' region with the root's, after all that was computed so far.
    pub(super) fn broadcast(&self, region: Region, root: Rank) -> Result<(), CommError> {
        self.follow()?;
        let (kind, memory) = (sys::ncclDataType_t::ncclFloat32, region.on_gpu().cast::<c_void>());
        // SAFETY: as above. Source and target may be one for NCCL.
        let sent =
            unsafe { nccl::broadcast(memory.cast_const(), memory, region.len(), kind, root.0 as i32, self.link, self.queue()) };
        sent.map(|_| ()).map_err(|error| failed(&error))
    }

    /// What is computed from now on comes after the arrival of all that was sent so far. The host does not wait.
    pub(super) fn hand_over(&self) -> Result<(), CommError> {
        let arrived = &self.arrived[self.turn.get()];
        self.turn.set(1 - self.turn.get());
        arrived.record(&self.stream).map_err(broken)?;
        // SAFETY: a live event, and the stream that this process computes on.
        let wait = unsafe {
            driver::stream::wait_event(self.compute(), arrived.cu_event(), cuda::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
        };
        wait.map_err(broken)
    }

    /// Whether all has arrived that the [`Nccl::hand_over`] before the last one stood for, and nothing went wrong since.
    pub(super) fn is_in_step(&self) -> Result<bool, CommError> {
        self.is_over(self.turn.get())
    }

    /// Whether all has arrived that the last [`Nccl::hand_over`] stands for.
    pub(super) fn is_idle(&self) -> Result<bool, CommError> {
        self.is_over(1 - self.turn.get())
    }

    fn is_over(&self, turn: usize) -> Result<bool, CommError> {
        if self.abandoned.get() {
            return Ok(true);
        }
        let mut state = sys::ncclResult_t::ncclSuccess;
        // SAFETY: a live link, and a place for the answer.
        let asked = unsafe { sys::ncclCommGetAsyncError(self.link, &mut state) };
        for answer in [asked, state] {
            answer.result().map_err(|error| failed(&error))?;
        }
        // SAFETY: a live event; one that was never recorded is over.
        match unsafe { driver::event::query(self.arrived[turn].cu_event()) } {
            Ok(()) => Ok(true),
            Err(DriverError(cuda::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(broken(error)),
        }
    }

    /// Ends what is on its way, so that nothing waits for ranks that will not come. Nothing can be sent any more.
    pub(super) fn abandon(&self) {
        if !self.abandoned.replace(true) {
            // SAFETY: the link's last use: `drop` looks at `abandoned`, and so does `follow`, before anything is sent.
            let _ = unsafe { nccl::comm_abort(self.link) };
        }
    }

    /// Whatever is sent next comes after what was computed so far.
    fn follow(&self) -> Result<(), CommError> {
        if self.abandoned.get() {
            return Err(CommError::Gpu("the link between the GPUs was given up".into()));
        }
        // Backward's own thread may be the caller.
        self.context.bind_to_thread().map_err(broken)?;
        // SAFETY: a live event, and the stream that this process computes on.
        unsafe { driver::event::record(self.ready.cu_event(), self.compute()) }.map_err(broken)?;
        self.stream.wait(&self.ready).map_err(broken)
    }

    fn compute(&self) -> cuda::CUstream {
        (self.compute_stream)().cast()
    }

    fn queue(&self) -> sys::cudaStream_t {
        self.stream.cu_stream().cast()
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        if !self.abandoned.get() {
            // SAFETY: the link's last use.
            let _ = unsafe { nccl::comm_destroy(self.link) };
        }
    }
}

fn explain(error: &nccl::NcclError) -> String {
    // SAFETY: NCCL answers with texts that live as long as it does; no link is needed for its last words.
    let [what, why] = unsafe { [sys::ncclGetErrorString(error.0), sys::ncclGetLastError(std::ptr::null_mut())] }.map(|text| {
        // SAFETY: as above; checked for null.
        if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned() }
    });
    if why.is_empty() { format!("NCCL: {what}") } else { format!("NCCL: {what} ({why})") }
}

fn failed(error: &nccl::NcclError) -> CommError {
    CommError::Gpu(explain(error))
}

fn broken(error: DriverError) -> CommError {
    CommError::Gpu(format!("CUDA: {error}"))
}
