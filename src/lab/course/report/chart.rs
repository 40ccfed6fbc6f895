//! The runs of a report, and what more ranks gained: runs of the same work against the one with the fewest ranks.
//!
//! `runs` decides which runs are comparable. Runs that only judged a program are too short to compare.

use serde::{Deserialize, Serialize};

use super::private::Private;
use crate::domain::benchmark::NumberFormat;
use crate::domain::job::{RunSpec, Workload};
use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::domain::units;
use crate::runs::busy_host::{in_one_line, marked};
use crate::runs::{RunId, RunSummary, Trial, gained, work};

/// Speed-up over ranks, for the work that was tried with the most numbers of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The training that all its runs share.
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
    /// The gain of this many ranks without any overhead.
    pub ideal: f64,
}

/// One run of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    pub run: RunId,
    pub name: Option<String>,
    pub date: String,
    pub state: String,
    pub np: usize,
    /// Such as 1-4.
    pub steps: String,
    pub model: String,
    pub images: String,
    /// Trained, and asked for (0 where no number was).
    pub epochs: usize,
    pub epochs_asked: usize,
    pub images_per_sec: Option<f64>,
    /// The part of the cores that other programs used meanwhile, 0 to 1, where that is worth a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu: Option<f64>,
    /// Against the run with the fewest ranks of the same work; only where ranks share work and gradients.
    pub baseline: Option<RunId>,
    pub speedup: Option<f64>,
    pub scaling_efficiency: Option<f64>,
    /// Accuracy of the final test, else of the last validation.
    pub accuracy: Option<f64>,
    pub training_seconds: Option<f64>,
    pub seconds_to_target: Option<f64>,
}

impl RunRow {
    /// `3/5`, or `3` where no number was asked for; a dash where there are none.
    pub fn epochs_in_words(&self) -> String {
        match (self.epochs, self.epochs_asked) {
            (0, 0) => "-".into(),
            (done, 0) => done.to_string(),
            (done, asked) => format!("{done}/{asked}"),
        }
    }

    fn is_baseline(&self) -> bool {
        self.baseline == Some(self.run)
    }
}

/// Rows of all runs that the learner asked for and that can be read, and the chart if there are two numbers of ranks to compare.
pub fn run_rows(runs: &[RunSummary], private: &Private) -> (Vec<RunRow>, Option<Chart>) {
    let rows = runs.iter().filter(|run| trial(run) != Some(Trial::Further));
    let rows = rows.filter_map(|run| row(run, runs, private)).collect();
    let charts = runs.iter().rev().filter_map(|run| chart(run, runs));
    // The newest of equal charts comes first, so keep it.
    let best = charts.reduce(|best, other| if other.bars.len() > best.bars.len() { other } else { best });
    (rows, best)
}

fn trial(run: &RunSummary) -> Option<Trial> {
    run.record.as_ref()?.request.trial
}

/// Finished runs of the same work by the same program.
fn alike<'a>(run: &RunSummary, runs: &'a [RunSummary]) -> Vec<&'a RunSummary> {
    let Ok(wanted) = work(run) else { return Vec::new() };
    let is_whole = |other: &RunSummary| other.figures.images_per_sec.is_some() && other.status.state == RunState::Finished;
    let is_own = |run: &RunSummary| run.record.as_ref().is_some_and(|record| record.request.program.is_some());
    let is_alike = |other: &&RunSummary| {
        is_whole(other) && trial(other).is_none() && is_own(other) == is_own(run) && work(other).as_ref() == Ok(&wanted)
    };
    runs.iter().filter(is_alike).collect()
}

/// Of two runs that are alike, the one to compare with is that of a quiet machine, then the newest.
fn is_preferred(run: &RunSummary) -> impl Ord + use<> {
    (run.disturbed().is_some(), std::cmp::Reverse(run.id))
}

/// Fewest ranks first.
fn baseline<'a>(alike: &[&'a RunSummary]) -> Option<&'a RunSummary> {
    alike.iter().copied().min_by_key(|run| (run.figures.np, is_preferred(run)))
}

/// How the work was computed and how gradients travelled. A chart compares the number of ranks only if this is the same.
fn manner(run: &RunSummary) -> Option<(bool, NumberFormat, Vec<&str>)> {
    const MATTERS: [&str; 4] = ["--precision", "--fusion-threshold-mb", "--no-overlap", "--compression"];
    let training = run.record.as_ref()?.training()?;
    let mut words = training.trainer_flags.iter().flat_map(|word| word.split('=')).peekable();
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        if MATTERS.contains(&word) {
            flags.push(word);
            flags.extend(words.next_if(|value| !value.starts_with("--")));
        }
    }
    Some((training.steps.is_effective(Step::NovoGrad), training.precision, flags))
}

/// Whether both had the same network; one rank uses none.
fn same_network(run: &RunSummary, other: &RunSummary) -> bool {
    let link = |run: &RunSummary| run.record.as_ref().and_then(|record| record.request.spec.link_bits());
    run.figures.np == 1 && link(other).is_none() || other.figures.np == 1 || link(run) == link(other)
}

