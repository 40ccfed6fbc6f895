//! The start and the end of a program that measures: it finds the other ranks, and leaves so that none waits for one that failed.
//!
//! `hvd-train.rs` writes both out in its `main`, to be read.

use std::process::ExitCode;

use super::config::Stop;
use super::report::Reporter;
use super::{device, shortage, startup};
use crate::comm::{self, CommError, Communicator, StallLimits};
use crate::domain::event::Event;
use crate::host::starved;

/// A program of the ranks, as its errors call it.
pub struct Launch {
    /// Begins each line of an error.
    pub program: &'static str,
    /// What a rank fails in, for the lab.
    pub during: &'static str,
    pub events: bool,
}

/// Why a program ends without its result.
#[derive(Debug)]
pub enum Failure {
    /// All ranks know it and leave by themselves with this code.
    Agreed { during: &'static str, cause: String, code: u8 },
    /// Only this rank knows it: the others may wait for it.
    Own(anyhow::Error),
}

impl Failure {
    /// What was asked for cannot be had, and all ranks know it.
    pub fn refused(cause: impl Into<String>) -> Failure {
        Failure::Agreed { during: "the start", cause: cause.into(), code: 2 }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Own(error.into())
    }
}

impl Launch {
    /// Before the ranks are connected and libtorch starts its threads: from now on a panic is an event, and a shortage of memory a
    /// line that says what `needs` it.
    pub fn prepare(&self, needs: String) {
        let advice = "Lower --batch-size or --image-size, or start fewer ranks on a host";
        shortage::explain(self.program, self.during, needs, advice, self.events);
        device::keep_freed_memory();
    }

    /// Finds the other ranks. A rank that waits for long for another one tells the lab.
    ///
    /// # Errors
    /// What the process ends with, once it has said why.
    pub fn connect(&self) -> Result<Box<dyn Communicator>, ExitCode> {
        let warnings = Reporter::new(comm::launched_index(), self.events);
        let limits = StallLimits { starved: starved::of_this_session, ..StallLimits::default() };
        comm::connect(true, limits, move |message| warnings.event(Event::Warning { message: message.to_owned() }))
            .map_err(|error| startup::refuse_as(self.program, &error))
    }

    /// Only the root prints for people.
    pub fn reporter(&self, comm: &dyn Communicator) -> Reporter {
        let mut report = Reporter::new(comm::launched_index(), self.events);
        report.set_verbose(comm.topology().is_root());
        report
    }

    /// How the process ends. Of a failure that all ranks know the root alone speaks.
    pub fn end(&self, comm: &dyn Communicator, report: &Reporter, result: Result<(), Failure>) -> ExitCode {
        let tell = |during: &str, cause: &str, text: &str, code: u8| {
            report.event(Event::Fatal { during: during.to_owned(), cause: cause.to_owned() });
            startup::explain(&Stop { text: format!("{}: {text}", self.program), code })
        };
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Agreed { during, cause, code }) if comm.topology().is_root() => tell(during, &cause, &cause, code),
            Err(Failure::Agreed { code, .. }) => ExitCode::from(code),
            Err(Failure::Own(error)) => {
                let (cause, code) = (format!("{error:#}"), startup::exit_code(&error));
                tell(self.during, &cause, &format!("process {}: {cause}", comm::launched_index()), code as u8);
                comm.abort(code)
            }
        }
    }
}

/// What each rank found out by itself, or the reason of the first that could not.
///
/// # Collective
/// Every rank calls it.
pub fn agreed<T>(comm: &dyn Communicator, own: Result<T, String>) -> Result<T, Failure> {
    let reasons = comm.allgather(own.as_ref().err().map_or(b"".as_slice(), |reason| reason.as_bytes()))?;
    match reasons.iter().find(|reason| !reason.is_empty()) {
        Some(reason) => Err(Failure::refused(String::from_utf8_lossy(reason))),
        None => own.map_err(Failure::refused),
    }
}

/// The lines of all ranks, each once, sorted.
///
/// # Collective
/// Every rank calls it.
pub fn gathered(comm: &dyn Communicator, own: &Vec<String>) -> Result<Vec<String>, CommError> {
    let mut lines: Vec<String> = comm::allgather_json(comm, own)?.into_iter().flatten().flatten().collect();
    lines.sort();
    lines.dedup();
    Ok(lines)
}
