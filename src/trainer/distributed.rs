//! Steps 3 and 4: gradients averaged over all ranks, and the root's state given to all.
//!
//! Never decides when: `src/bin/hvd-train.rs` does. Every function here is a collective: all ranks call it, in the same
//! order. On a GPU the numbers travel from GPU to GPU where the communicator can, else through host memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tch::{Device, Tensor};

use super::buckets::{Bucket, cut};
use super::gradients::{Watch, region};
use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, set, to_vec};
use crate::comm::{CommError, Communicator, Compression};
use crate::domain::topology::ROOT_RANK;

/// How gradients travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Most bytes that are fused into one allreduce; 0 for one allreduce a tensor.
    pub fusion_threshold_bytes: usize,
    /// Whether a bucket leaves while backward still computes the next, or all leave afterwards.
    pub overlap: bool,
    pub compression: Compression,
}

/// An optimizer whose gradients are the mean over all ranks.
///
/// Backward finishes gradients from the last layer to the first. As soon as all of a bucket are there, its allreduce
/// begins, in the same order on every rank, and [`Optimizer::synchronize`] only waits for what is still on its way.
///
/// Which bucket a number travels in changes nothing for two ranks; for more, the order of the ranks in a sum may depend on
/// its place in the bucket, so that another threshold differs in the last bits. Overlap never changes a bit.
///
/// # Horovod
/// `hvd.DistributedOptimizer(opt)`, operation Average.
///
/// # Collective
/// `synchronize` must be called by every rank once per step.
pub struct DistributedOptimizer<'a> {
    inner: Box<dyn Optimizer + 'a>,
    exchange: Rc<Exchange<'a>>,
    /// What is applied: on the device of the gradients, and the same tensor as the exchange's target unless staged.
    averaged: Tensor,
    /// Gradients are copied to host memory to travel, and back.
    staged: bool,
    _watch: Option<Watch<'a>>,
}

/// The buckets of one step on their way.
struct Exchange<'a> {
    comm: &'a dyn Communicator,
    compression: Compression,
    buckets: Vec<Bucket>,
    /// Bucket of every tensor, in flat order.
    bucket_of: Vec<usize>,
    /// Both flat, where the communicator reaches them.
    source: Tensor,
    target: Tensor,
    /// Tensors that backward reaches, as far as is known: all, until a pass has shown which. The others' gradients stay
    /// zero, and no bucket waits for them.
    reached: RefCell<Vec<bool>>,
    /// Tensors that each bucket still waits for.
    missing: RefCell<Vec<usize>>,
    /// Tensors whose gradient this pass has completed.
    heard: RefCell<Vec<bool>>,
    /// The first bucket that has not left.
    next: Cell<usize>,
    /// Whether this backward pass is the one whose gradients leave.
    open: Cell<bool>,
    /// What went wrong in the middle of backward, which cannot be told of it.
    failed: RefCell<Option<CommError>>,
}

impl<'a> DistributedOptimizer<'a> {
    pub fn new(
        inner: Box<dyn Optimizer + 'a>,
        comm: &'a dyn Communicator,
        params: &FlatTensors,
        traffic: Traffic,
    ) -> DistributedOptimizer<'a> {
        let on_gpu = params.gradients.device() != Device::Cpu;
        let staged = on_gpu && !(comm.reaches_gpu() && traffic.compression == Compression::None);
        let averaged = params.gradients.zeros_like();
        // The tensors themselves, or copies in host memory.
        let way = |tensor: &Tensor| if staged { tensor.to_device(Device::Cpu) } else { tensor.shallow_clone() };
        let (source, target) = (way(&params.gradients), way(&averaged));
        let buckets = cut(&params.segments, traffic.fusion_threshold_bytes);
        let mut bucket_of: Vec<usize> =
            buckets.iter().enumerate().flat_map(|(index, bucket)| std::iter::repeat_n(index, bucket.tensors)).collect();
        bucket_of.reverse();
        let exchange = Rc::new(Exchange {
            comm,
            compression: traffic.compression,
            buckets,
            bucket_of,
            source,
            target,
            reached: RefCell::new(vec![true; params.segments.len()]),
            missing: RefCell::default(),
            heard: RefCell::default(),
            next: Cell::new(0),
            open: Cell::new(false),
            failed: RefCell::default(),
        });
        let listener = exchange.clone();
        // Staged gradients have to come to the host first, all at once.
        let watch = (traffic.overlap && !staged).then(|| {
            let leaves = params.views().iter().map(Tensor::shallow_clone).collect();
            Watch::new(leaves, move |tensor| listener.ready(tensor))
        });
        DistributedOptimizer { inner, exchange, averaged, staged, _watch: watch }
    }
}

