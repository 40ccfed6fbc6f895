//! Checks every host of a run before it starts, so that a problem is reported with its host, and not by a launcher that hangs.
//!
//! It leaves nothing on the hosts.

mod agent;
mod finding;
mod judge;
mod probe;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::host_name::HostName;
use super::hosts::{Host, hosts_of};
use super::{Flavour, LaunchError, Ranks, Setup, presets};
use crate::domain::job::Resources;
use crate::host;
use crate::runs::RunRecord;
use agent::Agent;
pub use finding::{Finding, Needs, Weight};

/// Hosts that are asked at a time: each takes a process and a thread of this host.
const AT_ONCE: usize = 32;
/// Variables that make the launcher of a run on other hosts reach them as they are reached here.
pub(super) fn variables_of_agent(resources: &Resources, flavour: Flavour) -> Vec<(String, String)> {
    if resources.names_hosts() { Agent::variables(flavour) } else { Vec::new() }
}

/// Look at all hosts, many at a time. The findings stand in the order of the hosts.
///
/// # Errors
/// This host's own folder cannot be written.
pub fn look_at(hosts: &[Host], needs: &Needs, flavour: Flavour) -> std::io::Result<Vec<Finding>> {
    // A host that sees the token in it shares the folder. It is removed with this value.
    let folder = tempfile::Builder::new().prefix(".hosts-").tempdir_in(needs.folder)?;
    let token = host::secret()?;
    std::fs::write(folder.path().join("token"), &token)?;
    let question = |file: &str| probe::question(needs.program, needs.may_start, folder.path(), file);
    let own = probe::ask(&mut probe::here(question("here")))
        .map_err(|error| std::io::Error::other(format!("this host does not answer a shell of its own: {error:?}")))?;

    let agent = Agent::find(flavour);
    let ask = |at: usize, host: &Host| {
        if HostName::of(&host.name).is_here() {
            return Ok(own.clone());
        }
        let refused = |(cause, remedy): &(String, String)| (Weight::Bad, cause.clone(), remedy.clone());
        let agent = agent.as_ref().map_err(|why| Finding::new(&host.name, "reach", Err(refused(why))))?;
        let mut command = agent.command(host, &probe::line(question(&format!("host-{at}"))));
        probe::ask(&mut command).map_err(|why| judge::unheard(&host.name, agent, &why))
    };
    let (waiting, heard) = (Mutex::new(hosts.iter().enumerate()), Mutex::new(BTreeMap::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..hosts.len().min(AT_ONCE) {
            scope.spawn(|| {
                while let Some((at, host)) = next() {
                    let said = ask(at, host);
                    heard.lock().unwrap_or_else(PoisonError::into_inner).insert(at, said);
                }
            });
        }
    });
    let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);

    let mut findings = Vec::new();
    let mut answered = Vec::new();
    for (at, said) in heard {
        let Host { name, slots, .. } = &hosts[at];
        match said {
            Ok(seen) => {
                findings.extend(judge::heard(name, *slots, &seen, &own, &token, needs));
                answered.push((name.clone(), seen));
            }
            Err(finding) => findings.push(finding),
        }
    }
    findings.extend(judge::same_addresses(&answered, needs.interfaces));
    Ok(findings)
}

/// Why no rank may start: one sentence, and where there is more than one thing to fix, a line for each.
pub(super) type Refusal = (String, Vec<String>);

/// Look at the hosts that a run names, unless a batch system has chosen them. Returns what was found to be odd, for the log of the
/// launcher.
///
/// # Errors
/// Why no rank may start there, or why the hosts cannot be looked at.
pub(super) fn before_run(record: &RunRecord, folder: &Path) -> Result<Vec<String>, Refusal> {
    let findings = findings(record, None, folder).map_err(|why| (why, Vec::new()))?;
    let of = |weight| findings.iter().filter(move |finding| finding.weight == weight).map(Finding::in_words);
    let bad: Vec<String> = of(Weight::Bad).collect();
    let Some((first, others)) = bad.split_first().filter(|_| !record.request.force) else {
        return Ok(bad.into_iter().chain(of(Weight::Doubt)).collect());
    };
    let more = match others.len() {
        0 => String::new(),
        1 => ". There is 1 more thing to fix".to_owned(),
        others => format!(". There are {others} more things to fix"),
    };
    let lines = if others.is_empty() { Vec::new() } else { bad.clone() };
    Err((format!("{first}{more}"), lines))
}

/// The discovered hosts that cannot have a rank, each with the reason as a sentence. If they cannot be checked, the launcher finds out.
pub(super) fn unfit(record: &RunRecord, hosts: &[Host], folder: &Path) -> Vec<(String, String)> {
    let found = if record.request.force { Vec::new() } else { findings(record, Some(hosts), folder).unwrap_or_default() };
    let bad = found.into_iter().filter(|finding| finding.weight == Weight::Bad);
    bad.map(|finding| (finding.host.clone(), finding.in_words())).collect()
}

/// The findings on these hosts, or else on those that the run names.
fn findings(record: &RunRecord, hosts: Option<&[Host]>, folder: &Path) -> Result<Vec<Finding>, String> {
    let resources = &record.request.spec.resources;
    let said = |error: LaunchError| error.to_string();
    let setup = Setup::detect(&record.request.spec, record.request.program.as_deref()).map_err(said)?;
    if setup.machine.in_allocation {
        return Ok(Vec::new());
    }
    let takes_gpus = presets().iter().any(|preset| preset.name == record.request.preset && preset.ranks == Ranks::Gpus);
    let needs = Needs {
        program: &setup.program,
        may_start: record.request.program.is_none() && record.request.spec.command().is_none(),
        folder,
        interfaces: resources.network_interface.as_deref(),
        takes_gpus,
    };
    let hosts = hosts.map_or_else(|| hosts_of(resources, setup.flavour).map_err(said), |hosts| Ok(hosts.to_vec()))?;
    look_at(&hosts, &needs, setup.flavour).map_err(|error| format!("cannot look at the hosts of the run: {error}"))
}
