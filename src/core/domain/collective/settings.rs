//! The settings of a run that measures collectives: the flags of `hvd-measure collectives`, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::algorithm::{Algorithm, Shape};
use super::method::Method;
use crate::domain::bounds::{Bounded, LINK_BITS, MAX_COUNT, MAX_RANKS, NO_LINK, at_least_one, count, first};
use crate::domain::units;

/// Bytes of one number: what is added up is float32.
const NUMBER_BYTES: u64 = 4;
/// Rows of the table: no more of them are kept.
const MAX_ROWS: usize = 10_000;
/// Allreduces of one row.
const MAX_ITERATIONS: usize = 1_000_000;
/// The messages of a larger buffer are the same, and only take longer.
const MOST_LOGGED: u64 = 1 << 30;

/// What is measured, at which sizes, how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectivesSpec {
    /// Names of methods, in the order of the table.
    pub methods: Vec<String>,
    #[serde(flatten)]
    pub shape: Shape,
    /// Bytes of the smallest and the largest buffer; each is `factor` times the one before.
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub factor: u64,
    /// Allreduces that are timed at each size, and those before them that are not.
    pub iterations: usize,
    pub warmup: usize,
    /// Bytes of the buffer whose messages are logged, one execution of each schedule; `None` for no log.
    pub log_bytes: Option<u64>,
    /// Bits a second of the network that each rank is given, in a network namespace of its own; `None` for what is there.
    pub link_bits: Option<u64>,
    /// 1 to compare every number of a result with the sum that it should be, which every run of the lab does; 0 to leave that out.
    #[serde(skip, default = "checked")]
    pub check: usize,
    /// Settings that another version of the lab wrote, kept as they came.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

fn checked() -> usize {
    1
}

impl CollectivesSpec {
    /// The lab's own methods and MPI's choice, from 1 KiB to 16 MiB.
    pub fn usual(np: usize) -> CollectivesSpec {
        CollectivesSpec {
            methods: Method::usual().map(|method| method.to_string()).collect(),
            shape: Shape::usual(np),
            min_bytes: 1 << 10,
            max_bytes: 1 << 24,
            factor: 4,
            iterations: 20,
            warmup: 5,
            log_bytes: Some(1 << 16),
            link_bits: None,
            check: checked(),
            newer: Map::new(),
        }
    }

    /// The methods that this version knows.
    pub fn known_methods(&self) -> impl Iterator<Item = Method> {
        self.methods.iter().filter_map(|name| name.parse().ok())
    }

    /// The sizes of the buffers in bytes, smallest first, as nccl-tests steps through them.
    pub fn sizes(&self) -> Vec<u64> {
        let next = |bytes: &u64| bytes.checked_mul(self.factor).filter(|next| next > bytes);
        std::iter::successors(Some(self.min_bytes), next).take_while(|bytes| *bytes <= self.max_bytes).take(MAX_ROWS).collect()
    }

    /// What becomes of sizes that are no whole numbers of float32: nccl-tests rounds them down, and so does this.
    pub fn rounding(&self) -> Option<String> {
        let odd = self.sizes().into_iter().find(|bytes| bytes % NUMBER_BYTES != 0)?;
        Some(format!(
            "sizes are rounded down to whole numbers of {NUMBER_BYTES} B: {odd} B is measured as {} B",
            odd - odd % NUMBER_BYTES
        ))
    }

    /// Whether an algorithm that is listed has servers, or rings of hosts.
    pub fn uses(&self, needs: fn(Algorithm) -> bool) -> bool {
        self.known_methods().filter_map(Method::algorithm).any(needs)
    }

    /// Bytes of memory that so many ranks on a host need together: two buffers of the largest size, and what is received and not yet
    /// added.
    pub fn memory_bytes(&self, ranks_on_a_host: usize) -> u64 {
        // Two messages of a server are in flight, and a library has some memory of its own.
        let scratch = if self.uses(Algorithm::needs_servers) { 2 } else { 1 };
        self.largest().saturating_mul(2 + scratch).saturating_mul(ranks_on_a_host as u64)
    }

