//! Steps 3 and 4: gradients averaged over all ranks, and the root's state given to all.
//!
//! Never decides when: `src/bin/hvd-train.rs` does. Every function here is a collective: all ranks call it, in the same
//! order. On a GPU the numbers travel through host memory.

use tch::Tensor;

use super::model::Model;
use super::optimizer::Optimizer;
use super::params::{FlatTensors, set, to_vec};
use crate::comm::{CommError, Communicator, ReduceOp};
use crate::domain::topology::ROOT_RANK;

/// An optimizer whose gradients are the mean over all ranks.
///
/// # Horovod
/// `hvd.DistributedOptimizer(opt)`, operation Average.
///
/// # Collective
/// `synchronize` must be called by every rank once per step.
pub struct DistributedOptimizer<'a> {
    inner: Box<dyn Optimizer + 'a>,
    comm: &'a dyn Communicator,
}

impl<'a> DistributedOptimizer<'a> {
    pub fn new(inner: Box<dyn Optimizer + 'a>, comm: &'a dyn Communicator) -> DistributedOptimizer<'a> {
        DistributedOptimizer { inner, comm }
    }
}

impl Optimizer for DistributedOptimizer<'_> {
    /// One allreduce for all gradients: they already lie in one flat tensor, so there is nothing left to fuse.
    fn synchronize(&mut self, mut gradients: Tensor) -> Result<Tensor, CommError> {
        let mut numbers = to_vec(&gradients);
        self.comm.allreduce(&mut numbers, ReduceOp::Average)?;
        set(&mut gradients, &numbers);
        Ok(gradients)
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
    let mut numbers = to_vec(tensor);
    comm.broadcast(&mut numbers, ROOT_RANK)?;
    set(tensor, &numbers);
    Ok(())
}
