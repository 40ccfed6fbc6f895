//! How a run ended, from what was observed: finished, stopped, or failed and by whose fault.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::host_name::HostName;
use super::libraries::{LOADER_FAILED, blame, blame_of_failed, is_remark, thread_left};
use super::notice::{How, Notice, cancelled, is_out_of_memory, notice, one_line};
use super::observations::Observations;
use super::printed_errors::{last_words, shortened};
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
    pub fn trace_libraries(&mut self, observations: &Observations) {
        let of_ranks = observations.tails.values().flatten();
        let said: Vec<&str> = observations.launcher.iter().chain(of_ranks).chain([&self.message]).map(String::as_str).collect();
        let said = said.join("\n");
        let is_own = observations.work != Work::Program;
        let blame = if is_own && self.message.contains(LOADER_FAILED) { blame_of_failed } else { blame };
        if self.state == RunState::Failed
            && let Some((what, remedy)) = blame(&said).or_else(|| thread_left(&said))
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

/// The process that failed first, if it is known, and how, in one sentence.
type Cause = (Option<usize>, String);

/// Judge a run whose launcher has ended.
///
/// `asked_to_stop` says that the user wanted the end; `broken` why the supervisor had to end it.
pub fn judge(observations: &Observations, exit: Option<ExitStatus>, asked_to_stop: bool, broken: Option<String>) -> Verdict {
    if let Some(cause) = broken {
        return Verdict::plain(RunState::Failed, cause);
    }
    let launcher = one_line(observations.launcher.iter());
    let ending = Ending { observations, exit, notice: notice(&launcher), launcher };
    // A program of the user's own does not report that it has finished.
    let is_unreported = observations.work == Work::Program && !asked_to_stop && ending.lost_host().is_none();
    let has_succeeded = exit.is_some_and(|exit| exit.success());
    if (is_unreported || observations.all_finished()) && (asked_to_stop || has_succeeded) {
        return Verdict::plain(RunState::Finished, observations.work.finished(observations.done()));
    }
    let stopped = observations.work.stopped(observations.done());
    if asked_to_stop {
        return Verdict::plain(RunState::Stopped, stopped);
    }
    let by_slurm = slurm::ended(observations.launcher.iter()).filter(|end| *end != Ended::Requeued);
    match by_slurm.or_else(|| cancelled(&ending.launcher)) {
        Some(Ended::TimeLimit(words)) => return Verdict::plain(RunState::Stopped, format!("{stopped}: {words}")),
        Some(Ended::Other(words)) => return Verdict::plain(RunState::Failed, words),
        Some(Ended::Requeued) | None => {}
    }
    let (failed_process, message) = ending.cause();
    let last_lines = ending.last_lines(failed_process);
    Verdict { state: RunState::Failed, message, failed_process, last_lines, lost: ending.lost_ranks(failed_process) }
}

/// A failed launch: what is known of it, and the sentences about its cause.
struct Ending<'a> {
    observations: &'a Observations,
    exit: Option<ExitStatus>,
    /// The launcher's lines as one.
    launcher: String,
    notice: Option<Notice>,
}

