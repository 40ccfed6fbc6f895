//! How long an allreduce should take: from what two ranks measured of the way between them, put together round by round.
//!
//! Where that would mean nothing there is a reason instead of a number.

use std::fmt;

use super::algorithm::{Algorithm, Shape};
use super::method::Method;
use super::report::{LinkReport, LinkRow};
use super::schedule::{Message, Operation, Schedule};
use super::terms::Terms;

/// Bytes of one float32.
const NUMBER_BYTES: f64 = 4.0;

/// The messages of a schedule grow with the square of this.
const MOST_RANKS: usize = 1024;

/// What predictions are made from: the way between two ranks, and how much room the ranks have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    pub link: Option<LinkReport>,
    /// Hosts that the ranks are spread over.
    pub hosts: usize,
    /// Logical cores of each of them: the fewest.
    pub cores: usize,
    /// Each rank has a link of its own, made slow: ranks then wait for the network, not for a core.
    pub has_made_links: bool,
}

/// Why there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    OneRank,
    /// Nobody makes a schedule that large.
    TooMany,
    /// More ranks on a host than it has cores.
    Crowded {
        ranks: usize,
        cores: usize,
    },
    NoLink,
    /// A library does it its own way.
    NotOurs(Method),
    /// No method of this version.
    Unknown,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::OneRank => f.write_str("one rank sends nothing"),
            Refused::TooMany => write!(f, "predictions end at {MOST_RANKS} ranks"),
            Refused::Crowded { ranks, cores } => {
                write!(f, "{ranks} ranks share {cores} cores of a host, so they wait for a core and not only for messages")
            }
            Refused::NoLink => f.write_str("nothing was measured of the way between two ranks"),
            Refused::NotOurs(Method::Mpi) => f.write_str("MPI picks its algorithm by size and ranks, and does not say which"),
            Refused::NotOurs(Method::Nccl) => {
                f.write_str("NCCL sends between GPUs, and messages were measured between processors")
            }
            Refused::NotOurs(_) => f.write_str("MPI does it in its own way: only the lab's own schedules are predicted"),
            Refused::Unknown => f.write_str("this version of hvd-lab does not know the algorithm"),
        }
    }
}

impl Machine {
    /// Seconds of one allreduce of so many numbers, by its schedule.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn predict(&self, method: &str, ranks: usize, elements: usize, shape: Shape) -> Result<f64, Refused> {
        let method: Method = method.parse().map_err(|_| Refused::Unknown)?;
        let algorithm = method.algorithm().ok_or(Refused::NotOurs(method))?;
        self.predict_own(algorithm, ranks, elements, shape)
    }

    /// [`Machine::predict`], of an algorithm whose schedule the lab makes.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn predict_own(&self, algorithm: Algorithm, ranks: usize, elements: usize, shape: Shape) -> Result<f64, Refused> {
        let curves = self.curves(ranks)?;
        Ok(curves.seconds(&algorithm.schedule(ranks, elements, shape)))
    }

    /// Alpha, beta and gamma of the formulas, for so many ranks.
    ///
    /// # Errors
    /// Why they would mean nothing.
    pub fn fit(&self, ranks: usize) -> Result<Fit, Refused> {
        self.curves(ranks).map(|curves| curves.fit())
    }

    fn curves(&self, ranks: usize) -> Result<Curves, Refused> {
        let on_a_host = ranks.div_ceil(self.hosts.max(1));
        match &self.link {
            _ if ranks <= 1 => Err(Refused::OneRank),
            _ if ranks > MOST_RANKS => Err(Refused::TooMany),
            None => Err(Refused::NoLink),
            _ if on_a_host > self.cores && !self.has_made_links => Err(Refused::Crowded { ranks: on_a_host, cores: self.cores }),
            Some(link) => Curves::new(&link.rows).ok_or(Refused::NoLink),
        }
    }
}

/// What was measured at some sizes, for any size.
struct Curves {
    /// At least one, smallest first, each size once.
    rows: Vec<LinkRow>,
}

impl Curves {
    /// `None` where nothing was measured.
    fn new(rows: &[LinkRow]) -> Option<Curves> {
        // They come from a file: what took no time or less would make no number of it.
        let positive = |seconds: f64| seconds.max(f64::MIN_POSITIVE);
        let cleaned = |row: &LinkRow| LinkRow {
            bytes: row.bytes,
            one_way_s: positive(row.one_way_s),
            exchange_s: positive(row.exchange_s),
            sum_s: positive(row.sum_s),
        };
        let mut rows: Vec<LinkRow> = rows.iter().filter(|row| row.bytes > 0).map(cleaned).collect();
        rows.sort_by_key(|row| row.bytes);
        rows.dedup_by_key(|row| row.bytes);
        (!rows.is_empty()).then_some(Curves { rows })
    }

    /// The slowest rank of each round, one round after the other.
    fn seconds(&self, schedule: &Schedule) -> f64 {
        schedule.rounds.iter().map(|round| self.seconds_of_round(round, schedule.ranks)).sum()
    }

