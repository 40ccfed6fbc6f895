//! `hvd-lab runs ranks` and `hvd-lab runs log`: the ranks of a run by host, and what one of them printed.
//!
//! Never prints a line that `runs::safe` has not seen.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::output::{self, Usage, say};
use crate::cli::table::render;
use crate::domain::history::{Attempt, History, Keep};
use crate::domain::step::Step;
use crate::domain::units;
use crate::host::read::{self, LONGEST_LINE};
use crate::runs::{RunId, RunStore, safe};

/// The ranks that failed with their causes, then all ranks host by host, those in trouble first.
pub(super) fn list(store: &RunStore, id: RunId, as_json: bool) -> anyhow::Result<ExitCode> {
    let status = store.status(id)?;
    let mut history = History::new(Keep::Epochs(1));
    store.folder(id).events().for_each(|line| history.take(&line));
    let nothing = Attempt::default();
    let attempt = history.attempt().unwrap_or(&nothing);
    let failed = attempt.failed(status.failed_process);
    let cause = |rank: usize| attempt.fatal.iter().find(|fatal| fatal.process == rank).map(|fatal| fatal.cause.as_str());
    let hosts = attempt.by_host(&failed);
    if as_json {
        let of_failed = failed.iter().map(|rank| json!({ "rank": rank, "host": attempt.host(*rank), "cause": cause(*rank) }));
        let of_hosts = hosts.iter().map(|host| {
            json!({ "host": host.host, "ranks": host.ranks, "failed": host.failed, "silent_s": host.silent_s,
                    "epoch": host.step.map(|step| step.epoch + 1), "batch": host.step.map(|step| step.batch + 1) })
        });
        let whole = json!({ "run": id, "failed": of_failed.collect::<Vec<_>>(), "hosts": of_hosts.collect::<Vec<_>>() });
        return output::print_json_done(&whole);
    }
    for rank in &failed {
        let place = attempt.host(*rank).map(|host| format!(" on {host}")).unwrap_or_default();
        let why = cause(*rank).map(|cause| format!(": {cause}")).unwrap_or_default();
        output::print(&format!("rank {rank}{place} failed{why}\n"))?;
    }
    if hosts.is_empty() {
        return output::print_done(&format!("no rank of run {id} has reported\n"));
    }
    let row = |host: &crate::domain::history::HostRanks| {
        let of_step = |show: fn(usize, usize) -> String| host.step.map_or("-".to_owned(), |step| show(step.epoch, step.batch));
        let trouble = match (host.failed.is_empty(), host.silent_s) {
            (false, _) => format!("{} failed", units::ranges(&host.failed)),
            (true, Some(silent_s)) => format!("silent for {}", units::clock(silent_s)),
            (true, None) => String::new(),
        };
        let (epoch, batch) = (of_step(|epoch, _| (epoch + 1).to_string()), of_step(|_, batch| (batch + 1).to_string()));
        vec![host.host.to_owned(), units::ranges(&host.ranks), epoch, batch, trouble]
    };
    output::print_done(&render(&["host", "ranks", "epoch", "batch", "trouble"], hosts.iter().map(row)))
}

/// What a rank has printed so far.
pub(super) fn log(store: &RunStore, id: RunId, rank: usize) -> anyhow::Result<ExitCode> {
    let record = store.record(id)?;
    let folder = store.folder(id);
    let logs = folder.rank_logs();
    if logs.binary_search(&rank).is_err() {
        let last = logs.last().copied().unwrap_or(0).max(record.np().saturating_sub(1));
        return Err(Usage(format!("run {id} has no log of rank {rank}: its ranks are 0 to {last}")).into());
    }
    let mut lines = read::lines(read::open(&folder.rank_log(rank))?, LONGEST_LINE).peekable();
    let is_silent = lines.peek().is_none();
    for line in lines {
        if !output::print(&format!("{}\n", safe(&line?)))? {
            // Whoever reads has had enough.
            break;
        }
    }
    if is_silent {
        let root_speaks = record.training().is_some_and(|training| training.steps.contains(Step::VerboseOnRoot));
        let why = if root_speaks && rank > 0 { ": with step 2 only rank 0 prints" } else { "" };
        say(&format!("rank {rank} of run {id} has printed nothing{why}"));
    }
    Ok(ExitCode::SUCCESS)
}
