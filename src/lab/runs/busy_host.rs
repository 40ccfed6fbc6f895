//! Runs that were measured while other programs used the cores: the mark at their figures, and what it means.
//!
//! Figures stay as measured: how long a run would have taken on a quiet machine is unknown.

use super::{RunId, RunRecord, RunSummary};
use crate::domain::units;

/// Less of the cores than this changes no figure much.
pub const NOTICEABLE: f64 = 0.1;

/// Runs that a line names, each with its part.
const MOST_RUNS: usize = 4;

/// `other programs used 60 % of the cores`.
pub fn others_in_words(part: f64) -> String {
    format!("other programs used {} of the cores", units::percent(part))
}

/// A figure of time or speed, with a star where other programs had a part in it.
pub fn marked(figure: String, disturbed: Option<f64>) -> String {
    if disturbed.is_some() { figure + "*" } else { figure }
}

/// What the stars of these runs mean, in one line; nothing where no run has one.
pub fn notes<'a>(runs: impl IntoIterator<Item = &'a RunSummary>) -> Option<String> {
    let disturbed: Vec<(RunId, f64)> = runs.into_iter().filter_map(|run| Some((run.id, run.disturbed()?))).collect();
    in_one_line(&disturbed)
}

/// The same of runs with the part of the cores that other programs used.
pub fn in_one_line(disturbed: &[(RunId, f64)]) -> Option<String> {
    match disturbed {
        [] => None,
        [(run, part)] => Some(format!("* run {run}: {}", note(*part))),
        all => {
            let each = all.iter().map(|(run, part)| format!("{run} ({})", units::percent(*part))).collect::<Vec<_>>().join(", ");
            let most = all.iter().map(|(_, part)| *part).max_by(f64::total_cmp).unwrap_or_default();
            let runs = if all.len() <= MOST_RUNS {
                format!("runs {each}")
            } else {
                format!("the {} runs with a star (at most {})", all.len(), units::percent(most))
            };
            Some(format!(
                "* other programs used a part of the cores during {runs}, so their times are longer than on a quiet machine"
            ))
        }
    }
}

/// What it means for a run.
pub fn note(part: f64) -> String {
    format!("{} while it ran, so its times are longer than on a quiet machine", others_in_words(part))
}

impl RunRecord {
    /// The part of the cores that other programs used while it ran, of the attempt with the most of it. `None` where
    /// that is not worth a word.
    pub fn disturbed(&self) -> Option<f64> {
        let parts = self.attempts.iter().filter_map(|attempt| attempt.others_cpu);
        parts.filter(|part| (NOTICEABLE..=1.0).contains(part)).max_by(f64::total_cmp)
    }
}

impl RunSummary {
    /// [`RunRecord::disturbed`].
    pub fn disturbed(&self) -> Option<f64> {
        self.record.as_ref()?.disturbed()
    }

    /// Images per second as a table shows them.
    pub fn shown_rate(&self) -> Option<String> {
        self.figures.images_per_sec.map(|rate| marked(units::rate(rate), self.disturbed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Attempt;
    use crate::runs::tests::record;

    fn with(parts: &[Option<f64>]) -> RunRecord {
        let attempts = parts.iter().map(|part| Attempt { others_cpu: *part, ..Attempt::default() }).collect();
        RunRecord { id: RunId(3), attempts, ..record(2) }
    }

    #[test]
    fn the_busiest_attempt_counts_and_a_little_does_not() {
        let cases: [(&[Option<f64>], _); 5] = [
            (&[], None),
            (&[None, Some(0.09)], None),
            (&[Some(0.2), Some(0.6), None], Some(0.6)),
            (&[Some(1.0)], Some(1.0)),
            (&[Some(f64::MAX), Some(-1.0), Some(f64::NAN)], None),
        ];
        for (parts, disturbed) in cases {
            assert_eq!(with(parts).disturbed(), disturbed, "{parts:?}");
        }
        assert_eq!(others_in_words(0.6), "other programs used 60 % of the cores");
    }

    #[test]
    fn all_stars_of_a_table_are_explained_in_one_line() {
        assert_eq!(in_one_line(&[]), None);
        assert!(
            in_one_line(&[(RunId(3), 0.6)]).unwrap().starts_with("* run 3: other programs used 60 % of the cores while it ran")
        );
        let many = in_one_line(&[(RunId(3), 0.6), (RunId(5), 0.2)]).unwrap();
        assert!(many.contains("runs 3 (60 %), 5 (20 %), so their times") && !many.contains('\n'), "{many}");
        let more = in_one_line(&[3, 5, 6, 7, 9].map(|run| (RunId(run), f64::from(run) / 10.0))).unwrap();
        assert!(more.contains("during the 5 runs with a star (at most 90 %), so their times"), "{more}");
    }

    #[test]
    fn an_older_lab_keeps_what_it_does_not_know() {
        let text = serde_json::to_string(&with(&[Some(0.6), None])).unwrap();
        assert_eq!(text.matches("others_cpu").count(), 1, "nothing is written where nothing was measured: {text}");
        let read: RunRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(read.disturbed(), Some(0.6));
    }
}
