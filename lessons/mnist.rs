//! The MNIST program with which Horovod introduces itself, made distributed: a place marked `Change N/4` is done,
//! `TODO: Change N` is still to do.
//!
//! A small CNN learns handwritten digits with Adadelta, in 12 epochs of batches of 128. Read it from top to bottom: on one
//! rank it trains as it stands.

use std::{process::ExitCode, time::Instant};

use hvd_lab::comm::{self, Communicator};
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event};
use hvd_lab::domain::phase::{Phase, PhaseSeconds};
use hvd_lab::domain::schedule::{LearningRateSchedule, steps_per_epoch};
use hvd_lab::trainer::evaluate::{MetricSums, evaluate, final_test};
use hvd_lab::trainer::model::{self, Dropout, Mode};
use hvd_lab::trainer::optimizer::{self, OptimizerKind};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::resume::{self, ResumeState};
use hvd_lab::trainer::startup::{self, Plan};
use hvd_lab::trainer::{accumulation::AccumulationStep, config::Config, device, report::Reporter, sampler::Sampler};

/// What the flags are where nobody gives them.
const DEFAULTS: [[&str; 2]; 5] = [
    ["--model", "mnist-cnn"],
    ["--data-dir", "generated-digits"],
    ["--batch-size", "128"],
    ["--epochs", "12"],
    ["--base-lr", "1"],
];

fn main() -> ExitCode {
    let launched = Instant::now();
    let config = match Config::with_defaults(&DEFAULTS, std::env::args_os()) {
        Ok(config) if config.build_info => return startup::print_build_info(),
        Ok(config) => config,
        Err(stop) => return startup::explain(&stop),
    };
    device::keep_freed_memory();

    // TODO: Change 1: initialise, and find the other ranks.
    // Horovod: hvd.init()
    let distributed = false;
    let comm = match comm::connect(distributed, config.stall_limits(), startup::on_stall(&config)) {
        Ok(comm) => comm,
        Err(error) => return startup::refuse(&error),
    };

    // A rank that fails must not leave quietly: the others would wait for it in the next collective forever.
    let report = Reporter::new(comm::launched_index(), config.events);
    match train(&config, &*comm, &report, launched) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report.fatal("training", &format!("{error:#}"));
            comm.abort(startup::exit_code(&error))
        }
    }
}

