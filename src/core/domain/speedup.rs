//! What more ranks bought: speed-up by throughput and by time to accuracy, and scaling efficiency.
//!
//! Never reads a run folder: numbers in, numbers out.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The figures of one run that comparisons use. Times in seconds; `None` where the run has not got there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of ranks; 0 (null in JSON) while it is unknown, as for a user's own program before its ranks have reported.
    #[serde(serialize_with = "null_for_0", deserialize_with = "null_as_0")]
    pub np: usize,
    /// Images of all ranks per second of training (validation and start-up kept apart), median over epochs; of a benchmark
    /// the total as its style gives it.
    pub images_per_sec: Option<f64>,
    /// Training time of the run up to the first epoch whose validation accuracy reached the target.
    pub seconds_to_target: Option<f64>,
}

fn null_for_0<S: Serializer>(np: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    Some(*np).filter(|np| *np > 0).serialize(serializer)
}

fn null_as_0<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// One run against a baseline. Ratios above 1 are better than the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Throughput over the baseline's.
    pub speedup: Option<f64>,
    /// The baseline's time to the target accuracy over this run's.
    pub speedup_to_target: Option<f64>,
    /// Speed-up per added rank: 1.0 is ideal. `None` above that as well: see [`Comparison::is_beyond_ideal`].
    pub scaling_efficiency: Option<f64>,
}

impl Comparison {
    /// More ranks do not work faster than each of them alone: such a figure says that the baseline was too slow.
    pub fn is_beyond_ideal(&self) -> bool {
        self.speedup.is_some() && self.scaling_efficiency.is_none()
    }
}

/// Compare `run` with `baseline`.
pub fn compare(run: &Figures, baseline: &Figures) -> Comparison {
    let ratio = |over: Option<f64>, under: Option<f64>| match (over, under) {
        (Some(over), Some(under)) if under > 0.0 && over.is_finite() => Some(over / under),
        _ => None,
    };
    let speedup = ratio(run.images_per_sec, baseline.images_per_sec);
    let ranks = run.np as f64 / baseline.np.max(1) as f64;
    Comparison {
        speedup,
        speedup_to_target: ratio(baseline.seconds_to_target, run.seconds_to_target),
        // As it is shown: half a per cent above the ideal is noise.
        scaling_efficiency: speedup.map(|speedup| speedup / ranks).filter(|part| (100.0 * part).round() <= 100.0),
    }
}

/// The middle value; the mean of the middle two for an even count. `None` when empty or not a number.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        len if len % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_lab_scales_as_published() {
        let serial = Figures { np: 1, images_per_sec: Some(1400.0), seconds_to_target: Some(325.14) };
        let four = Figures { np: 4, images_per_sec: Some(5628.0), seconds_to_target: Some(147.56) };
        let gained = compare(&four, &serial);
        assert!((gained.speedup.unwrap() - 4.02).abs() < 1e-9);
        assert!((gained.speedup_to_target.unwrap() - 2.2034).abs() < 1e-3);
        assert!((gained.scaling_efficiency.unwrap() - 1.005).abs() < 1e-9);
    }

    #[test]
    fn more_than_ideal_is_no_efficiency() {
        let rates = |np, rate| Figures { np, images_per_sec: Some(rate), ..Figures::default() };
        let gained = compare(&rates(2, 2031.0), &rates(1, 1000.0));
        assert_eq!((gained.scaling_efficiency, gained.is_beyond_ideal()), (None, true));
        assert_eq!(gained.speedup, Some(2.031), "what was measured stays");
        let noise = compare(&rates(2, 2008.0), &rates(1, 1000.0));
        assert!(noise.scaling_efficiency.is_some() && !noise.is_beyond_ideal());
        assert!(!Comparison::default().is_beyond_ideal(), "nothing is known yet");
    }

    #[test]
    fn what_is_not_known_stays_unknown() {
        let unknown = Figures { np: 2, ..Figures::default() };
        let known = Figures { np: 1, images_per_sec: Some(0.0), seconds_to_target: None };
        assert_eq!(compare(&unknown, &known), Comparison::default());
        assert_eq!(compare(&known, &unknown), Comparison::default());
    }

    #[test]
    fn median_of_nothing_is_nothing() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 2.0, 3.0]), Some(2.5));
    }
}
