//! Finds the ranks that are missing from a collective: ranks that wait long tell each other, and those that say nothing are
//! named.
//!
//! Never ends a program, and never waits: a rank that waits calls it now and then. It uses short messages and neither
//! threads nor shared memory, so ranks on other hosts are found as well.
//!
//! # Horovod
//! `stall_inspector.cc`, which runs on the coordinator. Here every rank inspects for itself.

use std::time::Duration;

use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _, Source as _};

use super::request::Request;
use crate::comm::call;
use crate::comm::error::CommError;
use crate::comm::signature::{Signature, WORDS, mismatch_of};
use crate::comm::stall::{Stall, StallLimits};
use crate::domain::topology::{Rank, Topology};

/// Time for the others to answer. They look every millisecond and messages take less, but a core may be busy.
const GRACE: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// This rank's messages, and what the other ranks have said.
pub(super) struct StallInspector {
    /// A communicator of its own, so that its messages are not taken for anything else.
    messages: SimpleCommunicator,
    rank: Rank,
    pub(super) limits: StallLimits,
    pub(super) on_warning: Box<dyn Fn(&str)>,
    /// The last collective that each rank said it waits in, and its number.
    heard: Vec<Option<(u64, Signature)>>,
    /// Messages that their receivers have not taken yet.
    sent: Vec<Request<u64>>,
}

/// One wait of this rank.
pub(super) struct Wait {
    number: u64,
    signature: Signature,
    /// All ranks are known to have made the call: only their data is missing.
    pub(super) everyone_came: bool,
    /// How long this rank had waited when it told the others.
    told: Option<Duration>,
    next_warning: Duration,
    /// When this rank asks next for how long others were starved, what it heard first, and what came since.
    next_look: Duration,
    starved_before: Option<Duration>,
    starved: Duration,
}

impl Wait {
    /// The `number`th collective of all ranks is about to begin, and warns of ranks that are missing for so long.
    pub(super) fn new(number: u64, signature: Signature, warning: Duration) -> Wait {
        Wait {
            number,
            signature,
            everyone_came: false,
            told: None,
            next_warning: warning,
            next_look: LOOK_EVERY,
            starved_before: None,
            starved: Duration::ZERO,
        }
    }

    /// What counts of the time that has passed: it asks once a second, and not at all in a short wait.
    fn fair(&mut self, passed: Duration, starved: fn() -> Duration) -> Duration {
        if passed >= self.next_look {
            self.next_look = passed + LOOK_EVERY;
            let total = starved();
            self.starved = total.saturating_sub(*self.starved_before.get_or_insert(total));
        }
        passed.saturating_sub(self.starved)
    }
}

impl StallInspector {
    /// # Collective
    /// All ranks of `world`, with the same limits.
    pub(super) fn new(
        world: &SimpleCommunicator,
        topology: Topology,
        limits: StallLimits,
        on_warning: Box<dyn Fn(&str)>,
    ) -> StallInspector {
        let heard = vec![None; topology.size.0];
        StallInspector { messages: world.duplicate(), rank: topology.rank, limits, on_warning, heard, sent: Vec::new() }
    }

