//! A learner's program on one rank and on two, side by side: for an exercise that trains long enough to show what the second rank gives.

use std::path::PathBuf;

use super::attempt::Begun;
use super::program::Program;
use crate::domain::run::RunState;
use crate::domain::units;
use crate::launch;
use crate::runs::{RunId, RunStore, RunSummary, busy_host};

/// The runs, of which the last may have failed, and what they say side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    pub runs: Vec<RunId>,
    pub words: String,
    pub has_finished: bool,
}

impl Program {
    /// Why there is nothing to compare; `None` where there is.
    pub fn why_not_compared(&self) -> Option<&'static str> {
        match (self.compared, self.has_steps()) {
            (Some(_), _) => None,
            (None, true) => Some("each of the ten steps has runs of its own to compare: `hvd-lab guided 4`"),
            (None, false) => Some("this exercise compares inside one run: `hvd-lab exercise run` says what it found"),
        }
    }

    /// Run the program on one rank, then on two. `follow` comes back when a run is over.
    ///
    /// # Errors
    /// An exercise without such runs, one that cannot be started or read, and whatever `follow` gives back.
    pub fn compare(
        &self,
        store: &RunStore,
        built: PathBuf,
        mut follow: impl FnMut(Begun) -> anyhow::Result<()>,
    ) -> anyhow::Result<Compared> {
        let Some(compared) = self.compared else { anyhow::bail!(self.why_not_compared().unwrap_or_default()) };
        let (mut runs, mut words) = (Vec::new(), String::new());
        let mut summaries: Vec<RunSummary> = Vec::new();
        for np in [1, 2] {
            let run = launch::start(store, self.request_for(built.clone(), compared(np)))?;
            runs.push(run);
            follow(Begun { run, once_more: None })?;
            let status = store.status(run)?;
            if status.state != RunState::Finished {
                let on = units::counted(np, "rank");
                words += &format!("run {run} on {on} was to be compared, and it {}\n", status.end_in_words());
                return Ok(Compared { runs, words, has_finished: false });
            }
            let summary = store.summary(run)?;
            words += &line(&summary, summaries.first());
            summaries.push(summary);
        }
        let images = compared(1).workload.train_images.map_or("all".to_owned(), units::count);
        words += &format!("Images: {}, the first {images} of the training set.\n", store.record(runs[0])?.data_label);
        words.extend(busy_host::notes(summaries.iter()).map(|note| format!("{note}\n")));
        let ids: Vec<String> = runs.iter().map(RunId::to_string).collect();
        words += &format!("The details: hvd-lab compare {}\n", ids.join(" "));
        Ok(Compared { runs, words, has_finished: true })
    }
}

/// The time and accuracy of one run, against the first.
fn line(run: &RunSummary, first: Option<&RunSummary>) -> String {
    let mut parts = vec![format!("{} in all", units::counted(run.last_epoch, "epoch"))];
    if let Some(own) = run.training_seconds {
        let faster = first.and_then(|first| first.training_seconds).map(|first| format!(", {:.2} times as fast", first / own));
        parts.push(format!("{}{}", units::seconds(own), faster.unwrap_or_default()));
    }
    parts.extend(run.shown_rate().map(|rate| format!("{rate} images/s")));
    parts.extend(run.test.map(|test| format!("test accuracy {}", units::accuracy(test.accuracy))));
    format!("run {}, {}: {}\n", run.id, units::counted(run.figures.np, "rank"), parts.join("; "))
}
