//! Why the formula and the prediction of an algorithm are far apart: what the formula leaves out, and costs most here.

use std::fmt;

use super::algorithm::{Algorithm, Shape};
use super::predict::Fit;
use super::report::LinkRow;
use super::terms::Terms;
use crate::domain::units;

/// Times that differ by no more than this need no explanation.
const FAR: f64 = 2.0;

/// How far the prediction is from the formula, and the cause that counts most.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The prediction as a multiple of the formula's time.
    pub times: f64,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// Ranks send and receive at once, which takes so many times as long as one way.
    BothWays { bytes: u64, times: f64 },
    /// Messages of this size do not take what the straight line through the smallest and the largest says.
    NoLine { bytes: u64, measured_s: f64, line_s: f64 },
    /// A rank begins so many messages in a round, and the formula counts one.
    ManyAtOnce { messages: usize },
    /// Numbers are not added at the speed of the largest buffer.
    Adding { bytes: u64 },
    /// Nothing of this.
    Rounds,
}

impl Apart {
    /// `None` where the two are near each other. `times` is the prediction over the formula's time.
    pub(super) fn of(
        algorithm: Algorithm,
        terms: &Terms,
        fit: Fit,
        times: f64,
        (rows, ranks, shape): (&[LinkRow], usize, Shape),
    ) -> Option<Apart> {
        if !times.is_finite() || (1.0 / FAR..=FAR).contains(&times) {
            return None;
        }
        let rounds = terms.messages + terms.local_messages;
        let per_round = |numbers: f64| 4.0 * numbers / rounds.max(1.0);
        let (sent, added) = (per_round(terms.sent + terms.local_sent), 2.0 * per_round(terms.added));
        let is_both_ways = match algorithm {
            Algorithm::Binomial => false,
            Algorithm::ParameterServer => shape.servers > 1,
            _ => true,
        };
        let at_once = if algorithm == Algorithm::ParameterServer { ranks - 1 } else { 1 };
        let (row, line_s) = (nearest(rows, sent)?, |bytes: f64| fit.alpha_s + fit.beta_s * bytes);
        let own_line_s = line_s(row.bytes as f64);
        let mut causes = vec![
            (
                rounds * (row.one_way_s - own_line_s),
                Cause::NoLine { bytes: row.bytes, measured_s: row.one_way_s, line_s: own_line_s },
            ),
            (rounds * (at_once - 1) as f64 * fit.alpha_s, Cause::ManyAtOnce { messages: at_once }),
        ];
        if is_both_ways {
            let times = row.exchange_s / row.one_way_s;
            causes.push((rounds * (row.exchange_s - row.one_way_s), Cause::BothWays { bytes: row.bytes, times }));
        }
        if let Some(row) = nearest(rows, added) {
            let of_a_byte = row.sum_s / row.bytes as f64;
            causes.push((terms.added * 4.0 * (of_a_byte - fit.gamma_s), Cause::Adding { bytes: row.bytes }));
        }
        // What makes it longer where it is longer, and shorter where it is shorter.
        let sign = if times > 1.0 { 1.0 } else { -1.0 };
        let most = causes.into_iter().map(|(seconds, cause)| (sign * seconds, cause)).max_by(|a, b| a.0.total_cmp(&b.0));
        let cause = most.filter(|(seconds, _)| *seconds > 0.0).map_or(Cause::Rounds, |(_, cause)| cause);
        Some(Apart { times, cause })
    }
}

/// What was measured at the size next to this one.
fn nearest(rows: &[LinkRow], bytes: f64) -> Option<&LinkRow> {
    let distance = |row: &&LinkRow| (row.bytes as f64 / bytes.max(1.0)).ln().abs();
    let good = rows.iter().filter(|row| row.bytes > 0 && row.one_way_s > 0.0);
    good.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the prediction is {:.1} times the formula, ", self.times)?;
        let size = |bytes: &u64| units::bytes(*bytes);
        match &self.cause {
            Cause::BothWays { bytes, times } => write!(
                f,
                "because ranks send in both directions at once, which took {times:.1} times as long as one way at {}; the formula \
                 counts one way",
                size(bytes)
            ),
            Cause::NoLine { bytes, measured_s, line_s } => write!(
                f,
                "because a message of {} took {}, and the formula's straight line through the smallest and the largest message \
                 says {}",
                size(bytes),
                units::short_time(*measured_s),
                units::short_time(*line_s)
            ),
            Cause::ManyAtOnce { messages } => {
                write!(f, "because a server starts {messages} messages in one round, and the formula counts one")
            }
            Cause::Adding { bytes } => write!(
                f,
                "because {} are not added as fast or as slowly as the largest buffer, by which the formula goes",
                size(bytes)
            ),
            Cause::Rounds => f.write_str("because it follows the busiest rank of each round, and the formula a regular machine"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{Advice, Machine};

    fn advice(change: impl Fn(&mut LinkRow)) -> Advice {
        let mut machine = Machine::regular(16, 1e-5);
        machine.link.iter_mut().flat_map(|link| &mut link.rows).for_each(change);
        Advice::new(&machine, 1 << 20, 8, Shape { servers: 1, ranks_per_host: 4 })
    }

    fn said(advice: &Advice, algorithm: Algorithm) -> Option<String> {
        advice.rows.iter().find(|row| row.algorithm == algorithm)?.why_apart.as_ref().map(Apart::to_string)
    }

    #[test]
    fn a_regular_machine_needs_no_explanation() {
        let advice = advice(|_| {});
        assert!(Algorithm::ALL.into_iter().all(|algorithm| said(&advice, algorithm).is_none()));
    }

    #[test]
    fn the_cause_that_counts_most_is_named() {
        let both = advice(|row| row.exchange_s *= 3.0);
        let ring = said(&both, Algorithm::Ring).unwrap();
        assert!(ring.contains("both directions at once, which took 3.0 times") && ring.contains("at 128 KiB"), "{ring}");
        assert_eq!(said(&both, Algorithm::Binomial), None, "a tree sends one way");
        let cached = advice(|row| {
            if (1 << 10..1 << 24).contains(&row.bytes) {
                row.one_way_s /= 8.0;
                row.exchange_s /= 8.0;
            }
        });
        let ring = said(&cached, Algorithm::Ring).unwrap();
        assert!(ring.contains("a message of 128 KiB took") && ring.contains("straight line"), "{ring}");
    }
}
