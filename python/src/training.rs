//! The training itself, as in hvd-train's `train`: the same random streams, sums and evidence, in the same order.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use hvd_lab::comm;
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics, Observation};
use hvd_lab::domain::phase::Phase;
use hvd_lab::domain::schedule::LearningRateSchedule;
use hvd_lab::domain::topology::{ROOT_RANK, Rank, Topology};
use hvd_lab::trainer::accumulation::AccumulationStep;
use hvd_lab::trainer::checkpoint;
use hvd_lab::trainer::distributed::{broadcast_state, broadcast_state_from};
use hvd_lab::trainer::early_stop::EarlyStop;
use hvd_lab::trainer::evaluate::{MetricSums, evaluate, final_test};
use hvd_lab::trainer::model::{Dropout, Model};
use hvd_lab::trainer::optimizer::Optimizer;
use hvd_lab::trainer::pass::{Pass, Update};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::resume::{self, EpochReports};
use hvd_lab::trainer::sampler::Sampler;
use hvd_lab::trainer::startup::{self, Data};
use hvd_lab::trainer::stopwatch::Clock;

use crate::plan::{self, Plan};
use crate::progress::{Epoch, Training};
use crate::session::{Session, tell_of_other_folder};

pub const NOT_BEGUN: &str = "the training has not begun";

/// What the callbacks have made of the end of an epoch.
pub struct EpochEnd {
    /// The validation metrics that this rank goes by, if they are other than its own.
    pub averaged: Option<Metrics>,
    /// The folder to write a checkpoint to.
    pub checkpoint: Option<PathBuf>,
    /// The rate that the warmup has reached, where it has just ended.
    pub warmed_up_to: Option<f64>,
    pub stops: bool,
}

/// What a training works with, borrowed apart.
struct Parts<'a> {
    data: &'a Data,
    model: &'a mut dyn Model,
    optimizer: &'a mut dyn Optimizer,
    clock: &'a mut Clock,
    training: &'a mut Training,
}

/// The parts of a session that trains.
macro_rules! parts {
    ($session:expr) => {
        Parts {
            data: $session.data.as_ref().context("there are no images")?,
            model: &mut **$session.model.as_mut().context("there is no model")?,
            optimizer: &mut **$session.optimizer.as_mut().context("compile the model before it is trained")?,
            clock: &mut $session.placed.as_mut().context("there is no device")?.clock,
            training: $session.training.as_mut().context(NOT_BEGUN)?,
        }
    };
}

impl Session {
    /// The weights are drawn or loaded. Callbacks follow, one of which may broadcast them.
    pub fn begin_training(&mut self, plan: Plan) -> anyhow::Result<()> {
        ensure!(self.training.is_none(), "this program has trained already: a program calls model.fit once");
        ensure!(self.optimizer.is_some(), "compile the model before it is trained");
        plan::check(self.comm, &plan, self.is_distributed)?;
        let data = self.data.as_ref().context("load the images before the model is trained")?;
        startup::tell_of_other("--epochs", &self.config.epochs, &plan.epochs);
        startup::tell_of_other("--batch-size", &self.config.batch_size, &plan.batch_size);
        self.config.epochs = plan.epochs;
        self.config.batch_size = plan.batch_size;
        self.report.set_verbose(plan.is_verbose);
        if !plan.schedules {
            startup::tell(Observation::NoSchedule);
        }
        self.report.line(&format!("Images: {}", data.label));
        self.digest(DigestMoment::InitialParameters, plan.initial_epoch);
        let (process, topology) = (comm::launched_index(), self.comm.topology());
        // Ranks that divide an epoch take turns at one order; a rank that does all of it has an order of its own.
        let batches = data.training.len().div_ceil(plan.batch_size);
        let shards = if plan.steps * topology.size.0 <= batches { topology.size.0 } else { 1 };
        let order = Sampler::own(self.config.seed, process, data.training.len(), Purpose::Shuffle);
        let validation_images = self.validation_images(data);
        self.training = Some(Training {
            taken: self.taken,
            train_order: order.shard(topology.rank, shards, self.config.shuffle),
            validation_order: Sampler::own(self.config.seed, process, validation_images, Purpose::ValidationShuffle),
            began: Instant::now(),
            reports: EpochReports::default(),
            board: None,
            stop: None,
            writers: 0,
            epoch: None,
            last_epoch: plan.initial_epoch,
            ended: None,
            plan: Plan { steps: plan.steps.max(1), validation_steps: plan.validation_steps.max(1), ..plan },
        });
        Ok(())
    }

