//! What the launcher is asked for: ranks, hosts, time, and what becomes of a run that loses ranks.

use serde::{Deserialize, Serialize};

use crate::domain::bounds::{Bounded, LINK_BITS, MAX_COUNT, MAX_RANKS, MAX_SECONDS, NO_LINK, at_least_one, count, number};

/// Seconds in which every rank of several hosts has to report, where nobody said otherwise.
const HOSTS_START_S: f64 = 120.0;

/// The same for a run that goes on when it loses ranks: one that freezes before it has reported is nobody that could be named.
const ELASTIC_START_S: f64 = 60.0;

/// How often a run goes on after it lost ranks, where nobody said otherwise.
pub const RESET_LIMIT: usize = 10;

/// How long a run waits for enough hosts, in seconds, where nobody said otherwise: as horovodrun.
pub const ELASTIC_TIMEOUT_S: f64 = 600.0;

/// What the launcher is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Ranks to start. What an attempt really started stands in its own record.
    pub np: usize,
    /// `host:slots,...` as mpirun takes it; `None` for this host alone.
    pub hosts: Option<String>,
    /// Path of an mpirun host file.
    pub hostfile: Option<String>,
    /// Interfaces or networks for the way from host to host, separated by commas; `None` lets MPI choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interface: Option<String>,
    /// Seconds in which every rank has to report; `None` for the usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout_s: Option<f64>,
    /// Seconds after which the run is stopped; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// A run that loses ranks goes on with those that are left, as long as there are so many; `None` lets it fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_np: Option<usize>,
    /// How often it may do so; `None` for [`RESET_LIMIT`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_limit: Option<usize>,
    /// It goes on with more ranks, up to so many, when the script says that there is room; `None` for `np`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_np: Option<usize>,
    /// A program that prints the hosts that there are, `host:slots` a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_discovery_script: Option<String>,
    /// Seconds to wait for as many slots as the least number of ranks; `None` for [`ELASTIC_TIMEOUT_S`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic_timeout_s: Option<f64>,
    /// Let Slurm start it: as a batch job, which waits for its turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slurm: bool,
    /// What the job asks Slurm for; `None` leaves it to Slurm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_per_node: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// What the job is booked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Bits a second of the network that each rank is given on this host; `None` for what is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<u64>,
}

impl Resources {
    /// So many ranks on this host.
    pub fn ranks(np: usize) -> Resources {
        Resources { np, ..Resources::default() }
    }

    /// The first thing in it that cannot be had anywhere, in one sentence.
    pub fn problem(&self) -> Option<String> {
        let is_wrong = |limit: &f64| !(limit.is_finite() && *limit > 0.0);
        let wrong = |name: &str, limit: Option<f64>| limit.filter(is_wrong).map(|limit| format!("{name} {limit} is not above 0"));
        match self.np {
            0 => Some("np is 0: a run needs at least 1 rank".into()),
            np if np > MAX_RANKS => Some(format!("np {np} is more than {MAX_RANKS} ranks")),
            _ => wrong("time limit", self.time_limit_s)
                .or_else(|| wrong("start timeout", self.start_timeout_s))
                .or_else(|| wrong("elastic timeout", self.elastic_timeout_s))
                .or_else(|| self.network_problem())
                .or_else(|| self.elastic_problem())
                .or_else(|| self.slurm_problem())
                .or_else(|| self.link_problem()),
        }
    }

    pub(in crate::domain) fn link_problem(&self) -> Option<String> {
        let bits = self.link?;
        let is_spread = self.names_hosts() || self.slurm || self.host_discovery_script.is_some();
        let elsewhere = "links are made on one machine: leave -H, --hostfile, --slurm and --host-discovery-script out, or --link";
        let problem = if is_spread { elsewhere } else { NO_LINK };
        (is_spread || !LINK_BITS.contains(&bits)).then(|| problem.to_owned())
    }

    pub(in crate::domain) fn elastic_problem(&self) -> Option<String> {
        match (self.min_np, self.reset_limit) {
            (Some(0), _) => Some("min np is 0: a run needs at least 1 rank".into()),
            (Some(least), _) if least > self.np => Some(format!(
                "min np {least} is more than np {}: a run begins with at least as many ranks as it goes on with",
                self.np
            )),
            _ if self.max_np.is_some_and(|most| most < self.np) => {
                Some(format!("max np {} is less than np {}", self.max_np.unwrap_or_default(), self.np))
            }
            (None, _) if self.host_discovery_script.is_some() => {
                Some("a host discovery script is for runs that go on with what there is: add --min-np".into())
            }
            _ if (self.max_np.is_some() || self.elastic_timeout_s.is_some()) && self.host_discovery_script.is_none() => Some(
                "max np and the elastic timeout go with a program that says which hosts there are: add --host-discovery-script"
                    .into(),
            ),
            _ if self.host_discovery_script.is_some() && (self.names_hosts() || self.slurm) => {
                Some("the host discovery script says which hosts there are: leave -H, --hostfile and --slurm out".into())
            }
            (None, Some(_)) => Some("a reset limit is for runs that go on when they lose ranks: add --min-np".into()),
            // What a host file lists cannot be told from here once one of the hosts is gone.
            (Some(_), _) if self.hostfile.is_some() => Some("--min-np works with -H host:slots, not with --hostfile".into()),
            _ => None,
        }
    }