    fn largest(&self) -> u64 {
        self.sizes().into_iter().max().unwrap_or_default().max(self.log_bytes.unwrap_or_default())
    }

    /// What to say where a host does not have the memory that is needed.
    pub fn does_not_fit(&self, needed_bytes: u64) -> String {
        let largest = self.largest();
        let flag = if self.log_bytes == Some(largest) { "--log-bytes" } else { "--max-bytes" };
        let (largest, needed) = (units::bytes(largest), units::bytes(needed_bytes));
        format!("buffers of {largest} need {needed} on a host, which it does not have: lower {flag}")
    }

    /// What the ranks' links are, where they were made slow for the run; the words that every table says.
    pub fn link(&self) -> Option<String> {
        let bits = units::bits_per_second(self.link_bits?);
        Some(format!("on {bits} links, made on this machine"))
    }

    /// Whether one of MPI's own algorithms is asked for by name, which the library must be told before it starts.
    pub fn forces_mpi(&self) -> bool {
        self.known_methods().any(|method| matches!(method, Method::MpiForced(_)))
    }

    /// The first thing in it that cannot be measured with so many ranks, in one sentence.
    pub fn problem(&self, np: usize) -> Option<String> {
        let (least, most) = (units::bytes(self.min_bytes), units::bytes(self.max_bytes));
        let twice = self.methods.iter().enumerate().find(|(place, name)| self.methods[..*place].contains(name));
        let problems = [
            (self.methods.is_empty(), "no algorithm is named: give one or more, such as ring".to_owned()),
            (twice.is_some(), format!("the algorithm {} is named twice", twice.map_or("", |(_, name)| name))),
            (self.min_bytes < NUMBER_BYTES, format!("the smallest size is {least}: one number has {NUMBER_BYTES} B")),
            (self.max_bytes < self.min_bytes, format!("the largest size, {most}, is below the smallest, {least}")),
            (
                self.factor < 2 && self.max_bytes > self.min_bytes,
                format!("a factor of {} never gets to {most}: use 2 or more", self.factor),
            ),
            (self.check > 1, format!("--check is {}: use 0 or 1", self.check)),
            (self.iterations == 0, "0 iterations measure nothing: use 1 or more".to_owned()),
            (self.shape.servers == 0, "0 servers add up nothing: use 1 or more".to_owned()),
            (self.shape.servers > np.max(1), self.shape.too_many_servers(np)),
            (
                self.log_bytes.is_some_and(|bytes| bytes < NUMBER_BYTES),
                format!("the logged size is below {NUMBER_BYTES} B, which is one number"),
            ),
            (
                self.log_bytes.is_some_and(|bytes| bytes > MOST_LOGGED),
                format!(
                    "a log of {} is too much: use {} or less (--log-bytes), which has the same messages",
                    units::bytes(self.log_bytes.unwrap_or_default()),
                    units::bytes(MOST_LOGGED)
                ),
            ),
            (self.shape.ranks_per_host == 0, "0 ranks per host leave no rank: use 1 or more".to_owned()),
            (self.shape.ranks_per_host > np.max(1), self.shape.too_many_per_host(np)),
            (self.link_bits.is_some_and(|bits| !LINK_BITS.contains(&bits)), NO_LINK.to_owned()),
        ];
        let unknown = || self.methods.iter().find_map(|name| name.parse::<Method>().err());
        let found = problems.into_iter().find_map(|(is_so, problem)| is_so.then_some(problem));
        found.or_else(unknown).or_else(|| self.out_of_bounds())
    }
}

