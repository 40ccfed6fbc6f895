//! How a run ended, from the evidence: finished, stopped, or failed and by whose fault.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::evidence::Evidence;
use super::host_name::HostName;
use super::libraries::{blame, is_remark};
use super::notice::{How, Notice, cancelled, is_out_of_memory, notice, one_line};
use super::printed_errors::last_words;
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
    /// A verdict that blames no rank.
    pub fn plain(state: RunState, message: String) -> Verdict {
        Verdict { state, message, failed_process: None, last_lines: Vec::new(), lost: None }
    }

    /// If a run failed because of a library, adds which variable or file made it load that library, and the remedy.
    pub fn trace_libraries(&mut self, evidence: &Evidence) {
        let of_ranks = evidence.tails.values().flatten();
        let said = evidence.launcher.iter().chain(of_ranks).chain([&self.message]).map(String::as_str);
        if self.state == RunState::Failed
            && let Some((what, remedy)) = blame(&said.collect::<Vec<_>>().join("\n"))
        {
            self.message = format!("{}. {what}: {remedy}", self.message.trim_end_matches('.'));
            self.last_lines.retain(|line| !is_remark(line));
        }
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
    let is_own = evidence.work == Work::Program;
    if is_own && !asked_to_stop && exit.is_some_and(|exit| exit.success()) && lost_host(evidence).is_none() {
        return plain(RunState::Finished, evidence.work.finished(evidence.done()));
    }
    if evidence.all_finished() && (asked_to_stop || exit.is_some_and(|exit| exit.success())) {
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
    match cancelled(&one_line(evidence.launcher.iter())) {
        Some("TIME LIMIT") => {
            let stopped = evidence.work.stopped(evidence.done());
            return plain(RunState::Stopped, format!("{stopped}: Slurm ended it, since its time limit was over"));
        }
        Some(why) => return plain(RunState::Failed, format!("Slurm ended it: {}", why.to_lowercase())),
        None => {}
    }
    let (process, cause) = cause(evidence, exit);
    let last_lines = match process {
        Some(process) => evidence.tails.get(&process).into_iter().flatten().cloned().collect(),
        // The only one that printed anything, perhaps for all of them.
        None if !evidence.is_untagged
            && evidence.work == Work::Program
            && evidence.tails.values().filter_map(|lines| last_words(lines.iter())).count() == 1 =>
        {
            evidence.tails.values().flatten().cloned().collect()
        }
        None => Vec::new(),
    };
    // With step 2 only rank 0 prints: of the others the launcher's words are all there is.
    let last_lines = match last_lines.is_empty() && notice(evidence.launcher.iter()).is_none_or(|notice| notice.how != How::Left)
    {
        true => launcher_words(evidence).into_iter().rev().take(10).rev().collect(),
        false => last_lines,
    };
    Verdict { state: RunState::Failed, message: cause, failed_process: process, last_lines, lost: lost_ranks(evidence, process) }
}

/// The ranks that are gone. `None` if a rank reported itself why it cannot continue: it would fail again.
fn lost_ranks(evidence: &Evidence, failed: Option<usize>) -> Option<Lost> {
    if let Some(host) = lost_host(evidence) {
        let ranks = ranks_of(&host, evidence).len();
        return Some(Lost { ranks, host: Some(host) });
    }
    let is_lost = failed.is_some_and(|failed| evidence.fatal_of(failed).is_none()) && evidence.introduced().next().is_some();
    is_lost.then_some(Lost { ranks: 1, host: None })
}

fn ranks_of(host: &str, evidence: &Evidence) -> Vec<usize> {
    let known = HostName::of(host).among(evidence.introduced().map(|(_, report)| report.host.as_str()));
    evidence.introduced().filter(|(_, report)| Some(report.host.as_str()) == known).map(|(process, _)| process).collect()
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
    let known = notice.and_then(|notice| Some((known_process(&notice, evidence)?, notice)));
    // One that ends before another may only be quicker to end: who printed a real error first is the first.
    let is_killed = notice.is_some_and(|notice| matches!(notice.how, How::Signal(signal) if ![6, 15].contains(&signal)));
    if evidence.work == Work::Program && !evidence.is_alone && !is_killed && exit.is_none_or(|exit| exit.signal().is_none()) {
        let named = known.map(|(process, notice)| (process, notice.is_root)).or(aborted.map(|(process, _)| (process, true)));
        if let Some((process, text)) = first_error(evidence, named) {
            return (Some(process), format!("process {process} failed first: {}", shortened(text)));
        }
    }
    // A killed rank makes the others fail too, and they can still say so: the launcher knows who was first. MPICH does not
    // distinguish those that an abort ends.
    if let Some((process, Notice { process: named, how: How::Signal(signal), .. })) = known
        && (named.is_some() || aborted.is_none())
    {
        // Its own word, for which it was ended perhaps, says more than the signal.
        return match evidence.fatal_of(process) {
            Some(own) => fatal(own),
            _ if evidence.given_up.contains(&process) => given_up(process, evidence),
            _ => {
                let by = signal_words(signal, evidence);
                (Some(process), format!("process {process} was ended{} by {by}", place(process, evidence)))
            }
        };
    }
    if let Some(first) = evidence.fatal().first() {
        return fatal(first);
    }
    // Among the lines of process 0 there are those of all others.
    let is_own = |process| process != 0 || !evidence.is_untagged;
    let tail = |process| evidence.tails.get(&process).filter(|_| is_own(process)).and_then(|lines| last_words(lines.iter()));
    let error = |process| error_of(evidence, process).or_else(|| tail(process));
    let said = |process| error(process).map(|line| format!(": {}", shortened(line))).unwrap_or_default();
    if let Some((process, code)) = aborted {
        let code = code.map(|code| format!(" with error code {code}")).unwrap_or_default();
        return (Some(process), format!("process {process} called MPI_Abort{}{code}{}", place(process, evidence), said(process)));
    }
    match known {
        Some((process, Notice { how: How::ExitCode(code), .. })) => {
            let (code, said) = (code_meaning(code, evidence), said(process));
            return (Some(process), format!("process {process} ended{} with {code}{said}", place(process, evidence)));
        }
        Some((process, Notice { how: How::Left, .. })) => {
            let place = place(process, evidence);
            let cause = "by itself, without an error, before its program was over. Look for an exit that only some ranks reach";
            return (Some(process), format!("process {process} left{place} {cause}"));
        }
        _ => {}
    }
    if evidence.work == Work::Program {
        return of_own_program(evidence, exit, notice);
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
        return (None, format!("mpirun was ended by {}", signal_words(signal, evidence)));
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

/// What a process printed of the error that ended it; without tags, and where none says whose it is, the first that anyone printed.
fn error_of(evidence: &Evidence, process: usize) -> Option<&str> {
    let unknown = || evidence.errors.first().filter(|(of, _)| of.is_none()).map(|(_, error)| error);
    Some(&evidence.errors.of(Some(process)).or_else(|| unknown().filter(|_| evidence.is_untagged))?.text)
}

/// The process that printed the first error that follows from no other, and this error, where it is not the one that the launcher
/// names. Whom it calls the root cause it is to be believed, unless that one's own words are that it has lost another.
fn first_error(evidence: &Evidence, named: Option<(usize, bool)>) -> Option<(usize, &str)> {
    let (process, error) = evidence.errors.first()?;
    let is_lost = |named| evidence.errors.of(Some(named)).is_some_and(|own| own.is_consequence);
    let is_believed = named.is_some_and(|(named, is_root)| Some(named) == process || is_root && !is_lost(named));
    Some((process.filter(|_| !is_believed)?, &error.text))
}

/// How a program of the user's own ended, of whose ranks nobody says which failed: only one that ran alone can be named, and only
/// of one the last words may be the cause.
fn of_own_program(evidence: &Evidence, exit: Option<ExitStatus>, notice: Option<Notice>) -> (Option<usize>, String) {
    const NOBODY: &str = "nothing says which rank failed first: look at the end of the log of each rank";
    // Ranks that ended within a second were not counted; those of torchrun are named, and accelerate starts one alone without it.
    let is_one = evidence.is_alone || evidence.introduced().nth(1).is_none();
    let launcher = if evidence.is_alone { "the program" } else { evidence.launcher_name };
    let process = evidence.is_alone.then_some(0);
    if let Some(signal) = exit.and_then(|exit| exit.signal()) {
        return (process, format!("{launcher} was ended by {}", signal_words(signal, evidence)));
    }
    match notice.filter(|_| !evidence.is_alone).map(|notice| notice.how) {
        Some(How::LauncherSignal(signal)) => {
            return (None, format!("{launcher} was asked to end by {}", signal_words(signal, evidence)));
        }
        Some(How::Signal(signal)) => {
            return (None, format!("one of the ranks was ended by {}, and {NOBODY}", signal_words(signal, evidence)));
        }
        Some(How::ExitCode(code)) if !(is_one && evidence.is_untagged) => {
            let said =
                evidence.errors.first().map_or(format!(", and {NOBODY}"), |(_, error)| format!(": {}", shortened(&error.text)));
            return (None, format!("one of the ranks ended with {}{said}", code_meaning(code, evidence)));
        }
        _ => {}
    }
    if is_out_of_memory(&one_line(evidence.launcher.iter())) {
        return (None, format!("one of the ranks was ended by {}, and {NOBODY}", signal_words(9, evidence)));
    }
    let words = launcher_words(evidence);
    let only = || error_of(evidence, 0).or_else(|| Some(evidence.errors.of(None)?.text.as_str()));
    let error = if is_one { only() } else { evidence.errors.first().map(|(_, error)| error.text.as_str()) };
    // Its launcher, where no rank has printed anything.
    let is_silent = evidence.tails.values().all(|lines| last_words(lines.iter()).is_none());
    let mut said = match (error, evidence.is_untagged || is_silent) {
        (Some(error), _) => vec![error],
        (None, true) => last_words(words.iter()).into_iter().collect(),
        (None, false) => evidence.tails.values().filter_map(|lines| last_words(lines.iter())).collect(),
    };
    let said = match (said.pop(), said.pop()) {
        (Some(only), None) if is_one || error.is_some() => format!(": {}", shortened(only)),
        _ if evidence.is_alone => String::new(),
        _ => format!(", and {NOBODY}"),
    };
    (process, format!("the program{}{said}", code_words(exit)))
}

/// The process that called MPI_Abort, and its error code; nothing where several may have been first.
fn aborted(evidence: &Evidence, notice: Option<&Notice>) -> Option<(usize, Option<i32>)> {
    let by = evidence.aborts.clone().with_launcher(evidence.launcher.iter()).by;
    match (notice, by.len()) {
        (Some(Notice { process: Some(process), how: How::Abort, .. }), _) => Some((*process, by.get(process).copied().flatten())),
        (_, 1) => by.into_iter().next(),
        _ => None,
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
    let ranks = ranks_of(host, evidence);
    let Some(first) = ranks.first() else {
        let cause = if evidence.introduced().next().is_some() { "is gone" } else { "could not begin" };
        let remedy = format!("`hvd-lab doctor -H {host}` looks at it; a firewall between the hosts does this as well");
        return (None, format!("host {host} {cause}: mpirun lost touch with it. {remedy}"));
    };
    let all = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let names = if ranks.len() == 1 { format!("process {all}") } else { format!("processes {all}") };
    (Some(*first), format!("host {host} died or was cut off{}, and {names} with it", place(*first, evidence)))
}

/// Where a process was last seen, as the end of a sentence; empty if that is unknown.
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

fn known_process(notice: &Notice, evidence: &Evidence) -> Option<usize> {
    let is_it = |pid: u32| Some(pid) == notice.pid;
    notice.process.or_else(|| evidence.introduced().find_map(|(process, known)| is_it(known.pid).then_some(process)))
}

/// It was stopped for so long that the run continues without it.
fn given_up(process: usize, evidence: &Evidence) -> (Option<usize>, String) {
    let place = place(process, evidence);
    (Some(process), format!("process {process} was stopped by a signal{place} and did not go on, so the lab has ended it"))
}

fn signal_words(signal: i32, evidence: &Evidence) -> String {
    let name = nix::sys::signal::Signal::try_from(signal).map_or("?", nix::sys::signal::Signal::as_str);
    let why = match signal {
        9 if is_out_of_memory(&one_line(evidence.launcher.iter())) => ": Slurm says that memory ran out",
        9 => ": killed by hand, or by the system because memory ran out",
        _ => "",
    };
    format!("signal {signal} ({name}){why}")
}

/// A shell between launcher and rank has a signal as a code above 128.
fn code_meaning(code: i32, evidence: &Evidence) -> String {
    match code {
        129..160 => format!("exit code {code}, as after {}", signal_words(code - 128, evidence)),
        _ => format!("exit code {code}"),
    }
}

/// The launcher's lines without rules and blank lines. A traceback of the launcher itself is left out if the ranks printed more before.
fn launcher_words(evidence: &Evidence) -> Vec<String> {
    let is_word = |line: &&String| line.chars().any(char::is_alphanumeric) && !line.starts_with("hvd-lab: ") && !is_remark(line);
    let mut words: Vec<String> = evidence.launcher.iter().filter(is_word).map(|line| line.trim().to_owned()).collect();
    let script = format!("/{}\", line ", evidence.launcher_name);
    let own = words.windows(2).position(|pair| pair[0].starts_with("Traceback (") && pair[1].contains(&script));
    if let Some(at) = own.filter(|at| evidence.is_untagged && *at > 0) {
        words.truncate(at);
    }
    words
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