impl Ending<'_> {
    fn last_lines(&self, failed: Option<usize>) -> Vec<String> {
        let Observations { tails, is_untagged, work, .. } = self.observations;
        let printing = || tails.values().filter(|lines| last_words(lines.iter()).is_some()).count();
        let lines: Vec<String> = match failed {
            Some(process) => tails.get(&process).into_iter().flatten().cloned().collect(),
            // The only one that printed anything, perhaps for all of them.
            None if !is_untagged && *work == Work::Program && printing() == 1 => tails.values().flatten().cloned().collect(),
            None => Vec::new(),
        };
        // With step 2 only rank 0 prints: of the others the launcher's words are all there is.
        if lines.is_empty() && self.notice.is_none_or(|notice| notice.how != How::Left) {
            let words = launcher_words(self.observations);
            words[words.len().saturating_sub(10)..].to_vec()
        } else {
            lines
        }
    }

    /// The ranks that are gone. `None` if a rank reported itself why it cannot continue: it would fail again.
    fn lost_ranks(&self, failed: Option<usize>) -> Option<Lost> {
        if let Some(host) = self.lost_host() {
            return Some(Lost { ranks: self.ranks_of(&host).len(), host: Some(host) });
        }
        let is_lost = self.observations.fatal_of(failed?).is_none() && self.observations.introduced().next().is_some();
        is_lost.then_some(Lost { ranks: 1, host: None })
    }

    fn ranks_of(&self, host: &str) -> Vec<usize> {
        let introduced = || self.observations.introduced().map(|(process, report)| (process, report.host.as_str()));
        let known = HostName::of(host).among(introduced().map(|(_, host)| host));
        introduced().filter(|(_, host)| Some(*host) == known).map(|(process, _)| process).collect()
    }

    /// The surest explanation comes first: what another process or the launcher says later may only follow from it.
    fn cause(&self) -> Cause {
        let Ending { observations, notice, .. } = self;
        // A host that is gone takes its ranks along, and the others fail for it.
        if let Some(host) = self.lost_host() {
            return self.lost(&host);
        }
        let reported = |Fatal { process, during, cause }: &Fatal| {
            (Some(*process), format!("rank {process} failed during {during}: {cause}"))
        };
        let aborted = self.aborted();
        let known = notice.and_then(|notice| Some((self.known_process(&notice)?, notice)));
        // One that ends before another may only be quicker to end: who printed a real error first is the first.
        let is_killed = notice.is_some_and(|notice| matches!(notice.how, How::Signal(signal) if ![6, 15].contains(&signal)));
        if observations.work == Work::Program && !observations.is_alone && !is_killed && self.exit_signal().is_none() {
            let named = known.map(|(process, notice)| (process, notice.is_root)).or(aborted.map(|(process, _)| (process, true)));
            if let Some((process, text)) = first_error(observations, named) {
                return (Some(process), format!("rank {process} failed first: {}", shortened(text)));
            }
        }
        // A killed rank makes the others fail too, and they can still say so: the launcher knows who was first. MPICH does not
        // distinguish those that an abort ends.
        if let Some((process, Notice { process: named, how: How::Signal(signal), .. })) = known
            && (named.is_some() || aborted.is_none())
        {
            // Its own word, for which it was ended perhaps, says more than the signal.
            let own = observations.fatal_of(process).map(reported).or_else(|| self.given_up(process));
            return own.unwrap_or_else(|| self.did(process, "was ended", &format!(" by {}", self.signal_words(signal))));
        }
        if let Some(first) = observations.fatal().first() {
            return reported(first);
        }
        if let Some((process, code)) = aborted {
            let code = code.map(|code| format!(" with error code {code}")).unwrap_or_default();
            return self.did(process, "called MPI_Abort", &format!("{code}{}", self.last_error(process)));
        }
        match known {
            Some((process, Notice { how: How::ExitCode(code), .. })) => {
                let how = format!(" with {}{}", self.code_meaning(code), self.last_error(process));
                return self.did(process, "ended", &how);
            }
            Some((process, Notice { how: How::Left, .. })) => {
                let how =
                    " by itself, without an error, before its program was over. Look for an exit that only some ranks reach";
                return self.did(process, "left", how);
            }
            _ => {}
        }
        if observations.work == Work::Program {
            return self.cause_in_own_program();
        }
        if let Some(process) = observations.vanished {
            let vanished = || self.did(process, "vanished", &format!(", and mpirun did not notice{LEFT}"));
            return self.given_up(process).unwrap_or_else(vanished);
        }
        if let Some(signal) = self.exit_signal() {
            return (None, format!("mpirun was ended by {}", self.signal_words(signal)));
        }
        let has_reports = observations.introduced().next().is_some();
        if let Some(process) = observations.imitating.first()
            && !has_reports
        {
            let cause = "printed lines that look like events of the lab, and none came from its library: what a program prints is \
                         no observations. If the program trains with the library, build both anew from the same version";
            return (Some(*process), format!("rank {process} {cause}"));
        }
        let code = self.code_words();
        if !has_reports {
            let words = launcher_words(observations).join(" ");
            // Only of some does mpirun say that they ended, and why is in their own words.
            let error = || observations.errors.first().map(|(_, error)| error.text.as_str());
            let of_rank = || error().or_else(|| observations.tails.values().find_map(|lines| last_words(lines.iter())));
            let words = if words.is_empty() { of_rank().unwrap_or("it said nothing") } else { &words };
            return (None, format!("mpirun{code} before any rank reported: {}", shortened(words)));
        }
        let silent = observations.introduced().map(|(process, _)| process).find(|process| !observations.has_finished(*process));
        match silent {
            Some(process) => self.did(process, "ended", &format!(" without a final event (mpirun{code}){LEFT}")),
            None => (None, format!("every rank finished, but mpirun{code}")),
        }
    }

    /// How a program of the user's own ended, if nothing says which of its ranks failed: only one that ran alone can be named, and
    /// only of one the last words may be the cause.
    fn cause_in_own_program(&self) -> Cause {
        const NOBODY: &str = "nothing says which rank failed first: look at the end of the log of each rank";
        let observations = self.observations;
        // Ranks that ended within a second were not counted; those of torchrun are named, and accelerate starts one alone without it.
        let is_one = observations.is_alone || observations.introduced().nth(1).is_none();
        let launcher = if observations.is_alone { "the program" } else { observations.launcher_name };
        let process = observations.is_alone.then_some(0);
        if let Some(signal) = self.exit_signal() {
            return (process, format!("{launcher} was ended by {}", self.signal_words(signal)));
        }
        let killed = |signal| (None, format!("one of the ranks was ended by {}, and {NOBODY}", self.signal_words(signal)));
        let first_error = observations.errors.first().map(|(_, error)| error.text.as_str());
        match self.notice.filter(|_| !observations.is_alone).map(|notice| notice.how) {
            Some(How::LauncherSignal(signal)) => {
                return (None, format!("{launcher} was asked to end by {}", self.signal_words(signal)));
            }
            Some(How::Signal(signal)) => return killed(signal),
            Some(How::ExitCode(code)) if !(is_one && observations.is_untagged) => {
                let said = first_error.map_or(format!(", and {NOBODY}"), |error| format!(": {}", shortened(error)));
                return (None, format!("one of the ranks ended with {}{said}", self.code_meaning(code)));
            }
            _ if is_out_of_memory(&self.launcher) => return killed(9),
            _ => {}
        }
        let only_error = || error_of(observations, 0).or_else(|| Some(observations.errors.of(None)?.text.as_str()));
        let error = if is_one { only_error() } else { first_error };
        let of_launcher = launcher_words(observations);
        let of_ranks: Vec<&str> = observations.tails.values().filter_map(|lines| last_words(lines.iter())).collect();
        let last = match of_ranks[..] {
            _ if observations.is_untagged => last_words(of_launcher.iter()),
            [] => last_words(of_launcher.iter()),
            [only] => Some(only),
            _ => None,
        };
        let said = match error.or(last.filter(|_| is_one)) {
            Some(words) => format!(": {}", shortened(words)),
            None if observations.is_alone => String::new(),
            None => format!(", and {NOBODY}"),
        };
        (process, format!("the program{}{said}", self.code_words()))
    }

    /// `rank 1`, what it did, where it was then, and how.
    fn did(&self, process: usize, what: &str, how: &str) -> Cause {
        (Some(process), format!("rank {process} {what}{}{how}", self.place(process)))
    }

    /// A process that was stopped for so long that the run continues without it.
    fn given_up(&self, process: usize) -> Option<Cause> {
        let is_given_up = self.observations.given_up.contains(&process);
        is_given_up.then(|| self.did(process, "was stopped by a signal", " and did not go on, so the lab has ended it"))
    }

    /// The last error of a process, or its last words, as the end of a sentence.
    fn last_error(&self, process: usize) -> String {
        // Among the lines of process 0 there are those of all others.
        let is_own = process != 0 || !self.observations.is_untagged;
        let tail = || self.observations.tails.get(&process).filter(|_| is_own).and_then(|lines| last_words(lines.iter()));
        let error = error_of(self.observations, process).or_else(tail);
        error.map(|line| format!(": {}", shortened(line))).unwrap_or_default()
    }

    /// The process that called MPI_Abort, and its error code; nothing where several may have been first.
    fn aborted(&self) -> Option<(usize, Option<i32>)> {
        let by = self.observations.aborts.clone().with_launcher(self.observations.launcher.iter()).by;
        match (self.notice, by.len()) {
            (Some(Notice { process: Some(process), how: How::Abort, .. }), _) => {
                Some((process, by.get(&process).copied().flatten()))
            }
            (_, 1) => by.into_iter().next(),
            _ => None,
        }
    }

    fn known_process(&self, notice: &Notice) -> Option<usize> {
        let is_it = |pid: u32| Some(pid) == notice.pid;
        notice.process.or_else(|| self.observations.introduced().find_map(|(process, known)| is_it(known.pid).then_some(process)))
    }

    /// The host with which the launcher of Open MPI lost touch, by its name or address.
    fn lost_host(&self) -> Option<String> {
        let word_after = |text: &str, key: &str| Some(text.split_once(key)?.1.split_whitespace().next()?.to_owned());
        // "... has lost communication with a remote daemon. HNP daemon : [job@0,0] on node one Remote daemon: [job@0,1] on node two"
        let daemon = self.launcher.find("Remote daemon").map(|at| &self.launcher[at..]);
        let by_network = daemon.filter(|_| self.launcher.contains("lost communication with a remote daemon"));
        by_network
            .and_then(|daemon| word_after(daemon, "on node "))
            // "A daemon failed to report back after being spawned. ... Local host: one Remote host: two"
            .or_else(|| word_after(self.launcher.split_once("daemon failed to report back")?.1, "Remote host:"))
    }

    fn lost(&self, host: &str) -> Cause {
        let ranks = self.ranks_of(host);
        let Some(first) = ranks.first() else {
            let cause = if self.observations.introduced().next().is_some() { "is gone" } else { "could not begin" };
            let remedy = format!("`hvd-lab doctor -H {host}` looks at it; a firewall between the hosts does this as well");
            return (None, format!("host {host} {cause}: mpirun lost touch with it. {remedy}"));
        };
        let all = ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let names = if ranks.len() == 1 { format!("rank {all}") } else { format!("ranks {all}") };
        (Some(*first), format!("host {host} died or was cut off{}, and {names} with it", self.place(*first)))
    }

    /// Where a process was last seen, as the end of a sentence; empty if that is unknown.
    fn place(&self, process: usize) -> String {
        let Observations { work, .. } = self.observations;
        match (work, self.observations.step(process), self.observations.done()) {
            (Work::Training | Work::Photos, Some(step), _) => {
                format!(" in epoch {} after batch {}", step.epoch + 1, step.batch + 1)
            }
            (Work::Collectives | Work::Benchmark, _, done) if done > 0 => format!(" after {}", work.counted(done)),
            _ => String::new(),
        }
    }

    fn exit_signal(&self) -> Option<i32> {
        self.exit?.signal()
    }

    fn code_words(&self) -> String {
        self.exit.and_then(|exit| exit.code()).map_or_else(String::new, |code| format!(" ended with exit code {code}"))
    }

    fn signal_words(&self, signal: i32) -> String {
        let name = nix::sys::signal::Signal::try_from(signal).map_or("?", nix::sys::signal::Signal::as_str);
        let why = match signal {
            9 if is_out_of_memory(&self.launcher) => ": Slurm says that memory ran out",
            9 => ": killed by hand, or by the system because memory ran out",
            _ => "",
        };
        format!("signal {signal} ({name}){why}")
    }

    /// A shell between launcher and rank has a signal as a code above 128.
    fn code_meaning(&self, code: i32) -> String {
        match code {
            129..160 => format!("exit code {code}, as after {}", self.signal_words(code - 128)),
            _ => format!("exit code {code}"),
        }
    }
}

