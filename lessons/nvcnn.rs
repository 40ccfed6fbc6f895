//! A training on photos as NVIDIA's nvcnn does it, with five changes to make: a place marked `Change N/5` is done,
//! `TODO: Change N` is still to do.
//!
//! Read it from top to bottom: the models that it knows, what is done to a photo, the broadcast, and the training. Without
//! --data-dir it draws a few photos itself.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use hvd_lab::comm::{self, Communicator, Compression};
use hvd_lab::dataset::images::{self, ImageSource, Part};
use hvd_lab::dataset::photos::Photos;
use hvd_lab::domain::benchmark::style::nvcnn::{TRAINING, step as row};
use hvd_lab::domain::event::{DigestMoment, EpochReport, Event, Metrics};
use hvd_lab::domain::images::InputShape;
use hvd_lab::domain::model::builder::{Builder, Definition};
use hvd_lab::domain::model::network::{Value, side};
use hvd_lab::domain::model::{ModelSpec, NamedSpec};
use hvd_lab::domain::nvcnn::{MOMENTUM, MovingAverage, NvcnnSpec, Schedule, WEIGHT_DECAY};
use hvd_lab::domain::phase::{Phase, PhaseSeconds};
use hvd_lab::trainer::accumulation::AccumulationStep;
use hvd_lab::trainer::batches::Batch;
use hvd_lab::trainer::device::{self, Wish};
use hvd_lab::trainer::distributed::{AllreduceOptions, DistributedOptimizer, FUSION_THRESHOLD_MB, broadcast_told};
use hvd_lab::trainer::evaluate::MetricSums;
use hvd_lab::trainer::model::{self, Dropout, Mode, Model};
use hvd_lab::trainer::nvcnn::{Args, config_report, stall_limits};
use hvd_lab::trainer::optimizer::{Nesterov, Optimizer};
use hvd_lab::trainer::pipeline::{Cropping, Dct, Decoding, Operations, Order, Pipeline, Settings, View};
use hvd_lab::trainer::pipeline::{check_size, compare_transforms};
use hvd_lab::trainer::random::{Purpose, stream};
use hvd_lab::trainer::report::Reporter;
use hvd_lab::trainer::startup;

/// What the program draws where no photos are given.
const DRAWN: Photos = Photos { images: 64, classes: 4, width: 160, height: 120, seed: 1 };
/// Photos that are decoded with both cosine transforms, to compare them.
const COMPARED: usize = 16;

/// A small network for handwritten digits. On photos it is quick, and not good.
static LENET: Definition =
    Definition { name: "lenet", input: InputShape { channels: 3, height: 28, width: 28 }, classes: 1000, features: lenet };

fn lenet(net: &mut Builder, images: Value) -> Value {
    let x = net.conv(images, 32, side(5));
    let x = net.max_pool(x, side(2).stride(2).valid());
    let x = net.conv(x, 64, side(5));
    let x = net.max_pool(x, side(2).stride(2).valid());
    let x = net.flatten(x);
    net.fully_connected(x, 512)
}

// TODO: Change 1: AlexNet, written down like LeNet above. Its images have 227x227 pixels, and it has 1000 classes.
// nvcnn: x = net.conv(x, 64, (11,11), (4,4), 'VALID'); x = net.pool(x, 'MAX', (3,3))
//        x = net.conv(x, 192, (5,5)); x = net.pool(x, 'MAX', (3,3))
//        x = net.conv(x, 384, (3,3)); x = net.conv(x, 256, (3,3)); x = net.conv(x, 256, (3,3)); x = net.pool(x, 'MAX', (3,3))
//        x = net.flatten(x); x = net.fully_connected(x, 4096); x = net.dropout(x)
//        x = net.fully_connected(x, 4096); x = net.dropout(x)
// There, pool has a stride of 2 and is 'VALID', and dropout drops half, unless they are told otherwise.

/// A model by its name, and the learning rate that it begins with.
fn known(name: &str) -> anyhow::Result<(&'static Definition, f64)> {
    if name == "lenet" {
        return Ok((&LENET, 0.001));
    }

    // TODO: Change 1, second half: the name of your model. Its rate is 0.03.
    // nvcnn: elif model_name == 'alexnet': height, width = 227, 227; model_func = inference_alexnet_owt

    anyhow::bail!("Invalid model type: {name}")
}

