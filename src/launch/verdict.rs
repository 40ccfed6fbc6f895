//! How a run ended, from the evidence: finished, stopped, or failed and by whose fault.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::evidence::Evidence;
use super::notice::{Notice, notice};
use super::slurm::{self, Ended};
use super::work::Work;
use crate::domain::history::Fatal;
use crate::domain::run::RunState;

/// The end of a run in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub state: RunState,
    pub message: String,
    pub failed_process: Option<usize>,
    pub last_lines: Vec<String>,
    /// The ranks that are gone, where it was not the program itself that could not go on.
    pub lost: Option<Lost>,
}

impl Verdict {
    /// Of no rank.
    pub fn plain(state: RunState, message: String) -> Verdict {
        Verdict { state, message, failed_process: None, last_lines: Vec::new(), lost: None }
    }
}

/// Ranks that are gone while the others could train on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub ranks: usize,
    /// Gone with all its ranks, by its name or address.
    pub host: Option<String>,
}

/// What most often makes a process end without a word.
const LEFT: &str = ": a program that leaves in the middle, by os._exit or std::process::exit, ends like this";

/// Judge a run whose launcher has ended.
///
/// `asked_to_stop` says that the user wanted the end; `broken` why the supervisor had to end it.
pub fn judge(evidence: &Evidence, exit: Option<ExitStatus>, asked_to_stop: bool, broken: Option<String>) -> Verdict {
    let plain = Verdict::plain;
    if let Some(cause) = broken {
        return plain(RunState::Failed, cause);
    }
    let has_begun = evidence.introduced().next().is_some();
    let is_own = evidence.work == Work::Program;
    if is_own && !asked_to_stop && exit.is_some_and(|exit| exit.success()) && lost_host(evidence).is_none() {
        return plain(RunState::Finished, evidence.work.finished(evidence.done()));
    }
    let all_finished = has_begun && evidence.introduced().all(|(process, _)| evidence.has_finished(process));
    if all_finished && (asked_to_stop || exit.is_some_and(|exit| exit.success())) {
        return plain(RunState::Finished, evidence.work.finished(evidence.done()));
    }
    if asked_to_stop {
        // Only where Slurm was not told.
        let left = match slurm::ended(evidence.launcher.iter()) {
            Some(Ended::Other(words)) => format!(": {words}"),
            _ => String::new(),
        };
        return plain(RunState::Stopped, evidence.work.stopped(evidence.done()) + &left);
    }
    match slurm::ended(evidence.launcher.iter()) {
        Some(Ended::TimeLimit(words)) => {
            return plain(RunState::Stopped, format!("{}: {words}", evidence.work.stopped(evidence.done())));
        }
        Some(Ended::Other(words)) => return plain(RunState::Failed, words),
        Some(Ended::Requeued) | None => {}
    }
    let (process, cause) = cause(evidence, exit);
    let last_lines = match process {
        Some(process) => evidence.tails.get(&process).into_iter().flatten().cloned().collect(),
        // The only one that printed anything, perhaps for all of them.
        None if evidence.work == Work::Program && evidence.tails.values().filter_map(last_line).count() == 1 => {
            evidence.tails.values().flatten().cloned().collect()
        }
        None => Vec::new(),
    };
    // With step 2 only rank 0 prints: of the others the launcher's words are all there is.
    let last_lines = match last_lines.is_empty() && !matches!(notice(evidence.launcher.iter()), Some(Notice::Left { .. })) {
        true => launcher_words(evidence).into_iter().rev().take(10).rev().collect(),
        false => last_lines,
    };
    Verdict { state: RunState::Failed, message: cause, failed_process: process, last_lines, lost: lost_ranks(evidence, process) }
}

