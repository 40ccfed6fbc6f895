//! The trainer on its way from serial to distributed: a step marked `Step N/10` is done, `TODO: Step N` is still to do.
//!
//! Never edited in the repository: derived from `src/ranks/bin/hvd-train.rs` by
//! `HVD_LAB_DERIVE=write cargo test --test ranks solutions`.

use std::{process::ExitCode, time::Instant};

use hvd_lab::comm::{self, Communicator};
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics};
use hvd_lab::domain::schedule::{LearningRateSchedule, steps_per_epoch, validation_steps};
use hvd_lab::domain::{phase::Phase, step::StepSet};
use hvd_lab::trainer::distributed::{DistributedOptimizer, broadcast_state};
use hvd_lab::trainer::evaluate::{MetricSums, evaluate, final_test, metric_average};
use hvd_lab::trainer::model::{self, Mode};
use hvd_lab::trainer::optimizer::{self, Optimizer, OptimizerKind};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::{accumulation::AccumulationStep, config::Config, tensorboard::EventWriter, timeline::Timeline};
use hvd_lab::trainer::{commit::Commits, device, early_stop::EarlyStop, report::Reporter, sampler::Sampler};
use hvd_lab::trainer::{resume, resume::ResumeState, startup, startup::Plan};

fn main() -> ExitCode {
    let launched = Instant::now();
    let config = match Config::from_args(std::env::args_os()) {
        Ok(config) if config.build_info => return startup::print_build_info(),
        // The events tell the lab which steps are done: raise this with each.
        Ok(config) => Config { steps: StepSet::first(7), ..config },
        Err(stop) => return startup::explain(&stop),
    };
    device::keep_freed_memory();
    startup::explain_shortage(&config);
    let timeline = Timeline::new(config.timeline.as_deref(), launched);

    // Step 1/10: initialise, and find the other ranks.
    // Horovod: hvd.init()
    // Every process learns its rank, the number of ranks, and its local rank on this host.
    // Without: np copies of a serial program, and each thinks it is rank 0 of 1.
    let distributed = true;
    let comm = match comm::connect(distributed, config.stall_limits(), startup::on_stall(&config)) {
        Ok(comm) => timeline.observe(comm),
        Err(error) => return startup::refuse(&error),
    };

    // Step 2/10: print on rank 0 only.
    // Horovod: verbose = 1 if hvd.rank() == 0 else 0
    // Without: every line comes np times.
    let mut report = Reporter::new(comm::launched_index(), config.events);
    report.set_verbose(comm.topology().is_root());

    // A rank that fails must not leave quietly: the others would wait for it in the next collective forever.
    match train(&config, &*comm, &report, timeline) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report.fatal("training", &format!("{error:#}"));
            comm.abort(startup::exit_code(&error))
        }
    }
}

