//! Where a process runs, so that its number still means something later.
//!
//! Types only: `host::place` looks it up.

use serde::{Deserialize, Serialize};

/// A pid counts within one boot of one machine, and there within one container. What is unknown is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLocation {
    /// Name of the host; it may change while the host is up.
    pub host: String,
    /// The same for as long as the machine exists, unless it was cloned together with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Another one after each start of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Containers of one machine count their processes apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
}

/// What one place is to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Pids mean the same in both, whatever the hosts are called.
    Same,
    /// The same machine since the same start, but another container.
    Container,
    /// The same machine before it was started again: no process of then lives.
    Earlier,
    /// The same machine under another name before it was started again, or another one that was cloned from the same image.
    Renamed,
    /// Another machine.
    Other,
}

impl ProcessLocation {
    /// A host of which no more is known than its name.
    pub fn named(host: &str) -> ProcessLocation {
        ProcessLocation { host: host.to_owned(), ..ProcessLocation::default() }
    }

    /// What this place is, seen from `here`.
    pub fn seen_from(&self, here: &ProcessLocation) -> Relation {
        let both = |a: &Option<String>, b: &Option<String>| Some(a.as_ref()? == b.as_ref()?);
        let same_name = self.host == here.host;
        match (both(&self.boot, &here.boot), both(&self.machine, &here.machine)) {
            (Some(true), _) if both(&self.pid_namespace, &here.pid_namespace) == Some(false) => Relation::Container,
            (Some(true), _) => Relation::Same,
            (Some(false), Some(true)) if !same_name => Relation::Renamed,
            (Some(false), Some(true) | None) if same_name => Relation::Earlier,
            (Some(false), _) => Relation::Other,
            // A record of an older version, or a system that reveals no more.
            (None, _) if same_name => Relation::Same,
            (None, _) => Relation::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, machine: &str, boot: &str, container: &str) -> ProcessLocation {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ProcessLocation { host: host.into(), machine: known(machine), boot: known(boot), pid_namespace: known(container) }
    }

    #[test]
    fn pids_mean_the_same_only_within_one_boot_and_one_container() {
        let here = place("a", "m1", "b1", "p1");
        let cases = [
            (here.clone(), Relation::Same),
            (place("renamed", "m1", "b1", "p1"), Relation::Same),
            (place("a", "m1", "b1", "p2"), Relation::Container),
            (place("renamed", "", "b1", "p2"), Relation::Container),
            (place("a", "m1", "b2", "p1"), Relation::Earlier),
            (place("a", "", "b2", "p1"), Relation::Earlier),
            (place("renamed", "m1", "b2", "p1"), Relation::Renamed),
            (place("a", "m2", "b2", "p1"), Relation::Other),
            (place("other", "m2", "b2", "p1"), Relation::Other),
            (place("other", "", "b2", "p1"), Relation::Other),
            (ProcessLocation::named("a"), Relation::Same),
            (ProcessLocation::named("other"), Relation::Other),
        ];
        for (there, relation) in cases {
            assert_eq!(there.seen_from(&here), relation, "{there:?}");
        }
    }
}