    /// Step 4: everybody gets this rank's weights, statistics and optimizer state, and how far the root had come.
    pub fn broadcast_state(&mut self, root: usize) -> anyhow::Result<()> {
        let topology = self.comm.topology();
        let found = std::mem::take(&mut self.found).broadcast(self.comm)?;
        let (Some(model), Some(optimizer)) = (&mut self.model, &mut self.optimizer) else {
            anyhow::bail!("there are no weights to broadcast: compile the model first")
        };
        match Rank(root) {
            ROOT_RANK => broadcast_state(self.comm, &mut **model, &mut **optimizer)?,
            root => broadcast_state_from(root, self.comm, &mut **model, &mut **optimizer)?,
        }
        found.restore_statistics(&topology, &mut **model);
        self.found = found;
        Ok(())
    }

    pub fn stop_at(&mut self, target: f64, patience: usize) -> anyhow::Result<()> {
        startup::tell_of_other("--target-accuracy", &self.config.target_accuracy, &target);
        startup::tell_of_other("--patience", &self.config.patience, &patience);
        let so_far = self.found.reports.epochs_at_target;
        self.training.as_mut().context(NOT_BEGUN)?.stop = Some(EarlyStop::new(target, patience, so_far));
        Ok(())
    }

    pub fn start_training(&mut self) -> anyhow::Result<()> {
        let initial_epoch = self.training.as_ref().context(NOT_BEGUN)?.plan.initial_epoch;
        self.digest(DigestMoment::StartParameters, initial_epoch);
        let Parts { data, model, optimizer, clock, training } = parts!(self);
        let Training { plan, .. } = &*training;
        let schedule = LearningRateSchedule {
            initial_lr: self.config.base_lr,
            size: self.comm.topology().size.0,
            warmup_epochs: plan.warmup_epochs,
            steps_per_epoch: plan.steps,
        };
        let told = startup::Plan {
            schedule: &schedule,
            data,
            validation_batches: plan.validation_steps,
            resume_epoch: plan.initial_epoch,
            resume_step: 0,
        };
        self.report.event(startup::config_report(&self.config, model, optimizer, &told));
        // Whether any rank writes is known to all: what goes into a checkpoint is gathered from each.
        let writes = self.comm.allgather(&[u8::from(plan.writes)])?;
        training.writers = writes.concat().into_iter().filter(|writes| *writes > 0).count();
        training.reports = self.found.reports.clone();
        clock.lap(Phase::StartUp);
        training.began = Instant::now();
        Ok(())
    }

    pub fn begin_epoch(&mut self, index: usize) -> anyhow::Result<()> {
        let Parts { model, clock, training, .. } = parts!(self);
        let Plan { epochs, steps, batch_size, .. } = training.plan;
        self.report.epoch_begin(index + 1, epochs);
        let (seed, process) = (self.config.seed, comm::launched_index());
        let device = model.params().flat.device();
        clock.begin_section();
        training.epoch = Some(Epoch {
            index,
            batches: training.train_order.draw(index, steps, batch_size),
            augmentation: stream(seed, process, index, Purpose::Augmentation),
            dropout: Dropout::new(model.dropout_rate(), stream(seed, process, index, Purpose::Dropout)),
            sums: MetricSums::new(device),
            lr: 0.0,
            trained: None,
            validated: None,
        });
        Ok(())
    }

    pub fn train_batch(&mut self, index: usize, lr: f64) -> anyhow::Result<f64> {
        let Parts { data, model, optimizer, clock, training } = parts!(self);
        let Plan { steps, initial_epoch, .. } = training.plan;
        let epoch = training.epoch.as_mut().context("no epoch has begun")?;
        let picks = epoch.batches.next().context("the epoch has no more batches")?;
        clock.begin_step();
        let batch = training.taken.batch(&data.training, &picks, &mut epoch.augmentation);
        clock.lap(Phase::Data);
        let accumulation = AccumulationStep::at(index, steps, self.config.backward_passes_per_step);
        let (is_shown, report) = (epoch.index == initial_epoch && index < accumulation.of, &self.report);
        let pass = Pass { model, optimizer, dropout: &mut epoch.dropout, clock };
        let (scores, loss) = pass.train(&batch, Update { accumulation, ..Update::each(lr) }, |params, gradients| {
            if is_shown {
                startup::report_gradients(report, epoch.index, params, gradients);
            }
        })?;
        epoch.sums.add(&scores, &batch, &loss);
        let loss = loss.double_value(&[]);
        clock.lap(Phase::Optimizer);
        epoch.lr = lr;
        self.report.event(Event::Step { epoch: epoch.index, batch: index, lr, loss });
        ensure!(loss.is_finite(), "the loss is {loss} in epoch {}, batch {}: lower --base-lr", epoch.index + 1, index + 1);
        Ok(loss)
    }

