//! How long a run of collectives should take.

use crate::domain::collective::CollectivesSpec;
use crate::domain::measured::Measured;

/// Seconds of each message, and bytes a second, before anything was measured here.
const GUESSED_LATENCY_S: f64 = 50e-6;
const GUESSED_SPEED: f64 = 0.5e9;
/// Seconds until all ranks have started, and until they have ended.
const START_S: f64 = 2.0;

/// Seconds that all of it should take, and whether that was measured on `np` ranks rather than guessed.
pub fn takes_s(spec: &CollectivesSpec, np: usize, measured: &Measured) -> (f64, bool) {
    let mut is_measured = !measured.rows.is_empty() && measured.ranks == np && spec.link_bits.is_none();
    let speed = spec.link_bits.map_or(GUESSED_SPEED, |bits| bits as f64 / 8.0);
    let rounds = (spec.iterations + spec.warmup) as f64;
    let mut sum_s = START_S;
    for bytes in spec.sizes() {
        for method in &spec.methods {
            let known = if is_measured { time_of(measured, method, bytes) } else { None };
            is_measured &= known.is_some();
            sum_s += rounds * known.unwrap_or(GUESSED_LATENCY_S * np as f64 + 2.0 * bytes as f64 / speed);
        }
    }
    (sum_s, is_measured)
}

/// Seconds of one allreduce, scaled from the nearest size that was measured. A method without a row takes as long as the slowest.
fn time_of(measured: &Measured, method: &str, bytes: u64) -> Option<f64> {
    let distance = |other: &u64| (*other.max(&1) as f64 / bytes.max(1) as f64).ln().abs();
    let nearest = measured.sizes().into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let slowest = || measured.at(nearest).map(|row| row.report.mean_s).reduce(f64::max);
    let seconds = measured.row(method, nearest).map(|row| row.report.mean_s).or_else(slowest)?;
    Some(seconds * (bytes as f64 / nearest.max(1) as f64).max(1.0))
}
