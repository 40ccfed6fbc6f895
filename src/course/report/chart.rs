//! The runs of a report, and what more ranks gained: runs of the same work against the one with the fewest ranks.
//!
//! Never compares what is not comparable: another model or other images, or ranks that do not share work and gradients.

use serde::{Deserialize, Serialize};

use super::{Private, RunRow};
use crate::domain::run::RunSpec;
use crate::domain::speedup::compare;
use crate::domain::step::Step;
use crate::domain::units;
use crate::runs::{RunId, RunSummary};

/// Speed-up over ranks, for the work that was tried with the most numbers of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// What all its runs trained.
    pub work: String,
    pub baseline: RunId,
    /// The newest run of each number of ranks, fewest first; the first is the baseline.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    pub np: usize,
    pub run: RunId,
    pub images_per_sec: f64,
    pub speedup: f64,
    /// What as many ranks would gain if they cost nothing.
    pub ideal: f64,
}

/// Rows of all runs that can be read, and the chart if there are two numbers of ranks to compare.
pub fn run_rows(runs: &[RunSummary], private: &Private) -> (Vec<RunRow>, Option<Chart>) {
    let rows = runs.iter().filter_map(|run| row(run, runs, private)).collect();
    let charts = runs.iter().rev().filter_map(|run| chart(run, runs));
    // Of equal ones the newest, which comes first.
    let best = charts.reduce(|best, other| if other.bars.len() > best.bars.len() { other } else { best });
    (rows, best)
}

/// Ranks that share neither work nor gradients are several trainings, however many images they count.
fn is_parallel(spec: &RunSpec) -> bool {
    let shared = [Step::DistributedOptimizer, Step::FewerSteps];
    spec.np == 1 || shared.iter().all(|step| spec.steps.is_effective(*step))
}

/// What must be the same for throughput to be comparable.
fn work(run: &RunSummary) -> Option<String> {
    let record = run.record.as_ref().filter(|record| is_parallel(&record.spec))?;
    let spec = &record.spec;
    let images = spec.train_images.map_or("all".to_owned(), |images| images.to_string());
    let flags = spec.trainer_flags.join(" ");
    let flags = if flags.is_empty() { flags } else { format!(", {flags}") };
    Some(format!("{}, {images} images of {}, batch {} a rank{flags}", spec.model, record.data_label, spec.batch_size))
}

/// Runs of the same work that have trained an epoch.
fn alike<'a>(run: &RunSummary, runs: &'a [RunSummary]) -> Vec<&'a RunSummary> {
    let Some(wanted) = work(run) else { return Vec::new() };
    let is_alike = |other: &&RunSummary| other.figures.images_per_sec.is_some() && work(other).as_ref() == Some(&wanted);
    runs.iter().filter(is_alike).collect()
}

/// Fewest ranks, then the newest.
fn baseline<'a>(alike: &[&'a RunSummary]) -> Option<&'a RunSummary> {
    alike.iter().copied().min_by_key(|run| (run.figures.np, std::cmp::Reverse(run.id)))
}

fn row(run: &RunSummary, runs: &[RunSummary], private: &Private) -> Option<RunRow> {
    let record = run.record.as_ref()?;
    let spec = &record.spec;
    let baseline = run.figures.images_per_sec.and_then(|_| baseline(&alike(run, runs)));
    let gained = baseline.map(|baseline| compare(&run.figures, &baseline.figures)).unwrap_or_default();
    Some(RunRow {
        run: run.id,
        name: record.name.as_deref().map(|name| private.clean(name)),
        date: units::date(record.created_s),
        state: run.status.state.name().to_owned(),
        np: spec.np,
        steps: spec.steps.to_string(),
        model: spec.model.to_string(),
        images: record.data_label.clone(),
        epochs: run.last_epoch,
        epochs_asked: spec.epochs,
        images_per_sec: run.figures.images_per_sec,
        baseline: baseline.map(|baseline| baseline.id),
        speedup: gained.speedup,
        scaling_efficiency: gained.scaling_efficiency,
        accuracy: run.test.or(run.validation).map(|metrics| metrics.accuracy),
        training_seconds: run.training_seconds,
        seconds_to_target: run.figures.seconds_to_target,
    })
}

fn chart(run: &RunSummary, runs: &[RunSummary]) -> Option<Chart> {
    let alike = alike(run, runs);
    let baseline = baseline(&alike)?;
    let mut bars: Vec<Bar> = Vec::new();
    for run in alike.iter().rev() {
        let np = run.figures.np;
        let gained = compare(&run.figures, &baseline.figures).speedup;
        if let (Some(images_per_sec), Some(speedup)) = (run.figures.images_per_sec, gained)
            && !bars.iter().any(|bar| bar.np == np)
        {
            bars.push(Bar { np, run: run.id, images_per_sec, speedup, ideal: np as f64 / baseline.figures.np.max(1) as f64 });
        }
    }
    bars.sort_by_key(|bar| bar.np);
    (bars.len() > 1).then_some(Chart { work: work(run)?, baseline: baseline.id, bars })
}