fn train(config: &Config, comm: &dyn Communicator, report: &Reporter, mut timeline: Timeline) -> anyhow::Result<()> {
    let (process, topology, size) = (comm::launched_index(), comm.topology(), comm.topology().size.0);

    // Step 1/10, second half: one device per rank.
    // Horovod: set_visible_devices(gpus[hvd.local_rank()], 'GPU')
    // On a CPU the device is one thread on an equal share of the cores.
    // Without: all processes crowd onto the first GPU, or get into each other's way on the same cores.
    let placement = device::pin(&topology);
    startup::introduce(comm, &placement, report)?;
    timeline.begin(comm, report, &device::name(placement.device))?;
    let mut clock = timeline.clock(&placement);

    let data = startup::load_data(config, process, placement.device)?;
    report.line(&format!("Images: {}", data.label));
    let (training, test) = (&data.training, &data.test);
    let validation_images = config.validation_images.map_or(test.len(), |limit| limit.min(test.len()));
    let validation_order = Sampler::own(config.seed, process, validation_images, Purpose::ValidationShuffle);

    // Every process draws its own weights, as programs that seed themselves do: see step 4.
    let mut model = model::build(config.model, &mut stream(config.seed, process, 0, Purpose::Weights), placement.device);
    model.compute_in(device::prepare(placement.device, config.precision));

    // TODO: Step 10: an optimizer for large batches.
    // Horovod: opt = NovoGrad(lr)
    let by_step = OptimizerKind::Sgd;
    // An optimizer that --optimizer names wins over the step.
    let kind = config.optimizer.unwrap_or(by_step);
    let mut optimizer: Box<dyn Optimizer> = optimizer::build(kind, model.params(), config.momentum, config.wd);

    // Step 3/10: average gradients over the ranks before every update.
    // Horovod: opt = hvd.DistributedOptimizer(opt)
    // Without: each rank trains alone, and the root's model has seen only the root's images.
    optimizer = Box::new(DistributedOptimizer::new(optimizer, comm, model.params(), config.allreduce_options()));

    // Step 7/10: only the root reads and writes checkpoints.
    // Horovod: if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...)); resume_from_epoch = hvd.broadcast(..., 0)
    // The root finds the newest checkpoint and broadcasts its epoch; step 4 broadcasts its contents.
    // Without: every rank looks for itself, and all ranks write the same file.
    let keeps_checkpoints = config.use_checkpointing && topology.is_root();
    let found = match keeps_checkpoints {
        true => resume::load_latest(config, report, &mut *model, &mut *optimizer),
        false => ResumeState::default(),
    };
    // Outside of any "if root": a collective that only the root reaches hangs.
    let found = found.broadcast(comm)?;
    report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, found.epoch, &*model));

    // Step 4/10: start from the root's weights.
    // Horovod: BroadcastGlobalVariablesCallback(0)
    // Equal gradients keep ranks equal only if they start equal. Without: the ranks stay different forever.
    broadcast_state(comm, &mut *model, &mut *optimizer)?;
    found.restore_statistics(&topology, &mut *model);
    report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, found.epoch, &*model));

    // Step 5/10: divide the epoch among the ranks.
    // Horovod: steps_per_epoch = len(train_iter) // hvd.size(), validation_steps = 3 * len(test_iter) // hvd.size()
    // Without: every rank trains the whole epoch, which is np times the work.
    let shards = size;
    let steps = steps_per_epoch(training.len(), config.batch_size, shards);
    let sampler = Sampler::own(config.seed, process, training.len(), Purpose::Shuffle);
    let train_order = sampler.shard(topology.rank, shards, config.shuffle);
    let validation_batches = validation_steps(validation_images, config.batch_size, Some(size));

    // TODO: Step 8: scale the learning rate by the number of ranks.
    // Horovod: lr = base_lr * hvd.size()
    let initial_lr = config.base_lr;

    // TODO: Step 9: warm the learning rate up.
    // Horovod: LearningRateWarmupCallback(initial_lr, warmup_epochs=5)
    let warmup_epochs = 0.0;
    let schedule = LearningRateSchedule { initial_lr, size, warmup_epochs, steps_per_epoch: steps };

    let resume_step = found.first_step(config, shards, steps);
    let plan = Plan { schedule: &schedule, data: &data, validation_batches, resume_epoch: found.epoch, resume_step };
    report.event(startup::config_report(config, &*model, &*optimizer, &plan));
    let mut board = if keeps_checkpoints { Some(EventWriter::create(&config.log_dir)?) } else { None };
    let mut stop = EarlyStop::new(config.target_accuracy, config.patience, found.reports.epochs_at_target);
    let mut commits = Commits::new(config, comm, report, shards);
    clock.lap(Phase::StartUp);
    let (began, mut last_epoch, mut reports) = (found.began(), found.epoch, found.reports.clone());

    for epoch in found.epoch..config.epochs {
        report.epoch_begin(epoch + 1, config.epochs);
        let first_step = if epoch == found.epoch { resume_step } else { 0 };
        let mut draws = found.draws(config, process, &topology, epoch, model.dropout_rate());
        clock.begin_section();
        let mut sums = MetricSums::new(placement.device);
        let batches = train_order.batches(epoch, steps, config.batch_size);
        training.prepare_ahead(&batches[first_step..], &draws.augmentation); // the next batches, while a GPU computes
        for (index, picks) in batches.iter().enumerate().skip(first_step) {
            clock.begin_step();
            let batch = training.augmented_batch(picks, &mut draws.augmentation);
            clock.lap(Phase::Data);
            let scores = model.forward(&batch.images, Mode::Training(&mut draws.dropout));
            let loss = scores.cross_entropy_for_logits(&batch.labels);
            clock.lap(Phase::Forward);
            let pass = AccumulationStep::at(index, steps, config.backward_passes_per_step);
            pass.backward(&loss, model.params_mut(), &mut *optimizer); // step 3: complete gradients are sent at once
            clock.lap(Phase::Backward);
            let lr = schedule.lr(epoch, index);
            if pass.is_last {
                let gradients = optimizer.synchronize(model.params())?; // step 3: the mean over ranks, else the rank's own
                clock.lap(Phase::AllreduceExposed);
                if epoch == found.epoch && index < resume_step + pass.of {
                    startup::report_gradients(report, epoch, model.params(), &gradients);
                }
                optimizer.step(model.params_mut(), &gradients, lr);
            }
            sums.add(&scores, &batch, &loss);
            let loss = loss.double_value(&[]); // sync point: the host waits for the device here, once a step
            clock.lap(Phase::Optimizer);
            report.event(Event::Step { epoch, batch: index, lr, loss });
            anyhow::ensure!(loss.is_finite(), "the loss is {loss} in epoch {}, batch {}: lower --base-lr", epoch + 1, index + 1);
            commits.after_step((epoch, index), &draws, &reports, &*model, &mut *optimizer)?; // if --commit-every says so
        }
        let (seconds, trained) = (clock.lap(Phase::Training), sums.read());

        let validated = evaluate(&*model, test, validation_order.batches(epoch, validation_batches, config.batch_size));

        // Step 6/10: average the metrics over the ranks, before anything is decided on them.
        // Horovod: MetricAverageCallback()
        // Without: each rank decides by its own share of the validation images.
        let averaged: Option<Metrics> = Some(metric_average(comm, validated.metrics())?);
        clock.lap(Phase::Validation);
        last_epoch = epoch + 1;
        // The root decides when to stop, and broadcasts it: a rank that stopped alone would hang the others.
        let stops = stop.agreed(comm, averaged.map_or(validated.metrics().accuracy, |mean| mean.accuracy))?;

        // Step 7/10 again: all ranks gather, because root-only code must not contain a collective. Then the root writes.
        let ended = EpochReport {
            epoch: last_epoch,
            train: trained.metrics(),
            validation: validated.metrics(),
            averaged,
            lr: schedule.lr(epoch, steps - 1),
            batches: steps - first_step,
            images: trained.images,
            images_per_sec: (trained.images * size) as f64 / seconds,
            cumulative_seconds: began.elapsed().as_secs_f64(),
            phases: clock.phases(),
        };
        let mut files = Vec::new();
        if config.use_checkpointing {
            let so_far = reports.gather(comm, &*model, &ended, stop.epochs_at_target())?;
            if keeps_checkpoints {
                files.push(commits.end_epoch(so_far, &*model, &mut *optimizer)?);
            }
        }
        let ended = clock.close(ended, began);
        report.evidence(|| startup::parameters_digest(DigestMoment::EpochParameters, last_epoch, &*model));
        board.iter_mut().try_for_each(|board| board.epoch(&ended))?;
        timeline.epoch(comm, report, &ended)?;
        report.epoch_end(ended);
        files.into_iter().for_each(|file| report.checkpoint(file));
        report.warmup(last_epoch, &schedule);
        if stops {
            report.early_stop(last_epoch);
            break;
        }
    }

    let training_seconds = began.elapsed().as_secs_f64();
    report.training_end(training_seconds);
    clock.begin_section();
    // Step 6/10 again: every rank tests its share, and all sum up. Without: every rank tests all images alone.
    let tested = final_test(report, &*model, test, &test.share_in_order(64, &topology)).over_ranks(comm)?;
    let Metrics { loss, accuracy } = tested.metrics();
    report.test(loss, accuracy, tested.images, clock.end_section("test"));
    timeline.end(comm, report)?;
    comm.barrier()?;
    report.event(startup::finished(last_epoch, training_seconds, timeline.launched()));
    Ok(())
}
