//! The settings of a training on photos: its flags, its form and its argument vector, in this order.

use super::rules::LarcMode;
use super::settings::{BadRecords, Dct, NvcnnSpec};
use crate::domain::benchmark::table::{image_size, no_cuda, precision};
use crate::domain::model::ModelSpec;
use crate::domain::setting::Setting;
use crate::domain::setting::Values::{List, Scale};
use crate::domain::setting::scales::{COUNTS_FROM_1, POWERS};

const RATES: &[f64] = &[0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0];

type Row = Setting<NvcnnSpec>;

pub static PHOTO_SETTINGS: [Row; 25] = [
    Row::new("model", "NAME", "The model: resnet50, alexnet, vgg16, inception3, ...; a wrong name lists them all", |spec| {
        &mut spec.model
    })
    .short('m')
    .stepped(List(ModelSpec::choices)),
    image_size(|spec| &mut spec.image_size),
    Row::new(
        "data-dir",
        "DIR",
        "Folder with TFRecord files (train-*, validation-*) or with a folder of JPEGs for each class [default: synthetic images]",
        |spec| &mut spec.data_dir,
    )
    .or("none: synthetic images"),
    Row::new("batch-size", "N", "Images per batch on each rank", |spec| &mut spec.batch_size)
        .short('b')
        .stepped(Scale(POWERS)),
    Row::new("num-batches", "N", "Steps to train", |spec| &mut spec.num_batches)
        .stepped(Scale(COUNTS_FROM_1))
        .passed_on_if(|spec| spec.num_epochs.is_none()),
    Row::new("num-epochs", "N", "Passes over the images to train, instead of --num-batches", |spec| &mut spec.num_epochs)
        .stepped(Scale(COUNTS_FROM_1))
        .or("as many as the batches take"),
    Row::new("log-dir", "DIR", "Folder for checkpoints; training goes on from the newest one in it", |spec| &mut spec.log_dir)
        .or("none: no checkpoints"),
    Row::new(
        "timeline",
        "FILE",
        "Write what every rank and its image pipeline did and when, on one clock, as a Chrome trace (opens in Perfetto)",
        |spec| &mut spec.timeline,
    )
    .or("none"),
    Row::new("display-every", "N", "Steps from one row of the table to the next", |spec| &mut spec.display_every),
    Row::new("save-interval", "SECONDS", "Seconds between checkpoints; there is one at the end in any case", |spec| {
        &mut spec.save_interval_s
    }),
    Row::new("loss-scale", "FACTOR", "Multiply the loss by this before backward, and divide the gradients by it", |spec| {
        &mut spec.loss_scale
    }),
    Row::new(
        "larc-eta",
        "ETA",
        "Rates by layer (LARC): eta; without this and --larc-mode there are none [default with --larc-mode: 0.003]",
        |spec| &mut spec.larc_eta,
    )
    .or("no LARC"),
    Row::new(
        "larc-mode",
        "MODE",
        "clip: the rate of a layer is never above the schedule's. scale: it multiplies the schedule's [default with --larc-eta: clip]",
        |spec| &mut spec.larc_mode,
    )
    .stepped(List(LarcMode::names))
    .or("no LARC"),
    Row::new(
        "learning-rate",
        "RATE",
        "Learning rate of the first step, of all ranks together [default: 0.03 alexnet, batch x ranks / 1024 resnet50, ...]",
        |spec| &mut spec.learning_rate,
    )
    .stepped(Scale(RATES))
    .or("the model's own"),
    Row::switch("eval", "Test the newest checkpoint of --log-dir on the validation images, and train nothing", |spec| {
        &mut spec.eval
    }),
    precision(|spec| &mut spec.precision),
    Row::new("threads", "N", "Threads that decode images in one rank [default: its share of the cores]", |spec| &mut spec.threads)
        .stepped(Scale(POWERS))
        .or("the rank's share of the cores"),
    Row::new("dct", "HOW", "The decoder's cosine transform: fast, or accurate", |spec| &mut spec.dct)
        .stepped(List(Dct::names)),
    Row::new("shuffle-buffer", "N", "Images that wait to be drawn from [default: 10000, or all]", |spec| {
        &mut spec.shuffle_buffer
    })
    .or("10000, or all"),
    Row::new(
        "bad-records",
        "WHAT",
        "An image that cannot be used: stop, or skip (leave it out, and say at the end which)",
        |spec| &mut spec.bad_records,
    )
    .stepped(List(BadRecords::names)),
    Row::switch(
        "no-distortions",
        "Train on the middle of each image, instead of a random part that is mirrored by chance",
        |spec| &mut spec.no_distortions,
    ),
    Row::switch("distort-color", "Change brightness, saturation, hue and contrast at random", |spec| &mut spec.distort_color),
    Row::new("seed", "N", "Of weights, order and distortions", |spec| &mut spec.seed),
    no_cuda(|spec| &mut spec.no_cuda),
    Row::new("ranks-per-host", "N", "Act as if each host had so many ranks: local ranks begin again from 0 on each", |spec| {
        &mut spec.ranks_per_host
    })
    .or("as launched"),
];
