//! The algorithms whose schedules the lab makes itself: one line each.

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use super::{binomial, hierarchical, parameter_server, rabenseifner, recursive_doubling, ring};
use crate::domain::units;

crate::named! {
    /// An algorithm whose schedule the lab makes itself.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    Algorithm {
        Ring = "ring",
        RecursiveDoubling = "recursive-doubling",
        Rabenseifner = "rabenseifner",
        Binomial = "binomial",
        ParameterServer = "parameter-server",
        Hierarchical = "hierarchical",
    }
}

/// What some algorithms need to know beside ranks and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Servers of the parameter server: the first so many ranks, each for its part of the numbers. Never more than ranks.
    pub servers: usize,
    /// Ranks of one host, for the hierarchical algorithm: ranks 0 to L-1 are on the first host, and so on.
    pub ranks_per_host: usize,
}

impl Shape {
    pub fn too_many_servers(self, np: usize) -> String {
        format!("{} servers are more than the {}", self.servers, units::counted(np, "rank"))
    }

    pub fn too_many_per_host(self, np: usize) -> String {
        format!("{} ranks per host are more than the {}", self.ranks_per_host, units::counted(np, "rank"))
    }
}

impl Algorithm {
    /// What it does, in one line.
    pub fn description(self) -> &'static str {
        match self {
            Algorithm::Ring => "each rank sends to the next one only: 2(p-1) rounds of 1/p of the numbers",
            Algorithm::RecursiveDoubling => "pairs exchange all their numbers, then pairs of pairs: lg p rounds",
            Algorithm::Rabenseifner => "pairs split the numbers and halve them each round, then the same way back: 2 lg p rounds",
            Algorithm::Binomial => "a tree reduces to rank 0 and broadcasts from it: 2 lg p rounds of all numbers",
            Algorithm::ParameterServer => "all ranks send to the servers, which add up and send back: 2 rounds",
            Algorithm::Hierarchical => "rings inside each host, and between hosts only what its ranks have added up",
        }
    }

    /// Whether [`Shape::servers`] changes it.
    pub fn needs_servers(self) -> bool {
        self == Algorithm::ParameterServer
    }

    /// Whether [`Shape::ranks_per_host`] changes it.
    pub fn needs_ranks_per_host(self) -> bool {
        self == Algorithm::Hierarchical
    }

    /// The schedule for so many ranks, at least one, and numbers.
    pub fn schedule(self, ranks: usize, elements: usize, shape: Shape) -> Schedule {
        let ranks = ranks.max(1);
        match self {
            Algorithm::Ring => ring::schedule(ranks, elements),
            Algorithm::RecursiveDoubling => recursive_doubling::schedule(ranks, elements),
            Algorithm::Rabenseifner => rabenseifner::schedule(ranks, elements),
            Algorithm::Binomial => binomial::schedule(ranks, elements),
            Algorithm::ParameterServer => parameter_server::schedule(ranks, elements, shape.servers),
            Algorithm::Hierarchical => hierarchical::schedule(ranks, elements, shape.ranks_per_host),
        }
    }
}

impl Shape {
    /// One server, and two hosts: the fewest that have something between them.
    pub fn usual(ranks: usize) -> Shape {
        Shape { servers: 1, ranks_per_host: ranks.div_ceil(2).max(1) }
    }
}
