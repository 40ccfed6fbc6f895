//! Where the time of a rank goes: seconds by phase for the epoch event, and a span each if there is a timeline.
//!
//! Never averages, and never guesses: every moment between two laps belongs to the phase that the lap names.

use std::rc::Rc;
use std::time::Instant;

use super::gpu_marks::GpuMarks;
use super::recorder::{Recorder, Span};
use crate::comm::Gpu;
use crate::domain::event::EpochReport;
use crate::domain::phase::{Phase, PhaseSeconds};

/// The loss has been read by the end of this phase, for which the host waits until the GPU is done.
const ENDS_STEP: Phase = Phase::Optimizer;

/// Two hands: one for the phases of a step, one for the sections of a run around them. On a GPU, which does its work later
/// than it is told, the phases of a step are taken from the GPU.
pub struct Clock {
    step: Instant,
    section: Instant,
    phases: PhaseSeconds,
    recorder: Option<Rc<Recorder>>,
    gpu: Option<GpuMarks>,
}

impl Clock {
    /// A clock that has run since `began`, and tells the recorder of every lap. `gpu` is where the steps are computed, if not
    /// on the host.
    pub fn since(began: Instant, recorder: Option<Rc<Recorder>>, gpu: Option<Gpu>) -> Clock {
        // A GPU without events cannot compute either: training on it reports the error.
        let gpu = gpu.and_then(|gpu| GpuMarks::on(gpu).ok());
        Clock { step: began, section: began, phases: PhaseSeconds::default(), recorder, gpu }
    }

    /// A section begins now: what passed since the last lap belongs to no phase.
    pub fn begin_section(&mut self) {
        self.section = Instant::now();
        self.step = self.section;
    }

    /// A step begins now.
    pub fn begin_step(&mut self) {
        self.step = Instant::now();
        if let Some(gpu) = &mut self.gpu {
            // If something is wrong with the GPU, its next computation reports it.
            let _ = gpu.begin();
        }
    }

    /// What passed since the last lap of its kind (step or section) was this phase. Returns its seconds on the host.
    pub fn lap(&mut self, phase: Phase) -> f64 {
        let now = Instant::now();
        let hand = if phase.is_of_step() { &mut self.step } else { &mut self.section };
        let began = std::mem::replace(hand, now);
        match &mut self.gpu {
            Some(gpu) if phase.is_of_step() => {
                let told = gpu.lap(phase).and_then(|()| if phase == ENDS_STEP { gpu.take() } else { Ok(Vec::new()) });
                for (phase, ends) in told.unwrap_or_default() {
                    let [began, ended] = ends.map(|before| self.step - before);
                    self.keep(phase, began, ended);
                }
            }
            _ => self.keep(phase, began, now),
        }
        (now - began).as_secs_f64()
    }

    /// A section that is no phase of an epoch ends now. Returns its seconds.
    pub fn end_section(&mut self, name: &'static str) -> f64 {
        let now = Instant::now();
        let began = std::mem::replace(&mut self.section, now);
        if let Some(recorder) = &self.recorder {
            recorder.record(Span::Section { name, began, ended: now });
        }
        (now - began).as_secs_f64()
    }

    fn keep(&mut self, phase: Phase, began: Instant, ended: Instant) {
        self.phases[phase] += (ended - began).as_secs_f64();
        if let Some(recorder) = &self.recorder {
            recorder.record(Span::Phase { phase, began, ended });
        }
    }

    /// The seconds since the last time that they were taken, so far.
    pub fn phases(&self) -> PhaseSeconds {
        self.phases
    }

    /// The report of an epoch that ends now: with the time that its checkpoint took. Training began at `began`.
    pub fn close(&mut self, report: EpochReport, began: Instant) -> EpochReport {
        self.lap(Phase::Checkpoint);
        EpochReport { cumulative_seconds: began.elapsed().as_secs_f64(), phases: self.take_phases(), ..report }
    }

    /// The seconds since the last time that they were taken.
    pub fn take_phases(&mut self) -> PhaseSeconds {
        std::mem::take(&mut self.phases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_add_up_and_sections_hold_their_steps() {
        let mut clock = Clock::since(Instant::now(), None, None);
        clock.lap(Phase::StartUp);
        clock.begin_section();
        let mut sums = [0.0; 2];
        for _ in 0..3 {
            clock.begin_step();
            sums[0] += clock.lap(Phase::Data);
            sums[1] += clock.lap(Phase::Forward);
        }
        let training = clock.lap(Phase::Training);
        assert!(clock.end_section("test") >= 0.0);
        let phases = clock.take_phases();
        assert_eq!([phases[Phase::Data], phases[Phase::Forward], phases[Phase::Training]], [sums[0], sums[1], training]);
        assert!(phases[Phase::StartUp] > 0.0 && training >= sums[0] + sums[1] - 1e-9, "{phases:?}");
        assert_eq!(clock.take_phases(), PhaseSeconds::default(), "taken once");
    }
}