/// The ranks that are gone; none where a rank said itself why it cannot go on, which it would say again.
fn lost_ranks(evidence: &Evidence, failed: Option<usize>) -> Option<Lost> {
    if let Some(host) = lost_host(evidence) {
        let ranks = evidence.introduced().filter(|(_, report)| short(&report.host) == short(&host)).count();
        return Some(Lost { ranks, host: Some(host) });
    }
    let said = evidence.fatal().map(|fatal| fatal.process);
    (failed.is_some() && said != failed && evidence.introduced().next().is_some()).then_some(Lost { ranks: 1, host: None })
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Which process failed first, and how, in one sentence.
fn cause(evidence: &Evidence, exit: Option<ExitStatus>) -> (Option<usize>, String) {
    // A host that is gone takes its ranks along, and the others fail for it.
    if let Some(host) = lost_host(evidence) {
        return lost(&host, evidence);
    }
    let notice = notice(evidence.launcher.iter());
    let fatal =
        |Fatal { process, during, cause }: &Fatal| (Some(*process), format!("process {process} failed during {during}: {cause}"));
    let aborted = aborted(evidence, notice.as_ref());
    // A killed rank makes the others fail too, and they can still say so: the launcher knows who was first. MPICH tells those whom
    // an abort ends from the others by nothing.
    if let Some(Notice::Signal { process, pid, signal }) = &notice
        && (process.is_some() || aborted.is_none())
        && let Some(process) = known_process(*process, *pid, evidence)
    {
        return match evidence.fatal() {
            Some(own) if own.process == process => fatal(own),
            _ if evidence.given_up.contains(&process) => given_up(process, evidence),
            _ => (Some(process), format!("process {process} was ended{} by {}", place(process, evidence), signal_words(*signal))),
        };
    }
    if let Some(first) = evidence.fatal() {
        return fatal(first);
    }
    let said = |process| evidence.tails.get(&process).and_then(last_line).map(|line| format!(": {line}")).unwrap_or_default();
    if let Some((process, code)) = aborted {
        let code = code.map(|code| format!(" with error code {code}")).unwrap_or_default();
        return (Some(process), format!("process {process} called MPI_Abort{}{code}{}", place(process, evidence), said(process)));
    }
    if let Some(Notice::ExitCode { process, pid, code }) = &notice
        && let Some(process) = known_process(*process, *pid, evidence)
    {
        let said = said(process);
        return (Some(process), format!("process {process} ended{} with exit code {code}{said}", place(process, evidence)));
    }
    if let Some(Notice::Left { process }) = &notice {
        let place = place(*process, evidence);
        let cause = "by itself, without an error, before its program was over. Look for an exit that only some ranks reach";
        return (Some(*process), format!("process {process} left{place} {cause}"));
    }
    if evidence.work == Work::Program {
        return of_own_program(evidence, exit);
    }
    if let Some(process) = evidence.vanished {
        if evidence.given_up.contains(&process) {
            return given_up(process, evidence);
        }
        return (
            Some(process),
            format!("process {process} vanished{}, and mpirun did not notice{LEFT}", place(process, evidence)),
        );
    }
    if let Some(signal) = exit.and_then(|exit| exit.signal()) {
        return (None, format!("mpirun was ended by {}", signal_words(signal)));
    }
    if let (Some(process), None) = (evidence.imitating.first(), evidence.introduced().next()) {
        let cause = "printed lines that look like events of the lab, and none came from its library: what a program prints is no \
                     evidence. If the program trains with the library, build both anew from the same version";
        return (Some(*process), format!("process {process} {cause}"));
    }
    if evidence.introduced().next().is_none() {
        let words = launcher_words(evidence).join(" ");
        let words = if words.is_empty() { "it said nothing".to_owned() } else { shortened(&words) };
        return (None, format!("mpirun{} before any rank reported: {words}", code_words(exit)));
    }
    let silent = evidence.introduced().map(|(process, _)| process).find(|process| !evidence.has_finished(*process));
    match silent {
        Some(process) => (
            Some(process),
            format!(
                "process {process} ended{} without a final event (mpirun{}){LEFT}",
                place(process, evidence),
                code_words(exit)
            ),
        ),
        None => (None, format!("every rank finished, but mpirun{}", code_words(exit))),
    }
}

/// How a program of the user's own ended, of whose ranks nobody says which failed: only one that ran alone can be named.
fn of_own_program(evidence: &Evidence, exit: Option<ExitStatus>) -> (Option<usize>, String) {
    let process = evidence.is_alone.then_some(0);
    if let Some(signal) = exit.and_then(|exit| exit.signal()) {
        return (process, format!("the program was ended by {}", signal_words(signal)));
    }
    let mut said = evidence.tails.values().filter_map(last_line);
    let said = match (said.next(), said.next()) {
        (Some(only), None) => format!(": {}", shortened(only)),
        _ if evidence.is_alone => String::new(),
        _ => ", and nothing says which rank failed first: look at the end of the log of each rank".to_owned(),
    };
    (process, format!("the program{}{said}", code_words(exit)))
}

/// The process that called MPI_Abort, and its error code; nothing where several may have been first.
fn aborted(evidence: &Evidence, notice: Option<&Notice>) -> Option<(usize, Option<i32>)> {
    let by = evidence.aborts.clone().with_launcher(evidence.launcher.iter()).by;
    match (notice, by.len()) {
        (Some(Notice::Abort { process }), _) => Some((*process, by.get(process).copied().flatten())),
        (_, 1) => by.into_iter().next(),
        _ => None,
    }
}

/// The last line of these that says anything.
fn last_line(lines: &VecDeque<String>) -> Option<&str> {
    lines.iter().rfind(|line| !line.trim().is_empty()).map(|line| line.trim())
}

/// The host with which the launcher of Open MPI lost touch, by its name or address.
fn lost_host(evidence: &Evidence) -> Option<String> {
    let text = evidence.launcher.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let after =
        |notice: &str, key: &str| Some(text.split_once(notice)?.1.split_once(key)?.1.split_whitespace().next()?.to_owned());
    // "... has lost communication with a remote daemon. HNP daemon : [job@0,0] on node one Remote daemon: [job@0,1] on node two"
    let daemon = text.find("Remote daemon").and_then(|at| text[at..].split_once("on node ")).map(|(_, rest)| rest);
    let by_network = daemon.filter(|_| text.contains("lost communication with a remote daemon"));
    by_network
        .and_then(|rest| Some(rest.split_whitespace().next()?.to_owned()))
        // "A daemon failed to report back after being spawned. ... Local host: one Remote host: two"
        .or_else(|| after("daemon failed to report back", "Remote host:"))
}

fn lost(host: &str, evidence: &Evidence) -> (Option<usize>, String) {
    let ranks: Vec<usize> =
        evidence.introduced().filter(|(_, report)| short(&report.host) == short(host)).map(|(process, _)| process).collect();
    let Some(first) = ranks.first() else {
        let cause = if evidence.introduced().next().is_some() { "is gone" } else { "could not begin" };
        let remedy = format!("`hvd-lab doctor -H {host}` looks at it; a firewall between the hosts does this as well");
        return (None, format!("host {host} {cause}: mpirun lost touch with it. {remedy}"));
    };
    let all = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let names = if ranks.len() == 1 { format!("process {all}") } else { format!("processes {all}") };
    (Some(*first), format!("host {host} died or was cut off{}, and {names} with it", place(*first, evidence)))
}

/// Where a process was last seen, as the end of a sentence; nothing where nobody knows.
fn place(process: usize, evidence: &Evidence) -> String {
    match (evidence.work, evidence.step(process)) {
        (Work::Training | Work::Photos, Some(step)) => format!(" in epoch {} after batch {}", step.epoch + 1, step.batch + 1),
        (Work::Collectives | Work::Benchmark, _) if evidence.done() > 0 => {
            format!(" after {}", evidence.work.counted(evidence.done()))
        }
        _ => String::new(),
    }
}

fn code_words(exit: Option<ExitStatus>) -> String {
    exit.and_then(|exit| exit.code()).map_or_else(String::new, |code| format!(" ended with exit code {code}"))
}

fn known_process(process: Option<usize>, pid: Option<u32>, evidence: &Evidence) -> Option<usize> {
    process.or_else(|| evidence.introduced().find_map(|(process, known)| (Some(known.pid) == pid).then_some(process)))
}

/// It was stopped for so long that the run goes on without it.
fn given_up(process: usize, evidence: &Evidence) -> (Option<usize>, String) {
    let place = place(process, evidence);
    (Some(process), format!("process {process} was stopped by a signal{place} and did not go on, so the lab has ended it"))
}

fn signal_words(signal: i32) -> String {
    let name = nix::sys::signal::Signal::try_from(signal).map_or("?", nix::sys::signal::Signal::as_str);
    match signal {
        9 => format!("signal 9 ({name}): killed by hand, or by the system because memory ran out"),
        _ => format!("signal {signal} ({name})"),
    }
}

/// The launcher's lines without rules and blank lines.
fn launcher_words(evidence: &Evidence) -> Vec<String> {
    let is_word = |line: &&String| line.chars().any(char::is_alphanumeric) && !line.starts_with("hvd-lab: ");
    evidence.launcher.iter().filter(is_word).map(|line| line.trim().to_owned()).collect()
}

/// At most 300 characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
