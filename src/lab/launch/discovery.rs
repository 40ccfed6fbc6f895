//! Which hosts there are, as a program of the user's says: asked before a launch, and again while ranks train.
//!
//! If the program fails once, its last answer still counts, and it is asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::host_name::HostName;
use super::hosts::{Host, listed};
use super::preflight::unfit;
use crate::domain::job::Resources;
use crate::process::probe_command::{NoAnswer, ask};
use crate::runs::RunRecord;

/// Between two questions. horovodrun asks every second.
pub(super) const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
/// For a host that was lost to be trusted again.
const COOLDOWN: Duration = Duration::from_secs(60);

/// The program, and the hosts that were lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Discovery {
    script: String,
    /// When each host was lost, and why, as a sentence without its end.
    lost: BTreeMap<String, (Instant, String)>,
    /// Hosts that were looked at and can have ranks.
    fit: BTreeSet<String>,
    /// For which run each host is looked at once before it gets a rank, as hosts that a run names are; and its folder.
    pub run: Option<(Box<RunRecord>, PathBuf)>,
}

/// What the program answers while ranks train.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish(Arc<Mutex<Wished>>);

#[derive(Debug, Default)]
struct Wished {
    /// The run is to go on with other hosts after its next checkpoint.
    is_better: bool,
    /// What is wrong with the program, or that it works again; reported once.
    news: Option<String>,
}

impl Wish {
    pub fn is_better(&self) -> bool {
        self.with(|wished| wished.is_better)
    }

