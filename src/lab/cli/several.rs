//! What is done to several runs: to each once, and to all of them, whatever becomes of the others.

use std::collections::BTreeSet;
use std::process::ExitCode;

use super::output::{print, say};
use crate::runs::RunId;

/// In their order, each once.
pub(super) fn once(ids: Vec<RunId>) -> Vec<RunId> {
    let mut seen = BTreeSet::new();
    ids.into_iter().filter(|id| seen.insert(*id)).collect()
}

/// Say for each what was done.
///
/// # Errors
/// What could not be done last; what could not be done before it has been said.
pub(super) fn each<T>(wanted: Vec<T>, mut change: impl FnMut(T) -> anyhow::Result<String>) -> anyhow::Result<ExitCode> {
    let mut refused = None;
    for one in wanted {
        match change(one) {
            Ok(done) => drop(print(&done)?),
            Err(error) => {
                if let Some(before) = refused.replace(error) {
                    say(&format!("{before:#}"));
                }
            }
        }
    }
    refused.map_or(Ok(ExitCode::SUCCESS), Err)
}