fn train(config: &Config, comm: &dyn Communicator, report: &Reporter, launched: Instant) -> anyhow::Result<()> {
    let (process, size) = (comm::launched_index(), comm.topology().size.0);

    // TODO: Change 1, second half: one device per rank.
    // Horovod: config.gpu_options.visible_device_list = str(hvd.local_rank())
    let placement = device::first();
    startup::introduce(comm, &placement, report)?;

    // Every pixel is 0 to 1, as in the original: divided by 255, and nothing else.
    let data = startup::load_data(config, process, placement.device)?.in_zero_to_one();
    let (training, test) = (&data.training, &data.test);
    report.line(&format!("Images: {}, the first {}", data.label, training.len()));

    // Every process draws its own weights, as programs that seed themselves do.
    let mut model = model::build(config.model, &mut stream(config.seed, process, 0, Purpose::Weights), placement.device);

    // TODO: Change 2: more ranks take larger steps, and fewer of them.
    // Horovod: epochs = int(math.ceil(12.0 / hvd.size())); opt = keras.optimizers.Adadelta(1.0 * hvd.size())
    // Here: config.epochs is 12 and config.base_lr is 1.0, unless the flags say otherwise.
    let epochs = config.epochs;
    let rate = config.base_lr;

    // Without momentum and weight decay, as Keras has it.
    let mut optimizer = optimizer::build(OptimizerKind::Adadelta, model.params(), 0.0, 0.0);

    // TODO: Change 3: average the gradients over the ranks before every update.
    // Horovod: opt = hvd.DistributedOptimizer(opt)
    // Needs: hvd_lab::trainer::distributed::DistributedOptimizer, with config.allreduce_options()

    report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, 0, &*model));

    // TODO: Change 4: begin from the root's weights.
    // Horovod: hvd.callbacks.BroadcastGlobalVariablesCallback(0)
    // Needs: hvd_lab::trainer::distributed::broadcast_state

    report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, 0, &*model));

    // TODO: Change 4, second half: only the root writes checkpoints.
    // Horovod: if hvd.rank() == 0: callbacks.append(keras.callbacks.ModelCheckpoint('./checkpoint-{epoch}.h5'))
    let keeps_checkpoints = config.use_checkpointing;

    let steps = steps_per_epoch(training.len(), config.batch_size, 1);
    let order = Sampler::own(config.seed, process, training.len(), Purpose::Shuffle);
    let tested = config.validation_images.map_or(test.len(), |limit| limit.min(test.len()));
    let test_batches: Vec<Vec<u32>> =
        (0..tested as u32).collect::<Vec<_>>().chunks(config.batch_size).map(<[u32]>::to_vec).collect();
    // What the lab is told: this rate at every step.
    let schedule = LearningRateSchedule { initial_lr: rate, size, warmup_epochs: 0.0, steps_per_epoch: steps };
    let plan = Plan { schedule: &schedule, data: &data, validation_batches: test_batches.len(), resume_epoch: 0, resume_step: 0 };
    report.event(startup::config_report(&Config { epochs, ..config.clone() }, &*model, &*optimizer, &plan));

    let began = Instant::now();
    for epoch in 0..epochs {
        report.epoch_begin(epoch + 1, epochs);
        let mut dropout = Dropout::new(model.dropout_rate(), stream(config.seed, process, epoch, Purpose::Dropout));
        let (mut sums, epoch_began) = (MetricSums::new(placement.device), Instant::now());
        for (index, picks) in order.batches(epoch, steps, config.batch_size).iter().enumerate() {
            let batch = training.batch(picks);
            let scores = model.forward(&batch.images, Mode::Training(&mut dropout));
            let loss = scores.cross_entropy_for_logits(&batch.labels);
            AccumulationStep::at(index, steps, 1).backward(&loss, model.params_mut(), &mut *optimizer);
            let gradients = optimizer.synchronize(model.params())?;
            if (epoch, index) == (0, 0) {
                startup::report_gradients(report, epoch, model.params(), &gradients);
            }
            optimizer.step(model.params_mut(), &gradients, rate);
            sums.add(&scores, &batch, &loss);
            let loss = loss.double_value(&[]);
            report.event(Event::Step { epoch, batch: index, lr: rate, loss });
            anyhow::ensure!(loss.is_finite(), "the loss is {loss} in epoch {}, batch {}: lower --base-lr", epoch + 1, index + 1);
        }
        let (trained, seconds) = (sums.read(), epoch_began.elapsed().as_secs_f64());
        let validated = evaluate(&*model, test, &test_batches);
        report.evidence(|| startup::parameters_digest(DigestMoment::EpochParameters, epoch + 1, &*model));
        report.epoch_end(EpochReport {
            epoch: epoch + 1,
            train: trained.metrics(),
            validation: validated.metrics(),
            averaged: None,
            lr: rate,
            batches: steps,
            images: trained.images,
            images_per_sec: (trained.images * size) as f64 / seconds,
            cumulative_seconds: began.elapsed().as_secs_f64(),
            phases: PhaseSeconds::from([(Phase::Training, seconds)]),
        });
        if keeps_checkpoints {
            let so_far = ResumeState { epoch: epoch + 1, ..ResumeState::default() };
            report.checkpoint(resume::save(config, so_far, &*model, &mut *optimizer)?);
        }
    }

    let training_seconds = began.elapsed().as_secs_f64();
    report.training_end(training_seconds);
    let score = final_test(report, &*model, test, &test_batches).metrics();
    report.test(score.loss, score.accuracy, tested, (began.elapsed().as_secs_f64() - training_seconds).max(0.0));
    comm.barrier()?;
    report.event(startup::finished(epochs, training_seconds, launched));
    Ok(())
}
