//! All ways to do an allreduce that are measured side by side, and their names: a schedule of our own, MPI's, or NCCL's.

use std::fmt;
use std::str::FromStr;

use super::algorithm::Algorithm;

/// One way to do an allreduce: a schedule of our own, MPI's own choice or one of its algorithms, or NCCL. As text: `ring`,
/// `mpi`, `mpi-ring`, `nccl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    Own(Algorithm),
    /// MPI_Allreduce, with the algorithm that the library picks.
    Mpi,
    /// MPI_Allreduce, with this algorithm. Open MPI alone has such a choice.
    MpiForced(MpiAlgorithm),
    /// ncclAllReduce, between GPUs.
    Nccl,
}

crate::named! {
    /// The algorithms of Open MPI's MPI_Allreduce.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    MpiAlgorithm {
        Linear = "mpi-linear",
        Nonoverlapping = "mpi-nonoverlapping",
        RecursiveDoubling = "mpi-recursive-doubling",
        Ring = "mpi-ring",
        SegmentedRing = "mpi-segmented-ring",
        Rabenseifner = "mpi-rabenseifner",
    }
}

impl MpiAlgorithm {
    /// Its value of Open MPI's setting `coll_tuned_allreduce_algorithm`.
    pub fn number(self) -> i32 {
        1 + self as i32
    }
}

impl Method {
    pub const ALL: [Method; 14] = [
        Method::Own(Algorithm::Ring),
        Method::Own(Algorithm::RecursiveDoubling),
        Method::Own(Algorithm::Rabenseifner),
        Method::Own(Algorithm::Binomial),
        Method::Own(Algorithm::ParameterServer),
        Method::Own(Algorithm::Hierarchical),
        Method::Mpi,
        Method::MpiForced(MpiAlgorithm::Linear),
        Method::MpiForced(MpiAlgorithm::Nonoverlapping),
        Method::MpiForced(MpiAlgorithm::RecursiveDoubling),
        Method::MpiForced(MpiAlgorithm::Ring),
        Method::MpiForced(MpiAlgorithm::SegmentedRing),
        Method::MpiForced(MpiAlgorithm::Rabenseifner),
        Method::Nccl,
    ];

    /// As flags, tables and events spell it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Own(algorithm) => algorithm.name(),
            Method::Mpi => "mpi",
            Method::MpiForced(algorithm) => algorithm.name(),
            Method::Nccl => "nccl",
        }
    }

    /// What it does, in one line.
    pub fn description(self) -> &'static str {
        match self {
            Method::Own(algorithm) => algorithm.description(),
            Method::Mpi => "MPI_Allreduce, with the algorithm that the library picks by size and ranks",
            Method::MpiForced(MpiAlgorithm::Linear) => "Open MPI's linear reduce to rank 0 and broadcast from it",
            Method::MpiForced(MpiAlgorithm::Nonoverlapping) => "Open MPI's reduce, then its broadcast",
            Method::MpiForced(MpiAlgorithm::RecursiveDoubling) => "Open MPI's own recursive doubling",
            Method::MpiForced(MpiAlgorithm::Ring) => "Open MPI's own ring",
            Method::MpiForced(MpiAlgorithm::SegmentedRing) => "Open MPI's ring, in segments that overlap",
            Method::MpiForced(MpiAlgorithm::Rabenseifner) => "Open MPI's own Rabenseifner",
            Method::Nccl => "ncclAllReduce, between GPUs: one for each rank",
        }
    }

    /// The algorithm, where the schedule is our own.
    pub fn algorithm(self) -> Option<Algorithm> {
        if let Method::Own(algorithm) = self { Some(algorithm) } else { None }
    }

    /// What is measured where nobody says what: the lab's own algorithms, and what MPI picks.
    pub fn usual() -> impl Iterator<Item = Method> {
        Method::ALL.into_iter().filter(|method| method.algorithm().is_some() || *method == Method::Mpi)
    }

    /// Whether a list that [`Method::parse_list`] reads asks for every method.
    pub fn names_all(text: &str) -> bool {
        text.split(',').any(|name| name.trim() == "all")
    }

    /// Methods by their names, separated by commas, in this order and each once; `all` stands for every method.
    ///
    /// # Errors
    /// The first name that is none, or that nothing is named.
    pub fn parse_list(text: &str) -> Result<Vec<Method>, String> {
        let mut methods = Vec::new();
        for name in text.split(',').map(str::trim) {
            let named = if name == "all" { Method::ALL.to_vec() } else { vec![name.parse()?] };
            let new: Vec<Method> = named.into_iter().filter(|method| !methods.contains(method)).collect();
            methods.extend(new);
        }
        Ok(methods)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Method, String> {
        let names = || Method::ALL.map(Method::name).join(", ");
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| format!("`{name}` is not an algorithm: choose from {}", names()))
    }
}