    pub fn validate(&mut self) -> anyhow::Result<(f64, f64, f64, f64)> {
        let tested = self.data.as_ref().map_or(0, |data| self.validation_images(data));
        let Parts { data, model, clock, training, .. } = parts!(self);
        let Plan { validation_steps, batch_size, .. } = training.plan;
        let epoch = training.epoch.as_mut().context("no epoch has begun")?;
        let seconds = clock.lap(Phase::Training);
        let trained = epoch.sums.read();
        let validated = match training.taken.in_order(tested, batch_size) {
            Some(batches) => evaluate(model, &data.test, &batches),
            None => evaluate(model, &data.test, training.validation_order.draw(epoch.index, validation_steps, batch_size)),
        };
        (epoch.trained, epoch.validated) = (Some((trained, seconds)), Some(validated));
        let (own, judged) = (trained.metrics(), validated.metrics());
        Ok((own.loss, own.accuracy, judged.loss, judged.accuracy))
    }

    pub fn end_epoch(&mut self, end: EpochEnd) -> anyhow::Result<()> {
        let Parts { model, optimizer, clock, training, .. } = parts!(self);
        clock.lap(Phase::Validation);
        let epoch = training.epoch.take().context("no epoch has begun")?;
        let ((trained, seconds), validated) = epoch.trained.zip(epoch.validated).context("the epoch has not been validated")?;
        let last_epoch = epoch.index + 1;
        training.last_epoch = last_epoch;
        let ended = EpochReport {
            epoch: last_epoch,
            train: trained.metrics(),
            validation: validated.metrics(),
            averaged: end.averaged,
            lr: epoch.lr,
            batches: training.plan.steps,
            images: trained.images,
            images_per_sec: (trained.images * self.comm.topology().size.0) as f64 / seconds,
            cumulative_seconds: training.began.elapsed().as_secs_f64(),
            phases: clock.phases(),
        };
        let mut files = Vec::new();
        if training.writers > 0 {
            // All ranks gather, because root-only code must not contain a collective. Then who writes writes.
            let at_target = training.stop.as_ref().map_or(0, EarlyStop::epochs_at_target);
            let so_far = training.reports.gather(self.comm, model, &ended, at_target)?;
            let by = (self.config.steps, self.config.seed);
            if let Some(folder) = &end.checkpoint {
                tell_of_other_folder(&self.config.log_dir, folder);
                files.push(resume::save_to(folder, by, so_far, model, optimizer)?);
            }
            // Step 7 off: what became of the one file that every rank wrote.
            if training.writers > 1 || self.comm.topology().size.0 == 1 {
                self.comm.barrier()?;
                let folder = end.checkpoint.as_deref().unwrap_or(&self.config.log_dir);
                files.push(checkpoint::inspect(folder, last_epoch));
            }
        }
        let ended = clock.close(ended, training.began);
        self.digest(DigestMoment::EpochParameters, last_epoch);
        let training = self.training.as_mut().context(NOT_BEGUN)?;
        training.board.iter_mut().try_for_each(|board| board.epoch(&ended))?;
        self.timeline.epoch(self.comm, &self.report, &ended)?;
        self.report.epoch_end(ended);
        files.into_iter().for_each(|file| self.report.checkpoint(file));
        if let Some(lr) = end.warmed_up_to {
            self.report.warmup_finished(last_epoch, lr);
        }
        let asked = &self.training.as_ref().context(NOT_BEGUN)?.plan;
        plan::check_end(self.comm, asked, last_epoch, end.stops)?;
        if end.stops {
            self.report.early_stop(last_epoch);
        }
        Ok(())
    }

    /// Test on all images: where metrics are averaged, every rank tests its share, and all sum up.
    pub fn evaluate(&mut self, is_verbose: bool) -> anyhow::Result<(f64, f64)> {
        self.report.set_verbose(is_verbose);
        let averages = self.training.as_ref().is_some_and(|training| training.plan.averages);
        let data = self.data.as_ref().context("load the images before the model is tested")?;
        let in_order = self.taken.in_order(self.validation_images(data), self.config.batch_size);
        let model = self.model.as_deref().context("there is no model to test")?;
        let clock = &mut self.placed.as_mut().context("there is no device")?.clock;
        clock.begin_section();
        let test = &data.test;
        let tested = match (in_order, averages) {
            (Some(batches), _) => final_test(&self.report, model, test, &batches),
            (None, true) => {
                final_test(&self.report, model, test, &test.share_in_order(64, &self.comm.topology())).over_ranks(self.comm)?
            }
            (None, false) => final_test(&self.report, model, test, &test.share_in_order(64, &Topology::ALONE)),
        };
        let Metrics { loss, accuracy } = tested.metrics();
        self.report.test(loss, accuracy, tested.images, clock.end_section("test"));
        Ok((loss, accuracy))
    }

    /// Evidence of the weights.
    fn digest(&self, moment: DigestMoment, epoch: usize) {
        if let Some(model) = self.model.as_deref() {
            self.report.evidence(|| startup::parameters_digest(moment, epoch, model));
        }
    }
}
