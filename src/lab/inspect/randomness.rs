//! Random augmentation differs between the workers of a rank, and between ranks.

use std::collections::BTreeSet;

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, differ, known, line as line_of};
use crate::domain::event::{PassReport, WorkersReport};

const TOPIC: Topic = Topic::Randomness;
const COST: &str = "different samples are changed in the same way, so augmentation is worth less than it looks";

/// States of all workers of one kind of random numbers, and whether they are drawn from.
type Kind = fn(&WorkersReport) -> (&[String], bool);

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let all: Vec<(usize, &WorkersReport)> = seen.of_all::<WorkersReport>().collect();
    let kinds: [(&str, &str, &str, Kind); 3] = [
        ("NumPy's", "seed of numpy", "numpy.random.seed(seed + rank)", |report| (&report.numpy, report.draws_numpy)),
        ("Python's", "seed of python", "random.seed(seed + rank)", |report| (&report.python, report.draws_python)),
        ("PyTorch's", "seed of torch", "torch.manual_seed(seed + rank)", |report| (&report.torch, report.draws_torch)),
    ];
    for (whose, told, seed, kind) in kinds {
        for (rank, report) in &all {
            let (states, draws) = kind(report);
            let distinct: BTreeSet<&String> = states.iter().filter(|state| !state.is_empty()).collect();
            // A worker that has loaded no NumPy, or got no batch, has no state.
            let known_states = states.iter().filter(|state| !state.is_empty()).count();
            if draws && distinct.len() < known_states {
                return vec![TOPIC.wrong(
                    format!(
                        "{} workers of rank {rank} begin with the same state of {whose} random numbers, and draw from it",
                        states.len()
                    ),
                    known(&report.made),
                    COST,
                    if report.is_own {
                        "give it a seed of its worker: in worker_init_fn make it anew with torch.initial_seed() % 2**32, and no fixed number"
                    } else {
                        "seed each worker in worker_init_fn with torch.initial_seed() % 2**32, and no fixed number"
                    },
                )];
            }
        }
        let mut loaders: BTreeSet<usize> = all.iter().map(|(_, report)| report.loader).collect();
        loaders.retain(|loader| all.iter().filter(|(_, report)| report.loader == *loader).count() > 1);
        for loader in loaders {
            let own = || all.iter().filter(|(_, report)| report.loader == loader).map(|(_, report)| *report);
            let states = || own().filter_map(|report| kind(report).0.first().filter(|state| !state.is_empty()));
            if own().all(|report| kind(report).1) && states().count() > 1 && !differ(states()) {
                // A loader gives its workers all three states, from a number that it draws from PyTorch's.
                let has_workers = seen.reports::<PassReport>().any(|pass| pass.loader == loader && pass.workers > 0);
                let seed = if has_workers { kinds[2].2 } else { seed };
                let of_flow = seen.told("seed of an image generator").and_then(|report| report.settings.first());
                let remedy = if own().any(|report| report.is_own) {
                    "add the rank to the seed of the data set's own generator".to_owned()
                } else if let Some(given) = of_flow {
                    format!("add the rank to the seed: seed={given} + hvd.rank()")
                } else if seen.is_keras() {
                    format!("add the rank to the seed, after the model is made: {}", seed.replace("rank", "hvd.rank()"))
                } else if seen.is_accelerate() {
                    "give accelerate's set_seed device_specific=True".to_owned()
                } else if has_workers && seen.is_lightning() {
                    "give seed_everything workers=True, or add the rank to the seed in worker_init_fn".to_owned()
                } else {
                    format!("add the rank to the seed, after the model is made, and in worker_init_fn if that sets one: {seed}")
                };
                let seeded = seen.told_at(told).map_or(String::new(), |place| format!(" (seeded at {})", line_of(&place)));
                return vec![TOPIC.look(
                    format!("the samples of all ranks are drawn from the same state of {whose} random numbers{seeded}"),
                    own().next().and_then(|report| known(&report.made)),
                    COST,
                    remedy,
                )];
            }
        }
    }
    if all.is_empty() { Vec::new() } else { TOPIC.ok("no two workers or ranks draw the same random numbers for their samples") }
}
