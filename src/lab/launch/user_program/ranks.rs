//! Which processes of a run are its ranks, by what their launcher put into their environment.

use std::collections::BTreeMap;

use crate::domain::event::TopologyReport;
use crate::domain::launcher::OwnLauncher;
use crate::domain::topology::{LocalRank, Rank, Topology, WorldSize};
use crate::host::process::{self, look_up, threads};
use crate::host::{self, cores};
use crate::process::is_adopted;

/// Launchers and their variables: rank, number of ranks, rank on this host, ranks on this host. The order counts: those of a batch
/// system are also set where a launcher runs inside it.
const KNOWN: [(&str, [&str; 4]); 7] = [
    ("Open MPI", ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"]),
    ("MPICH", ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"]),
    ("horovodrun", ["HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"]),
    ("torchrun", ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"]),
    ("PMIx", ["PMIX_RANK", "", "", ""]),
    ("Slurm", ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", ""]),
    // Lightning, for the ranks that a program starts itself.
    ("LOCAL_RANK", ["LOCAL_RANK", "WORLD_SIZE", "LOCAL_RANK", ""]),
];

/// Finds them once.
pub(super) struct Ranks {
    /// How many there will be, where that is known.
    np: Option<usize>,
    /// The program was started as it is, without a launcher.
    is_alone: bool,
    supervisor: u32,
    /// The first of [`KNOWN`] that its launcher may have set: those before it are another launcher's around it.
    first_known: usize,
    /// The pids that were found, by rank.
    found: BTreeMap<usize, u32>,
    /// Ranks that a program has started which was taken for one process, and by whose variables they are known.
    pub inside: Option<(usize, &'static str)>,
}

/// A process of the run, and what its environment says of ranks: which of [`KNOWN`], and its four numbers.
struct Candidate {
    pid: u32,
    parent: u32,
    known: usize,
    numbers: [Option<usize>; 4],
}

impl Ranks {
    /// `supervisor` is the process that is given the children of ranks that have ended.
    pub fn new(np: Option<usize>, is_alone: bool, supervisor: u32, launcher: Option<OwnLauncher>) -> Ranks {
        let has_torchs = matches!(launcher, Some(OwnLauncher::Torchrun | OwnLauncher::Accelerate | OwnLauncher::Deepspeed));
        let torchs = KNOWN.iter().position(|(launcher, _)| has_torchs && *launcher == "torchrun");
        Ranks { np, is_alone, supervisor, first_known: torchs.unwrap_or(0), found: BTreeMap::new(), inside: None }
    }

    /// Ranks that were not known yet. Nobody is looked for while all that were asked for are there.
    pub fn look(&mut self, pids: impl FnOnce() -> Vec<u32>, child: Option<u32>) -> Vec<TopologyReport> {
        let is_there = |pid: &u32| look_up(*pid).is_some_and(|process| !process.zombie);
        let is_complete = self.np.is_some_and(|np| self.found.len() >= np) && self.found.values().all(is_there);
        if is_complete && !(self.is_alone && self.inside.is_none()) {
            return Vec::new();
        }
        if self.is_alone {
            self.inside = self.inside.or_else(|| inside(pids()));
            let child = child.filter(|pid| self.found.get(&0) != Some(pid));
            return child.into_iter().map(|pid| self.report(0, pid, "none", Topology::ALONE)).collect();
        }
        let candidates: Vec<Candidate> = pids().into_iter().filter_map(|pid| candidate(pid, self.first_known)).collect();
        let Some(launcher) = candidates.iter().map(|of| of.known).min() else { return Vec::new() };
        let of_launcher = || candidates.iter().filter(|of| of.known == launcher);
        let mut new = Vec::new();
        for of in of_launcher() {
            // What a rank starts has its environment too.
            let is_started_by_rank = of_launcher().any(|other| other.pid == of.parent && other.numbers[0] == of.numbers[0]);
            let [Some(rank), size, local_rank, local_size] = of.numbers else { continue };
            let is_orphan = is_adopted(of.parent, self.supervisor);
            if is_orphan || is_started_by_rank || self.found.get(&rank) == Some(&of.pid) {
                continue;
            }
            let topology = Topology {
                rank: Rank(rank),
                size: WorldSize(size.or(self.np).unwrap_or(1).max(rank + 1)),
                local_rank: LocalRank(local_rank.unwrap_or(rank)),
                local_size: WorldSize(local_size.or(self.np).unwrap_or(1).max(1)),
            };
            new.push(self.report(rank, of.pid, KNOWN[launcher].0, topology));
        }
        new
    }

    fn report(&mut self, rank: usize, pid: u32, launcher: &str, topology: Topology) -> TopologyReport {
        self.found.insert(rank, pid);
        TopologyReport {
            topology,
            host: host::name(),
            pid,
            communicator: launcher.to_owned(),
            // Which GPU it takes is its own affair; the device pane finds it there.
            device: String::new(),
            device_uuid: None,
            cores: cores::allowed(pid),
            devices_found: None,
            threads: threads(pid).count(),
            versions: Vec::new(),
            is_watched: false,
        }
    }
}

/// The number of the rank that a process is, or that it was started by.
pub(in crate::launch) fn number(pid: u32) -> Option<usize> {
    foreign_rank(pid)?.numbers[0]
}

/// How many ranks there are among these processes, and by whose variables; `None` for fewer than two.
fn inside(pids: Vec<u32>) -> Option<(usize, &'static str)> {
    let ranks = pids.into_iter().filter_map(foreign_rank);
    let sizes = ranks.map(|of| (of.numbers[1].unwrap_or(1).max(of.numbers[0].map_or(1, |rank| rank + 1)), KNOWN[of.known].0));
    sizes.max().filter(|(size, _)| *size > 1)
}

/// A process whose environment names a rank, by variables that the supervisor itself does not have, as it has in a job of Slurm.
fn foreign_rank(pid: u32) -> Option<Candidate> {
    candidate(pid, 0).filter(|of| std::env::var_os(KNOWN[of.known].1[0]).is_none())
}

fn candidate(pid: u32, first_known: usize) -> Option<Candidate> {
    let environment = process::environment(pid).ok()?;
    let parent = look_up(pid).filter(|process| !process.zombie)?.parent;
    let value = |name: &str| {
        let entry = |entry| std::str::from_utf8(entry).ok()?.strip_prefix(name)?.strip_prefix('=');
        let mut values = environment.iter().filter_map(|of| entry(of));
        values.next()?.parse().ok()
    };
    let known = (first_known..KNOWN.len()).find(|known| value(KNOWN[*known].1[0]).is_some())?;
    Some(Candidate { pid, parent, known, numbers: KNOWN[known].1.map(value) })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process with these variables that says that it is there, and waits.
    fn started(variables: &[(&str, &str)]) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'echo there; read line'; true"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        child
    }

    #[test]
    fn ranks_are_the_topmost_processes_of_their_launcher() {
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("SLURM_PROCID", "0"),
        ];
        let mut children = [started(&open_mpi), started(&[("SLURM_PROCID", "0")]), started(&[])];
        let with_children = || {
            let all: Vec<u32> = children.iter().map(Child::id).collect();
            let born = host::process::all().filter(|process| all.contains(&process.parent)).map(|process| process.pid);
            all.iter().copied().chain(born).collect()
        };
        let mut ranks = Ranks::new(Some(2), false, 0, None);
        let found = ranks.look(with_children, None);
        let seen: Vec<_> = found.iter().map(|report| (report.pid, report.topology.rank.0, report.topology.size.0)).collect();
        let again = ranks.look(with_children, None).len();
        let orphans = Ranks::new(Some(2), false, std::process::id(), None).look(with_children, None);
        let first = children[0].id();
        for child in &mut children {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        assert_eq!((seen, again, found[0].communicator.as_str()), (vec![(first, 1, 2)], 0, "Open MPI"));
        assert!(orphans.iter().all(|report| report.pid != first), "{orphans:?}");
    }

    #[test]
    fn a_program_without_a_launcher_is_rank_0() {
        let found = Ranks::new(Some(1), true, 0, None).look(Vec::new, Some(std::process::id()));
        assert_eq!((found[0].topology, found[0].pid), (Topology::ALONE, std::process::id()));
        assert!(!found[0].cores.is_empty());
    }
}
