//! When the figures of two runs can be compared: the one law of the table of runs, the comparison, the exports and the report.
//!
//! Never reads a file. It returns what a run gained, or the reason why that cannot be said.

use std::fmt;

use super::{RunRecord, RunSummary};
use crate::domain::benchmark::{Style, UpdateRule};
use crate::domain::images::InputShape;
use crate::domain::job::Workload;
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::{Dct, NvcnnSpec};
use crate::domain::speedup::{self, Comparison, Figures};
use crate::domain::step::Step;

/// Trainer flags that leave the work as it is: they say how it is computed, how gradients travel, and what is written down.
const SAME_WORK: &str = "--precision --fusion-threshold-mb --no-overlap --compression --timeline --stall-warning-secs \
                         --stall-shutdown-secs --log-dir --seed";

/// What has to be the same for throughput to be comparable.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Model(Box<ModelWork>),
    /// The words of the user's own program, without the number of ranks.
    Own(Vec<String>),
}

/// What every rank does for one image, and on which images.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelWork {
    /// How a benchmark comes to its images a second: its style, warm-up batches and batches an iteration. `None` of a training.
    timing: Option<(Style, usize, usize)>,
    model: ModelSpec,
    input: InputShape,
    data: String,
    images: Option<usize>,
    batch_size: usize,
    /// In alphabetical order.
    flags: Vec<String>,
}

/// The work that the ranks of a run share, according to its record.
///
/// # Errors
/// The reason why there is none, as a part of a sentence.
pub fn work(run: &RunSummary) -> Result<Work, &'static str> {
    let record = run.record.as_ref().ok_or("its record cannot be read")?;
    unshared(record).map_or(Ok(()), |[why, _]| Err(why))?;
    Work::of(record).map_err(|[why, _]| why)
}

/// The run that others are compared with where nobody has named one: of those with the fewest ranks one that had the machine to
/// itself, then the oldest.
pub fn baseline<'a>(runs: impl Iterator<Item = &'a RunSummary>) -> Option<&'a RunSummary> {
    runs.min_by_key(|run| (run.figures.np == 0, run.figures.np, run.disturbed().is_some(), run.id))
}

/// What `run` gained over `baseline`, or why that cannot be said.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn gained(run: &RunSummary, baseline: &RunSummary) -> Result<Comparison, &'static str> {
    gained_so_far((run, &run.figures), (baseline, &baseline.figures))
}

/// [`gained`], by newer figures than the summaries of the run and of the baseline have.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn gained_so_far(
    (run, figures): (&RunSummary, &Figures),
    (baseline, before_figures): (&RunSummary, &Figures),
) -> Result<Comparison, &'static str> {
    let record = run.record.as_ref().ok_or("its record cannot be read")?;
    let after = Work::of(record).or_else(|_| work(run))?;
    let with = baseline.record.as_ref().ok_or("the baseline's record cannot be read")?;
    let before = Work::of(with).map_err(|[_, why]| why)?;
    if run.id != baseline.id {
        after.same_as(&before)?;
        work(run)?;
        unshared(with).map_or(Ok(()), |[_, why]| Err(why))?;
        if before_figures.np == 0 || figures.np == 0 {
            return Err("how many ranks it had is not known");
        }
        if before_figures.np > figures.np {
            return Err("the baseline has more ranks");
        }
    }
    let gained = speedup::compare(figures, before_figures);
    // Sooner at another target is no gain.
    let same_target = with.target_accuracy() == record.target_accuracy();
    Ok(Comparison { speedup_to_target: gained.speedup_to_target.filter(|_| same_target), ..gained })
}

