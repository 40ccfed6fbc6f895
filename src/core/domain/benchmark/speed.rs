//! From the seconds of each iteration and rank to images per second: mean, uncertainty and jitter, as the programs that are
//! retold define them.
//!
//! The difference to them: they time one rank and multiply by the number of ranks. Here each rank times itself, and rates are added up.

use super::choices::Style;
use crate::domain::speedup::median;

/// The deviation of normal samples over the median of their absolute deviations.
const DEVIATION_BY_MAD: f64 = 1.4826;
/// Deviations to each side that hold 95 % of normal samples.
const NORMAL_95: f64 = 1.96;

/// Iterations that all ranks have timed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iterations {
    /// Images of one rank in one iteration.
    pub images: usize,
    /// By iteration, then by rank.
    pub seconds: Vec<Vec<f64>>,
}

/// Rates that scatter around their mean, in images per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    /// Standard error of the mean; `None` where there are too few rates to tell.
    pub uncertainty: Option<f64>,
    /// 1.4826 times the median absolute deviation: the standard deviation, if outliers are left aside.
    pub jitter: f64,
    /// 1.96 standard deviations.
    pub within_95: f64,
}

impl Iterations {
    pub fn new(images: usize) -> Iterations {
        Iterations { images, seconds: Vec::new() }
    }

    /// 0 before the first iteration.
    pub fn ranks(&self) -> usize {
        self.seconds.first().map_or(0, Vec::len)
    }

    /// Images per second of all ranks in one iteration.
    pub fn rate(&self, iteration: usize) -> Option<f64> {
        Some(self.seconds.get(iteration)?.iter().map(|seconds| self.images as f64 / seconds).sum())
    }

    /// Images per second of all ranks, iteration by iteration.
    pub fn rates(&self) -> Vec<f64> {
        (0..self.seconds.len()).filter_map(|iteration| self.rate(iteration)).collect()
    }

    /// As Horovod's benchmark: the mean of the rates of all ranks.
    pub fn total(&self) -> Option<Spread> {
        Spread::of(&self.rates(), 0)
    }

    /// The same for one rank: the mean over the ranks.
    pub fn per_rank(&self) -> Option<Spread> {
        let (all, ranks) = (self.total()?, self.ranks() as f64);
        Some(Spread {
            mean: all.mean / ranks,
            uncertainty: all.uncertainty.map(|uncertainty| uncertainty / ranks),
            jitter: all.jitter / ranks,
            within_95: all.within_95 / ranks,
        })
    }

    /// As nvcnn: with the deviation of a sample, which three rates or more have.
    pub fn as_nvcnn(&self) -> Option<Spread> {
        let spread = Spread::of(&self.rates(), 1)?;
        Some(Spread { uncertainty: spread.uncertainty.filter(|_| self.seconds.len() > 2), ..spread })
    }

    /// As tf_cnn_benchmarks, for one rank: images over the mean time.
    pub fn as_tf_cnn(&self) -> Option<Spread> {
        Some(Spread { mean: self.total_over_time()? / self.ranks() as f64, ..self.per_rank()? })
    }

    /// Images per second of all ranks, as the style gives them as its total.
    pub fn result(&self, style: Style) -> Option<f64> {
        match style {
            Style::TfCnn => self.total_over_time(),
            Style::Horovod | Style::Nvcnn | Style::Json => self.total().map(|total| total.mean),
        }
    }

    /// All images over all the time, of all ranks.
    pub fn total_over_time(&self) -> Option<f64> {
        let images = (self.images * self.seconds.len()) as f64;
        let of_rank = |rank: usize| self.seconds.iter().filter_map(|ranks| ranks.get(rank)).sum::<f64>();
        (!self.seconds.is_empty()).then(|| (0..self.ranks()).map(|rank| images / of_rank(rank)).sum())
    }
}

impl Spread {
    /// `less` is what numpy calls ddof: 0 for the deviation of all there is, 1 for that of a sample.
    pub fn of(rates: &[f64], less: usize) -> Option<Spread> {
        let (count, middle) = (rates.len() as f64, median(rates)?);
        let mean = rates.iter().sum::<f64>() / count;
        let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        let deviation = |less: usize| (squares / (count - less as f64)).sqrt();
        let away: Vec<f64> = rates.iter().map(|rate| (rate - middle).abs()).collect();
        Some(Spread {
            mean,
            uncertainty: (rates.len() > less).then(|| deviation(less) / count.sqrt()),
            jitter: DEVIATION_BY_MAD * median(&away)?,
            within_95: NORMAL_95 * deviation(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks, four iterations; rates of both are 64 / s + 64 / s.
    fn two_ranks() -> Iterations {
        Iterations { images: 64, seconds: vec![vec![0.5, 0.5], vec![0.8, 0.4], vec![0.32, 0.64], vec![1.6, 1.28]] }
    }

    fn close(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-9 * expected.abs().max(1.0)
    }

    /// The expected numbers are those of Python's module `statistics` for the rates 256, 240, 300 and 90, in numpy's words:
    #[test]
    fn figures_are_those_of_numpy() {
        let both = two_ranks();
        assert_eq!((both.ranks(), both.rates()), (2, vec![256.0, 240.0, 300.0, 90.0]));
        let total = both.total().unwrap();
        // r.mean(); r.std() / 2; 1.4826 * np.median(np.abs(r - np.median(r))); 1.96 * r.std()
        assert!(close(total.mean, 221.5), "{total:?}");
        assert!(close(total.uncertainty.unwrap(), 39.51819201329939), "{total:?}");
        assert!(close(total.jitter, 1.4826 * 30.0), "{total:?}");
        assert!(close(total.within_95, 154.9113126921336), "{total:?}");
        // r.std(ddof=1) / 2
        assert!(close(both.as_nvcnn().unwrap().uncertainty.unwrap(), 45.63167759353145));
        let one = both.per_rank().unwrap();
        assert!(close(one.mean, 110.75) && close(one.within_95, total.within_95 / 2.0));
        // (4 * 64 / s.sum(0)).sum()
        assert!(close(both.total_over_time().unwrap(), 170.28324743403374), "{:?}", both.total_over_time());
        assert!(close(both.as_tf_cnn().unwrap().mean, 170.28324743403374 / 2.0));
        assert!(close(both.as_tf_cnn().unwrap().jitter, 1.4826 * 15.0));
    }

    #[test]
    fn few_iterations_say_little_and_none_says_nothing() {
        let none = Iterations::new(64);
        assert_eq!((none.ranks(), none.total(), none.total_over_time(), none.as_nvcnn()), (0, None, None, None));
        let one = Iterations { images: 10, seconds: vec![vec![2.0]] };
        let total = one.total().unwrap();
        assert_eq!((total.mean, total.uncertainty, total.jitter, total.within_95), (5.0, Some(0.0), 0.0, 0.0));
        assert_eq!((one.as_nvcnn().unwrap().uncertainty, one.as_tf_cnn().unwrap().mean), (None, 5.0));
        let two = Iterations { images: 10, seconds: vec![vec![2.0], vec![1.0]] };
        assert_eq!(two.as_nvcnn().unwrap().uncertainty, None, "nvcnn gives nan below three");
    }
}