    pub(in crate::domain) fn slurm_problem(&self) -> Option<String> {
        let is_asked = self.nodes.is_some() || self.gpus_per_node.is_some() || self.partition.is_some() || self.account.is_some();
        // It becomes a line of a script.
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-,".contains(c);
        let is_name = |name: &String| !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part);
        match (self.slurm, self.nodes) {
            (false, _) if is_asked => {
                Some("nodes, GPUs per node, a partition and an account are asked of Slurm: add --slurm".into())
            }
            (false, _) => None,
            (true, _) if self.names_hosts() => Some("Slurm chooses the hosts: leave -H and --hostfile out, or --slurm".into()),
            (true, _) if self.min_np.is_some() => {
                Some("the ranks of a batch job are started again by Slurm: leave --min-np out, or --slurm".into())
            }
            (true, Some(0)) => Some("nodes is 0: a run needs at least 1".into()),
            (true, Some(nodes)) if nodes > self.np => {
                Some(format!("{nodes} nodes are more than {} ranks: ask for as many ranks as nodes, or for fewer nodes", self.np))
            }
            _ => {
                let named = [(&self.partition, "a partition: `sinfo`"), (&self.account, "an account: `sacctmgr show assoc`")];
                let wrong = named.into_iter().filter_map(|(name, what)| Some((name.as_ref()?, what)));
                let (name, what) = wrong.into_iter().find(|(name, _)| !is_name(name))?;
                Some(format!("`{name}` is no name of {what} lists them"))
            }
        }
    }

    /// Whether it goes on when it loses a rank, at least once.
    pub fn survives_a_loss(&self) -> bool {
        self.min_np.is_some() && self.reset_limit != Some(0)
    }

    /// Whether more hosts than this one are named.
    pub fn names_hosts(&self) -> bool {
        self.hosts.is_some() || self.hostfile.is_some()
    }

    /// Seconds in which every rank has to report: as it was asked for, else long enough for a slow shared disk where hosts are
    /// named or ranks may be lost, and without end on this host, where nothing hides what goes wrong.
    pub fn start_patience_s(&self) -> Option<f64> {
        let usual = if self.names_hosts() { Some(HOSTS_START_S) } else { self.min_np.map(|_| ELASTIC_START_S) };
        // A job that waits in a queue has not begun.
        self.start_timeout_s.or(usual).filter(|_| !self.slurm)
    }

    pub(in crate::domain) fn network_problem(&self) -> Option<String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-@/".contains(c);
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && name.chars().all(is_part);
        let networks = self.network_interface.as_deref().filter(|names| !names.split(',').all(is_name))?;
        Some(format!("`{networks}` names no network: write interfaces such as eth0,ib0 or networks such as 10.0.0.0/8"))
    }
}

/// Of what is stored: wider than [`Resources::problem`], which may come to refuse what older labs ran.
impl Bounded for Resources {
    fn out_of_bounds(&self) -> Option<String> {
        let limit = self.time_limit_s.and_then(|limit| number("time limit", limit, MAX_SECONDS));
        let start = self.start_timeout_s.and_then(|limit| number("start timeout", limit, MAX_SECONDS));
        let least = self.min_np.and_then(|least| at_least_one("min np", least, MAX_RANKS));
        let most = self.max_np.and_then(|most| at_least_one("max np", most, MAX_RANKS));
        let wait = self.elastic_timeout_s.and_then(|limit| number("elastic timeout", limit, MAX_SECONDS));
        let resets = self.reset_limit.and_then(|resets| count("reset limit", resets, MAX_COUNT));
        let nodes = self.nodes.and_then(|nodes| count("nodes", nodes, MAX_RANKS));
        let gpus = self.gpus_per_node.and_then(|gpus| count("GPUs per node", gpus, MAX_RANKS));
        let link = self.link.and_then(|bits| number("link in bits a second", bits as f64, *LINK_BITS.end() as f64));
        let first = at_least_one("np", self.np, MAX_RANKS).or(limit).or(start).or(least).or(most).or(wait);
        first.or(resets).or(nodes).or(gpus).or(link)
    }
}
