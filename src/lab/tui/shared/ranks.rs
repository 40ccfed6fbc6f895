//! The ranks of the run on the screen: how many, which of them failed, and which one is meant by what was typed.
//!
//! A host name that fits several hosts is an error that says so.

use super::state::Shared;
use super::watched::Watched;
use crate::domain::job::MAX_RANKS;
use crate::domain::step::Step;
use crate::runs::RunRecord;

/// Ranks that were asked for, or that have reported.
pub fn count(shared: &Shared) -> usize {
    let record = shared.summary_on_screen().and_then(|run| run.record.as_ref());
    let (np, seen) = (record.map_or(1, RunRecord::np), shared.watched.as_ref().map_or(1, Watched::processes));
    np.max(seen).clamp(1, MAX_RANKS)
}

/// Whether every rank of a training prints, or only the root; `None` of other runs.
pub fn all_print(shared: &Shared) -> Option<bool> {
    Some(!shared.summary_on_screen()?.record.as_ref()?.training()?.steps.is_effective(Step::VerboseOnRoot))
}

/// The first to fail comes first.
pub fn failed(shared: &Shared) -> Vec<usize> {
    shared.watched.as_ref().map(Watched::failed).unwrap_or_default()
}

/// The rank that is meant: by its number, or by its host, of which the rank that failed, else the first.
///
/// # Errors
/// What can be typed instead.
pub fn find(shared: &Shared, text: &str) -> Result<usize, String> {
    let last = count(shared) - 1;
    let text = text.trim();
    let text = text.strip_prefix("rank ").unwrap_or(text);
    if let Ok(number) = text.parse::<usize>() {
        return if number <= last { Ok(number) } else { Err(format!("there is no rank {number}: the last one is {last}")) };
    }
    let watched = shared.watched.as_ref();
    let hosts = watched.map(Watched::by_host).unwrap_or_default();
    let first = |place: usize| hosts[place].failed.first().or(hosts[place].ranks.first()).copied().unwrap_or(0);
    let named: Vec<usize> = (0..hosts.len()).filter(|place| hosts[*place].host.starts_with(text)).collect();
    let exact = named.iter().copied().find(|place| hosts[*place].host == text);
    match (exact, &named[..]) {
        (Some(place), _) => Ok(first(place)),
        (None, [place]) => Ok(first(*place)),
        (None, []) => Err(format!("no rank and no host is called so: 0 to {last}, or a host's name")),
        (None, several) => Err(format!("{} hosts begin so", several.len())),
    }
}

/// `rank 317 on node39, failed`.
pub fn in_words(shared: &Shared, rank: usize) -> String {
    let watched = shared.watched.as_ref();
    let host = watched.and_then(|watched| watched.host(rank)).map(|host| format!(" on {host}")).unwrap_or_default();
    let failed = if failed(shared).contains(&rank) { ", failed" } else { "" };
    format!("rank {rank}{host}{failed}")
}
