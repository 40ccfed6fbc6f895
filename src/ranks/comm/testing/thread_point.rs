//! N ranks as N threads of one process: the test double of point-to-point messages.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::comm::error::CommError;
use crate::comm::p2p::{Part, PointToPoint, Round, Times, now};
use crate::domain::collective::Operation;
use crate::domain::topology::Rank;

/// One rank of a group of threads. A message is copied twice: into shared memory, and out of it.
pub struct ThreadPoint {
    rank: usize,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Messages under way, by sender, receiver and what they are for, in the order in which they were sent.
    queues: HashMap<(usize, usize, Operation), VecDeque<Vec<f32>>>,
    /// Ranks that came to the barrier, and barriers that are over.
    arrived: usize,
    barriers: u64,
    left: Vec<bool>,
}

impl ThreadPoint {
    /// The ranks of a group, in order: hand one to each thread.
    pub fn group(size: usize) -> Vec<ThreadPoint> {
        let state = State { queues: HashMap::new(), arrived: 0, barriers: 0, left: vec![false; size] };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| ThreadPoint { rank, shared: shared.clone() }).collect()
    }

    fn receive(&self, part: &Part) -> Result<Vec<f32>, CommError> {
        let mut state = self.lock();
        loop {
            let message = state.queues.get_mut(&(part.peer, self.rank, part.operation)).and_then(VecDeque::pop_front);
            if let Some(message) = message {
                assert_eq!(message.len(), part.range.len(), "rank {} expects another message from {}", self.rank, part.peer);
                return Ok(message);
            }
            if state.left[part.peer] {
                return Err(CommError::Left(Rank(part.peer)));
            }
            state = self.wait(state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl PointToPoint for ThreadPoint {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.lock().left.len()
    }

    fn exchange(&self, round: &Round, data: &mut [f32], _: &mut [f32], times: Option<&mut Times>) -> Result<(), CommError> {
        let mut seen = Times::default();
        for part in &round.sends {
            let message = data[part.range.clone()].to_vec();
            seen.handed.push(now());
            self.lock().queues.entry((self.rank, part.peer, part.operation)).or_default().push_back(message);
        }
        self.shared.changed.notify_all();
        for part in &round.reduces {
            let message = self.receive(part)?;
            seen.reduced.push(now());
            data[part.range.clone()].iter_mut().zip(message).for_each(|(sum, number)| *sum += number);
        }
        for part in &round.copies {
            let message = self.receive(part)?;
            seen.copied.push(now());
            data[part.range.clone()].copy_from_slice(&message);
        }
        if let Some(times) = times {
            *times = seen;
        }
        Ok(())
    }

    fn barrier(&self) -> Result<(), CommError> {
        let mut state = self.lock();
        let barrier = state.barriers;
        state.arrived += 1;
        if state.arrived == state.left.len() {
            (state.arrived, state.barriers) = (0, barrier + 1);
            self.shared.changed.notify_all();
        }
        while state.barriers == barrier {
            if let Some(rank) = state.left.iter().position(|left| *left) {
                return Err(CommError::Left(Rank(rank)));
            }
            state = self.wait(state);
        }
        Ok(())
    }
}

impl Drop for ThreadPoint {
    fn drop(&mut self) {
        self.lock().left[self.rank] = true;
        self.shared.changed.notify_all();
    }
}
