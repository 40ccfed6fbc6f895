//! What the chart draws of one run, put together from its events in bounded memory.
//!
//! However long a run is, its lowest and highest values stay, and so do its gaps.

use crate::domain::benchmark::IterationReport;
use crate::domain::event::{EpochReport, Event, EventLine};
use crate::domain::history::{History, Keep, Process};
use crate::domain::user_metrics::{Logged, LoggedSoFar};
use crate::tui::shared::phases::EPOCHS;

/// Buckets that a curve keeps; a longer one puts two into one.
const BUCKETS: usize = 2_048;
/// A smoothed curve is averaged over this part of it.
const NEIGHBOURHOODS: usize = 20;
/// A rate is measured over at least this time: a single step says little.
const RATE_SECONDS: f64 = 1.0;

/// From so many timed steps and seconds on a rate so far is fair: the first steps load, allocate and tune, and a few of them can
/// be half as fast as the rest.
const FAIR_STEPS: f64 = 20.0;
const FAIR_SECONDS: f64 = 3.0;

hvd_lab_core::named! {
    /// What the x axis counts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Along {
        /// Runs with different steps per epoch lie side by side.
        #[default]
        Epoch = "epoch",
        Step = "step",
        /// Seconds since the run started, without the pause before it was continued and without what was lost then.
        Time = "training time",
    }
}

/// One measured value and where it lies. The value may be no number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub epoch: f64,
    pub step: f64,
    pub seconds: f64,
    pub value: f64,
}

impl Point {
    pub fn x(&self, along: Along) -> f64 {
        match along {
            Along::Epoch => self.epoch,
            Along::Step => self.step,
            Along::Time => self.seconds,
        }
    }
}

/// Neighbouring points: the lowest and the highest, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub first: Point,
    pub second: Point,
    /// The first point whose value was no number.
    pub gap: Option<Point>,
}

impl Bucket {
    fn new(point: Point) -> Bucket {
        Bucket { first: point, second: point, gap: (!point.value.is_finite()).then_some(point) }
    }

    fn merge(self, other: Bucket) -> Bucket {
        let points = [self.first, self.second, other.first, other.second];
        let finite = || points.into_iter().filter(|point| point.value.is_finite());
        let by_value = |a: &Point, b: &Point| a.value.total_cmp(&b.value);
        let gap = self.gap.or(other.gap);
        match (finite().min_by(by_value), finite().max_by(by_value)) {
            (Some(low), Some(high)) if low.step <= high.step => Bucket { first: low, second: high, gap },
            (Some(low), Some(high)) => Bucket { first: high, second: low, gap },
            _ => Bucket { gap, ..self },
        }
    }

    /// Its points whose values are numbers.
    pub fn points(&self) -> impl Iterator<Item = Point> + use<> {
        [self.first, self.second].into_iter().filter(|point| point.value.is_finite())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    buckets: Vec<Bucket>,
    /// Points that go into one bucket.
    stride: usize,
    /// Points in the last bucket.
    filled: usize,
    last: Option<Point>,
}

impl Default for Curve {
    fn default() -> Curve {
        Curve { buckets: Vec::new(), stride: 1, filled: 0, last: None }
    }
}

impl Curve {
    pub fn push(&mut self, point: Point) {
        self.last = Some(point);
        if self.filled < self.stride
            && let Some(bucket) = self.buckets.last_mut()
        {
            *bucket = bucket.merge(Bucket::new(point));
            self.filled += 1;
            return;
        }
        if self.buckets.len() == BUCKETS {
            let halves = self.buckets.chunks(2).map(|pair| pair.iter().copied().reduce(Bucket::merge));
            self.buckets = halves.flatten().collect();
            self.stride *= 2;
        }
        self.buckets.push(Bucket::new(point));
        self.filled = 1;
    }

    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The newest value, which may be no number.
    pub fn last(&self) -> Option<Point> {
        self.last
    }

