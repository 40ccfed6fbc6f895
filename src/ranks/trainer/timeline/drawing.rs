//! One rank's spans as lines of the trace, in the time of all ranks.
//!
//! Never invents a span: `NEGOTIATE_...` is a difference between two measured moments, and bounded by its call.

use std::time::Instant;

use super::chrome::Lines;
use crate::comm::clock_sync::Correction;
use crate::comm::{Activity, CommError, Communicator, allgather_numbers};
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::trainer::pipeline::Prepared;
use crate::trainer::recorder::Span;

/// Bytes that one rank sends at once, a line more or less: MPI gathers up to 2 GiB from all ranks together.
pub(super) const PIECE: usize = 1 << 18;

pub(super) const TRAINING: usize = 0;
pub(super) const COMMUNICATION: usize = 1;
pub(super) const FIRST_BUCKET: usize = 2;
/// Below all buckets, of which there are fewer.
const IMAGES: usize = 999;

/// From this rank's moments to nanoseconds in the trace.
pub(super) struct Placement {
    pub launched: Instant,
    pub correction: Correction,
    /// Where the trace begins, on the root's clock.
    pub zero: i64,
}

impl Placement {
    fn of(&self, moment: Instant) -> i64 {
        self.correction.on_root(nanoseconds(self.launched, moment)) - self.zero
    }
}

/// Since this process was launched.
pub(super) fn nanoseconds(launched: Instant, moment: Instant) -> i64 {
    moment.saturating_duration_since(launched).as_nanos() as i64
}

/// When the last rank made each call, and which: by number of the call.
pub(super) struct Calls {
    first: u64,
    last: Vec<(i64, usize)>,
}

impl Calls {
    /// # Collective
    /// Every rank calls it: since the last time, all made the same calls.
    pub(super) fn gather(comm: &dyn Communicator, spans: &[Span], place: &Placement) -> Result<Calls, CommError> {
        let calls = spans.iter().filter_map(|span| if let Span::Call(activity) = span { Some(activity) } else { None });
        // Buckets are recorded when they are over: put them back in the order of their calls.
        let mut begun: Vec<(u64, i64)> = calls.map(|activity| (activity.call, place.of(activity.began))).collect();
        begun.sort_unstable();
        let mut last: Vec<(i64, usize)> = Vec::with_capacity(begun.len());
        let mut chunks = begun.chunks(PIECE / 8);
        loop {
            let own: Vec<i64> = chunks.next().unwrap_or_default().iter().map(|(_, at)| *at).collect();
            let ranks = allgather_numbers(comm, &own)?;
            if ranks.iter().all(Vec::is_empty) {
                break;
            }
            let common = ranks.iter().map(Vec::len).min().unwrap_or(0);
            last.extend((0..common).filter_map(|call| ranks.iter().enumerate().map(|(rank, at)| (at[call], rank)).max()));
        }
        Ok(Calls { first: begun.first().map_or(0, |first| first.0), last })
    }

    fn last(&self, call: u64) -> Option<(i64, usize)> {
        self.last.get(call.checked_sub(self.first)? as usize).copied()
    }
}

/// Turns the spans of one rank into lines.
pub(super) struct Drawing {
    pub rank: usize,
    pub place: Placement,
    pub calls: Calls,
    /// The epoch that ended, counted from 1.
    pub epoch: Option<(usize, PhaseSeconds)>,
    /// Lanes that have a name already.
    pub lanes: usize,
    /// When the last batch of images that is drawn was ready; `None` before there is one.
    pub images: Option<i64>,
}

impl Drawing {
    /// The next spans, as many as go into a piece; `None` at the end.
    pub(super) fn piece<'a>(&mut self, spans: &mut impl Iterator<Item = &'a Span>) -> Option<String> {
        let mut lines = Lines::of_rank(self.rank);
        while lines.text.len() < PIECE
            && let Some(span) = spans.next()
        {
            match span {
                Span::Phase { phase, began, ended } => self.phase(&mut lines, *phase, *began, *ended),
                Span::Section { name, began, ended } => self.span(&mut lines, name, *began, *ended, ""),
                Span::Call(activity) => self.call(&mut lines, activity),
                Span::Images(batch) => self.images(&mut lines, batch),
            }
        }
        (!lines.text.is_empty()).then_some(lines.text)
    }

    fn phase(&self, lines: &mut Lines, phase: Phase, began: Instant, ended: Instant) {
        let args = match (phase, &self.epoch) {
            (Phase::Training, Some((epoch, phases))) => format!(
                r#""epoch":{epoch},"exposed_communication_s":{:.6},"exposed_communication_percent":{:.2},"calls":{},"calls_made_last":{},"clock_error_us":{:.3}"#,
                phases[Phase::AllreduceExposed],
                100.0 * phases.exposed_communication().unwrap_or(0.0),
                self.calls.last.len(),
                self.calls.last.iter().filter(|(_, rank)| *rank == self.rank).count(),
                self.place.correction.error() as f64 / 1e3,
            ),
            (_, Some((epoch, _))) if phase == Phase::Validation => format!(r#""epoch":{epoch}"#),
            _ => String::new(),
        };
        self.span(lines, phase.name(), began, ended, &args);
    }

    fn span(&self, lines: &mut Lines, name: &str, began: Instant, ended: Instant, args: &str) {
        lines.span(TRAINING, name, "phase", self.place.of(began), self.place.of(ended), args);
    }

    /// The threads work on one batch after another, and only the last images of one overlap with the first of the next: there
    /// the lane shows the later batch from the end of the one before, as spans of a lane must not overlap.
    fn images(&mut self, lines: &mut Lines, batch: &Prepared) {
        let before = *self.images.get_or_insert_with(|| {
            lines.name_lane(IMAGES, "image pipeline");
            i64::MIN
        });
        let ended = self.place.of(batch.ended);
        lines.span(IMAGES, "batch of images", "images", self.place.of(batch.began).max(before).min(ended), ended, "");
        self.images = Some(before.max(ended));
        lines.count("batches ready", self.place.of(batch.asked), batch.ready);
    }

    fn call(&mut self, lines: &mut Lines, activity: &Activity) {
        let Activity { kind, name, call, bucket, bytes, began, ended } = *activity;
        let (began, ended) = (self.place.of(began), self.place.of(ended));
        let lane = bucket.map_or(COMMUNICATION, |bucket| FIRST_BUCKET + bucket);
        for unnamed in self.lanes..=lane {
            lines.name_lane(unnamed, &format!("bucket {}", unnamed - FIRST_BUCKET));
        }
        self.lanes = self.lanes.max(lane + 1);
        lines.span(lane, name, "communication", began, ended, &format!(r#""call":{call},"bytes":{bytes}"#));
        if let Some((at, rank)) = self.calls.last(call)
            && rank != self.rank
            && at > began
        {
            lines.span(lane, kind.negotiation(), "communication", began, at.min(ended), &format!(r#""last_rank":{rank}"#));
        }
    }
}
