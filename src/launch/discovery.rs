//! Which hosts there are, as a program of the user's says: asked before a launch, and again while ranks train.
//!
//! Never starts a rank. A program that fails once is asked again: what it said before still holds.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::preflight::{Host, listed};
use super::question::ask;
use crate::domain::job::Resources;

/// Between two questions. horovodrun asks every second.
pub(super) const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
/// For a host that was lost to be trusted again.
const COOLDOWN: Duration = Duration::from_secs(60);

/// The program, and the hosts that were lost.
#[derive(Clone, Debug)]
pub(super) struct Discovery {
    script: String,
    lost: BTreeMap<String, Instant>,
}

/// Whether the run is to go on with other hosts after its next checkpoint.
pub(super) type Wish = Arc<AtomicBool>;

impl Discovery {
    pub fn of(resources: &Resources) -> Option<Discovery> {
        Some(Discovery { script: resources.host_discovery_script.clone()?, lost: BTreeMap::new() })
    }

    /// The hosts that there are now, without those that were lost a moment ago.
    ///
    /// # Errors
    /// The program does not start, does not answer, fails, or says something else, as a sentence.
    pub fn hosts(&self) -> Result<Vec<Host>, String> {
        let refuse = |why: String| format!("the host discovery script {} {why}", self.script);
        let answer =
            ask(&mut Command::new(&self.script), PATIENCE).map_err(|error| refuse(format!("cannot be asked: {error}")))?;
        if !answer.status.success() {
            let said = answer.stderr.lines().next().unwrap_or("and says nothing");
            return Err(refuse(format!("ended with {}: {said}", answer.status)));
        }
        let lines: Vec<&str> = answer.stdout.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let hosts = listed(&lines.join(",")).map_err(|error| refuse(format!("prints no hosts: {error}")))?;
        let is_trusted = |host: &Host| self.lost.get(short(&host.name)).is_none_or(|since| since.elapsed() >= COOLDOWN);
        Ok(hosts.into_iter().filter(is_trusted).collect())
    }

    /// For a while it counts as gone, whatever the program says.
    pub fn distrust(&mut self, host: &str) {
        self.lost.insert(short(host).to_owned(), Instant::now());
    }

    /// Ask again and again what there is, until nobody wants to know any more. `is_better` says whether these hosts are worth another
    /// launch.
    pub fn watch(self, is_better: impl Fn(&[Host]) -> bool + Send + 'static) -> Wish {
        let wish = Wish::default();
        let wanted = Arc::downgrade(&wish);
        std::thread::spawn(move || {
            while wanted.strong_count() > 0 {
                std::thread::sleep(EVERY);
                let Ok(hosts) = self.hosts() else { continue };
                let Some(wish) = wanted.upgrade() else { return };
                wish.store(is_better(&hosts), Ordering::Relaxed);
            }
        });
        wish
    }
}

/// All slots of the hosts.
pub(super) fn slots(hosts: &[Host]) -> usize {
    hosts.iter().map(|host| host.slots.unwrap_or(1)).sum()
}

/// As mpirun takes them.
pub(super) fn in_words(hosts: &[Host]) -> String {
    hosts.iter().map(|host| format!("{}:{}", host.name, host.slots.unwrap_or(1))).collect::<Vec<_>>().join(",")
}

/// A name without its domain.
pub(super) fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn discovery(body: &str) -> (tempfile::TempDir, Discovery) {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("hosts.sh");
        std::fs::write(&script, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        (folder, Discovery { script: script.display().to_string(), lost: BTreeMap::new() })
    }

    #[test]
    fn the_hosts_are_what_the_script_prints_and_a_lost_one_is_left_out() {
        let (_folder, mut discovery) = discovery("echo a.lab:2; echo; echo b");
        let hosts = discovery.hosts().unwrap();
        assert_eq!((slots(&hosts), in_words(&hosts).as_str()), (3, "a.lab:2,b:1"));
        discovery.distrust("a");
        assert_eq!(in_words(&discovery.hosts().unwrap()), "b:1");
    }

    #[test]
    fn a_script_that_fails_says_why() {
        for (body, words) in
            [("echo oh no >&2; exit 3", "oh no"), ("echo '-x:1'", "is not a host"), ("echo a:b", "is not a host")]
        {
            let (_folder, discovery) = discovery(body);
            let said = discovery.hosts().unwrap_err();
            assert!(said.contains("hosts.sh") && said.contains(words), "{said}");
        }
        let (_folder, none) = discovery("true");
        assert_eq!(none.hosts(), Ok(Vec::new()));
        let missing = Discovery { script: "/nowhere/hosts".into(), lost: BTreeMap::new() };
        assert!(missing.hosts().unwrap_err().contains("cannot be asked"));
    }
}
