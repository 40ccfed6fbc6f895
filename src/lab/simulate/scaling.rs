//! A simulation at many sizes: what each gives and costs, where the knee is, and what bounds it.

use serde::Serialize;

use super::engine::Method;
use super::step::{Bound, Simulation};

/// Ranks that anybody simulates: beyond every published result.
pub const MAX_RANKS: usize = 100_000;
/// Powers of two that are searched for the knee.
const KNEE_POWERS: u32 = 15;
/// Beyond the knee twice the ranks give less than this many times the images.
const WORTH_DOUBLING: f64 = 1.6;
/// A part of a step that is worth a name.
const WORTH_NAMING: f64 = 0.005;

/// One size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Size {
    pub ranks: usize,
    pub step_s: f64,
    /// Of all ranks together.
    pub images_per_s: f64,
    pub speedup: f64,
    /// 1 of one rank.
    pub efficiency: f64,
    /// Communication that no computation hides, in a step.
    pub exposed_s: f64,
    pub epoch_s: f64,
    /// Of an epoch.
    pub gpu_hours: f64,
    pub cost: Option<f64>,
    /// What would shorten the step most if it cost nothing; none where that is little.
    pub bound: Option<Bound>,
}

/// The same with one thing changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    pub name: String,
    pub method: Method,
    /// At each of [`Scaling::compared`].
    pub efficiency: Vec<f64>,
}

/// Where twice the ranks are no longer worth it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Knee {
    pub ranks: usize,
    pub bound: Option<Bound>,
}

/// A simulation at many sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    pub sizes: Vec<Size>,
    /// None up to 32,768 ranks.
    pub knee: Option<Knee>,
    /// Sizes at which ways to send gradients are compared.
    pub compared: Vec<usize>,
    pub variants: Vec<Variant>,
}

impl Scaling {
    /// Ranks from 1 to [`MAX_RANKS`]; images of an epoch; the price of a GPU for an hour.
    pub fn new(simulation: &Simulation, ranks: &[usize], epoch_images: usize, price: Option<f64>) -> Scaling {
        let sizes = ranks.iter().map(|ranks| size(simulation, *ranks, epoch_images, price)).collect();
        let compared = compared(ranks);
        let variants = variants(simulation, &compared);
        Scaling { sizes, knee: knee(simulation), compared, variants }
    }
}

fn size(simulation: &Simulation, ranks: usize, epoch_images: usize, price: Option<f64>) -> Size {
    let step = simulation.step(ranks);
    let step_s = step.total_s();
    let images = (ranks * simulation.batch) as f64;
    // A rank that has nothing to do in the last step waits in it.
    let steps = (epoch_images as f64 / images).ceil().max(1.0);
    let epoch_s = steps * step_s;
    let gpu_hours = epoch_s * ranks as f64 / 3600.0;
    let efficiency = simulation.step(1).total_s() / step_s;
    Size {
        ranks,
        step_s,
        images_per_s: images / step_s,
        speedup: efficiency * ranks as f64,
        efficiency,
        exposed_s: step.exposed_s,
        epoch_s,
        gpu_hours,
        cost: price.map(|price| price * gpu_hours),
        bound: bound(simulation, ranks),
    }
}

fn bound(simulation: &Simulation, ranks: usize) -> Option<Bound> {
    let step_s = simulation.step(ranks).total_s();
    let gain = |bound: Bound| step_s - simulation.step_without(ranks, Some(bound)).total_s();
    let gains = Bound::ALL.map(|bound| (gain(bound), bound));
    let most = gains.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
    most.filter(|(gain, _)| *gain > WORTH_NAMING * step_s).map(|(_, bound)| bound)
}

fn knee(simulation: &Simulation) -> Option<Knee> {
    let mut before = 1.0;
    (1..=KNEE_POWERS).find_map(|power| {
        let efficiency = simulation.efficiency(1 << power);
        let gained = 2.0 * efficiency / before;
        before = efficiency;
        (gained < WORTH_DOUBLING).then(|| Knee { ranks: 1 << (power - 1), bound: bound(simulation, 1 << power) })
    })
}

/// At most four of the sizes, spread over them, with the last.
fn compared(ranks: &[usize]) -> Vec<usize> {
    let many: Vec<usize> = ranks.iter().copied().filter(|ranks| *ranks > 1).collect();
    let columns = many.len().min(4);
    (1..=columns).map(|column| many[column * many.len() / columns - 1]).collect()
}

fn variants(simulation: &Simulation, compared: &[usize]) -> Vec<Variant> {
    let asked = simulation.method;
    let toggled = [
        ("as asked", asked),
        (if asked.fusion { "without fusion" } else { "with fusion" }, Method { fusion: !asked.fusion, ..asked }),
        (if asked.overlap { "without overlap" } else { "with overlap" }, Method { overlap: !asked.overlap, ..asked }),
        (if asked.fp16 { "without fp16" } else { "with fp16" }, Method { fp16: !asked.fp16, ..asked }),
        (if asked.hierarchical { "flat ring" } else { "hierarchical" }, Method { hierarchical: !asked.hierarchical, ..asked }),
    ];
    let variant = |(name, method): (&str, Method)| {
        let changed = Simulation { method, ..simulation.clone() };
        let efficiency = compared.iter().map(|ranks| changed.efficiency(*ranks)).collect();
        Variant { name: name.to_owned(), method, efficiency }
    };
    toggled.into_iter().map(variant).collect()
}
