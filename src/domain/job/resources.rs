//! What the launcher is asked for: ranks, hosts, time, and what becomes of a run that loses ranks.

use serde::{Deserialize, Serialize};

use crate::domain::bounds::{Bounded, MAX_COUNT, MAX_RANKS, MAX_SECONDS, at_least_one, count, number};

/// Seconds in which every rank of several hosts has to report, where nobody said otherwise.
const HOSTS_START_S: f64 = 120.0;

/// How often a run goes on after it lost ranks, where nobody said otherwise.
pub const RESET_LIMIT: usize = 10;

/// What the launcher is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Ranks to start. What an attempt really started stands in its own record.
    pub np: usize,
    /// `host:slots,...` as mpirun takes it; `None` for this host alone.
    #[serde(default)]
    pub hosts: Option<String>,
    /// Path of an mpirun host file.
    #[serde(default)]
    pub hostfile: Option<String>,
    /// Interfaces or networks for the way from host to host, separated by commas; `None` lets MPI choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_interface: Option<String>,
    /// Seconds in which every rank has to report; `None` for the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_timeout_s: Option<f64>,
    /// Seconds after which the run is stopped; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// A run that loses ranks goes on with those that are left, as long as there are so many; `None` lets it fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_np: Option<usize>,
    /// How often it may do so; `None` for [`RESET_LIMIT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_limit: Option<usize>,
}

impl Resources {
    /// So many ranks on this host.
    pub fn ranks(np: usize) -> Resources {
        Resources {
            np,
            hosts: None,
            hostfile: None,
            network_interface: None,
            start_timeout_s: None,
            time_limit_s: None,
            min_np: None,
            reset_limit: None,
        }
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
                .or_else(|| self.network_problem())
                .or_else(|| self.elastic_problem()),
        }
    }

    pub(in crate::domain) fn elastic_problem(&self) -> Option<String> {
        match (self.min_np, self.reset_limit) {
            (Some(0), _) => Some("min np is 0: a run needs at least 1 rank".into()),
            (Some(least), _) if least > self.np => Some(format!(
                "min np {least} is more than np {}: a run begins with at least as many ranks as it goes on with",
                self.np
            )),
            (None, Some(_)) => Some("a reset limit is for runs that go on when they lose ranks: add --min-np".into()),
            // What a host file lists cannot be told from here once one of the hosts is gone.
            (Some(_), _) if self.hostfile.is_some() => Some("--min-np works with -H host:slots, not with --hostfile".into()),
            _ => None,
        }
    }

    /// Whether more hosts than this one are named.
    pub fn names_hosts(&self) -> bool {
        self.hosts.is_some() || self.hostfile.is_some()
    }

    /// Seconds in which every rank has to report: as it was asked for, else long enough for a slow shared disk where hosts are
    /// named, and without end on this host, where nothing hides what goes wrong.
    pub fn start_patience_s(&self) -> Option<f64> {
        self.start_timeout_s.or(self.names_hosts().then_some(HOSTS_START_S))
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
        let resets = self.reset_limit.and_then(|resets| count("reset limit", resets, MAX_COUNT));
        at_least_one("np", self.np, MAX_RANKS).or(limit).or(start).or(least).or(resets)
    }
}
