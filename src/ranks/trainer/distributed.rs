//! Steps 3 and 4: gradients averaged over all ranks, and the root's state broadcast to all.
//!
//! Never decides when: `src/ranks/bin/hvd-train.rs` does. `DistributedOptimizer::synchronize`, `broadcast_state` and
//! `broadcast_told` are collectives: all ranks call them, in the same order. With overlap, backward itself starts allreduces. On a GPU the numbers go from GPU to GPU if the communicator is CUDA-aware, else through host memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use tch::{Device, Tensor};

use super::buckets::{Bucket, assign_buckets};
use super::evidence;
use super::gradients::{GradientHooks, region, tensor_of};
use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, set, to_vec};
use super::shared_gradients::share;
use crate::comm::{CommError, Communicator, Compression};
use crate::domain::event::{BroadcastReport, DigestMoment, Observation};
use crate::domain::topology::{ROOT_RANK, Rank};

/// The default for the most MiB of gradients in one allreduce.
pub const FUSION_THRESHOLD_MB: usize = 25;
/// Ranks of one host average gradients of at least this many bytes in shared memory. For fewer bytes a message is as fast.
const SHARED_BYTES: usize = 4 << 20;
/// At least so many weights are looked at to tell whether a broadcast changed them, if there are so many.
const SAMPLED: i64 = 1000;

/// How gradients are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllreduceOptions {
    /// Most bytes that are fused into one allreduce; 0 for one allreduce per tensor.
    pub fusion_threshold_bytes: usize,
    /// Whether a bucket is sent while backward still computes the next, or all are sent after backward, as those always are that
    /// go through host memory.
    pub overlap: bool,
    pub compression: Compression,
}

impl Default for AllreduceOptions {
    fn default() -> AllreduceOptions {
        AllreduceOptions { fusion_threshold_bytes: FUSION_THRESHOLD_MB << 20, overlap: true, compression: Compression::None }
    }
}

/// An optimizer whose gradients are the mean over all ranks.
///
/// Backward completes gradients from the last layer to the first. As soon as all gradients of a bucket are complete, its
/// allreduce begins, in the same order on every rank. [`Optimizer::synchronize`] waits only for what is still in flight.
/// From [`Optimizer::prepare_for_backward`] until then, nobody else touches the flat gradients.
///
/// From the second update on, ranks of one host average large gradients in memory that all of them see: then nothing is sent, and there is
/// nothing to overlap with.
///
/// With two ranks, the assignment to buckets changes no bit. With more, the order of the ranks in a sum may depend on a
/// number's place in its bucket, so another threshold may differ in the last bits. Overlap never changes a bit.
///
/// # Horovod
/// `hvd.DistributedOptimizer(opt)`, operation Average.
///
/// # Collective
/// Every rank calls `synchronize` once per update.
pub struct DistributedOptimizer<'a> {
    inner: Box<dyn Optimizer + 'a>,
    reducer: Rc<Reducer<'a>>,
    /// What is applied: on the device of the gradients, and the same tensor as the reducer's target unless staged.
    averaged: Tensor,
    /// Gradients are copied to host memory before the allreduce, and the averages back.
    staged: bool,
    /// The ranks have seen whether they can share memory, or need none.
    has_asked_to_share: bool,
    _hooks: Option<GradientHooks<'a>>,
}

/// Sends the buckets of one backward pass.
///
/// # PyTorch
/// DDP's `Reducer`.
struct Reducer<'a> {
    comm: &'a dyn Communicator,
    compression: Compression,
    buckets: Vec<Bucket>,
    /// Bucket of every tensor, in flat order.
    bucket_of: Vec<usize>,
    /// Both flat, float32, in memory that the communicator can use.
    source: Tensor,
    target: RefCell<Tensor>,
    /// Tensors that the backward pass before reached; all before the first one. The others' gradients stay zero, and no bucket
    /// waits for them.
    used: RefCell<Vec<bool>>,
    /// Gradients that each bucket still waits for.
    pending: RefCell<Vec<usize>>,
    /// Tensors whose gradient this pass has completed.
    completed: RefCell<Vec<bool>>,
    /// The first bucket that is not sent.
    next: Cell<usize>,
    /// Whether the gradients of this backward pass are to be sent.
    is_active: Cell<bool>,
    /// The communicator may be using `source` and `target`.
    is_in_flight: Cell<bool>,
    /// The first error within backward, which cannot return it.
    failed: RefCell<Option<CommError>>,
}

