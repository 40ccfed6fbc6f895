//! Who is missing: ranks that wait long tell each other so, and whoever has not said a word is named.
//!
//! Never ends a program, and never waits: it is asked now and then by a rank that does. No thread, no shared memory:
//! short messages alone, so it sees other hosts as it sees this one.

use std::time::Duration;

use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Source as _};

use super::super::call::{Call, WORDS, differ};
use super::super::{CommError, Limits, Stall};
use super::flight::Flight;
use crate::domain::topology::{Rank, Topology};

/// For the others' answers: they look every millisecond, and messages take less, but a core may be busy.
const GRACE: Duration = Duration::from_millis(500);

/// The messages of this rank and the other ranks'.
pub(super) struct Watch {
    /// A communicator of its own: messages cannot be taken for anything else.
    notes: SimpleCommunicator,
    rank: Rank,
    limits: Limits,
    on_warning: Box<dyn Fn(&str)>,
    /// The last wait that each rank has told of, and its number.
    heard: Vec<Option<(u64, Call)>>,
    /// Messages that their receivers have not taken yet.
    sent: Vec<Flight<u64>>,
}

/// One wait of this rank.
pub(super) struct Wait {
    number: u64,
    call: Call,
    /// All ranks are known to have called it: what is missing is their data.
    pub(super) everyone_came: bool,
    /// How long it had been when the others were told.
    told: Option<Duration>,
    next_warning: Duration,
}

impl Watch {
    /// # Collective
    /// All ranks of `world`.
    pub(super) fn new(world: &SimpleCommunicator, topology: Topology, limits: Limits, on_warning: Box<dyn Fn(&str)>) -> Watch {
        let heard = vec![None; topology.size.0];
        Watch { notes: world.duplicate(), rank: topology.rank, limits, on_warning, heard, sent: Vec::new() }
    }

    /// The `number`th call that all ranks make is about to begin. No communication.
    pub(super) fn begin(&self, number: u64, call: Call) -> Wait {
        Wait { number, call, everyone_came: false, told: None, next_warning: self.limits.warning }
    }

    /// Looks after a wait that has lasted `waited`: reads and tells, and warns where it is time.
    ///
    /// # Errors
    /// [`CommError::Stalled`] at the limit, [`CommError::Mismatch`] if another rank waits for something else.
    pub(super) fn look(&mut self, wait: &mut Wait, waited: Duration) -> Result<(), CommError> {
        let Limits { warning, shutdown } = self.limits;
        let Some(first) = [warning, shutdown].into_iter().filter(|limit| !limit.is_zero()).min() else { return Ok(()) };
        self.read();
        // Whoever is here answers at once. So a rank that has been here for a moment is not taken for missing.
        let asked = self.heard.iter().flatten().any(|(number, _)| *number == wait.number);
        if wait.told.is_none() && (waited >= first || asked) {
            self.tell(wait);
            wait.told = Some(waited);
        }
        if wait.told.is_none_or(|told| waited < told + GRACE) || waited < first {
            return Ok(());
        }
        let other = |(rank, heard): (usize, &Option<(u64, Call)>)| {
            heard.filter(|(number, call)| *number == wait.number && *call != wait.call).map(|(_, call)| (Rank(rank), call))
        };
        if let Some(other) = self.heard.iter().enumerate().find_map(other) {
            return Err(differ((self.rank, wait.call), other));
        }
        if !shutdown.is_zero() && waited >= shutdown {
            return Err(CommError::Stalled(self.stall(wait, waited)));
        }
        if !warning.is_zero() && waited >= wait.next_warning {
            wait.next_warning = waited * 2;
            let stall = self.stall(wait, waited);
            // One voice is enough: the first of those that are here.
            if (0..self.rank.0).all(|lower| stall.missing.contains(&Rank(lower))) {
                (self.on_warning)(&stall.to_string());
            }
        }
        Ok(())
    }

    fn stall(&self, wait: &Wait, waited: Duration) -> Stall {
        let silent = |rank: &usize| *rank != self.rank.0 && self.heard[*rank].is_none_or(|(number, _)| number < wait.number);
        Stall {
            rank: self.rank,
            seconds: waited.as_secs_f64(),
            call: wait.call.to_string(),
            number: wait.number,
            missing: (0..self.heard.len()).filter(silent).map(Rank).collect(),
            everyone_came: wait.everyone_came,
        }
    }

    fn tell(&mut self, wait: &Wait) {
        let [kind, length, detail] = wait.call.words();
        for rank in (0..self.heard.len()).filter(|rank| *rank != self.rank.0) {
            let message = vec![wait.number, kind, length, detail];
            self.sent.push(Flight::send(message, &self.notes.process_at_rank(rank as i32)));
        }
    }

    /// Takes in all messages that are there, and drops own ones that have been taken in.
    pub(super) fn read(&mut self) {
        while let Some(status) = self.notes.any_process().immediate_probe() {
            let mut message = [0u64; 1 + WORDS];
            let from = status.source_rank();
            self.notes.process_at_rank(from).receive_into(&mut message);
            let [number, call @ ..] = message;
            self.heard[from as usize] = Some((number, Call::from_words(call)));
        }
        self.sent.retain_mut(|message| !message.is_over());
    }

    /// Whether messages of this rank wait for a receiver.
    pub(super) fn is_owed_a_reading(&self) -> bool {
        !self.sent.is_empty()
    }

    pub(super) fn warn(&self, message: &str) {
        (self.on_warning)(message);
    }

    /// Returns when no message is on its way any more between any ranks: MPI asks for that before its end.
    ///
    /// Hoefler's non-blocking consensus: a rank whose messages have all been taken enters a barrier, and all read on
    /// until the barrier is over, which is when all have entered it.
    ///
    /// # Collective
    /// All ranks, when none waits for anything else.
    pub(super) fn settle(&mut self) {
        let pause = Duration::from_micros(100);
        while self.is_owed_a_reading() {
            self.read();
            std::thread::sleep(pause);
        }
        let mut barrier = self.notes.immediate_barrier();
        while let Err(unfinished) = barrier.test() {
            barrier = unfinished;
            self.read();
            std::thread::yield_now();
        }
    }
}