fn row(run: &RunSummary, runs: &[RunSummary], private: &Private) -> Option<RunRow> {
    let record = run.record.as_ref()?;
    let (steps, model, epochs_asked) = trained(&record.request.spec)?;
    let alike = alike(run, runs);
    // A run that is alone of its kind has nothing to be the baseline of.
    let baseline = baseline(&alike).filter(|_| alike.len() > 1 && alike.iter().any(|other| other.id == run.id));
    let gained = baseline.and_then(|baseline| gained(run, baseline).ok()).unwrap_or_default();
    Some(RunRow {
        run: run.id,
        name: record.request.name.as_deref().map(|name| private.clean(name)),
        date: units::date(record.created_s),
        state: run.status.state.name().to_owned(),
        np: record.np(),
        steps,
        model,
        images: record.data_label.clone(),
        epochs: run.last_epoch,
        epochs_asked,
        images_per_sec: run.figures.images_per_sec,
        others_cpu: record.disturbed(),
        baseline: baseline.map(|baseline| baseline.id),
        speedup: gained.speedup,
        scaling_efficiency: gained.scaling_efficiency,
        accuracy: run.test.or(run.validation).map(|metrics| metrics.accuracy),
        training_seconds: run.training_seconds,
        seconds_to_target: run.figures.seconds_to_target,
    })
}

/// The steps (a dash where there are none to switch), the title and the number of epochs that were asked for (0 where they are not
/// counted) of a run that trains or measures training. Runs of collectives have a list of their own.
fn trained(spec: &RunSpec) -> Option<(String, String, usize)> {
    let (steps, epochs) = match &spec.workload {
        Workload::Training(training) => (training.steps.to_string(), training.epochs),
        Workload::Nvcnn(nvcnn) => ("-".into(), nvcnn.num_epochs.unwrap_or(0)),
        Workload::Benchmark(_) | Workload::Command(_) => ("-".into(), 0),
        Workload::Collectives(_) | Workload::Unknown(_) => return None,
    };
    Some((steps, spec.workload.title(), epochs))
}

fn chart(run: &RunSummary, runs: &[RunSummary]) -> Option<Chart> {
    let mut alike = alike(run, runs);
    alike.retain(|other| manner(other) == manner(run) && same_network(run, other));
    let baseline = baseline(&alike)?;
    alike.sort_by_key(|run| is_preferred(run));
    let mut bars: Vec<Bar> = Vec::new();
    for run in &alike {
        let np = run.figures.np;
        let gained = gained(run, baseline).ok().and_then(|gained| gained.speedup);
        if let (Some(images_per_sec), Some(speedup)) = (run.figures.images_per_sec, gained)
            && !bars.iter().any(|bar| bar.np == np)
        {
            bars.push(Bar { np, run: run.id, images_per_sec, speedup, ideal: np as f64 / baseline.figures.np.max(1) as f64 });
        }
    }
    bars.sort_by_key(|bar| bar.np);
    (bars.len() > 1).then_some(Chart { work: work(run).ok()?.to_string(), baseline: baseline.id, bars })
}

/// A column of the runs, the same in both kinds of table: its name, whether it holds figures, and its cell.
type Column = (&'static str, bool, fn(&RunRow) -> String);

pub static COLUMNS: [Column; 13] = [
    ("run", false, |row| row.name.as_ref().map_or_else(|| row.run.to_string(), |name| format!("{} {name}", row.run))),
    ("state", false, |row| row.state.clone()),
    ("np", true, |row| row.np.to_string()),
    ("steps", false, |row| row.steps.clone()),
    ("epochs", true, RunRow::epochs_in_words),
    ("model", false, |row| row.model.clone()),
    ("images", false, |row| row.images.clone()),
    ("images/s", true, |row| or_dash(row.images_per_sec.map(|rate| marked(units::rate(rate), row.others_cpu)))),
    ("speed-up", true, |row| {
        if row.is_baseline() { "1 (baseline)".into() } else { or_dash(row.speedup.map(|times| format!("{times:.2}x"))) }
    }),
    ("efficiency", true, |row| or_dash(row.scaling_efficiency.filter(|_| !row.is_baseline()).map(units::percent))),
    ("accuracy", true, |row| or_dash(row.accuracy.map(units::accuracy))),
    ("training", true, |row| or_dash(row.training_seconds.map(units::seconds))),
    ("to target", true, |row| or_dash(row.seconds_to_target.map(units::seconds))),
];

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".into())
}

/// What the stars at the figures of a busy machine mean, in one line.
pub fn notes(rows: &[RunRow]) -> Option<String> {
    let disturbed: Vec<(RunId, f64)> = rows.iter().filter_map(|row| Some((row.run, row.others_cpu?))).collect();
    in_one_line(&disturbed)
}
