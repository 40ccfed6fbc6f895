//! Between the threads and the model: which place is filled next, which batches are ready, and who has to wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::batch::Places;
use super::clocks::{Clocks, Prepared};
use super::error::PipelineError;
use super::order::Planned;
use crate::dataset::images::BadImage;

/// An image to prepare: its place in a batch.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) batch: Arc<Numbered>,
    pub(super) at: usize,
}

/// A batch and its turn.
pub(super) struct Numbered {
    number: u64,
    began: Instant,
    pub(super) planned: Planned,
    pub(super) places: Places,
}

#[derive(Default)]
struct State {
    /// `None` once it has come to its end.
    order: Option<Box<dyn Iterator<Item = Planned> + Send>>,
    /// The next image of the batch that is being filled.
    begun: Option<Task>,
    /// Batches begun so far.
    begun_count: u64,
    /// The turn of the batch that the model gets next.
    turn: u64,
    /// With the moment at which each became ready.
    ready: BTreeMap<u64, (Arc<Numbered>, Instant)>,
    /// Memory of batches that the model is done with.
    memory: Vec<Vec<f32>>,
    stopped: bool,
    failed: Option<PipelineError>,
    left_out: BTreeMap<usize, BadImage>,
}

pub(super) struct Queue {
    state: Mutex<State>,
    /// There is room for a batch, or nothing more to do.
    room: Condvar,
    /// A batch is ready, or none will come.
    ready: Condvar,
    pub(super) clocks: Clocks,
    prefetch: usize,
    image: usize,
}

impl Queue {
    pub(super) fn new(order: Box<dyn Iterator<Item = Planned> + Send>, prefetch: usize, image: usize) -> Queue {
        let state = State { order: Some(order), ..State::default() };
        let (room, ready) = (Condvar::new(), Condvar::new());
        Queue { state: Mutex::new(state), room, ready, clocks: Clocks::default(), prefetch, image }
    }

    /// A thread that panicked has said so by [`Guard`]; the state itself is whole at every moment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next image to prepare, when there is room for it; none at the end.
    pub(super) fn take(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.stopped || state.failed.is_some() {
                return None;
            }
            if let Some(begun) = &mut state.begun
                && begun.at < begun.batch.planned.images.len()
            {
                let task = begun.clone();
                begun.at += 1;
                return Some(task);
            }
            state.begun = None;
            state.order.as_ref()?;
            // Beside those that are ready for the model, one is being filled.
            if state.begun_count - state.turn > self.prefetch as u64 {
                let since = Instant::now();
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                self.clocks.thread_waited(since);
                continue;
            }
            match state.order.as_mut().and_then(Iterator::next) {
                Some(planned) if !planned.images.is_empty() => {
                    let memory = state.memory.pop().unwrap_or_default();
                    let places = Places::new(memory, planned.images.len(), self.image);
                    let batch = Numbered { number: state.begun_count, began: Instant::now(), planned, places };
                    state.begun_count += 1;
                    state.begun = Some(Task { batch: Arc::new(batch), at: 0 });
                }
                Some(_) => {}
                None => {
                    state.order = None;
                    self.ready.notify_all();
                    self.room.notify_all();
                }
            }
        }
    }

    /// Its last image is in its place.
    pub(super) fn finished(&self, batch: Arc<Numbered>) {
        self.lock().ready.insert(batch.number, (batch, Instant::now()));
        self.ready.notify_all();
    }

    /// The batch whose turn it is, and its epoch; none at the end.
    pub(super) fn next(&self) -> Result<Option<(usize, Places, Prepared)>, PipelineError> {
        let mut state = self.lock();
        let (since, ready) = (Instant::now(), state.ready.len());
        let (batch, ended) = loop {
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            let turn = state.turn;
            if let Some(batch) = state.ready.remove(&turn) {
                break batch;
            }
            if state.order.is_none() && state.begun_count == state.turn {
                return Ok(None);
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        self.clocks.model_asked(ready, since);
        state.turn += 1;
        if state.begun.as_ref().is_some_and(|begun| Arc::ptr_eq(&begun.batch, &batch)) {
            state.begun = None;
        }
        drop(state);
        self.room.notify_all();
        let mut batch = batch;
        loop {
            // The thread that filled the place before the last may be about to let go of it.
            match Arc::try_unwrap(batch) {
                Ok(Numbered { planned, began, places, .. }) => {
                    return Ok(Some((planned.epoch, places, Prepared { began, ended, ready, asked: since })));
                }
                Err(held) => batch = held,
            }
            std::thread::yield_now();
        }
    }

    pub(super) fn recycle(&self, memory: Vec<f32>) {
        let mut state = self.lock();
        if state.memory.len() <= self.prefetch && !state.stopped {
            state.memory.push(memory);
        }
    }

    pub(super) fn leave_out(&self, index: usize, bad: BadImage) {
        self.lock().left_out.entry(index).or_insert(bad);
    }

    pub(super) fn left_out(&self) -> Vec<BadImage> {
        self.lock().left_out.values().cloned().collect()
    }

    /// The first error counts.
    pub(super) fn fail(&self, error: PipelineError) {
        self.lock().failed.get_or_insert(error);
        self.ready.notify_all();
        self.room.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.room.notify_all();
    }
}

/// Tells the model when its thread panics.
pub(super) struct Guard<'a>(pub &'a Queue);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(PipelineError::Threads("one of them has panicked".into()));
        }
    }
}
