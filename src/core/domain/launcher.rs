//! The words of a command line that belong to a launcher of ranks: which launcher it is, where its own words end, and how many ranks
//! they ask for.
//!
//! Never looks at a file: what stands in a script or a configuration is found out from the ranks when they run.

mod grammar;
mod wrapper;

pub use self::grammar::OwnLauncher;
use self::grammar::{Count, Flag, Grammar};
use self::wrapper::found;
pub use self::wrapper::hidden_launcher;
use super::bounds::MAX_RANKS;

/// The launcher in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LauncherWords {
    pub launcher: OwnLauncher,
    /// Where its own flags begin in the command line.
    pub start: usize,
    /// Another launcher that starts this one, once on each node: `srun -N2 torchrun ...`.
    pub outer: Option<Box<LauncherWords>>,
    /// `docker`, or another whose processes do not belong to the run.
    pub container: Option<&'static str>,
    /// A launcher that a shell among its program's words starts: that one decides how many ranks there are.
    pub hidden: Option<&'static str>,
    grammar: &'static Grammar,
    /// The flags of each program that it starts.
    parts: Vec<Vec<Flag>>,
    /// Variables that words in front of it set, such as those of env.
    assigned: Vec<(String, String)>,
}

impl LauncherWords {
    /// `None` where no launcher stands in these words.
    pub fn find(argv: &[String]) -> Option<LauncherWords> {
        LauncherWords::behind(argv, 0)
    }

    fn behind(argv: &[String], from: usize) -> Option<LauncherWords> {
        let (grammar, start, assigned, container) = found(argv, from)?;
        let (parts, program) = grammar.parts(argv, start);
        let has_inner = matches!(grammar.launcher, OwnLauncher::Srun | OwnLauncher::Mpirun) && parts.len() == 1;
        let inner = if has_inner { LauncherWords::behind(argv, program) } else { None };
        let launcher = grammar.launcher;
        let hidden = if inner.is_none() && has_inner { hidden_launcher(&argv[program..]) } else { None };
        let own = LauncherWords { launcher, start, outer: None, container, hidden, grammar, parts, assigned };
        Some(match inner {
            Some(inner) => LauncherWords { outer: Some(Box::new(own)), ..inner },
            None => own,
        })
    }

    /// Whether one of these flags is among the launcher's own words.
    pub fn has(&self, flags: &[&str]) -> bool {
        self.value(flags).is_some()
    }

    /// What stands behind the last of these flags among the launcher's own words; empty where it has no value.
    pub fn value(&self, flags: &[&str]) -> Option<&str> {
        self.parts.first()?.iter().rfind(|flag| flags.contains(&flag.name.as_str())).map(|flag| flag.value.as_str())
    }

    /// A variable that the words in front of the launcher set for it.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let own = self.assigned.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str());
        own.or_else(|| self.outer.as_ref()?.variable(name))
    }

    /// The ranks that the words ask for; `None` where neither they nor the variables of `outside` say so in a number.
    pub fn np(&self, outside: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
        let variable = |name: &str| self.variable(name).map(str::to_owned).or_else(|| outside(name));
        let np = self.parts.iter().map(|flags| ranks(self.grammar, flags, &variable)).sum::<Option<usize>>();
        // Without a number of nodes it is as many trainings as the outer one starts processes.
        let is_one = || match &self.outer {
            Some(outer) => outer.np(outside) == Some(1) || self.counts().any(|(count, _)| count == Count::Nodes),
            None => true,
        };
        np.filter(|np| (1..=MAX_RANKS).contains(np) && self.hidden.is_none() && is_one())
    }

    /// Where the words of this launcher begin, be it the one around the other.
    pub fn start_of(&self, launcher: OwnLauncher) -> Option<usize> {
        let own = (self.launcher == launcher).then_some(self.start);
        own.or_else(|| self.outer.as_ref()?.start_of(launcher))
    }

    /// Whether ranks may be started on other hosts, as far as the words say so.
    pub fn names_hosts(&self) -> bool {
        let is_here = |host: &str| ["localhost", "127.0.0.1"].contains(&slots(host).0);
        let names = |(count, flag): (Count, &Flag)| match count {
            Count::Hosts => !flag.value.split(',').all(is_here),
            Count::Nodes => !["1", "1:1"].contains(&flag.value.as_str()),
            Count::Open => true,
            Count::Ranks | Count::Devices | Count::PerNode => false,
        };
        self.counts().any(names) || self.outer.as_ref().is_some_and(|outer| outer.names_hosts())
    }

    fn counts(&self) -> impl Iterator<Item = (Count, &Flag)> {
        self.parts.iter().flatten().filter_map(|flag| Some((self.grammar.count(flag)?, flag)))
    }

    /// The words without those that say how many ranks there are to be.
    pub fn without_counts(&self, argv: &[String]) -> Vec<String> {
        let outer = self.outer.as_ref().map_or_else(|| argv.to_vec(), |outer| outer.without_counts(argv));
        if self.np(&|_| None).is_none() {
            return outer;
        }
        let is_count = |(count, _): &(Count, &Flag)| !matches!(count, Count::Hosts | Count::Open);
        let all: Vec<usize> = self.counts().filter(is_count).flat_map(|(_, flag)| flag.at..flag.at + flag.words).collect();
        // The outer launcher's stand in front of these.
        let gone = argv.len() - outer.len();
        outer.into_iter().enumerate().filter(|(at, _)| !all.contains(&(at + gone))).map(|(_, word)| word).collect()
    }
}

