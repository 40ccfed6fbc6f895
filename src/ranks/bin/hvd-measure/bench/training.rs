//! The training loop that is timed: the same model, optimizer and allreduce as in hvd-train.

use std::time::Instant;

use anyhow::Context;
use hvd_lab::comm::{self, Communicator};
use hvd_lab::domain::benchmark::{BenchmarkSpec, IterationReport};
use hvd_lab::domain::phase::{Phase, PhaseSeconds};
use hvd_lab::trainer::device::{self, Placement};
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer, broadcast_state};
use hvd_lab::trainer::model::{self, Dropout, Model};
use hvd_lab::trainer::optimizer::{self, Optimizer, OptimizerKind};
use hvd_lab::trainer::pass::{Pass, Update};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::stopwatch::Clock;
use tch::Tensor;

use super::feed::SEED;
use crate::feed::Feed;

/// Of a single rank, as in Horovod's benchmark.
pub const LEARNING_RATE: f64 = 0.01;

pub struct Bench<'a> {
    spec: &'a BenchmarkSpec,
    model: Box<dyn Model>,
    optimizer: Box<dyn Optimizer + 'a>,
    pub feed: Feed,
    dropout: Dropout,
    clock: Clock,
    on_gpu: bool,
    /// Of the last step: read where it is wanted, which waits for a GPU.
    loss: Option<Tensor>,
}

impl<'a> Bench<'a> {
    /// # Collective
    /// Every rank calls it, once.
    pub fn new(
        spec: &'a BenchmarkSpec,
        exchange: Option<AllreduceOptions>,
        comm: &'a dyn Communicator,
        placement: &Placement,
        feed: Feed,
    ) -> anyhow::Result<Bench<'a>> {
        let process = comm::launched_index();
        let draw = |purpose| stream(SEED, process, 0, purpose);
        let mut model = model::build_at(spec.model, spec.input(), &mut draw(Purpose::Weights), placement.device);
        model.compute_in(device::prepare(placement.device, spec.precision));

        let mut optimizer = optimizer::build(OptimizerKind::Sgd, model.params(), spec.optimizer.momentum(), 0.0);
        if let Some(options) = exchange {
            optimizer = Box::new(DistributedOptimizer::new(optimizer, comm, model.params(), options));
        }
        broadcast_state(comm, &mut *model, &mut *optimizer)?;

        let dropout = Dropout::new(model.dropout_rate(), draw(Purpose::Dropout));
        let clock = Clock::since(Instant::now(), None, None);
        Ok(Bench { spec, model, optimizer, feed, dropout, clock, on_gpu: placement.gpu().is_some(), loss: None })
    }

    /// One batch: images, forward, backward with its allreduces, update.
    pub fn step(&mut self) -> anyhow::Result<()> {
        self.clock.begin_step();
        let batch = self.feed.next()?.context("there are no more photos")?;
        self.clock.lap(Phase::Data);
        let pass =
            Pass { model: &mut *self.model, optimizer: &mut *self.optimizer, dropout: &mut self.dropout, clock: &mut self.clock };
        let (_, loss) = pass.train(&batch, Update::each(LEARNING_RATE), |_, _| {})?;
        self.clock.lap(Phase::Optimizer);
        self.loss = Some(loss.detach());
        Ok(())
    }

    /// Waits until all that was begun is done; returns the loss of the last step.
    pub fn wait(&mut self) -> f64 {
        self.loss.as_ref().map_or(f64::NAN, |loss| loss.double_value(&[]))
    }

    /// So many batches, from the first to the end of the last. Which iteration they are, and the rate of all ranks, is not known here.
    pub fn timed(&mut self, batches: usize) -> anyhow::Result<IterationReport> {
        self.clock.take_phases();
        self.clock.begin_section();
        (0..batches).try_for_each(|_| self.step())?;
        let loss = self.wait();
        let seconds = self.clock.lap(Phase::Training);
        let phases = self.clock.take_phases();
        // A GPU works later than it is given work, so the host's clock cannot see the parts.
        let phases = if self.on_gpu { PhaseSeconds::from([(Phase::Training, seconds)]) } else { phases };
        let (images, of) = (batches * self.spec.batch_size, self.spec.iterations);
        Ok(IterationReport { iteration: 0, of, batches, images, seconds, images_per_sec: 0.0, loss, phases })
    }
}
