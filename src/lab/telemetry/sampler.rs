//! A thread that samples at 2 Hz and hands each sample on.
//!
//! A driver that hangs holds up this thread only: dropping the sampler does not wait for it.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::domain::device::{RankPlace, TelemetrySample};

/// NVML averages over a sixth of a second to a second: sampling faster shows nothing new.
pub const SAMPLE_PERIOD: Duration = Duration::from_millis(500);

/// Samples until it is dropped; after that, `on_sample` is not called again.
pub struct Sampler {
    orders: Sender<Vec<RankPlace>>,
    stopped: Arc<Mutex<bool>>,
}

impl Sampler {
    /// Takes the first sample at once, and the others `period` apart. `on_sample` runs on the sampling thread and must not drop the
    /// sampler.
    pub fn spawn(
        period: Duration,
        mut probe: impl FnMut(&[RankPlace]) -> TelemetrySample + Send + 'static,
        mut on_sample: impl FnMut(TelemetrySample) + Send + 'static,
    ) -> Sampler {
        let (orders, inbox) = channel();
        let stopped = Arc::new(Mutex::new(false));
        let flag = Arc::clone(&stopped);
        let work = move || {
            let mut ranks: Vec<RankPlace> = Vec::new();
            loop {
                let due = Instant::now() + period;
                let sample = probe(&ranks);
                // Held during the call: once `drop` has set it, no call is under way and none follows.
                let is_stopped = flag.lock().unwrap_or_else(PoisonError::into_inner);
                if *is_stopped {
                    return;
                }
                on_sample(sample);
                drop(is_stopped);
                loop {
                    match inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
                        Ok(newer) => ranks = newer,
                        Err(RecvTimeoutError::Timeout) => break,
                        Err(RecvTimeoutError::Disconnected) => return,
                    }
                }
            }
        };
        // Without a thread there is no telemetry, and the lab works without it.
        let _ = thread::Builder::new().name("telemetry".into()).spawn(work);
        Sampler { orders, stopped }
    }

    /// The ranks (with their process ids on this host) to look for, from the next sample on.
    pub fn watch(&self, ranks: Vec<RankPlace>) {
        // If the thread is gone, no sample follows.
        let _ = self.orders.send(ranks);
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    /// Reports the ranks that it is asked for as its host name, and counts its samples in their time.
    fn echo() -> impl FnMut(&[RankPlace]) -> TelemetrySample + Send + 'static {
        let mut time_s = 0.0;
        move |ranks| {
            time_s += 1.0;
            let host = format!("{:?}", ranks.iter().map(|place| place.rank).collect::<Vec<_>>());
            TelemetrySample { time_s, host, devices: vec![], gpu_missing: None, machine: None }
        }
    }

    fn start(period: Duration) -> (Sampler, Receiver<TelemetrySample>) {
        let (sender, receiver) = channel();
        let sampler = Sampler::spawn(period, echo(), move |sample| drop(sender.send(sample)));
        (sampler, receiver)
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn samples_come_in_turn_and_follow_the_watched_ranks() {
        let (sampler, samples) = start(Duration::from_millis(5));
        assert_eq!(samples.recv_timeout(PATIENCE).unwrap().time_s, 1.0);
        assert_eq!(samples.recv_timeout(PATIENCE).unwrap().time_s, 2.0);
        sampler.watch(vec![RankPlace { rank: 1, pid: 42, device_uuid: None }]);
        let start = Instant::now();
        while samples.recv_timeout(PATIENCE).unwrap().host != "[1]" {
            assert!(start.elapsed() < PATIENCE);
        }
    }

    #[test]
    fn dropping_it_ends_the_thread_at_once() {
        // With an hour to the next sample, only the drop can end it.
        let (sampler, samples) = start(Duration::from_secs(3600));
        samples.recv_timeout(PATIENCE).unwrap();
        drop(sampler);
        assert_eq!(samples.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected), "the thread dropped its sender");
    }
}
