//! When a GPU was done with each phase of a step: events on the stream that it computes on.
//!
//! Never makes the host wait before the step's end, where the loss has been waited for anyway: the host gives work to the
//! stream long before it is done, so its own clock would call a step's last phase the only long one.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaEvent, DriverError, result, sys};

use crate::comm::Gpu;
use crate::domain::phase::Phase;

/// The phases of one step, each with an event behind it.
pub struct GpuMarks {
    gpu: Gpu,
    context: Arc<CudaContext>,
    /// The step's beginning, and then one for each phase. Used again in every step.
    events: Vec<CudaEvent>,
    phases: Vec<Phase>,
}

impl GpuMarks {
    /// # Errors
    /// What CUDA said.
    pub fn on(gpu: Gpu) -> Result<GpuMarks, DriverError> {
        let context = CudaContext::new(gpu.index)?;
        let mut marks = GpuMarks { gpu, context, events: Vec::new(), phases: Vec::new() };
        marks.begin()?;
        Ok(marks)
    }

    /// A step begins with what the stream is given next.
    pub fn begin(&mut self) -> Result<(), DriverError> {
        self.phases.clear();
        self.mark(0)
    }

    /// What the stream was given since the last call is of this phase.
    pub fn lap(&mut self, phase: Phase) -> Result<(), DriverError> {
        self.phases.push(phase);
        self.mark(self.phases.len())
    }

    /// Waits for the last phase, and tells all of the step as the GPU saw them: how long before the step's end each began and ended.
    pub fn take(&mut self) -> Result<Vec<(Phase, [Duration; 2])>, DriverError> {
        let before_the_end = |event: &CudaEvent| {
            let milliseconds = event.elapsed_ms(&self.events[self.phases.len()])?;
            Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
        };
        let ago = self.events[..=self.phases.len()].iter().map(before_the_end).collect::<Result<Vec<_>, DriverError>>()?;
        let passed = |(&phase, ends): (&Phase, &[Duration])| (phase, [ends[0], ends[1]]);
        Ok(self.phases.iter().zip(ago.windows(2)).map(passed).collect())
    }

    fn mark(&mut self, place: usize) -> Result<(), DriverError> {
        if place == self.events.len() {
            self.events.push(self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?);
        }
        self.context.bind_to_thread()?;
        // SAFETY: a live event, and the stream that this process computes on.
        unsafe { result::event::record(self.events[place].cu_event(), (self.gpu.compute_stream)().cast()) }
    }
}