/// Why a run that gained something has no scaling efficiency. What stands in parentheses may be left out.
pub fn no_efficiency(run: &RunSummary, baseline: &RunSummary, gained: &Comparison) -> Option<&'static str> {
    /// How it was computed, whatever the work was. The words are only compared.
    fn flags(run: &RunSummary) -> Option<String> {
        match &run.record.as_ref()?.request.spec.workload {
            Workload::Training(of) => Some(format!("{:?}", (of.precision, &of.trainer_flags))),
            Workload::Benchmark(of) => Some(format!("{:?}", (of.precision, of.threads, of.bind, of.fp16_allreduce, of.no_cuda))),
            Workload::Nvcnn(of) => Some(format!("{:?}", (of.precision, of.threads, of.no_cuda))),
            Workload::Collectives(_) | Workload::Command(_) | Workload::Unknown(_) => None,
        }
    }
    match gained.is_beyond_ideal() {
        false => None,
        true if baseline.disturbed().is_some() => Some("over 100 %: other programs slowed the baseline down"),
        true if flags(run) != flags(baseline) => Some("over 100 %: not computed as the baseline was (trainer flags)"),
        true => Some("over 100 %: the baseline was too slow (other programs, a busy machine)"),
    }
}

/// Why the images of a run are not those of one training on so many ranks, however many it counts: of a run, and of the baseline. If its
/// attempts had different numbers of ranks, its time is no number of ranks' time; without some steps the ranks are several trainings.
fn unshared(record: &RunRecord) -> Option<[&'static str; 2]> {
    let mut sizes = record.np_of_attempts();
    let first = sizes.next();
    if sizes.any(|size| Some(size) != first) {
        return Some(["its number of ranks changed while it trained", "the baseline's number of ranks changed while it trained"]);
    }
    let lacks = |step| record.np() > 1 && record.training().is_some_and(|training| !training.steps.contains(step));
    let lacking = [Step::InitAndPin, Step::DistributedOptimizer, Step::FewerSteps].map(lacks);
    match lacking {
        [true, ..] => Some([
            "its ranks do not know of each other (step 1 is off)",
            "the baseline's ranks do not know of each other (step 1 is off)",
        ]),
        [_, true, true] => Some([
            "its ranks share neither images nor gradients (steps 3 and 5 are off)",
            "the baseline's ranks share neither images nor gradients (steps 3 and 5 are off)",
        ]),
        [_, true, _] => Some([
            "its ranks do not share gradients (step 3 is off)",
            "the baseline's ranks do not share gradients (step 3 is off)",
        ]),
        [_, _, true] => Some([
            "its ranks do not share the images of an epoch (step 5 is off)",
            "the baseline's ranks do not share the images of an epoch (step 5 is off)",
        ]),
        _ => None,
    }
}

impl Work {
    /// # Errors
    /// Why there is none: of a run, and of the baseline.
    fn of(record: &RunRecord) -> Result<Work, [&'static str; 2]> {
        let of_model = match &record.request.spec.workload {
            Workload::Command(command) => return Ok(Work::Own(command.work())),
            Workload::Training(training) => ModelWork {
                timing: None,
                model: training.model,
                input: training.model.input(),
                data: record.data_label.clone(),
                images: training.train_images,
                batch_size: training.batch_size,
                flags: flags(&training.trainer_flags),
            },
            Workload::Benchmark(benchmark) => ModelWork {
                // Two styles time alike, and only print something else.
                timing: Some(match benchmark.style {
                    Style::Json => (Style::Horovod, benchmark.warmup_batches, benchmark.batches_per_iteration),
                    style => (style, benchmark.warmup_batches, benchmark.batches_per_iteration),
                }),
                model: benchmark.model,
                input: benchmark.input(),
                data: benchmark.data_dir.clone().unwrap_or_else(|| "synthetic".into()),
                images: Some(benchmark.batch_size),
                batch_size: benchmark.batch_size,
                flags: match benchmark.optimizer {
                    UpdateRule::Sgd => Vec::new(),
                    UpdateRule::Momentum => vec![format!("--optimizer {}", benchmark.optimizer)],
                },
            },
            Workload::Nvcnn(nvcnn) if !nvcnn.eval => ModelWork {
                timing: None,
                model: nvcnn.model,
                input: nvcnn.input(),
                data: record.data_label.clone(),
                images: None,
                batch_size: nvcnn.batch_size,
                flags: of_photos(nvcnn),
            },
            Workload::Collectives(_) => {
                return Err(["measures collectives and trains nothing", "the baseline measures collectives and trains nothing"]);
            }
            Workload::Nvcnn(_) => {
                return Err(["tests a checkpoint and trains nothing", "the baseline tests a checkpoint and trains nothing"]);
            }
            Workload::Unknown(_) => {
                return Err(["no training that this version knows", "the baseline is not a training that this version knows"]);
            }
        };
        Ok(Work::Model(Box::new(of_model)))
    }

