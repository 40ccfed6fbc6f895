//! Changes the run folders for the runs pane: name, note, delete, export and undo.
//!
//! No file is overwritten, and no run is removed for good.

use anyhow::Context;

use crate::columns::cut;
use crate::runs::export::{Format, write_new};
use crate::runs::{Report, RunStore, references};
use crate::tui::actions::{Change, Changed, Undo};

/// Columns of a name or a note in what is said of it.
const MOST_QUOTED: usize = 40;

/// Changes the run folders.
pub fn apply(store: &RunStore, change: Change) -> anyhow::Result<Changed> {
    let say = |text: String, undo| Changed { text, show: None, undo };
    let undoable = |text: String, undo: Option<Undo>| say(text + if undo.is_some() { "; u undoes it" } else { "" }, undo);
    Ok(match change {
        Change::Name(run, name) => {
            let before = store.record(run)?.request.name;
            store.set_name(run, &name)?;
            let now = store.record(run)?.request.name;
            undoable(format!("run {run} {}", called(now.as_deref())), (now != before).then_some(Undo::Name(run, before)))
        }
        Change::Note(run, note) => {
            let before = store.record(run)?.request.note;
            store.set_note(run, &note)?;
            let now = store.record(run)?.request.note;
            let kept = if now.is_some() { "is kept: Enter shows it" } else { "is taken away" };
            undoable(format!("the note on run {run} {kept}"), (now != before).then_some(Undo::Note(run, before)))
        }
        Change::Delete(run) => {
            store.delete(run)?;
            say(format!("run {run} is in the trash: u brings it back"), Some(Undo::Delete(run)))
        }
        Change::Undo(undo) => undo_change(store, undo)?,
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

fn called(name: Option<&str>) -> String {
    name.map_or("has no name".to_owned(), |name| format!("is named {}", quoted(name)))
}

fn quoted(text: &str) -> String {
    format!("“{}”", cut(text, MOST_QUOTED))
}

/// Says what is as it was before.
fn undo_change(store: &RunStore, undo: Undo) -> anyhow::Result<Changed> {
    let say = |text: String, show| Changed { text: format!("undone: {text}"), show, undo: None };
    Ok(match undo {
        Undo::Name(run, name) => {
            store.set_name(run, name.as_deref().unwrap_or_default())?;
            say(format!("run {run} {} again", called(name.as_deref())), None)
        }
        Undo::Note(run, note) => {
            store.set_note(run, note.as_deref().unwrap_or_default())?;
            match note {
                Some(note) => say(format!("the note on run {run} is {} again", quoted(&note)), None),
                None => say(format!("run {run} has no note again"), None),
            }
        }
        Undo::Delete(run) => say(format!("run {} is back", store.restore(Some(run))?), Some(run)),
        Undo::LastDelete => {
            let run = store.restore(None)?;
            say(format!("run {run}, deleted last, is back"), Some(run))
        }
    })
}
