//! What the runs pane asks of the run folders: name, note, delete, bring back, export.
//!
//! Never overwrites a file, and never removes a run for good.

use anyhow::Context;

use super::super::runs_view::{Change, Changed};
use crate::runs::export::{Format, write_new};
use crate::runs::{Report, RunStore, references};

/// Changes the run folders.
pub fn made(store: &RunStore, change: Change) -> anyhow::Result<Changed> {
    let say = |text: String| Changed { text, show: None };
    Ok(match change {
        Change::Name(run, name) => {
            store.set_name(run, &name)?;
            say(format!("run {run} is named"))
        }
        Change::Note(run, note) => {
            store.set_note(run, &note)?;
            say(format!("the note on run {run} is kept: Enter shows it"))
        }
        Change::Delete(run) => {
            store.delete(run)?;
            say(format!("run {run} is in the trash: u brings it back"))
        }
        Change::Undo => {
            let run = store.restore(None)?;
            Changed { text: format!("run {run} is back"), show: Some(run) }
        }
        Change::Export { file, runs, baseline, published } => {
            let path = std::path::absolute(&file).with_context(|| format!("no place for {file}"))?;
            let all = runs.iter().map(|run| store.summary(*run)).collect::<Result<Vec<_>, _>>()?;
            let baseline = store.summary(baseline)?;
            let format = Format::of(&path).map_err(anyhow::Error::msg)?;
            let report = Report::new(&all, &baseline, if published { references() } else { &[] });
            write_new(&path, &format.text(&report))?;
            say(format!("wrote {}", path.display()))
        }
    })
}
