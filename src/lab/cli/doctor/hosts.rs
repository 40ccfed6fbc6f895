//! The hosts of a run, looked at from here.
//!
//! Never starts a rank there.

use super::check::Check;
use crate::domain::job::Resources;
use crate::launch::hosts::hosts_of;
use crate::launch::preflight::{self, Needs};
use crate::launch::{Launcher, find_trainer};
use crate::runs::RunStore;

/// Adds a check for each thing of each host; nothing where no hosts are named. What is missing on this host is said already.
///
/// # Errors
/// The list or the host file is none.
pub(super) fn examine(resources: &Resources, checks: &mut Vec<Check>) -> anyhow::Result<()> {
    if !resources.names_hosts() {
        return Ok(());
    }
    if let Some(problem) = resources.problem() {
        anyhow::bail!(problem);
    }
    let (Ok(launcher), Ok(program), Ok(store)) = (Launcher::detect(), find_trainer(), RunStore::open_default()) else {
        return Ok(());
    };
    let hosts = hosts_of(resources, launcher.flavour)?;
    let needs = Needs {
        program: &std::path::absolute(&program).unwrap_or(program),
        may_start: true,
        folder: store.root(),
        interfaces: resources.network_interface.as_deref(),
        takes_gpus: false,
    };
    match preflight::look_at(&hosts, &needs, launcher.flavour) {
        Ok(findings) => checks.extend(findings),
        Err(cause) => checks.push(Check::fail("hosts", cause.to_string(), "point HVD_LAB_HOME at a folder that all hosts share")),
    }
    Ok(())
}
