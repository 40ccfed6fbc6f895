//! How a run ended, from the evidence: finished, stopped, or failed and by whose fault.

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::evidence::Evidence;
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

/// What the launcher says about the first process that died.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Notice {
    Signal {
        process: Option<usize>,
        pid: Option<u32>,
        signal: i32,
    },
    ExitCode {
        process: Option<usize>,
        pid: Option<u32>,
        code: i32,
    },
    /// With exit code 0 and without letting go of the others.
    Left {
        process: usize,
    },
}

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
        return plain(RunState::Stopped, evidence.work.stopped(evidence.done()));
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
        None => Vec::new(),
    };
    // With step 2 only rank 0 prints: of the others the launcher's words are all there is.
    let last_lines = match last_lines.is_empty() && !matches!(notice(evidence), Some(Notice::Left { .. })) {
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
    let notice = notice(evidence);
    let fatal =
        |Fatal { process, during, cause }: &Fatal| (Some(*process), format!("process {process} failed during {during}: {cause}"));
    // A killed rank makes the others fail too, and they can still say so: the launcher knows who was first.
    if let Some(Notice::Signal { process, pid, signal }) = &notice
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
    if let Some(Notice::ExitCode { process, pid, code }) = &notice
        && let Some(process) = known_process(*process, *pid, evidence)
    {
        let said = evidence.tails.get(&process).and_then(|tail| tail.iter().rfind(|line| !line.trim().is_empty()));
        let said = said.map(|line| format!(": {}", line.trim())).unwrap_or_default();
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

/// How a program of the user's own ended that its launcher says nothing of.
fn of_own_program(evidence: &Evidence, exit: Option<ExitStatus>) -> (Option<usize>, String) {
    let last = |lines: &VecDeque<String>| lines.iter().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
    let failed = evidence.tails.iter().find_map(|(process, tail)| Some((*process, last(tail)?)));
    let said = failed.as_ref().map(|(_, line)| format!(": {}", shortened(line))).unwrap_or_default();
    let process = failed.map(|(process, _)| process);
    match exit.and_then(|exit| exit.signal()) {
        Some(signal) => (process, format!("the program was ended by {}", signal_words(signal))),
        None => (process, format!("the program{}{said}", code_words(exit))),
    }
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

/// Read the launcher's notice of the first failure.
fn notice(evidence: &Evidence) -> Option<Notice> {
    let text = evidence.launcher.iter().map(|line| line.trim_start_matches('=').trim()).collect::<Vec<_>>().join(" ");
    // Open MPI: "... noticed that process rank 1 with PID 77 on node vm exited on signal 9 (Killed)."
    if let Some((before, after)) = text.split_once("exited on signal ")
        && let Some(signal) = leading_number(after)
    {
        let process = before.rsplit_once("process rank ").and_then(|(_, rest)| leading_number(rest));
        return Some(Notice::Signal { process, pid: None, signal });
    }
    // Open MPI: "... has exited due to process rank 1 with PID 77 on node vm exiting improperly."
    if let Some((before, _)) = text.split_once("exiting improperly")
        && let Some(process) = before.rsplit_once("process rank ").and_then(|(_, rest)| leading_number(rest))
    {
        return Some(Notice::Left { process });
    }
    // Open MPI: "Process name: [prterun-vm-7@1,1] Exit code: 3", in version 4 "[[7,1],1]".
    if let Some((_, after)) = text.split_once("Process name:")
        && let Some((name, rest)) = after.split_once("Exit code:")
    {
        let process = name.rsplit_once(',').and_then(|(_, rank)| leading_number(rank));
        return Some(Notice::ExitCode { process, pid: None, code: leading_number(rest)? });
    }
    // MPICH: "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES PID 77 RUNNING AT vm EXIT CODE: 9"; a code
    // below 32 with an exit string that names a signal is that signal.
    let (_, after) = text.split_once("BAD TERMINATION")?;
    let pid = after.split_once(" PID ").and_then(|(_, rest)| leading_number(rest));
    let code = after.split_once("EXIT CODE:").and_then(|(_, rest)| leading_number(rest))?;
    let signal = after.split_once("(signal ").and_then(|(_, rest)| leading_number(rest));
    Some(match signal {
        Some(signal) => Notice::Signal { process: None, pid, signal },
        None => Notice::ExitCode { process: None, pid, code },
    })
}

fn leading_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
