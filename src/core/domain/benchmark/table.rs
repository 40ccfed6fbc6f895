//! The settings of a benchmark: its flags, its form and its argument vector, in this order.

use super::choices::{Binding, NumberFormat, Style, UpdateRule};
use super::settings::BenchmarkSpec;
use crate::domain::model::ModelSpec;
use crate::domain::setting::Values::{List, Scale};
use crate::domain::setting::scales::{COUNTS, COUNTS_FROM_1, IMAGE_SIZES, POWERS};
use crate::domain::setting::{Setting, Value};

type Row = Setting<BenchmarkSpec>;

// Of a training on photos as well.

pub const fn image_size<W: Clone + 'static>(field: fn(&mut W) -> &mut dyn Value) -> Setting<W> {
    let help = "Height and width of the images, if the model can take other sizes than its own";
    Setting::new("image-size", "PIXELS", help, field).stepped(Scale(IMAGE_SIZES)).or("the model's own")
}

pub const fn precision<W: Clone + 'static>(field: fn(&mut W) -> &mut dyn Value) -> Setting<W> {
    let help = "What convolutions compute in: fp32, tf32 (GPUs) or bf16";
    Setting::new("precision", "FORMAT", help, field).stepped(List(NumberFormat::names))
}

pub const fn no_cuda<W: Clone + 'static>(field: fn(&mut W) -> &mut dyn Value) -> Setting<W> {
    Setting::switch("no-cuda", "Stay on the CPU even if there are GPUs", field)
}

pub static BENCHMARK_SETTINGS: [Row; 17] = [
    // Each style has its own counts, which the rows below may change.
    Row::new("style", "NAME", "Whose lines to print, and whose flags and defaults to take: horovod, tf-cnn, nvcnn or json", |spec| {
        &mut spec.style
    })
    .stepped(List(Style::names))
    .then(BenchmarkSpec::take_counts_of_style),
    Row::new(
        "model",
        "NAME",
        "The model to train, such as resnet50, alexnet, vgg16 or wrn-16-4; a wrong name lists them all",
        |spec| &mut spec.model,
    )
    .short('m')
    .stepped(List(ModelSpec::choices)),
    image_size(|spec| &mut spec.image_size),
    Row::new(
        "data-dir",
        "DIR",
        "A folder with photos (TFRecord files, or JPEGs by class), or for models of 28x28 images the four files of Fashion-MNIST or \
         the word `generated`: real images instead of one synthetic batch",
        |spec| &mut spec.data_dir,
    )
    .or("none: one synthetic batch"),
    Row::new("batch-size", "N", "Images per batch on each rank [default: 32; 64 with tf-cnn and nvcnn]", |spec| {
        &mut spec.batch_size
    })
    .short('b')
    .stepped(Scale(POWERS)),
    Row::new("num-warmup-batches", "N", "Batches that run first and do not count [default: 10; 20 with nvcnn]", |spec| {
        &mut spec.warmup_batches
    })
    .stepped(Scale(COUNTS)),
    Row::new("num-batches-per-iter", "N", "Batches that are timed together [default: 10; 1 with tf-cnn and nvcnn]", |spec| {
        &mut spec.batches_per_iteration
    })
    .stepped(Scale(COUNTS_FROM_1)),
    Row::new("num-iters", "N", "How many times these batches are timed [default: 10]", |spec| &mut spec.iterations)
        .stepped(Scale(COUNTS_FROM_1)),
    Row::new(
        "display-every",
        "N",
        "Batches from one row to the next with tf-cnn and nvcnn [default: 10; 1 with nvcnn]",
        |spec| &mut spec.display_every,
    ),
    precision(|spec| &mut spec.precision),
    Row::new("optimizer", "NAME", "sgd, or momentum for SGD with a momentum of 0.9 [default: sgd; momentum with nvcnn]", |spec| {
        &mut spec.optimizer
    })
    .stepped(List(UpdateRule::names)),
    Row::switch("fp16-allreduce", "Send gradients as float16", |spec| &mut spec.fp16_allreduce),
    no_cuda(|spec| &mut spec.no_cuda),
    Row::switch("cuda", "Refuse to measure if there is no GPU", |spec| &mut spec.cuda),
    Row::new("num-intra-threads", "N", "Threads inside one operation of a rank [default: 1, or OMP_NUM_THREADS]", |spec| {
        &mut spec.threads
    })
    .stepped(Scale(POWERS))
    .or("1, or OMP_NUM_THREADS"),
    Row::new(
        "bind",
        "UNIT",
        "Which cores a rank gets: share (an equal share of them), none, hwthread, core, l3cache, numa or package",
        |spec| &mut spec.bind,
    )
    .stepped(List(Binding::names)),
    Row::new("mem-node", "NODE", "Take memory from this NUMA node as long as it has free memory", |spec| &mut spec.mem_node)
        .or("any"),
];