impl Bounded for CollectivesSpec {
    fn out_of_bounds(&self) -> Option<String> {
        let bytes = |what: &str, bytes: u64| count(what, usize::try_from(bytes).unwrap_or(usize::MAX), MAX_COUNT);
        first([
            bytes("smallest size in bytes", self.min_bytes),
            bytes("largest size in bytes", self.max_bytes),
            self.log_bytes.and_then(|log_bytes| bytes("logged size in bytes", log_bytes)),
            count("number of iterations", self.iterations, MAX_ITERATIONS),
            count("number of warm-up iterations", self.warmup, MAX_ITERATIONS),
            at_least_one("number of servers", self.shape.servers, MAX_RANKS),
            at_least_one("ranks per host", self.shape.ranks_per_host, MAX_RANKS),
            count("number of rows of the table", self.methods.len().saturating_mul(self.sizes().len()), MAX_ROWS),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_step_as_those_of_nccl_tests() {
        assert_eq!(CollectivesSpec::sample().sizes(), [1 << 10, 1 << 15, 1 << 20]);
        let one = CollectivesSpec { max_bytes: 1 << 10, factor: 0, ..CollectivesSpec::sample() };
        assert_eq!(one.sizes(), [1 << 10]);
        let endless = CollectivesSpec { max_bytes: u64::MAX, factor: u64::MAX, ..CollectivesSpec::sample() };
        assert_eq!(endless.sizes(), [1 << 10]);
    }

    #[test]
    fn what_cannot_be_measured_is_named() {
        let sample = CollectivesSpec::sample;
        assert_eq!(sample().problem(2), None);
        let cases = [
            (CollectivesSpec { methods: vec![], ..sample() }, "no algorithm"),
            (CollectivesSpec { methods: vec!["sneeze".into()], ..sample() }, "`sneeze` is not an algorithm: choose from ring"),
            (CollectivesSpec { methods: vec!["ring".into(), "ring".into()], ..sample() }, "ring is named twice"),
            (CollectivesSpec { min_bytes: 3, ..sample() }, "3 B"),
            (CollectivesSpec { max_bytes: 8, ..sample() }, "below the smallest"),
            (CollectivesSpec { factor: 1, ..sample() }, "factor of 1"),
            (CollectivesSpec { iterations: 0, ..sample() }, "0 iterations"),
            (CollectivesSpec { iterations: usize::MAX, ..sample() }, "iterations"),
            (CollectivesSpec { max_bytes: 1 << 60, ..sample() }, "largest size"),
            (
                CollectivesSpec { shape: Shape { servers: 3, ranks_per_host: 1 }, ..sample() },
                "3 servers are more than the 2 ranks",
            ),
            (CollectivesSpec { shape: Shape { servers: 1, ranks_per_host: 0 }, ..sample() }, "ranks per host"),
            (
                CollectivesSpec { shape: Shape { servers: 1, ranks_per_host: 3 }, ..sample() },
                "3 ranks per host are more than the 2",
            ),
            (CollectivesSpec { log_bytes: Some(64 << 30), ..sample() }, "a log of 64 GiB is too much: use 1.0 GiB or less"),
            (CollectivesSpec { link_bits: Some(5), ..sample() }, "1 mbit"),
        ];
        for (spec, word) in cases {
            let problem = spec.problem(2).unwrap_or_default();
            assert!(problem.contains(word) && !problem.contains('\n'), "{word}: {problem}");
        }
    }

    #[test]
    fn sizes_that_are_not_whole_numbers_are_said_to_be_rounded() {
        let from = |min_bytes| CollectivesSpec { min_bytes, max_bytes: 64, factor: 2, ..CollectivesSpec::sample() }.rounding();
        assert_eq!((from(8), from(4)), (None, None));
        assert_eq!(from(7).unwrap(), "sizes are rounded down to whole numbers of 4 B: 7 B is measured as 4 B");
    }

    #[test]
    fn memory_is_counted_for_all_ranks_of_a_host_and_the_largest_buffer_is_blamed() {
        let sample = CollectivesSpec::sample;
        assert_eq!(sample().memory_bytes(4), 12 << 20);
        let servers = CollectivesSpec { methods: vec!["parameter-server".into()], log_bytes: Some(1 << 30), ..sample() };
        assert_eq!(servers.memory_bytes(1), 4 << 30);
        assert!(servers.does_not_fit(1 << 40).ends_with("lower --log-bytes"));
        assert!(sample().does_not_fit(1 << 40).starts_with("buffers of 1.0 MiB need 1.0 TiB on a host"));
        assert!(sample().does_not_fit(1 << 40).ends_with("lower --max-bytes"));
    }
}
