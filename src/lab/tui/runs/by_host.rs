//! The ranks of a run that spans hosts, host by host, and all that failed: those in trouble first.
//!
//! Empty for a run on one host.

use crate::tui::shared::Watched;
use crate::tui::widgets::Sheet;

/// Failed ranks that are named with their causes: the others mostly report that the first one is gone.
const NAMED: usize = 8;

/// The ranks that failed after the first one.
pub fn also_failed(page: &mut Sheet, watched: &Watched) {
    let failed = watched.failed();
    let others = failed.get(1..).unwrap_or_default();
    for rank in &others[..others.len().min(NAMED)] {
        let cause = watched.fatal(*rank).map(|cause| format!(": {cause}")).unwrap_or_default();
        page.fact("also failed", &format!("rank {rank}{}{cause}", place(watched, *rank)));
    }
    if others.len() > NAMED {
        page.fact("also failed", &format!("{} more", others.len() - NAMED));
    }
}

/// ` on node39`, where there are several hosts.
pub fn place(watched: &Watched, rank: usize) -> String {
    let host = watched.host(rank).filter(|_| watched.has_several_hosts());
    host.map(|host| format!(" on {host}")).unwrap_or_default()
}

pub fn lines(page: &mut Sheet, watched: &Watched) {
    let hosts = watched.by_host();
    if hosts.len() < 2 {
        return;
    }
    page.title("Ranks by host");
    for host in &hosts {
        let style = if host.is_in_trouble() { page.theme.warn() } else { page.theme.text() };
        page.styled_fact(host.host, &host.in_words(), style);
    }
}
