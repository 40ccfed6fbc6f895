//! Speed-up by number of ranks against the ideal line: what a drawing of it shows, on the screen and in a file.

use super::{Report, RunId};

/// A run or a published result in the drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub np: usize,
    pub speedup: f64,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    pub baseline: RunId,
    /// Ranks of the baseline: where the ideal line has a speed-up of 1.
    pub baseline_np: usize,
    pub measured: Vec<Point>,
    /// Only those that a reader can set beside the measured ones: of few ranks, and over one rank as they are.
    pub published: Vec<Point>,
    /// Runs that are not in the drawing: they cannot be compared, or have measured no throughput.
    pub left_out: usize,
    /// The right end and the upper end, with some room.
    pub np_end: f64,
    pub speedup_end: f64,
}

impl Scaling {
    pub fn new(report: &Report) -> Scaling {
        let baseline_np = report.baseline.figures.np.max(1);
        let points = report.runs.iter().filter_map(|(row, run)| {
            let speedup = row.comparison.speedup.filter(|speedup| speedup.is_finite())?;
            Some(Point { np: run.figures.np, speedup, label: format!("run {}", run.id) })
        });
        let measured: Vec<Point> = points.collect();
        let most = measured.iter().map(|point| point.np).max().unwrap_or(1);
        let published = report.published.iter().flat_map(|source| {
            let drawn = source.rows.iter().filter(|row| baseline_np == 1 && row.np <= 2 * most.max(2));
            drawn.filter_map(|row| {
                Some(Point { np: row.np, speedup: row.speedup?, label: format!("{}: {}", source.name, row.label) })
            })
        });
        let published: Vec<Point> = published.collect();
        let all = || measured.iter().chain(&published);
        let np_end = all().map(|point| point.np).max().unwrap_or(1).max(2) as f64;
        let highest = all().map(|point| point.speedup).fold(np_end / baseline_np as f64, f64::max);
        Scaling {
            baseline: report.baseline.id,
            baseline_np,
            left_out: report.runs.len() - measured.len(),
            np_end: np_end + (np_end / 8.0).max(0.25),
            speedup_end: highest * 1.1,
            measured,
            published,
        }
    }

    /// Speed-up that `np` ranks would have if none cost anything.
    pub fn ideal(&self, np: f64) -> f64 {
        np / self.baseline_np as f64
    }
}