/// How many ranks the flags of one program ask for; `None` where they do not say so in a number.
fn ranks(grammar: &Grammar, flags: &[Flag], variable: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
    let flag = |wanted: Count| flags.iter().rfind(|flag| grammar.count(flag) == Some(wanted)).map(|flag| flag.value.clone());
    let of_variable = |wanted: Count| {
        let (_, names) = grammar.variables.iter().find(|(count, _)| *count == wanted)?;
        names.split(' ').find_map(|name| variable(name).filter(|value| !value.is_empty()))
    };
    // Given and no number, such as `gpu` or `1:4`, is unknown; the same twice, as in `2:2` or srun's `2-2`, is a number.
    let number = |value: String| {
        let (least, most) = value.split_once([':', '-']).unwrap_or((&value, &value));
        most.trim().parse::<usize>().ok().filter(|_| least == most)
    };
    if let Some(np) = flag(Count::Ranks) {
        return number(np);
    }
    if let Some(devices) = flag(Count::Devices) {
        let on = |host: &str| Some(host.split_once(':')?.1.split(',').filter(|id| !id.is_empty()).count());
        return devices.split('@').map(on).sum();
    }
    if flag(Count::Open).is_some() {
        return None;
    }
    let is_whole = flag(Count::PerNode).is_some() && flag(Count::Nodes).is_some();
    if let Some(np) = of_variable(Count::Ranks).filter(|_| !is_whole) {
        return number(np);
    }
    let mapped = flags.iter().rfind(|flag| flag.name == "--map-by" && grammar.launcher == OwnLauncher::Mpirun);
    let mapped = mapped.and_then(|flag| Some(flag.value.strip_prefix("ppr:")?.split_once(":node")?.0.to_owned()));
    let of_node = flag(Count::PerNode).or(mapped).or_else(|| of_variable(Count::PerNode)).map(number);
    let nodes = flag(Count::Nodes).or_else(|| of_variable(Count::Nodes)).map(number);
    let has_hostfile =
        grammar.launcher == OwnLauncher::Deepspeed && flags.iter().any(|flag| ["-H", "--hostfile"].contains(&&*flag.name));
    if let Some(hosts) = flag(Count::Hosts) {
        let hosts: Vec<(&str, Option<usize>)> = hosts.split(',').map(slots).collect();
        let mut names: Vec<&str> = hosts.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        return of_node.map_or_else(|| hosts.iter().map(|(_, slots)| *slots).sum(), |each| each?.checked_mul(names.len()));
    }
    match (of_node, nodes) {
        (None, None) => None,
        (Some(each), Some(nodes)) => each?.checked_mul(nodes?),
        (Some(each), None) => each?.checked_mul(grammar.nodes.filter(|_| !has_hostfile)?),
        (None, Some(nodes)) => nodes?.checked_mul(grammar.ranks_of_node?),
    }
}

/// A host and its slots: `a:2`; one where it names none.
fn slots(host: &str) -> (&str, Option<usize>) {
    host.rsplit_once(':').map_or((host, Some(1)), |(name, slots)| (name, slots.parse().ok()))
}

#[cfg(test)]
mod tests;