impl<'a> DistributedOptimizer<'a> {
    /// # Shapes
    /// `params`: what `inner` was built for. Its gradients are averaged as they lie, flat and float32.
    pub fn new(
        inner: Box<dyn Optimizer + 'a>,
        comm: &'a dyn Communicator,
        params: &FlatTensors,
        options: AllreduceOptions,
    ) -> DistributedOptimizer<'a> {
        let on_gpu = params.gradients.device() != Device::Cpu;
        let staged = on_gpu && !(comm.is_cuda_aware() && options.compression == Compression::None);
        let averaged = params.gradients.zeros_like();
        // The tensors themselves, or copies in host memory.
        let reachable = |tensor: &Tensor| if staged { tensor.to_device(Device::Cpu) } else { tensor.shallow_clone() };
        let (source, target) = (reachable(&params.gradients), reachable(&averaged));
        let buckets = assign_buckets(&params.segments, options.fusion_threshold_bytes);
        let mut bucket_of: Vec<usize> =
            buckets.iter().enumerate().flat_map(|(index, bucket)| std::iter::repeat_n(index, bucket.tensors)).collect();
        bucket_of.reverse();
        let reducer = Rc::new(Reducer {
            comm,
            compression: options.compression,
            buckets,
            bucket_of,
            source,
            target: RefCell::new(target),
            used: RefCell::new(vec![true; params.segments.len()]),
            pending: RefCell::default(),
            completed: RefCell::default(),
            next: Cell::new(0),
            is_active: Cell::new(false),
            is_in_flight: Cell::new(false),
            failed: RefCell::default(),
        });
        let hooked = reducer.clone();
        // Staged gradients have to come to the host first, all at once.
        let hooks = (options.overlap && !staged).then(|| {
            let leaves = params.views.iter().map(Tensor::shallow_clone).collect();
            // SAFETY: the hooks are dropped with the optimizer, whose lifetime is theirs. The reducer is used by libtorch's
            // thread and by this one in turns: this one waits in backward. On a GPU's thread the communicator is only asked
            // to give work to NCCL, which any thread may do: nothing but NCCL is in flight then.
            unsafe { GradientHooks::new(leaves, move |tensor| hooked.ready(tensor)) }
        });
        let is_small = size_of::<f32>() * averaged.numel() < SHARED_BYTES;
        let has_asked_to_share = on_gpu || is_small || options.compression != Compression::None || comm.topology().size.0 == 1;
        let optimizer = DistributedOptimizer { inner, reducer, averaged, staged, has_asked_to_share, _hooks: hooks };
        evidence::tell(|| Observation::Wrapped { times: optimizer.wrapped() });
        optimizer
    }
}

impl DistributedOptimizer<'_> {
    /// From the next backward pass on, gradients and averages lie where all ranks of the host see them, if they are on one.
    ///
    /// # Collective
    /// All ranks, once they have finished the first update: before, some of them may have no such optimizer.
    fn share_memory(&mut self, params: &FlatTensors) -> Result<(), CommError> {
        let comm = self.reducer.comm;
        let Some(memory) = share(comm, self.averaged.numel())? else { return Ok(()) };
        let own = memory.sources[comm.topology().rank.0];
        // SAFETY: of the source each rank writes its own, and others read it only within `synchronize`; the target is written there alone.
        let [source, target] = [own, memory.target].map(|region| unsafe { tensor_of(region) });
        comm.share(memory);
        params.move_gradients(&source);
        *self.reducer.target.borrow_mut() = target.shallow_clone();
        self.averaged = target;
        Ok(())
    }
}

impl Drop for DistributedOptimizer<'_> {
    /// A communicator that failed halfway may still write to the buffers, so they are leaked then.
    fn drop(&mut self) {
        if self.reducer.is_in_flight.get() {
            std::mem::forget(self.reducer.clone());
        }
    }
}

