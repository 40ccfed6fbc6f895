//! A run on the command line: its number, or its name if no other run has that name.

use crate::runs::{RunId, RunRecord, RunStore};

/// # Errors
/// `text` is neither a number nor the name of exactly one run.
pub(super) fn run_id(text: &str) -> Result<RunId, String> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let has_name = |record: RunRecord| record.request.name.as_deref() == Some(text);
    let named = RunStore::open_existing()
        .map_or(Vec::new(), |store| store.ids().into_iter().filter(|id| store.record(*id).is_ok_and(has_name)).collect());
    match &named[..] {
        [] => Err(format!("`{text}` is not a run: use its number or its name, as `hvd-lab runs` shows them")),
        [only] => Ok(*only),
        several => {
            let ids = several.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ");
            Err(format!("the runs {ids} have the name `{text}`: use a number"))
        }
    }
}
