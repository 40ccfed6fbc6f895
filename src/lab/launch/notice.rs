//! What launchers say about the first process that failed, and what MPI says in a process that aborted.
//!
//! A launcher that names no process counts as silent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::slurm::Ended;
use crate::domain::bounds::MAX_RANKS;

/// What the launcher says about the first process that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// `None` of some rank: which one, the launcher does not say.
    pub process: Option<usize>,
    pub pid: Option<u32>,
    pub how: How,
    /// It is called the root cause, and not only the first to end.
    pub is_root: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Signal(i32),
    ExitCode(i32),
    /// By calling MPI_Abort.
    Abort,
    /// With exit code 0 and without letting go of the others.
    Left,
    /// Not a rank: the launcher itself was asked to end by this signal.
    LauncherSignal(i32),
}

/// A way in which a launcher names the first that failed: the file says more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    pattern: String,
    means: Option<Means>,
}

/// What the words of a launcher mean where no number of theirs says it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Means {
    Left,
    Abort,
    LauncherSignal,
}

// The file is part of the program, and a test reads it.
static FORMS: LazyLock<Vec<(Regex, Option<Means>)>> = LazyLock::new(|| {
    let text = include_str!("../../../assets/launchers/notices.toml");
    let tables: BTreeMap<String, Vec<Form>> = toml::from_str(text).unwrap_or_default();
    tables.values().flatten().filter_map(|form| Some((Regex::new(&form.pattern).ok()?, form.means))).collect()
});

/// As `strsignal` names the signals in C.
const SIGNALS: [(&str, i32); 8] = [
    ("Killed", 9),
    ("Out Of Memory", 9),
    ("Terminated", 15),
    ("Segmentation fault", 11),
    ("Aborted", 6),
    ("Bus error", 7),
    ("Floating point exception", 8),
    ("Illegal instruction", 4),
];

/// Calls of MPI_Abort, as MPI announces them in the output of the process that called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aborts {
    /// Processes in whose output the announcement began: what follows there says nothing of the cause.
    announced: BTreeSet<usize>,
    /// The error code of each process that called.
    pub by: BTreeMap<usize, Option<i32>>,
}

impl Aborts {
    /// Read a line of a process. Whether it belongs to an announcement, or comes after one.
    pub fn read(&mut self, process: usize, text: &str) -> bool {
        // MPICH: "Abort(3) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 3) - process 1"
        if let Some((_, call)) = text.split_once("application called MPI_Abort(")
            && let Some((arguments, caller)) = call.split_once(") - process ")
            && let Some(caller) = leading_number(caller)
        {
            let code = arguments.rsplit_once(',').and_then(|(_, code)| code.trim().parse().ok());
            self.by.insert(caller, code);
            return true;
        }
        // Open MPI: "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", and in version 5 "Proc: [[16551,1],1]", which
        // has the number in MPI_COMM_WORLD also where the communicator is another. Then "Errorcode: 3", or "with errorcode 3.".
        if let Some(call) = text.strip_prefix("MPI_ABORT was invoked") {
            self.announced.insert(process);
            if let Some(caller) = call.strip_prefix(" on rank ").filter(|_| call.trim_end().ends_with("MPI_COMM_WORLD")) {
                leading_number(caller).into_iter().for_each(|caller| {
                    self.by.entry(caller).or_default();
                });
            }
            return true;
        }
        if !self.announced.contains(&process) {
            return false;
        }
        let text = text.trim();
        if let Some(name) = text.strip_prefix("Proc: [")
            && let Some(caller) = name.rsplit_once(',').and_then(|(_, rank)| leading_number(rank))
        {
            self.by.entry(caller).or_default();
        } else if let Some(code) = text.split_once("rrorcode").and_then(|(_, code)| leading_number(code.trim_start_matches(':')))
            && let Some(last) = self.by.values_mut().find(|known| known.is_none())
        {
            *last = Some(code);
        }
        true
    }

    /// Together with what the launcher printed of it.
    pub fn with_launcher<'a>(mut self, launcher: impl Iterator<Item = &'a String>) -> Aborts {
        for line in launcher {
            // No process has this number.
            self.read(usize::MAX, line);
        }
        self
    }
}

/// A launcher's lines as one, without the rules around them.
pub(super) fn one_line<'a>(launcher: impl Iterator<Item = &'a String>) -> String {
    launcher.map(|line| line.trim_start_matches('=').trim()).collect::<Vec<_>>().join(" ")
}

/// The launcher's notice of the first failure, in its lines as one.
pub(super) fn notice(launcher: &str) -> Option<Notice> {
    FORMS.iter().find_map(|(form, means)| read(form, *means, launcher))
}

fn read(form: &Regex, means: Option<Means>, text: &str) -> Option<Notice> {
    let found = form.captures(text)?;
    let number = |name: &str| found.name(name)?.as_str().parse::<i32>().ok();
    let word = found.name("word").and_then(|word| SIGNALS.iter().find(|(name, _)| *name == word.as_str()));
    let how = match (means, number("signal").or(word.map(|(_, signal)| *signal)), number("code")) {
        (Some(Means::LauncherSignal), signal, _) => How::LauncherSignal(signal?),
        (Some(Means::Left), ..) => How::Left,
        (Some(Means::Abort), ..) => How::Abort,
        (None, Some(signal), _) => How::Signal(signal),
        // Python has the signal that ended a process as a negative number.
        (None, None, Some(code)) if code < 0 => How::Signal(-code),
        (None, None, code) => How::ExitCode(code?),
    };
    let process = found.name("process").and_then(|process| process.as_str().parse().ok());
    let pid = found.name("pid").and_then(|pid| pid.as_str().parse().ok());
    // Both are torchrun's.
    let is_root = form.as_str().contains("exitcode");
    Some(Notice { process: process.filter(|process| *process < MAX_RANKS), pid, how, is_root })
}

/// Whether Slurm says that it ended processes since memory ran out.
pub(super) fn is_out_of_memory(text: &str) -> bool {
    ["oom_kill event", "oom-kill event", "out-of-memory handler", ": Out Of Memory"].iter().any(|words| text.contains(words))
}

/// How Slurm says that it ended what it ran. It also cancels a step after a rank that failed, and gives no reason then.
pub(super) fn cancelled(text: &str) -> Option<Ended> {
    let (_, behind) = text.split_once(" CANCELLED AT ")?;
    Some(match behind.split_once("***")?.0.split_once(" DUE TO ")?.1.trim() {
        "TIME LIMIT" => Ended::TimeLimit("Slurm ended it, since its time limit was over".to_owned()),
        why => Ended::Other(format!("Slurm ended it: {}", why.to_lowercase())),
    })
}

fn leading_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notice_of_the_table_is_an_expression() {
        assert_eq!(FORMS.len(), 14);
    }
}