    /// The news that has not been reported yet.
    pub fn news(&self) -> Option<String> {
        self.with(|wished| wished.news.take())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Wished) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Discovery {
    pub fn of(resources: &Resources) -> Option<Discovery> {
        Some(Discovery { script: resources.host_discovery_script.clone()?, ..Discovery::default() })
    }

    /// The hosts that there are now, without those that were lost a moment ago or cannot have ranks.
    ///
    /// # Errors
    /// As [`Discovery::hosts`].
    pub fn find(&mut self) -> Result<Vec<Host>, String> {
        let hosts = self.hosts()?;
        let new: Vec<Host> = hosts.iter().filter(|host| !self.fit.contains(&host.name)).cloned().collect();
        if let Some((record, folder)) = self.run.as_ref().filter(|_| !new.is_empty()) {
            let unfit = unfit(record, &new, folder);
            self.fit.extend(new.into_iter().map(|host| host.name).filter(|name| unfit.iter().all(|(host, _)| host != name)));
            unfit.iter().for_each(|(host, why)| self.distrust(host, why));
        }
        Ok(self.trusted(hosts))
    }

    /// The hosts that the program says, without those that were lost a moment ago.
    ///
    /// # Errors
    /// The program does not start, does not answer, fails, or says something else, as a sentence.
    pub fn hosts(&self) -> Result<Vec<Host>, String> {
        let refuse = |why: String| format!("the host discovery script {} {why}", self.script);
        let answer = ask(&mut Command::new(&self.script), PATIENCE).map_err(|error| refuse(self.cannot_start(&error)))?;
        if !answer.status.success() {
            let end = match answer.status.code() {
                Some(code) => format!("ended with exit code {code}"),
                None => format!("was ended ({})", answer.status),
            };
            let said = answer.stderr.lines().next().map_or(" and said nothing".to_owned(), |line| format!(": {line}"));
            return Err(refuse(end + &said));
        }
        let lines: Vec<&str> = answer.stdout.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let hosts = listed(&lines.join(",")).map_err(|error| refuse(format!("prints no hosts: {error}")))?;
        Ok(self.trusted(hosts))
    }

    /// The hosts that count as gone, each with the reason.
    fn lost(&self) -> impl Iterator<Item = (&String, &String)> {
        let lost = self.lost.iter().filter(|(_, (since, _))| since.elapsed() < COOLDOWN);
        lost.map(|(host, (_, why))| (host, why))
    }

    fn trusted(&self, hosts: Vec<Host>) -> Vec<Host> {
        let names = || hosts.iter().map(|host| host.name.as_str());
        let left_out: BTreeSet<&str> = self.lost().filter_map(|(lost, _)| HostName::of(lost).among(names())).collect();
        hosts.iter().filter(|host| !left_out.contains(host.name.as_str())).cloned().collect()
    }

    /// What to do about a program that gives no answer.
    fn cannot_start(&self, error: &NoAnswer) -> String {
        let advice = match error {
            NoAnswer::NotStarted(cause) => match cause.kind() {
                ErrorKind::NotFound => ". Is it there, and is the program of its first line?".to_owned(),
                ErrorKind::PermissionDenied if Path::new(&self.script).is_dir() => {
                    ". It is a folder: give the program".to_owned()
                }
                ErrorKind::PermissionDenied => format!(". Make it executable: chmod +x {}", self.script),
                // ENOEXEC, for which ErrorKind has no variant.
                _ if cause.raw_os_error() == Some(8) => ". Its first line has to name a program, such as #!/bin/sh".to_owned(),
                _ => String::new(),
            },
            _ => String::new(),
        };
        format!("cannot be asked: {error}{advice}")
    }

    /// For a while it counts as gone, whatever the program says. `why` is a sentence without its end.
    pub fn distrust(&mut self, host: &str, why: &str) {
        if let Some(known) = HostName::of(host).among(self.fit.iter().map(String::as_str)).map(str::to_owned) {
            self.fit.remove(&known);
        }
        self.lost.insert(host.to_owned(), (Instant::now(), why.to_owned()));
    }

    /// Behind the number of slots that there are: the hosts that are left out, and why. Empty where there are none.
    pub fn left_out(&self) -> String {
        self.lost().map(|(host, why)| format!("; {host} is left out for {} s: {why}", COOLDOWN.as_secs())).collect()
    }

    /// Ask again and again which hosts there are, until the result is dropped. `is_better` says whether these hosts are worth another
    /// launch.
    pub fn watch(mut self, is_better: impl Fn(&[Host]) -> bool + Send + 'static) -> Wish {
        let wish = Wish::default();
        let wanted = Arc::downgrade(&wish.0);
        std::thread::spawn(move || {
            let mut trouble = None;
            while wanted.strong_count() > 0 {
                std::thread::sleep(EVERY);
                let hosts = self.find();
                let Some(wish) = wanted.upgrade().map(Wish) else { return };
                let wrong = hosts.as_ref().err().cloned();
                let is_news = wrong != trouble;
                wish.with(|wished| {
                    wished.is_better = hosts.map_or(wished.is_better, |hosts| is_better(&hosts));
                    if is_news {
                        let well = "the host discovery script answers again";
                        wished.news = Some(wrong.as_ref().map_or(well.into(), |why| format!("{why}; the ranks train on")));
                    }
                });
                trouble = wrong;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn discovery(body: &str) -> (tempfile::TempDir, Discovery) {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("hosts.sh");
        std::fs::write(&script, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        (folder, Discovery { script: script.display().to_string(), lost: BTreeMap::new(), fit: BTreeSet::new(), run: None })
    }

    #[test]
    fn the_hosts_are_what_the_script_prints_and_a_lost_one_is_left_out() {
        let (_folder, mut discovery) = discovery("echo a.lab:2; echo; echo b");
        let hosts = discovery.hosts().unwrap();
        assert_eq!((slots(&hosts), in_words(&hosts).as_str()), (3, "a.lab:2,b:1"));
        assert_eq!(discovery.left_out(), "");
        discovery.distrust("a", "host a cannot be reached");
        assert_eq!(in_words(&discovery.hosts().unwrap()), "b:1");
        assert_eq!(discovery.left_out(), "; a is left out for 60 s: host a cannot be reached");
    }

    #[test]
    fn a_host_with_the_same_first_part_is_not_left_out_with_a_lost_one() {
        for (printed, lost, left) in [
            ("10.0.0.1 10.0.0.2", "10.0.0.2", "10.0.0.1:1"),
            ("w.1.lab w.2.lab", "w.1.lab", "w.2.lab:1"),
            ("a.x a.y", "a", "a.x:1,a.y:1"),
        ] {
            let (_folder, mut discovery) = discovery(&format!("printf '%s\\n' {printed}"));
            discovery.distrust(lost, "it is gone");
            assert_eq!(in_words(&discovery.hosts().unwrap()), left, "{lost}");
        }
    }

    #[test]
    fn a_script_that_fails_says_why() {
        for (body, words) in [
            ("echo oh no >&2; exit 3", "ended with exit code 3: oh no"),
            ("exit 3", "ended with exit code 3 and said nothing"),
            ("echo '-x:1'", "is not a host"),
            ("echo a:b", "is not a host"),
        ] {
            let (_folder, discovery) = discovery(body);
            let said = discovery.hosts().unwrap_err();
            assert!(said.contains("hosts.sh") && said.contains(words), "{said}");
        }
        let (folder, none) = discovery("true");
        assert_eq!(none.hosts(), Ok(Vec::new()));
        let missing = Discovery {
            script: folder.path().join("gone").display().to_string(),
            lost: BTreeMap::new(),
            fit: BTreeSet::new(),
            run: None,
        };
        assert!(missing.hosts().unwrap_err().contains("Is it there"));
    }

    #[test]
    fn a_script_that_cannot_be_started_says_what_to_do() {
        let (_folder, discovery) = discovery("echo a");
        let path = discovery.script.clone();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(discovery.hosts().unwrap_err().ends_with(&format!("Make it executable: chmod +x {path}")));
        std::fs::write(&path, "\u{1}\u{2}\0").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(discovery.hosts().unwrap_err().ends_with("such as #!/bin/sh"));
    }

    #[test]
    fn a_script_that_breaks_while_ranks_train_is_told_once_and_when_it_is_well_again() {
        let (folder, discovery) = discovery("cat \"$(dirname \"$0\")/answer\"");
        let answer = folder.path().join("answer");
        std::fs::write(&answer, "a:2").unwrap();
        let wish = discovery.watch(|hosts| slots(hosts) > 2);
        let next = || {
            let deadline = Instant::now() + Duration::from_secs(30);
            loop {
                match wish.news() {
                    Some(news) => return news,
                    None => assert!(Instant::now() < deadline, "nothing is told"),
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        std::fs::remove_file(&answer).unwrap();
        let said = next();
        assert!(said.contains("ended with exit code 1") && said.ends_with("the ranks train on"), "{said}");
        std::fs::write(&answer, "a:3").unwrap();
        assert_eq!(next(), "the host discovery script answers again");
        assert!(wish.is_better());
    }
}
