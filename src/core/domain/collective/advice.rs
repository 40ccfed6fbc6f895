//! Which algorithm is fastest for so many bytes and ranks: the formulas with the terms of a measured machine put in, the predicted
//! times, and the sizes at which another one takes the lead.

use super::algorithm::{Algorithm, Shape};
use super::apart::Apart;
use super::predict::{Fit, Machine, Refused};
use super::terms::Terms;

/// Where the search for the lead begins and ends.
const SIZES: std::ops::RangeInclusive<u32> = 2..=30;

/// Times that differ by less are not told apart.
const EQUALLY_FAST: f64 = 1.05;

/// What is known of an allreduce of so many bytes before it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    pub bytes: u64,
    pub ranks: usize,
    /// Alpha, beta and gamma, or why they would mean nothing.
    pub fit: Result<Fit, Refused>,
    /// One for each algorithm.
    pub rows: Vec<AdviceRow>,
    /// Smallest size first.
    pub leads: Vec<Lead>,
}

/// One algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceRow {
    pub algorithm: Algorithm,
    /// By the formula, or by the schedule where there is no formula for so many ranks.
    pub terms: Terms,
    pub has_formula: bool,
    /// The terms with alpha, beta and gamma put in.
    pub formula_s: Result<f64, Refused>,
    /// Round by round, from what was measured at each size.
    pub predicted_s: Result<f64, Refused>,
    /// Why the two are far apart, where they are.
    pub why_apart: Option<Apart>,
}

/// From this size on this algorithm is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    pub from_bytes: u64,
    pub algorithm: Algorithm,
}

impl Advice {
    pub fn new(machine: &Machine, bytes: u64, ranks: usize, shape: Shape) -> Advice {
        let elements = numbers(bytes);
        let fit = machine.fit(ranks);
        let row = |algorithm: Algorithm| {
            let formula = algorithm.formula(ranks, elements, shape);
            // Beyond any sensible number of ranks no schedule is made, and none is needed.
            let by_schedule = || match fit {
                Err(Refused::TooMany) => Terms::default(),
                _ => algorithm.schedule(ranks, elements, shape).terms(None),
            };
            let terms = formula.unwrap_or_else(by_schedule);
            let (formula_s, predicted_s) =
                (fit.map(|fit| fit.seconds(&terms)), machine.predict_own(algorithm, ranks, elements, shape));
            let why_apart = match (fit, formula_s, predicted_s, &machine.link) {
                (Ok(fit), Ok(formula_s), Ok(predicted_s), Some(link)) => {
                    Apart::of(algorithm, &terms, fit, predicted_s / formula_s, (&link.rows, ranks, shape))
                }
                _ => None,
            };
            AdviceRow { algorithm, terms, has_formula: formula.is_some(), formula_s, predicted_s, why_apart }
        };
        let rows = Algorithm::ALL.into_iter().map(row).collect();
        Advice { bytes, ranks, fit, rows, leads: leads(machine, ranks, shape) }
    }

    /// The algorithm with the least predicted time.
    pub fn fastest(&self) -> Option<&AdviceRow> {
        let predicted = self.rows.iter().filter_map(|row| Some((row.predicted_s.ok()?, row)));
        predicted.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, row)| row)
    }
}

fn numbers(bytes: u64) -> usize {
    usize::try_from(bytes / 4).unwrap_or(usize::MAX)
}

/// Who is fastest at each power of two, as far as that changes.
fn leads(machine: &Machine, ranks: usize, shape: Shape) -> Vec<Lead> {
    let mut leads: Vec<Lead> = Vec::new();
    for from_bytes in SIZES.map(|power| 1u64 << power) {
        let time = |algorithm: &Algorithm| machine.predict_own(*algorithm, ranks, numbers(from_bytes), shape);
        let timed = Algorithm::ALL.into_iter().filter_map(|algorithm| Some((time(&algorithm).ok()?, algorithm)));
        let Some((best, algorithm)) = timed.min_by(|(a, _), (b, _)| a.total_cmp(b)) else { break };
        // Predictions are not that exact: one that is as good as equally fast takes no lead.
        let keeps = leads.last().is_some_and(|lead| time(&lead.algorithm).is_ok_and(|time| time <= best * EQUALLY_FAST));
        if !keeps {
            leads.push(Lead { from_bytes, algorithm });
        }
    }
    leads
}

impl Algorithm {
    /// Its time as books write it: a for a message, b for a byte sent, g for a byte added, n bytes, p ranks, S servers, L ranks
    /// on each of M hosts.
    pub fn formula_in_words(self) -> &'static str {
        match self {
            Algorithm::Ring => "2(p-1)a + 2(p-1)/p nb + (p-1)/p ng",
            Algorithm::RecursiveDoubling => "lg p (a + nb + ng)",
            Algorithm::Rabenseifner => "2 lg p a + 2(p-1)/p nb + (p-1)/p ng",
            Algorithm::Binomial => "2 lg p (a + nb) + lg p ng",
            Algorithm::ParameterServer => "2a + 2(p-1)/S nb + (p-1)/S ng",
            Algorithm::Hierarchical => "2(L-1+M-1)a + 2((L-1)/L + (M-1)/(ML)) nb + ((L-1)/L + (M-1)/(ML)) ng",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine::regular(16, 1e-5)
    }

    #[test]
    fn few_messages_lead_at_small_sizes_and_few_bytes_at_large_ones() {
        let shape = Shape { servers: 1, ranks_per_host: 8 };
        let advice = Advice::new(&machine(), 65 << 20, 8, shape);
        let leader = |bytes: u64| advice.leads.iter().rfind(|lead| lead.from_bytes <= bytes).unwrap().algorithm;
        assert_eq!(leader(4), Algorithm::RecursiveDoubling, "{:?}", advice.leads);
        assert!([Algorithm::Ring, Algorithm::Rabenseifner].contains(&leader(1 << 28)), "{:?}", advice.leads);
        assert_eq!(advice.fastest().unwrap().algorithm, leader(1 << 26));
        assert!(advice.leads.windows(2).all(|pair| pair[0].algorithm != pair[1].algorithm));
        let server = advice.rows.iter().find(|row| row.algorithm == Algorithm::ParameterServer).unwrap();
        let ring = advice.rows.iter().find(|row| row.algorithm == Algorithm::Ring).unwrap();
        assert!(server.predicted_s.unwrap() > 3.5 * ring.predicted_s.unwrap());
    }

    #[test]
    fn what_cannot_be_predicted_still_has_its_terms() {
        let shape = Shape { servers: 1, ranks_per_host: 1 };
        for (machine, ranks) in [(Machine::default(), 4), (machine(), 17), (machine(), 4000)] {
            let advice = Advice::new(&machine, 1 << 20, ranks, shape);
            assert!(advice.fit.is_err() && advice.leads.is_empty() && advice.fastest().is_none());
            assert_eq!(advice.rows.len(), Algorithm::ALL.len());
            assert_eq!(advice.rows[0].terms.messages, 2.0 * (ranks as f64 - 1.0));
        }
        let six = Advice::new(&machine(), 1 << 20, 6, shape);
        let doubling = six.rows.iter().find(|row| row.algorithm == Algorithm::RecursiveDoubling).unwrap();
        assert!(!doubling.has_formula && doubling.terms.messages == 4.0 && doubling.predicted_s.is_ok(), "{doubling:?}");
    }
}