/// What is done to a photo before the model sees it: it is decoded, and a random part of it is resized.
fn operations(size: usize) -> Operations {
    // TODO: Change 2: decode with the accurate cosine transform.
    // nvcnn: tf.image.decode_jpeg(imgdata, channels=3, fancy_upscaling=False, dct_method='INTEGER_ACCURATE')
    let decoding = Decoding { dct: Dct::Fast, fancy_upsampling: false };

    // TODO: Change 3: mirror half of the photos. `flip` is the chance that a photo is mirrored.
    // nvcnn: image = tf.image.random_flip_left_right(image)
    let view = View::Train { cropping: Cropping::default(), flip: 0.0, colour: false };

    Operations { side: size, decoding, view, ..Operations::default() }
}

/// nvcnn's sync(): every rank takes the root's weights and momentum.
#[allow(dead_code)] // until change 4 calls it
fn sync(comm: &dyn Communicator, model: &mut dyn Model, optimizer: &mut dyn Optimizer, report: &Reporter) -> anyhow::Result<()> {
    report.event(Event::Broadcast(broadcast_told(comm, model, optimizer)?));
    Ok(())
}

fn main() -> ExitCode {
    let launched = Instant::now();
    let (args, spec) = match Args::read(std::env::args_os()) {
        Ok((args, _)) if args.build_info => return startup::print_build_info(),
        Ok(read) => read,
        Err(stop) => return startup::refuse_flags(&stop),
    };
    device::keep_freed_memory();
    let warnings = Reporter::new(comm::launched_index(), args.events);
    let comm = match comm::connect(true, stall_limits(), move |message| warnings.warning(message)) {
        Ok(comm) => comm,
        Err(error) => return startup::refuse(&error),
    };
    let mut report = Reporter::new(comm::launched_index(), args.events);
    report.set_verbose(comm.topology().is_root());
    match train(&spec, &*comm, &report, launched) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report.fatal("training", &format!("{error:#}"));
            comm.abort(startup::exit_code(&error))
        }
    }
}