impl Reducer<'_> {
    fn prepare_for_backward(&self) {
        let mut pending = vec![0; self.buckets.len()];
        let used = self.used.borrow();
        self.bucket_of.iter().zip(&*used).filter(|(_, used)| **used).for_each(|(&bucket, _)| pending[bucket] += 1);
        self.pending.replace(pending);
        self.completed.replace(vec![false; used.len()]);
        self.next.set(0);
        self.is_active.set(true);
    }

    /// The gradient of this tensor is complete. Buckets are sent in one order, even if a later one is ready first.
    fn ready(&self, tensor: usize) {
        if !self.is_active.get() {
            return;
        }
        self.completed.borrow_mut()[tensor] = true;
        if !self.used.borrow()[tensor] {
            let sudden = "backward reached a tensor that it did not reach in the step before: use --no-overlap";
            return self.record(Err(CommError::Mismatch(sudden.to_owned())));
        }
        self.pending.borrow_mut()[self.bucket_of[tensor]] -= 1;
        while self.pending.borrow().get(self.next.get()) == Some(&0) {
            self.start_next();
        }
        self.record(self.comm.progress());
    }

    fn start_next(&self) {
        let bucket = &self.buckets[self.next.get()];
        self.is_in_flight.set(true);
        let target = self.target.borrow();
        // SAFETY: the reducer owns a reference to both tensors, and is leaked if it is dropped while they are in flight.
        // Backward is done with this part of the source, and nobody else uses the target before `synchronize` returns.
        let [source, target] = [&self.source, &*target].map(|flat| unsafe { region(flat, bucket.start, bucket.len) });
        self.record(self.comm.start_allreduce(source, target, self.compression));
        self.next.set(self.next.get() + 1);
    }

    fn record(&self, result: Result<(), CommError>) {
        if let Err(error) = result {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    /// Sends the buckets that are left, and waits for all of them.
    fn finish(&self) -> Result<(), CommError> {
        self.is_active.set(false);
        self.used.swap(&self.completed);
        while self.next.get() < self.buckets.len() && self.failed.borrow().is_none() {
            self.start_next();
        }
        self.failed.take().map_or_else(|| self.comm.finish_allreduces(), Err)?;
        self.is_in_flight.set(false);
        Ok(())
    }
}

impl Optimizer for DistributedOptimizer<'_> {
    fn prepare_for_backward(&mut self) {
        self.reducer.prepare_for_backward();
    }

    fn synchronize(&mut self, params: &FlatTensors) -> Result<Tensor, CommError> {
        if self.staged {
            self.reducer.source.shallow_clone().copy_(&params.gradients);
        }
        self.reducer.finish()?;
        if self.staged {
            self.averaged.copy_(&self.reducer.target.borrow());
        }
        let averaged = self.averaged.shallow_clone();
        if !std::mem::replace(&mut self.has_asked_to_share, true) {
            self.share_memory(params)?;
        }
        Ok(averaged)
    }

    fn apply(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        self.inner.apply(params, gradients, lr);
    }

    fn wrapped(&self) -> usize {
        self.inner.wrapped() + 1
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        self.inner.state()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

/// Gives the root's parameters, batch norm statistics and optimizer state to every rank.
///
/// # Horovod
/// `BroadcastGlobalVariablesCallback(0)`. Horovod for Keras does it after the first batch; here, as in Horovod for
/// PyTorch, it is done before, so that not even one step is taken from different weights.
///
/// # Collective
/// Every rank calls it, with the same model and optimizer.
///
/// # Errors
/// As for every collective, see [`Communicator`].
pub fn broadcast_state(comm: &dyn Communicator, model: &mut dyn Model, optimizer: &mut dyn Optimizer) -> Result<(), CommError> {
    broadcast_state_from(ROOT_RANK, comm, model, optimizer)?;
    evidence::event(|| evidence::parameters(DigestMoment::SharedParameters, 0, model.params()));
    Ok(())
}

/// [`broadcast_state`] from another rank than 0, which is no evidence of step 4.
///
/// # Collective
/// As [`broadcast_state`], with the same root.
///
/// # Errors
/// As [`broadcast_state`], and [`CommError::NoSuchRank`].
pub fn broadcast_state_from(
    root: Rank,
    comm: &dyn Communicator,
    model: &mut dyn Model,
    optimizer: &mut dyn Optimizer,
) -> Result<(), CommError> {
    broadcast_tensor(comm, &mut model.params_mut().flat, root)?;
    broadcast_tensor(comm, &mut model.buffers_mut().flat, root)?;
    optimizer.state().into_iter().try_for_each(|(_, state)| broadcast_tensor(comm, state, root))
}

/// [`broadcast_state`], and a report of it: bytes, seconds, and the part (0 to 1) of some sampled weights that it changed on this rank.
///
/// # Collective
/// As [`broadcast_state`].
///
/// # Errors
/// As [`broadcast_state`].
pub fn broadcast_told(
    comm: &dyn Communicator,
    model: &mut dyn Model,
    optimizer: &mut dyn Optimizer,
) -> Result<BroadcastReport, CommError> {
    let numbers = |tensor: &Tensor| tensor.numel() as u64;
    let own = numbers(&model.params().flat) + numbers(&model.buffers().flat);
    let state: u64 = optimizer.state().iter().map(|(_, state)| numbers(state)).sum();
    let before = sample(&model.params().flat);
    let since = Instant::now();
    broadcast_state(comm, model, optimizer)?;
    let seconds = since.elapsed().as_secs_f64();
    let after = sample(&model.params().flat);
    let changed = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    let changed = changed as f64 / after.len().max(1) as f64;
    Ok(BroadcastReport { bytes: 4 * (own + state), seconds, changed })
}

/// Some of the numbers, evenly spaced: to look at all of them would take as long as to send them.
fn sample(flat: &Tensor) -> Vec<f32> {
    let apart = (flat.numel() as i64 / SAMPLED).max(1);
    to_vec(&flat.slice(0, None, None, apart).contiguous())
}

fn broadcast_tensor(comm: &dyn Communicator, tensor: &mut Tensor, root: Rank) -> Result<(), CommError> {
    if tensor.device() == Device::Cpu || comm.is_cuda_aware() {
        // SAFETY: the tensor is borrowed until the broadcast is over. After an error its memory is used no more: the job ends.
        let whole = unsafe { region(tensor, 0, tensor.numel() as i64) };
        return comm.broadcast_region(whole, root);
    }
    let mut numbers = to_vec(tensor);
    comm.broadcast(&mut numbers, root)?;
    set(tensor, &numbers);
    Ok(())
}