/// What a process printed of the error that ended it; without tags, and where none says whose it is, the first that anyone printed.
fn error_of(observations: &Observations, process: usize) -> Option<&str> {
    let unknown = || observations.errors.first().filter(|(of, _)| of.is_none()).map(|(_, error)| error);
    Some(&observations.errors.of(Some(process)).or_else(|| unknown().filter(|_| observations.is_untagged))?.text)
}

/// The process that printed the first error that follows from no other, and this error, where it is not the one that the launcher
/// names. Whom it calls the root cause it is to be believed, unless that one's own words are that it has lost another.
fn first_error(observations: &Observations, named: Option<(usize, bool)>) -> Option<(usize, &str)> {
    let (process, error) = observations.errors.first()?;
    let is_lost = |named| observations.errors.of(Some(named)).is_some_and(|own| own.is_consequence);
    let is_believed = named.is_some_and(|(named, is_root)| Some(named) == process || is_root && !is_lost(named));
    Some((process.filter(|_| !is_believed)?, &error.text))
}

/// The launcher's lines without rules and blank lines. A traceback of the launcher itself is left out if the ranks printed more before.
fn launcher_words(observations: &Observations) -> Vec<String> {
    let is_word = |line: &&String| line.chars().any(char::is_alphanumeric) && !line.starts_with("hvd-lab: ") && !is_remark(line);
    let mut words: Vec<String> = observations.launcher.iter().filter(is_word).map(|line| line.trim().to_owned()).collect();
    let script = format!("/{}\", line ", observations.launcher_name);
    let own = words.windows(2).position(|pair| pair[0].starts_with("Traceback (") && pair[1].contains(&script));
    if let Some(at) = own.filter(|at| observations.is_untagged && *at > 0) {
        words.truncate(at);
    }
    words
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
