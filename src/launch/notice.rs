//! What launchers say about the first process that failed, and what MPI says in a process that aborted.
//!
//! Never guesses: a launcher that names nobody has said nothing.

use std::collections::{BTreeMap, BTreeSet};

/// What the launcher says about the first process that died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
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
    /// By calling MPI_Abort.
    Abort {
        process: usize,
    },
    /// With exit code 0 and without letting go of the others.
    Left {
        process: usize,
    },
}

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

/// Read the launcher's notice of the first failure.
pub(super) fn notice<'a>(launcher: impl Iterator<Item = &'a String>) -> Option<Notice> {
    let text = launcher.map(|line| line.trim_start_matches('=').trim()).collect::<Vec<_>>().join(" ");
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
    // Open MPI: "... has exited due to process rank 1 with PID 0 on node vm calling "abort"."
    if let Some((before, _)) = text.split_once("calling \"abort\"")
        && let Some(process) = before.rsplit_once("process rank ").and_then(|(_, rest)| leading_number(rest))
    {
        return Some(Notice::Abort { process });
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
    let Some((_, after)) = text.split_once("BAD TERMINATION") else { return of_other_launchers(&text) };
    let pid = after.split_once(" PID ").and_then(|(_, rest)| leading_number(rest));
    let code = after.split_once("EXIT CODE:").and_then(|(_, rest)| leading_number(rest))?;
    let signal = after.split_once("(signal ").and_then(|(_, rest)| leading_number(rest));
    Some(match signal {
        Some(signal) => Notice::Signal { process: None, pid, signal },
        None => Notice::ExitCode { process: None, pid, code },
    })
}

/// torchrun, srun and horovodrun.
fn of_other_launchers(text: &str) -> Option<Notice> {
    let ended = |process: Option<usize>, code: i32| match code {
        // Python has the signal that ended a process as a negative number.
        ..0 => Notice::Signal { process, pid: None, signal: -code },
        _ => Notice::ExitCode { process, pid: None, code },
    };
    let number_behind = |text: &str, key: &str| text.split_once(key).and_then(|(_, rest)| signed_number(rest));
    // torchrun: "Root Cause (first observed failure): [0]: ... rank      : 1 (local_rank: 1) exitcode  : 3 (pid: 77)"
    if let Some((_, cause)) = text.split_once("Root Cause (first observed failure):")
        && let Some((_, rest)) = cause.split_once(" rank ")
        && let Some(rank) = number_behind(rest, ":")
        && let Some((_, rest)) = rest.split_once("exitcode")
    {
        return Some(ended(usize::try_from(rank).ok(), number_behind(rest, ":")?));
    }
    // srun: "srun: error: node-1: task 1: Exited with exit code 3"
    if let Some((before, after)) = text.split_once(": Exited with exit code ")
        && let Some((_, task)) = before.rsplit_once(": task ")
    {
        return Some(ended(task.parse().ok(), leading_number(after)?));
    }
    // horovodrun: "Process 1 exit with status code 3."
    let (before, after) = text.split_once(" exit with status code ")?;
    let (_, process) = before.rsplit_once("Process ")?;
    Some(ended(process.parse().ok(), signed_number(after)?))
}

fn signed_number(text: &str) -> Option<i32> {
    let text = text.trim_start();
    match text.strip_prefix('-') {
        Some(number) => leading_number::<i32>(number).map(|number| -number),
        None => leading_number(text),
    }
}

fn leading_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
