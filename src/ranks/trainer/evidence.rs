//! Evidence that the library itself sends to the lab, whatever the program around it reports.
//!
//! It never changes a number of the training. Without a lab that listens it does nothing.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tch::Tensor;

use super::digest::Digester;
use super::event_channel;
use super::params::{FlatTensors, to_vec};
use crate::domain::event::{DigestMoment, Event, EventLine, Observation, UpdateReport, is_told};
use crate::host;

/// How many numbers of a tensor, and images of a batch, are sent as they are.
const SAMPLES: usize = 32;

/// The index of this process, once a lab listens.
static LISTENING: OnceLock<usize> = OnceLock::new();

/// From now on evidence is sent.
pub(super) fn listen(process: usize) {
    // A second reporter of this process has the same index.
    let _ = LISTENING.set(process);
}

/// Sends a piece of evidence.
pub(super) fn tell(seen: impl FnOnce() -> Observation) {
    event(|| Event::Observed(seen()));
}

/// Sends an event.
pub(super) fn event(make: impl FnOnce() -> Event) {
    if let Some(process) = LISTENING.get() {
        event_channel::send(&EventLine { time_s: host::now_s(), process: *process, event: make() });
    }
}

/// Updates that this process has made.
static UPDATES: AtomicUsize = AtomicUsize::new(0);

/// One update of the weights, which `apply` makes.
pub(super) fn update(
    optimizer: &str,
    params: &mut FlatTensors,
    gradients: &Tensor,
    lr: f64,
    apply: impl FnOnce(&mut FlatTensors),
) {
    let Some(update) = next_told(&UPDATES) else { return apply(params) };
    let [own, applied, before] = [&params.gradients, gradients, &params.flat].map(sample);
    let norms = norms(params, gradients);
    apply(params);
    let after = sample(&params.flat);
    tell(|| {
        Observation::Update(UpdateReport { update, optimizer: optimizer.to_owned(), lr, own, applied, before, after, norms })
    });
}

/// The training of an epoch is over.
pub(super) fn counted() {
    tell(|| Observation::Counted { updates: UPDATES.load(Ordering::Relaxed) });
}

/// For each number of a sample the length of its whole tensor in `flat`, which lies as the parameters do. None as in [`sample`].
///
/// # Sync point
/// Waits for the device.
fn norms(params: &FlatTensors, flat: &Tensor) -> Vec<f32> {
    let mut known: BTreeMap<usize, f32> = BTreeMap::new();
    let of = |place: i64| {
        let at = params.segments.partition_point(|segment| segment.start <= place).checked_sub(1)?;
        let norm = || tch::no_grad(|| params.segments[at].view(flat).norm().double_value(&[])) as f32;
        Some(*known.entry(at).or_insert_with(norm))
    };
    let norms: Option<Vec<f32>> = places(flat.numel()).into_iter().map(of).collect();
    norms.filter(|norms| norms.iter().all(|norm| norm.is_finite())).unwrap_or_default()
}

/// The images of one training batch.
pub(super) fn picks(images: &[u32]) {
    static BATCHES: AtomicUsize = AtomicUsize::new(0);
    if let Some(batch) = next_told(&BATCHES) {
        tell(|| Observation::Picks { batch, images: images.iter().copied().take(SAMPLES).collect() });
    }
}

/// Counts on, and returns the number if the lab listens and this one is reported.
fn next_told(counter: &AtomicUsize) -> Option<usize> {
    LISTENING.get()?;
    Some(counter.fetch_add(1, Ordering::Relaxed)).filter(|number| is_told(*number))
}

/// Evidence whether ranks hold the same parameters. The same digest as a checkpoint's.
pub(super) fn parameters(moment: DigestMoment, epoch: usize, params: &FlatTensors) -> Event {
    // By name, as a file keeps them.
    let by_name: BTreeMap<_, _> = params.segments.iter().map(|segment| (&segment.name, segment)).collect();
    let mut digester = Digester::default();
    by_name.values().for_each(|segment| digester.add(&to_vec(&segment.view(&params.flat).contiguous())));
    Event::Digest { moment, epoch, digest: digester.short(), sample: sample(&params.flat) }
}

/// Some numbers, evenly spaced, at the same places on all ranks. None of them if one is NaN or infinite: JSON cannot write
/// it.
///
/// # Sync point
/// Waits for the device.
pub(super) fn sample(flat: &Tensor) -> Vec<f32> {
    let picked = tch::no_grad(|| flat.index_select(0, &Tensor::from_slice(&places(flat.numel())).to_device(flat.device())));
    let numbers = to_vec(&picked);
    if numbers.iter().all(|number| number.is_finite()) { numbers } else { Vec::new() }
}

/// The places of the samples among so many numbers.
fn places(numbers: usize) -> Vec<i64> {
    let places = SAMPLES.min(numbers);
    (0..places).map(|place| ((2 * place + 1) * numbers / (2 * places)) as i64).collect()
}
