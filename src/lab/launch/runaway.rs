//! When a program that someone is working on does more than it was asked for: it trains on and on, or prints on and on.

use crate::domain::event::{ConfigReport, Event};
use crate::domain::history::TrainingStep;
use crate::domain::schedule::steps_per_epoch;
use crate::domain::units;

/// Most bytes of the log of a rank in one launch, of a program that someone is working on and of any other.
const OWN_LOG: u64 = 4 << 20;
const ANY_LOG: u64 = 256 << 20;

/// Bytes that the ranks of such a program may print between two events: more than it prints between two batches on purpose.
const FLOOD: u64 = 64 << 20;

/// Most memory of a launcher. It keeps what it cannot pass on: a few GiB in a minute, of ranks that print on and on.
const LAUNCHER: u64 = 256 << 20;

/// What a run may do before it is ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunawayLimits {
    /// It runs a program of the learner's own, which may do anything.
    pub is_own: bool,
    /// Epochs asked for, in total; `None` of a run that trains none.
    pub epochs: Option<usize>,
}

impl RunawayLimits {
    pub fn log_bytes(&self) -> u64 {
        if self.is_own { OWN_LOG } else { ANY_LOG }
    }

    /// Why this event shows that a process does more than it was asked for, in one sentence. `last` is the step before.
    pub fn excess(
        &self,
        process: usize,
        event: &Event,
        last: Option<TrainingStep>,
        config: Option<&ConfigReport>,
    ) -> Option<String> {
        let asked = self.epochs.filter(|_| self.is_own)?;
        let epochs = units::counted(asked, "epoch");
        let loop_of = |what: &str| format!("so the run was ended: look at the loop over the {what}, and at how many it is given");
        match event {
            Event::Step { epoch, .. } if *epoch >= asked => {
                Some(format!("rank {process} began epoch {}, and the run is of {epochs}, {}", epoch + 1, loop_of("epochs")))
            }
            Event::Epoch(report) if report.epoch > asked => {
                Some(format!("rank {process} ended epoch {}, and the run is of {epochs}, {}", report.epoch, loop_of("epochs")))
            }
            Event::Step { epoch, batch, .. } => {
                let whole = config.map(|config| steps_per_epoch(config.train_images, config.local_batch_size, 1));
                let (epoch, batch, place) = (*epoch, *batch, format!("batch {} of epoch {}", batch + 1, epoch + 1));
                if let Some(whole) = whole.filter(|whole| batch >= *whole) {
                    let loops = loop_of("batches");
                    return Some(format!("rank {process} trained {place}, and an epoch over all images has {whole}, {loops}"));
                }
                let is_again = last.is_some_and(|last| (last.epoch, last.batch) >= (epoch, batch));
                is_again.then(|| format!("rank {process} trained {place} twice, {}", loop_of("epochs")))
            }
            _ => None,
        }
    }

    /// Why a run is ended after its ranks printed this many bytes without progress, and a process filled its log; `None` if the run
    /// continues without these lines.
    pub fn flood(&self, process: usize, printed: u64) -> Option<String> {
        let bytes = units::bytes(printed);
        (self.is_own && printed > FLOOD).then(|| {
            format!("rank {process} printed {bytes} and did not get on, so the run was ended: is there a print in a loop?")
        })
    }

    /// Why a run is ended whose launcher holds this many bytes of memory.
    pub fn backlog(&self, resident: u64) -> Option<String> {
        let bytes = units::bytes(resident);
        (self.is_own && resident > LAUNCHER).then(|| {
            format!("the ranks print faster than mpirun can pass it on, and it holds {bytes} already, so the run was ended: is there a print in a loop?")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::EpochReport;

    #[test]
    fn more_than_was_asked_for_is_said_with_its_place() {
        let config = ConfigReport { train_images: 130, local_batch_size: 64, ..ConfigReport::sample() };
        let own = RunawayLimits { is_own: true, epochs: Some(2) };
        let at = |epoch, batch| TrainingStep { epoch, batch, lr: 0.1, loss: 1.0, time_s: 0.0 };
        let step = |bounds: RunawayLimits, epoch, batch, last| {
            bounds.excess(1, &Event::Step { epoch, batch, lr: 0.1, loss: 1.0 }, last, Some(&config))
        };
        assert_eq!(step(own, 0, 0, None), None);
        assert_eq!(step(own, 1, 0, Some(at(0, 2))), None);
        assert!(step(own, 2, 0, Some(at(1, 2))).unwrap().starts_with("rank 1 began epoch 3, and the run is of 2 epochs"));
        assert!(step(own, 0, 3, Some(at(0, 2))).unwrap().contains("batch 4 of epoch 1, and an epoch over all images has 3,"));
        assert!(step(own, 0, 0, Some(at(1, 2))).unwrap().contains("batch 1 of epoch 1 twice"));
        assert!(step(own, 0, 1, Some(at(0, 1))).unwrap().contains("batch 2 of epoch 1 twice"));
        let ended = Event::Epoch(EpochReport { epoch: 3, ..EpochReport::sample() });
        assert!(own.excess(0, &ended, None, None).unwrap().contains("ended epoch 3"));
        // Whatever the lab's own trainer does is asked for.
        let trainer = RunawayLimits { is_own: false, ..own };
        assert_eq!((step(trainer, 9, 9, None), trainer.flood(0, u64::MAX)), (None, None));
        assert_eq!((own.backlog(LAUNCHER), trainer.backlog(LAUNCHER + 1)), (None, None));
        assert!(own.backlog(300 << 20).unwrap().contains("it holds 300"));
        assert_eq!(own.flood(3, FLOOD), None, "it may print a lot");
        assert!(own.flood(3, 65 << 20).unwrap().starts_with("rank 3 printed 65"), "{:?}", own.flood(3, 65 << 20));
    }
}
