//! A run on the command line: its number, or its name if no other run has that name.

use crate::runs::{RunId, RunStore};

/// # Errors
/// `text` is neither a number nor the name of exactly one run.
pub(super) fn run_id(text: &str) -> Result<RunId, String> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    match &named(text)[..] {
        [] => Err(format!("`{text}` is not a run: use its number or its name, as `hvd-lab runs` shows them")),
        [only] => Ok(*only),
        several => {
            let ids = several.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ");
            Err(format!("the runs {ids} have the name `{text}`: use a number"))
        }
    }
}

fn named(name: &str) -> Vec<RunId> {
    let Some(store) = RunStore::open_existing() else { return Vec::new() };
    let has_it = |id: &RunId| store.record(*id).is_ok_and(|record| record.request.name.as_deref() == Some(name));
    store.ids().into_iter().filter(has_it).collect()
}