    /// The measured point nearest to `x`, which may be no number. `None` further than `reach` outside of the curve.
    pub fn at(&self, along: Along, x: f64, reach: f64) -> Option<Point> {
        let (first, last) = (self.buckets.first()?.first, self.last?);
        if x < first.x(along) - reach || x > last.x(along) + reach {
            return None;
        }
        let points = self.buckets.iter().flat_map(|bucket| [Some(bucket.first), Some(bucket.second), bucket.gap]).flatten();
        let distance = |point: &Point| (point.x(along) - x).abs();
        points.chain(Some(last)).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The mean of its neighbourhood at each place, which shows where a noisy curve goes. It does not cross a gap. `None` for a
    /// curve that is too short to have any noise.
    pub fn smoothed(&self) -> Option<Curve> {
        let half = Some(self.buckets.len() / NEIGHBOURHOODS / 2).filter(|half| *half > 0)?;
        let mut buckets = Vec::with_capacity(self.buckets.len());
        for stretch in self.buckets.chunk_by(|a, b| a.gap.is_none() == b.gap.is_none()) {
            if stretch.iter().any(|bucket| bucket.gap.is_some()) {
                buckets.extend_from_slice(stretch);
                continue;
            }
            let mut sums = vec![0.0];
            for bucket in stretch {
                sums.push(sums.last().unwrap_or(&0.0) + (bucket.first.value + bucket.second.value) / 2.0);
            }
            // Neighbouring means are almost alike: some of each neighbourhood are enough, and the last one.
            let last = stretch.len() - 1;
            let places = (0..last).step_by((half / 4).max(1)).chain([last]);
            buckets.extend(places.map(|at| {
                let (from, to) = (at.saturating_sub(half), (at + half + 1).min(stretch.len()));
                Bucket::new(Point { value: (sums[to] - sums[from]) / (to - from) as f64, ..stretch[at].first })
            }));
        }
        Some(Curve { last: buckets.last().map(|bucket| bucket.second), buckets, ..*self })
    }

    /// Training continues from the end of this epoch, so later points are dropped.
    fn forget_after(&mut self, epoch: f64) {
        self.buckets.retain(|bucket| bucket.first.epoch <= epoch);
        self.filled = self.stride;
        self.last = self.buckets.last().map(|bucket| bucket.second);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Training loss of process 0 by step.
    pub loss: Curve,
    /// Validation accuracy by epoch, averaged over ranks where the run did so.
    pub accuracy: Curve,
    pub learning_rate: Curve,
    /// All ranks' images per second: from the steps of every second, and as reported at the end of each epoch.
    pub images_per_sec: Curve,
    /// Where the run went on with another number of ranks, which is the value.
    pub handovers: Vec<Point>,
    /// Ranks of this attempt, and of the one before.
    ranks: (usize, usize),
    /// Epochs that the run is going to train.
    pub epochs: usize,
    pub steps_per_epoch: usize,
    global_batch_size: usize,
    /// A user program reports steps only, or no position at all.
    pub tells_no_epochs: bool,
    /// A user program reports its validation accuracy.
    validates: bool,
    /// A user program reports an accuracy, and does not say of which images.
    pub says_accuracy_only: bool,
    /// How long the run has gone.
    seconds: f64,
    /// Since when steps are counted for the rate: epoch, step and seconds.
    counted: Option<(usize, f64, f64)>,
    /// The last step: epoch, step and seconds.
    before: Option<(usize, f64, f64)>,
    /// Steps of this attempt and the seconds that they took, without what lies between epochs.
    stepped: (f64, f64),
}

impl Curves {
    /// The curves of a run that is not followed.
    pub fn from_events(events: impl IntoIterator<Item = EventLine>) -> Curves {
        let (mut curves, mut history) = (Curves::default(), History::new(Keep::Epochs(EPOCHS)));
        for line in events {
            history.take(&line);
            curves.absorb(&history, &line);
        }
        curves
    }

    /// The newest event of a run, which its history has taken.
    pub fn absorb(&mut self, history: &History, line: &EventLine) {
        if line.process != 0 {
            return;
        }
        self.seconds = history.process(0).map_or(0.0, Process::passed_s);
        match &line.event {
            Event::Topology(report) => self.ranks = (report.topology.size.0, self.ranks.0),
            Event::Config(config) => {
                self.epochs = config.epochs;
                self.steps_per_epoch = config.steps_per_epoch;
                self.global_batch_size = config.global_batch_size;
                (self.counted, self.before, self.stepped) = (None, None, (0.0, 0.0));
                let began = config.resume_epoch as f64 + config.resume_step as f64 / config.steps_per_epoch.max(1) as f64;
                for curve in [&mut self.loss, &mut self.accuracy, &mut self.learning_rate, &mut self.images_per_sec] {
                    curve.forget_after(began);
                }
                self.hand_over(began);
            }
            Event::Step { epoch, batch, lr, loss } => self.step(*epoch, *batch, *lr, *loss),
            Event::Epoch(report) => self.end_epoch(report),
            Event::Iteration(report) => self.end_iteration(report),
            Event::Logged(logged) => {
                if let Some(process) = history.process(0) {
                    self.logged(logged, &process.logged);
                }
            }
            Event::Restored { epochs } => {
                let is_new = |report: &EpochReport| self.accuracy.last().is_none_or(|point| point.epoch < report.epoch as f64);
                let own = epochs.iter().filter(|of| of.process == 0).map(|of| &of.report).find(|report| is_new(report));
                own.into_iter().for_each(|report| self.end_epoch(report));
            }
            _ => {}
        }
    }

    /// Marks where the run continued with another number of ranks.
    fn hand_over(&mut self, epoch: f64) {
        self.handovers.retain(|point| point.epoch < epoch);
        let (now, before) = self.ranks;
        if epoch > 0.0 && before > 0 && now != before {
            let step = epoch * self.steps_per_epoch as f64;
            self.handovers.push(Point { epoch, step, seconds: self.seconds, value: now as f64 });
        }
    }

    fn end_epoch(&mut self, report: &EpochReport) {
        self.counted = None;
        let epoch = report.epoch as f64;
        let at = Point { epoch, step: epoch * self.steps_per_epoch as f64, seconds: self.seconds, value: 0.0 };
        if let Some(validated) = report.validated() {
            self.accuracy.push(Point { value: validated.accuracy, ..at });
        }
        self.images_per_sec.push(Point { value: report.images_per_sec, ..at });
    }

    /// A value from a user program. If it reports no step, its lines are counted.
    fn logged(&mut self, logged: &Logged, so_far: &LoggedSoFar) {
        let place = so_far.place();
        let lines = self.loss.last().map_or(0.0, |point| point.step) + 1.0;
        let step = place.steps.unwrap_or(lines);
        self.tells_no_epochs = place.epochs.is_none();
        let at = Point { epoch: place.epochs.unwrap_or(step), step, seconds: self.seconds, value: 0.0 };
        self.epochs = so_far.last.epochs.map_or(self.epochs, |epochs| epochs as usize);
        if logged.val_accuracy.is_some() && !self.validates {
            // Until now it reported the training accuracy only.
            (self.validates, self.accuracy) = (true, Curve::default());
        }
        let accuracy = logged.val_accuracy.or(logged.accuracy.filter(|_| !self.validates));
        self.says_accuracy_only = !self.validates && (self.says_accuracy_only || accuracy.is_some());
        for (curve, value) in [
            (&mut self.loss, logged.loss),
            (&mut self.accuracy, accuracy),
            (&mut self.learning_rate, logged.learning_rate),
            (&mut self.images_per_sec, logged.images_per_sec),
        ] {
            value.into_iter().for_each(|value| curve.push(Point { value, ..at }));
        }
    }

    /// An iteration of a benchmark, which takes the place of an epoch.
    fn end_iteration(&mut self, report: &IterationReport) {
        (self.epochs, self.steps_per_epoch) = (report.of, report.batches);
        let epoch = report.iteration as f64;
        let at = Point { epoch, step: epoch * report.batches as f64, seconds: self.seconds, value: report.loss };
        self.loss.push(at);
        self.images_per_sec.push(Point { value: report.images_per_sec, ..at });
    }

    fn step(&mut self, epoch: usize, batch: usize, lr: f64, loss: f64) {
        let of = self.steps_per_epoch.max(batch + 1) as f64;
        let x = epoch as f64 + (batch + 1) as f64 / of;
        let at = Point { epoch: x, step: epoch as f64 * of + (batch + 1) as f64, seconds: self.seconds, value: loss };
        self.loss.push(at);
        self.learning_rate.push(Point { value: lr, ..at });
        if let Some((_, step, seconds)) = self.before.filter(|(before, ..)| *before == epoch) {
            self.stepped.0 += at.step - step;
            self.stepped.1 += at.seconds - seconds;
        }
        self.before = Some((epoch, at.step, at.seconds));
        match self.counted {
            Some((since, step, seconds)) if since == epoch => {
                let passed = at.seconds - seconds;
                if passed >= RATE_SECONDS {
                    let value = (at.step - step) * self.global_batch_size as f64 / passed;
                    self.images_per_sec.push(Point { value, ..at });
                    self.counted = Some((epoch, at.step, at.seconds));
                }
            }
            _ => self.counted = Some((epoch, at.step, at.seconds)),
        }
    }

    /// All ranks' images per second of training, from the steps so far; `None` in the first moments, which say little.
    pub fn rate_so_far(&self) -> Option<f64> {
        let (steps, seconds) = self.stepped;
        (seconds >= RATE_SECONDS).then(|| steps * self.global_batch_size as f64 / seconds)
    }

    /// Whether [`Curves::rate_so_far`] stands on more than the first moments. The step that began the count is not in it.
    pub fn is_rate_fair(&self) -> bool {
        let (steps, seconds) = self.stepped;
        steps >= FAIR_STEPS && seconds >= FAIR_SECONDS
    }

    /// How far the loss or the accuracy has come, counted as the axis is: epochs, steps or seconds. 0 without points.
    pub fn end(&self, along: Along) -> f64 {
        [&self.loss, &self.accuracy].into_iter().filter_map(Curve::last).map(|point| point.x(along)).fold(0.0, f64::max)
    }

    /// Where the run is going to end, as far as that is known; its newest point where it is not, or went further.
    pub fn planned_end(&self, along: Along) -> f64 {
        let planned = match along {
            Along::Epoch => self.epochs as f64,
            Along::Step => (self.epochs * self.steps_per_epoch) as f64,
            Along::Time => 0.0,
        };
        self.end(along).max(planned)
    }
}

#[cfg(test)]
#[path = "curves_tests.rs"]
mod tests;
