//! What a run gained over the baseline, as header, table, comparison and projector say it.
//!
//! Where two runs cannot be compared there is a reason instead.

use super::state::Shared;
use super::watched::Watched;
use crate::domain::speedup::{Comparison, Figures};
use crate::domain::units;
use crate::runs::{RunId, RunSummary, gained_so_far, no_efficiency};

/// A run against the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub run: RunId,
    pub baseline: RunId,
    pub np: usize,
    /// How many times faster it is.
    pub speedup: f64,
    /// What the speed-up would be if more ranks cost nothing.
    pub ideal: f64,
    /// Or why there is none.
    pub efficiency: Result<f64, &'static str>,
    /// It is still training.
    pub so_far: bool,
    /// The part of the cores that other programs used while one of both trained, where that is worth a word.
    pub disturbed: Option<f64>,
}

impl Gain {
    /// `1.82x`
    pub fn times(&self) -> String {
        format!("{:.2}x", self.speedup)
    }

    /// `2x`, `1.5x`: the speed-up that is ideal.
    pub fn of(&self) -> String {
        if self.ideal.fract() == 0.0 { format!("{:.0}x", self.ideal) } else { format!("{:.1}x", self.ideal) }
    }

    /// `on 2 ranks`
    pub fn on(&self) -> String {
        format!("on {}", units::counted(self.np, "rank"))
    }
}

/// The words of a reason that is too long, without what stands in parentheses.
pub fn shortened(reason: &str) -> &str {
    reason.split(" (").next().unwrap_or(reason)
}

impl Shared {
    /// The figures of a run; its images per second so far where it has ended no epoch yet.
    pub fn figures(&self, run: &RunSummary) -> Figures {
        let watched = self.watched.as_ref().filter(|watched| watched.id == run.id && watched.is_going());
        let so_far = || watched.and_then(|watched: &Watched| watched.curves.rate_so_far());
        Figures { images_per_sec: run.figures.images_per_sec.or_else(so_far), ..run.figures }
    }

    /// Images per second as a table shows them.
    pub fn shown_rate(&self, run: &RunSummary) -> Option<String> {
        run.shown_rate().or_else(|| self.figures(run).images_per_sec.map(units::rate))
    }

    /// What `run` gained over the baseline, or why that cannot be said.
    pub fn comparison(&self, run: &RunSummary) -> Result<Comparison, &'static str> {
        gained_so_far(run, &self.figures(run), self.compared_with()?)
    }

    /// How much faster `run` is than the baseline, or why that cannot be said.
    pub fn gain(&self, run: &RunSummary) -> Result<Gain, &'static str> {
        self.gain_over(run, self.compared_with()?)
    }

    fn compared_with(&self) -> Result<&RunSummary, &'static str> {
        self.baseline().ok_or("no run to compare with yet")
    }

    /// The run that is the most times faster than the baseline.
    pub fn best_gain(&self) -> Option<Gain> {
        let baseline = self.baseline()?;
        let all = self.runs.iter().filter_map(|run| self.gain_over(run, baseline).ok());
        all.max_by(|a, b| a.speedup.total_cmp(&b.speedup))
    }

    fn gain_over(&self, run: &RunSummary, baseline: &RunSummary) -> Result<Gain, &'static str> {
        if run.id == baseline.id {
            return Err("it is the baseline");
        }
        let figures = self.figures(run);
        let gained = gained_so_far(run, &figures, baseline)?;
        let is_going = !self.run_state(run).is_over();
        let Some(speedup) = gained.speedup else {
            return Err(match (is_going, baseline.figures.images_per_sec) {
                (_, None) => "the baseline has measured no images/s yet",
                (true, _) => "images/s appear after the first seconds",
                (false, _) => "it measured no images/s",
            });
        };
        let no_efficiency = no_efficiency(run, baseline, &gained).unwrap_or("not measured");
        Ok(Gain {
            run: run.id,
            baseline: baseline.id,
            np: figures.np,
            speedup,
            ideal: figures.np as f64 / baseline.figures.np.max(1) as f64,
            efficiency: gained.scaling_efficiency.ok_or(no_efficiency),
            so_far: is_going,
            disturbed: [run, baseline].into_iter().filter_map(RunSummary::disturbed).max_by(f64::total_cmp),
        })
    }
}