impl Exchange<'_> {
    fn open(&self) {
        let mut missing = vec![0; self.buckets.len()];
        let reached = self.reached.borrow();
        self.bucket_of.iter().zip(&*reached).filter(|(_, reached)| **reached).for_each(|(&bucket, _)| missing[bucket] += 1);
        self.missing.replace(missing);
        self.heard.replace(vec![false; reached.len()]);
        self.next.set(0);
        self.open.set(true);
    }

    /// The gradient of this tensor is complete. Buckets leave in one order, even if a later one is ready first.
    fn ready(&self, tensor: usize) {
        if !self.open.get() {
            return;
        }
        self.heard.borrow_mut()[tensor] = true;
        if !self.reached.borrow()[tensor] {
            let sudden = "backward reached a tensor that it did not reach in the step before: use --no-overlap";
            return self.note(Err(CommError::Mismatch(sudden.to_owned())));
        }
        self.missing.borrow_mut()[self.bucket_of[tensor]] -= 1;
        while self.missing.borrow().get(self.next.get()) == Some(&0) {
            self.start_next();
        }
        self.note(self.comm.progress());
    }

    fn start_next(&self) {
        let bucket = &self.buckets[self.next.get()];
        let piece = |flat| region(flat, bucket.start, bucket.len);
        self.note(self.comm.start_allreduce(piece(&self.source), piece(&self.target), self.compression));
        self.next.set(self.next.get() + 1);
    }

    fn note(&self, result: Result<(), CommError>) {
        if let Err(error) = result {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }

    /// Everything that has not left leaves, and everything arrives.
    fn finish(&self) -> Result<(), CommError> {
        self.open.set(false);
        self.reached.swap(&self.heard);
        while self.next.get() < self.buckets.len() && self.failed.borrow().is_none() {
            self.start_next();
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.comm.finish_allreduces(),
        }
    }
}

impl Optimizer for DistributedOptimizer<'_> {
    fn expect_gradients(&mut self) {
        self.exchange.open();
    }

    fn synchronize(&mut self, params: &FlatTensors) -> Result<Tensor, CommError> {
        if self.staged {
            self.exchange.source.shallow_clone().copy_(&params.gradients);
        }
        self.exchange.finish()?;
        if self.staged {
            self.averaged.copy_(&self.exchange.target);
        }
        Ok(self.averaged.shallow_clone())
    }

    fn step(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64) {
        self.inner.step(params, gradients, lr);
    }

    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)> {
        self.inner.state()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

/// Give the root's parameters, batch norm statistics and optimizer state to every rank.
///
/// # Horovod
/// `BroadcastGlobalVariablesCallback(0)`. Horovod for Keras does it after the first batch; here, as in Horovod for
/// PyTorch, it is done before, so that not even one step is taken from different weights.
///
/// # Collective
/// Every rank calls it, with the same model and optimizer.
pub fn broadcast_state(comm: &dyn Communicator, model: &mut dyn Model, optimizer: &mut dyn Optimizer) -> Result<(), CommError> {
    broadcast_tensor(comm, &mut model.params_mut().flat)?;
    broadcast_tensor(comm, &mut model.buffers_mut().flat)?;
    for (_, state) in optimizer.state() {
        broadcast_tensor(comm, state)?;
    }
    Ok(())
}

fn broadcast_tensor(comm: &dyn Communicator, tensor: &mut Tensor) -> Result<(), CommError> {
    if tensor.device() == Device::Cpu || comm.reaches_gpu() {
        return comm.broadcast_region(region(tensor, 0, tensor.numel() as i64), ROOT_RANK);
    }
    let mut numbers = to_vec(tensor);
    comm.broadcast(&mut numbers, ROOT_RANK)?;
    set(tensor, &numbers);
    Ok(())
}