    fn same_as(&self, baseline: &Work) -> Result<(), &'static str> {
        match (self, baseline) {
            (Work::Model(own), Work::Model(baseline)) => own.same_as(baseline),
            (Work::Own(own), Work::Own(baseline)) if own == baseline => Ok(()),
            (Work::Own(_), Work::Own(_)) => Err("another command than the baseline"),
            (Work::Own(_), Work::Model(_)) => Err("an own program, and the baseline is the lab's"),
            (Work::Model(_), Work::Own(_)) => Err("the lab's program, and the baseline is an own one"),
        }
    }
}

impl ModelWork {
    fn same_as(&self, baseline: &ModelWork) -> Result<(), &'static str> {
        let (own, of_baseline) = (self.timing, baseline.timing);
        let differs = |what: fn((Style, usize, usize)) -> usize| own.map(what) != of_baseline.map(what);
        let differences = [
            (own.is_some() && of_baseline.is_none(), "a benchmark, and the baseline is a training"),
            (own.is_none() && of_baseline.is_some(), "a training, and the baseline is a benchmark"),
            (self.model != baseline.model, "other model than the baseline"),
            (self.input != baseline.input, "other image size than the baseline"),
            (self.data != baseline.data, "other data than the baseline"),
            (self.batch_size != baseline.batch_size, "other batch per rank than the baseline"),
            (self.images != baseline.images, "other number of images than the baseline"),
            (self.flags != baseline.flags, "other trainer flags than the baseline"),
            (differs(|(style, ..)| style as usize), "other style than the baseline, which times and averages in another way"),
            (differs(|(_, warmup, _)| warmup), "other number of warm-up batches than the baseline"),
            (differs(|(.., batches)| batches), "other number of batches timed together than the baseline"),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map_or(Ok(()), |(_, reason)| Err(reason))
    }
}

/// What is done to photos beside reading them, and to gradients beside adding them up.
fn of_photos(nvcnn: &NvcnnSpec) -> Vec<String> {
    let flags = [
        (nvcnn.larc().is_some(), "--larc-mode"),
        (nvcnn.dct == Dct::Accurate, "--dct accurate"),
        (nvcnn.no_distortions, "--no-distortions"),
        (nvcnn.distort_color, "--distort-color"),
    ];
    flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag.to_owned()).collect()
}

/// Each flag with its values, without those that leave the work as it is.
fn flags(words: &[String]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    for word in words.iter().flat_map(|word| word.split('=')) {
        match flags.last_mut() {
            Some(flag) if !word.starts_with("--") => *flag += &format!(" {word}"),
            _ => flags.push(word.to_owned()),
        }
    }
    flags.retain(|flag| SAME_WORK.split(' ').all(|same| flag.split(' ').next() != Some(same)));
    flags.sort_unstable();
    flags
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self {
            Work::Own(words) => return write!(f, "{}", words.join(" ")),
            Work::Model(work) => work,
        };
        let images = work.images.map_or("all".to_owned(), |images| images.to_string());
        match work.timing {
            Some(_) => write!(f, "benchmark of {} on images of {}, batch {} a rank", work.model, work.input, work.batch_size)?,
            None => write!(f, "{}, {images} images of {}, batch {} a rank", work.model, work.data, work.batch_size)?,
        }
        if work.flags.is_empty() { Ok(()) } else { write!(f, ", {}", work.flags.join(" ")) }
    }
}

#[cfg(test)]
#[path = "comparable_tests.rs"]
mod tests;