    fn seconds_of_round(&self, round: &[Message], ranks: usize) -> f64 {
        #[derive(Clone, Copy, Default)]
        struct Work {
            sent: usize,
            received: usize,
            added: usize,
            messages_out: usize,
            messages_in: usize,
        }
        let mut work = vec![Work::default(); ranks];
        for message in round.iter().filter(|message| !message.range.is_empty()) {
            let numbers = message.range.len();
            work[message.from].sent += numbers;
            work[message.from].messages_out += 1;
            work[message.to].received += numbers;
            work[message.to].messages_in += 1;
            work[message.to].added += if message.operation == Operation::Reduce { numbers } else { 0 };
        }
        let seconds = |work: &Work| {
            let most = bytes(work.sent.max(work.received));
            let is_both_ways = work.sent > 0 && work.received > 0;
            // Several messages of a rank share its way; each of them has to be begun.
            let more = work.messages_in.max(work.messages_out).saturating_sub(1) as f64;
            let way = self.at(most, |row| if is_both_ways { row.exchange_s } else { row.one_way_s });
            way + more * self.at(0.0, |row| row.one_way_s) + self.at_work(bytes(work.added), |row| row.sum_s)
        };
        let busy = work.iter().filter(|work| work.messages_in + work.messages_out > 0);
        busy.map(seconds).fold(0.0, f64::max)
    }

    /// Between two sizes on the straight line of their logarithms; below the smallest as there, above the largest in proportion.
    fn at(&self, bytes: f64, time: impl Fn(&LinkRow) -> f64) -> f64 {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return 0.0 };
        let after = self.rows.partition_point(|row| (row.bytes as f64) < bytes);
        match (after, self.rows.get(after)) {
            (0, _) => time(first),
            (_, None) => time(last) * bytes / last.bytes as f64,
            (place, Some(above)) => {
                let below = &self.rows[place - 1];
                let part = (bytes / below.bytes as f64).ln() / (above.bytes as f64 / below.bytes as f64).ln();
                (time(below).ln() * (1.0 - part) + time(above).ln() * part).exp()
            }
        }
    }

    /// The same for what costs nothing to begin: in proportion below the smallest size too.
    fn at_work(&self, bytes: f64, time: impl Fn(&LinkRow) -> f64) -> f64 {
        match self.rows.first() {
            Some(first) if bytes < first.bytes as f64 => time(first) * bytes / first.bytes as f64,
            _ => self.at(bytes, time),
        }
    }

    /// Through the smallest and the largest message. In between, caches and what a network lets through at once make it faster, and
    /// no line can say that.
    fn fit(&self) -> Fit {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return Fit::default() };
        let (alpha_s, beta_s) = line((first.bytes, first.one_way_s), (last.bytes, last.one_way_s));
        // Adding costs nothing to begin.
        Fit { alpha_s, beta_s, gamma_s: last.sum_s / last.bytes as f64 }
    }
}

fn bytes(numbers: usize) -> f64 {
    numbers as f64 * NUMBER_BYTES
}

/// Where the line `a + b x` through two points begins and how it rises, with neither below 0.
fn line((x, y): (u64, f64), (other_x, other_y): (u64, f64)) -> (f64, f64) {
    let slope = if other_x > x { ((other_y - y) / (other_x - x) as f64).max(0.0) } else { 0.0 };
    ((y - slope * x as f64).max(0.0), slope)
}

/// The machine in three numbers, for the formulas: a line through what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    /// Seconds that a message takes however small it is.
    pub alpha_s: f64,
    /// Seconds a byte on its way.
    pub beta_s: f64,
    /// Seconds a byte that is added.
    pub gamma_s: f64,
}

