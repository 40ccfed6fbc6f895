//! Recorded time without the nights between: the spans in which a run was going, one behind the other.
//!
//! Never reads a clock or a file.

/// From and to, in Unix seconds; one span for each time that the run was started or continued.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    spans: Vec<(f64, f64)>,
}

impl Timeline {
    /// From the starts of the attempts and the times of everything that happened; `end` is when the run was over.
    pub fn new(starts: &[f64], times: impl Iterator<Item = f64>, end: Option<f64>) -> Timeline {
        let mut spans: Vec<(f64, f64)> = starts.iter().map(|start| (*start, *start)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut extend = |time: f64| {
            if spans.is_empty() {
                spans.push((time, time));
            }
            let index = spans.partition_point(|span| span.0 <= time).max(1) - 1;
            spans[index].1 = spans[index].1.max(time);
        };
        times.chain(end).filter(|time| time.is_finite()).for_each(&mut extend);
        Timeline { spans }
    }

    /// Seconds in which the run was going.
    pub fn duration_s(&self) -> f64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }

    /// The Unix time of a moment, counted in seconds from the start.
    pub fn at(&self, mut played_s: f64) -> f64 {
        for (from, to) in &self.spans {
            if played_s <= to - from {
                return from + played_s.max(0.0);
            }
            played_s -= to - from;
        }
        self.spans.last().map_or(0.0, |span| span.1)
    }

    /// When the run was started, or continued last, before a Unix time.
    pub fn start_of(&self, time_s: f64) -> f64 {
        let before = self.spans.iter().rfind(|span| span.0 <= time_s).or(self.spans.first());
        before.map_or(time_s, |span| span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_night_before_a_run_was_continued_is_not_played() {
        let timeline = Timeline::new(&[100.0, 90_000.0], [101.0, 110.0, 90_001.0].into_iter(), Some(90_005.0));
        assert_eq!(timeline.duration_s(), 15.0);
        assert_eq!([0.0, 10.0, 10.5, 15.0, 99.0].map(|played| timeline.at(played)), [100.0, 110.0, 90_000.5, 90_005.0, 90_005.0]);
        assert_eq!((timeline.start_of(105.0), timeline.start_of(90_002.0)), (100.0, 90_000.0));
    }

    #[test]
    fn a_run_without_times_has_no_length() {
        assert_eq!(Timeline::new(&[], std::iter::empty(), None).duration_s(), 0.0);
        assert_eq!(Timeline::new(&[5.0], [3.0, f64::NAN].into_iter(), None).duration_s(), 0.0);
    }
}
