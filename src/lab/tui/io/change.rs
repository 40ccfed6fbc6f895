//! Changes the run folders for the runs pane: name, note, delete, export and undo.
//!
//! No file is overwritten, and no run is removed for good.

use anyhow::Context;

use crate::columns::cut;
use crate::runs::export::{Format, write_new};
use crate::runs::{Report, RunStore, references};
use crate::tui::actions::{Change, Changed};

/// Columns of a name or a note in what is said of it.
const MOST_QUOTED: usize = 40;

/// Changes the run folders.
pub fn apply(store: &RunStore, change: Change) -> anyhow::Result<Changed> {
    let say = |text: String, undo| Changed { text, show: None, undo };
    let undoable = |text: String, undo: Option<Change>| say(text + if undo.is_some() { "; u undoes it" } else { "" }, undo);
    Ok(match change {
        Change::Name(run, name) => {
            let before = store.record(run)?.request.name;
            store.set_name(run, &name)?;
            let now = store.record(run)?.request.name;
            let undo = (now != before).then(|| Change::Name(run, before.unwrap_or_default()));
            undoable(format!("run {run} {}", called(&now.unwrap_or_default())), undo)
        }
        Change::Note(run, note) => {
            let before = store.record(run)?.request.note;
            store.set_note(run, &note)?;
            let now = store.record(run)?.request.note;
            let kept = if now.is_some() { "is kept: Enter shows it" } else { "is taken away" };
            let undo = (now != before).then(|| Change::Note(run, before.unwrap_or_default()));
            undoable(format!("the note on run {run} {kept}"), undo)
        }
        Change::Delete(run) => {
            store.delete(run)?;
            say(format!("run {run} is in the trash: u brings it back"), Some(Change::Restore(Some(run))))
        }
        Change::Restore(run) => {
            let back = store.restore(run)?;
            let which = if run.is_none() { ", deleted last," } else { "" };
            Changed { text: format!("run {back}{which} is back"), show: Some(back), undo: None }
        }
        Change::Undo(change) => {
            let said = as_before(&change);
            let Changed { text, show, .. } = apply(store, *change)?;
            Changed { text: format!("undone: {}", said.unwrap_or(text)), show, undo: None }
        }
        Change::Export { file, runs, baseline, published } => {
            let path = std::path::absolute(&file).with_context(|| format!("no place for {file}"))?;
            let all = runs.iter().map(|run| store.summary(*run)).collect::<Result<Vec<_>, _>>()?;
            let baseline = store.summary(baseline)?;
            let format = Format::of(&path).map_err(anyhow::Error::msg)?;
            let report = Report::new(&all, &baseline, if published { references() } else { &[] });
            write_new(&path, &(format.write)(&report))?;
            say(format!("wrote {}", path.display()), None)
        }
    })
}

fn called(name: &str) -> String {
    if name.is_empty() { "has no name".to_owned() } else { format!("is named {}", quoted(name)) }
}

fn quoted(text: &str) -> String {
    format!("“{}”", cut(text, MOST_QUOTED))
}

/// What is as it was before, where a name or a note is given back.
fn as_before(change: &Change) -> Option<String> {
    Some(match change {
        Change::Name(run, name) => format!("run {run} {} again", called(name)),
        Change::Note(run, note) if note.is_empty() => format!("run {run} has no note again"),
        Change::Note(run, note) => format!("the note on run {run} is {} again", quoted(note)),
        _ => return None,
    })
}