impl Fit {
    /// By a formula, or by the terms of a schedule. Messages within a host and between hosts cost the same here: there is one link.
    pub fn seconds(&self, terms: &Terms) -> f64 {
        (terms.messages + terms.local_messages) * self.alpha_s
            + (terms.sent + terms.local_sent) * NUMBER_BYTES * self.beta_s
            + terms.added * NUMBER_BYTES * self.gamma_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { servers: 1, ranks_per_host: 1 };

    impl Machine {
        /// So many cores, and for each message so many seconds, 1 ns a byte, 0.1 ns a byte added; both ways at once as fast as one way.
        pub(in crate::domain::collective) fn regular(cores: usize, latency_s: f64) -> Machine {
            let row = |bytes: u64| {
                let way = latency_s + bytes as f64 * 1e-9;
                LinkRow { bytes, one_way_s: way, exchange_s: way, sum_s: bytes as f64 * 1e-10 }
            };
            let rows = (2..=26).map(|power| row(1 << power)).collect();
            Machine { link: Some(LinkReport { rows }), hosts: 1, cores, has_made_links: false }
        }
    }

    fn machine() -> Machine {
        Machine::regular(8, 1e-6)
    }

    #[test]
    fn a_regular_machine_is_predicted_by_its_formulas() {
        let fit = machine().fit(4).unwrap();
        assert!((fit.alpha_s - 1e-6).abs() < 1e-9 && (fit.beta_s - 1e-9).abs() < 1e-12, "{fit:?}");
        assert!((fit.gamma_s - 1e-10).abs() < 1e-13, "{fit:?}");
        for algorithm in Algorithm::ALL {
            for elements in [256, 65_536, 4 << 20] {
                let shape = Shape { servers: 2, ranks_per_host: 2 };
                let by_rounds = machine().predict_own(algorithm, 4, elements, shape).unwrap();
                let by_formula = fit.seconds(&algorithm.formula(4, elements, shape).unwrap());
                let off = by_rounds / by_formula - 1.0;
                // Servers begin several messages in a round, which the formulas count as one.
                let most = if algorithm == Algorithm::ParameterServer { 1.5 } else { 0.05 };
                assert!(off > -0.05 && off < most, "{algorithm:?} {elements}: {by_rounds} {by_formula}");
            }
        }
    }

    #[test]
    fn messages_into_one_rank_share_its_way() {
        let predict = |servers, ranks| {
            let shape = Shape { servers, ..SHAPE };
            machine().predict_own(Algorithm::ParameterServer, ranks, 1 << 20, shape).unwrap()
        };
        let ring = machine().predict_own(Algorithm::Ring, 8, 1 << 20, SHAPE).unwrap();
        assert!((predict(1, 8) / ring - 8.0).abs() < 0.1, "{} {ring}", predict(1, 8));
        assert!(predict(2, 8) < 0.55 * predict(1, 8));
    }

    #[test]
    fn what_would_mean_nothing_is_refused_with_the_reason() {
        let refused =
            |machine: &Machine, method: &str, ranks| machine.predict(method, ranks, 1024, SHAPE).unwrap_err().to_string();
        assert!(refused(&machine(), "ring", 1).contains("one rank"));
        assert!(refused(&machine(), "ring", 9).contains("9 ranks share 8 cores"));
        assert!(refused(&machine(), "mpi", 2).contains("does not say which"));
        assert!(refused(&machine(), "mpi-ring", 2).contains("own way"));
        assert!(refused(&machine(), "nccl", 2).contains("GPU"));
        assert!(refused(&machine(), "sneeze", 2).contains("does not know"));
        let damaged = LinkRow { bytes: 0, one_way_s: -1.0, exchange_s: 0.0, sum_s: 0.0 };
        for link in [None, Some(LinkReport { rows: vec![] }), Some(LinkReport { rows: vec![damaged; 2] })] {
            assert!(refused(&Machine { link, ..machine() }, "ring", 2).contains("between two ranks"));
        }
        let two_hosts = Machine { hosts: 2, ..machine() };
        assert!(two_hosts.predict("ring", 16, 1024, SHAPE).is_ok() && two_hosts.predict("ring", 17, 1024, SHAPE).is_err());
        let slow = Machine { has_made_links: true, ..machine() };
        assert!(slow.predict("ring", 9, 1024, SHAPE).is_ok());
    }

    #[test]
    fn between_and_beyond_the_sizes_that_were_measured() {
        let machine = machine();
        let curves = machine.curves(2).unwrap();
        let at = |bytes| curves.at(bytes, |row| row.one_way_s);
        assert!((at(0.0) - 1.004e-6).abs() < 1e-12, "{}", at(0.0));
        assert!(at(48.0) > at(32.0) && at(48.0) < at(64.0));
        assert!((at(f64::from(1 << 27)) / at(f64::from(1 << 26)) - 2.0).abs() < 1e-9);
        assert_eq!(curves.at_work(0.0, |row| row.sum_s), 0.0);
    }

    #[test]
    fn a_line_has_no_negative_part() {
        assert_eq!(line((8, 2.0), (8, 2.0)), (2.0, 0.0));
        assert_eq!(line((1, 4.0), (3, 1.0)), (4.0, 0.0));
        assert_eq!(line((1, 3.0), (3, 7.0)), (1.0, 2.0));
        assert_eq!(line((2, 1.0), (4, 5.0)), (0.0, 2.0));
    }

    /// What a network lets through at once says nothing of how fast it is.
    #[test]
    fn the_fit_follows_the_largest_messages() {
        let row = |bytes: u64| {
            let way = 1e-5 + bytes.saturating_sub(100_000) as f64 * 4e-8;
            LinkRow { bytes, one_way_s: way, exchange_s: way, sum_s: bytes as f64 * 1e-10 }
        };
        let rows = (2..=24).map(|power| row(1 << power)).collect();
        let fit = Machine { link: Some(LinkReport { rows }), ..machine() }.fit(2).unwrap();
        assert!((fit.beta_s / 4e-8 - 1.0).abs() < 0.02 && (fit.alpha_s / 1e-5 - 1.0).abs() < 0.1, "{fit:?}");
    }
}