fn train(spec: &NvcnnSpec, comm: &dyn Communicator, report: &Reporter, launched: Instant) -> anyhow::Result<()> {
    let (process, topology) = (comm::launched_index(), comm.topology());
    let placement = device::place(&topology, Wish { no_gpu: spec.no_cuda, as_launched: false, threads: None });
    startup::introduce(comm, &placement, report)?;
    let (definition, rate) = known(&spec.model.to_string())?;
    let spec = &NvcnnSpec { learning_rate: spec.learning_rate.or(Some(rate)), ..spec.clone() };

    // The photos, and the threads that prepare them while the model trains.
    let photos: Arc<dyn ImageSource> = match &spec.data_dir {
        Some(folder) => images::open(folder.as_ref(), Part::Train, definition.classes, spec.bad_records)?.source.into(),
        None => Arc::new(DRAWN.in_memory()?),
    };
    let order = Order {
        images: photos.len(),
        rank: topology.rank.0,
        ranks: topology.size.0,
        seed: spec.seed,
        batch_size: spec.batch_size,
        shuffle_buffer: photos.len(),
    };
    check_size(&order)?;
    let schedule = Schedule::new(Some(order.steps_per_epoch()), spec.num_batches, spec.num_epochs);
    if topology.is_root() {
        report.event(Event::Transforms(compare_transforms(&*photos, COMPARED)?));
    }
    let input = ModelSpec::Named(NamedSpec::of(definition)).input_at(spec.image_size).map_err(anyhow::Error::msg)?;
    let settings = Settings {
        operations: operations(input.height),
        threads: spec.threads.unwrap_or(1),
        prefetch: 2,
        seed: spec.seed,
        process,
        bad: spec.bad_records,
        once: false,
    };
    let mut pipeline = Pipeline::start(photos.clone(), order.train(0, schedule.epochs()), settings)?;

    // The model, whose weights each rank draws by itself, and Nesterov's momentum on gradients that are averaged over the ranks.
    let mut weights = stream(spec.seed, process, 0, Purpose::Weights);
    let mut model = model::build_at(ModelSpec::Named(NamedSpec::of(definition)), input, &mut weights, placement.device);
    let nesterov = Box::new(Nesterov::new(model.params(), MOMENTUM, WEIGHT_DECAY, None));
    let options =
        AllreduceOptions { fusion_threshold_bytes: FUSION_THRESHOLD_MB << 20, overlap: true, compression: Compression::None };
    let mut optimizer: Box<dyn Optimizer> = Box::new(DistributedOptimizer::new(nesterov, comm, model.params(), options));
    let plan = config_report(spec, schedule, Some(photos.len()), topology.size.0, 0, (&*model, &*optimizer));
    report.event(Event::Config(plan));
    report.evidence(|| startup::parameters_digest(DigestMoment::InitialParameters, 0, &*model));

    // TODO: Change 4: sync() is called nowhere. Call it where all ranks have their weights and none has trained yet: once.
    // nvcnn: trainer.sync(sess)

    report.evidence(|| startup::parameters_digest(DigestMoment::StartParameters, 0, &*model));

    TRAINING.iter().for_each(|line| report.line(line));
    let decay = schedule.decay(spec.rate(topology.size.0));
    let (began, mut average, mut sums) = (Instant::now(), MovingAverage::default(), MetricSums::new(placement.device));
    for step in 0..schedule.steps {
        let since = Instant::now();
        // TODO: Change 5: what does sync() cost inside the loop? Call it in every second step, to compare these with the others.
        // nvcnn: trainer.sync(sess)

        let Some(ready) = pipeline.next_batch()? else { break };
        let batch = Batch::of_planes(placement.device, ready.side, &ready.images, &ready.labels);
        let mut dropout = Dropout::new(model.dropout_rate(), stream(spec.seed, process, step, Purpose::Dropout));
        let scores = model.forward(&batch.images, Mode::Training(&mut dropout));
        let loss = scores.cross_entropy_for_logits(&batch.labels);
        AccumulationStep::at(0, 1, 1).backward(&loss, model.params_mut(), &mut *optimizer);
        let gradients = optimizer.synchronize(model.params())?;
        let lr = decay.rate(step);
        optimizer.step(model.params_mut(), &gradients, lr);
        sums.add(&scores, &batch, &loss);
        let loss = loss.double_value(&[]);
        let (epoch, within) = (step / schedule.steps_per_epoch, step % schedule.steps_per_epoch);
        report.event(Event::Step { epoch, batch: within, lr, loss });
        let images_per_sec = (spec.batch_size * topology.size.0) as f64 / since.elapsed().as_secs_f64();
        report.line(&row(step + 1, epoch + 1, images_per_sec, average.take(loss), lr));
        anyhow::ensure!(loss.is_finite(), "the loss is {loss} at step {}: lower the learning rate", step + 1);
        if step + 1 == schedule.steps || within + 1 == schedule.steps_per_epoch {
            let trained = std::mem::replace(&mut sums, MetricSums::new(placement.device)).read();
            let seconds = began.elapsed().as_secs_f64();
            report.event(Event::Epoch(EpochReport {
                epoch: epoch + 1,
                train: trained.metrics(),
                // nvcnn looks at no validation image while it trains.
                validation: Metrics { loss: f64::NAN, accuracy: f64::NAN },
                averaged: None,
                lr,
                batches: within + 1,
                images: trained.images,
                images_per_sec,
                cumulative_seconds: seconds,
                phases: PhaseSeconds::from([(Phase::Training, seconds)]),
            }));
        }
    }
    report.evidence(|| startup::parameters_digest(DigestMoment::EpochParameters, schedule.epochs(), &*model));
    let prepared = pipeline.report();
    report.line(&format!("# pipeline of rank {}: {prepared}", topology.rank.0));
    report.event(Event::Pipeline(prepared));
    comm.barrier()?;
    report.event(startup::finished(schedule.epochs(), began.elapsed().as_secs_f64(), launched));
    Ok(())
}