    /// Checks a wait in which so much time has `passed`: receives, tells the others, and warns when it is time.
    ///
    /// # Errors
    /// [`CommError::Stalled`] at the limit, [`CommError::Mismatch`] if another rank waits in another collective.
    pub(super) fn check(&mut self, wait: &mut Wait, passed: Duration) -> Result<(), CommError> {
        let StallLimits { warning, shutdown, starved } = self.limits;
        let Some(first) = [warning, shutdown].into_iter().filter(|limit| !limit.is_zero()).min() else { return Ok(()) };
        let waited = wait.fair(passed, starved);
        self.receive();
        // A rank that is here answers at once, so a rank that has just come is not reported as missing.
        let asked = self.heard.iter().flatten().any(|(number, _)| *number == wait.number);
        if wait.told.is_none() && (waited >= first || asked) {
            self.tell(wait);
            wait.told = Some(waited);
        }
        if wait.told.is_none_or(|told| waited < told + GRACE) || waited < first {
            return Ok(());
        }
        let other = |(rank, heard): (usize, &Option<(u64, Signature)>)| {
            heard.filter(|(number, call)| *number == wait.number && *call != wait.signature).map(|(_, call)| (Rank(rank), call))
        };
        if let Some(other) = self.heard.iter().enumerate().find_map(other) {
            return Err(mismatch_of((self.rank, wait.signature), other));
        }
        if !shutdown.is_zero() && waited >= shutdown {
            return Err(CommError::Stalled(self.stall(wait, passed)));
        }
        if !warning.is_zero() && waited >= wait.next_warning {
            wait.next_warning = waited * 2;
            let stall = self.stall(wait, passed);
            // One warning is enough: the lowest rank that is here gives it.
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
            call: Some(call::current()).filter(|call| !call.is_empty()).unwrap_or_else(|| wait.signature.to_string()),
            number: wait.number,
            missing: (0..self.heard.len()).filter(silent).map(Rank).collect(),
            everyone_came: wait.everyone_came,
        }
    }

    fn tell(&mut self, wait: &Wait) {
        let [kind, length, detail] = wait.signature.to_words();
        for rank in (0..self.heard.len()).filter(|rank| *rank != self.rank.0) {
            let message = vec![wait.number, kind, length, detail];
            self.sent.push(Request::send(message, &self.messages.process_at_rank(rank as i32)));
        }
    }

    /// Receives all messages that have arrived, and drops own ones that were received.
    pub(super) fn receive(&mut self) {
        while let Some(status) = self.messages.any_process().immediate_probe() {
            let mut message = [0u64; 1 + WORDS];
            let from = status.source_rank();
            self.messages.process_at_rank(from).receive_into(&mut message);
            let [number, words @ ..] = message;
            self.heard[from as usize] = Some((number, Signature::from_words(words)));
        }
        self.sent.retain_mut(|message| !message.test());
    }

    /// Whether messages of this rank wait for a receiver.
    pub(super) fn has_unreceived(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns when no rank has a message in flight, which MPI asks for before MPI_Finalize.
    ///
    /// This is Hoefler's non-blocking consensus (NBX). A rank whose messages have all been received enters a barrier. All
    /// ranks keep receiving until the barrier is over, which is when all have entered it.
    ///
    /// # Collective
    /// All ranks, when none waits for anything else.
    pub(super) fn drain(&mut self) {
        let pause = Duration::from_micros(100);
        while self.has_unreceived() {
            self.receive();
            std::thread::sleep(pause);
        }
        let mut barrier = self.messages.immediate_barrier();
        while let Err(unfinished) = barrier.test() {
            barrier = unfinished;
            self.receive();
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Half a second more at each look, after two seconds that were before.
    fn half_of_each_second() -> Duration {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        Duration::from_millis(2000 + 500 * LOOKS.fetch_add(1, Ordering::Relaxed))
    }

    #[test]
    fn time_in_which_others_were_starved_does_not_count_as_a_wait() {
        let mut wait = Wait::new(1, Signature::from_words([0; WORDS]), Duration::from_secs(5));
        let mut fair = |milliseconds| wait.fair(Duration::from_millis(milliseconds), half_of_each_second).as_millis();
        let passed = [999, 1000, 1999, 2000, 2500, 3000, 12_000];
        assert_eq!(passed.map(&mut fair), [999, 1000, 1999, 1500, 2000, 2000, 10_500], "it looks once a second");
        let mut quiet = Wait::new(1, Signature::from_words([0; WORDS]), Duration::from_secs(5));
        assert_eq!(quiet.fair(Duration::from_secs(12), || Duration::ZERO), Duration::from_secs(12));
    }
}
