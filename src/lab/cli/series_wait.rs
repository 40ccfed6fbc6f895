//! Runs the turns of a series one after the other, with a line for each on standard error.
//!
//! Ctrl-C stops the current run, and no other one starts.

use std::time::Duration;

use super::interrupt::{self, Following};
use super::output::say;
use super::settings::Settings;
use crate::course::{Next, Series};
use crate::domain::units;
use crate::launch;
use crate::runs::{RunId, RunRequest, RunStore};

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Run all turns; gives back the series with the runs that they became.
pub(super) fn run(store: &RunStore, mut series: Series, settings: &Settings) -> anyhow::Result<Series> {
    interrupt::heed(interrupt::CTRL_C)?;
    let (job, preset) = settings.training()?;
    let base = settings.request_for(job, preset);
    while let Next::Start(index) = series.next(|run| store.status(run).ok().map(|status| status.state)) {
        let turn = &series.turns[index];
        let name = series.name_of(turn);
        let request = RunRequest { spec: turn.spec.clone().into(), name: Some(name.clone()), ..base.clone() };
        let run = launch::start(store, request)?;
        say(&format!("{} of {}: {name} is run {run}, steps {}", index + 1, series.turns.len(), turn.spec.workload.steps));
        series.turns[index].run = Some(run);
        wait(store, run)?;
        series.is_cancelled = interrupt::is_asked();
    }
    Ok(series)
}

fn wait(store: &RunStore, run: RunId) -> anyhow::Result<()> {
    let _following = Following::run(run, None)?;
    let (mut is_stopping, mut told) = (false, String::new());
    loop {
        let status = store.status(run)?;
        if launch::is_queued(&status) && status.message != told {
            say(&format!("run {run} is {}", status.message));
            told.clone_from(&status.message);
        }
        if status.state.is_over() {
            let took = store.summary(run)?.training_seconds.map(|time| format!(" in {}", units::seconds(time)));
            say(&format!("run {run} {}{}", status.end_in_words(), took.unwrap_or_default()));
            return Ok(());
        }
        if interrupt::is_asked() && !is_stopping {
            is_stopping = true;
            say(&format!("stopping run {run}; Ctrl-C again leaves at once"));
            // It may be ending by itself at this moment.
            let _ = launch::stop(store, run);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
