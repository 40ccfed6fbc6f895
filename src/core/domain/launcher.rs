//! The words of a command line that belong to a launcher of ranks: which launcher it is, where its own words end, and how many ranks
//! they ask for.
//!
//! Never looks at a file: what stands in a script or a configuration is found out from the ranks when they run.

mod grammar;
mod wrapper;

use self::grammar::Flag;
pub use self::grammar::OwnLauncher;
use self::wrapper::found;
use super::bounds::MAX_RANKS;

/// The launcher in a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LauncherWords {
    pub launcher: OwnLauncher,
    /// Where its own flags begin in the command line.
    pub start: usize,
    /// Those of the first program that it starts.
    flags: Vec<Flag>,
    /// The ranks that the words ask for; `None` where they do not say so in a number.
    pub np: Option<usize>,
    /// The words that say nothing but how many ranks there are to be.
    counts: Vec<usize>,
}

impl LauncherWords {
    /// `None` where no launcher stands in these words.
    pub fn of(argv: &[String]) -> Option<LauncherWords> {
        let (grammar, start) = found(argv)?;
        let parts = grammar.parts(argv, start);
        let counted: Vec<Option<usize>> = parts.iter().map(|flags| ranks(grammar.launcher, flags)).collect();
        let np = counted.iter().copied().sum::<Option<usize>>().filter(|np| (1..=MAX_RANKS).contains(np));
        let counts = parts.iter().flatten().filter(|flag| counting(grammar.launcher).contains(&flag.name.as_str()));
        let counts = if np.is_some() { counts.flat_map(|flag| flag.at..flag.at + flag.words).collect() } else { Vec::new() };
        let flags = parts.into_iter().next().unwrap_or_default();
        Some(LauncherWords { launcher: grammar.launcher, start, flags, np, counts })
    }

    /// Whether one of these flags is among the launcher's own words.
    pub fn has(&self, flags: &[&str]) -> bool {
        self.value(flags).is_some()
    }

    /// What stands behind the last of these flags among the launcher's own words; empty where it has no value.
    pub fn value(&self, flags: &[&str]) -> Option<&str> {
        value(&self.flags, flags)
    }

    /// The words without those that say how many ranks there are to be.
    pub fn without_counts(&self, argv: &[String]) -> Vec<String> {
        argv.iter().enumerate().filter(|(at, _)| !self.counts.contains(at)).map(|(_, word)| word.clone()).collect()
    }
}

fn value<'a>(flags: &'a [Flag], names: &[&str]) -> Option<&'a str> {
    flags.iter().rfind(|flag| names.contains(&flag.name.as_str())).map(|flag| flag.value.as_str())
}

/// The flags whose values say nothing but how many ranks there are to be.
fn counting(launcher: OwnLauncher) -> &'static [&'static str] {
    match launcher {
        OwnLauncher::Torchrun => &["--nproc-per-node", "--nnodes"],
        OwnLauncher::Mpirun => &["-np", "--np", "-n", "--n", "-c", "-N", "--npernode", "-npernode", "-ppn", "-perhost"],
        OwnLauncher::Horovodrun => &["-np", "--num-proc"],
        OwnLauncher::Srun => &["-n", "--ntasks", "-N", "--nodes", "--ntasks-per-node"],
        OwnLauncher::Accelerate => &["--num-processes", "--num-machines"],
        OwnLauncher::Deepspeed => &["--num-gpus", "--num-nodes", "--include", "-i"],
    }
}

/// How many ranks the flags of one program ask for; `None` where they do not say so in a number.
fn ranks(launcher: OwnLauncher, flags: &[Flag]) -> Option<usize> {
    let text = |names: &[&str]| value(flags, names);
    // Given and no number, such as `gpu` or `1:4`, is unknown.
    let number = |names: &[&str]| text(names).map(|value| value.trim().parse::<usize>().ok());
    match launcher {
        OwnLauncher::Torchrun => product(number(&["--nproc-per-node"]), number(&["--nnodes"])),
        OwnLauncher::Mpirun => {
            if let Some(np) = number(&["-np", "--np", "-n", "--n", "-c"]) {
                return np;
            }
            let hosts: Vec<&str> = text(&["-H", "--host", "-host", "-hosts"])?.split(',').collect();
            match number(&["-N", "--npernode", "-npernode", "-ppn", "-perhost"]) {
                Some(each) => {
                    let mut names: Vec<&str> = hosts.iter().map(|host| slots(host).0).collect();
                    names.sort_unstable();
                    names.dedup();
                    each?.checked_mul(names.len())
                }
                None => hosts.iter().map(|host| slots(host).1).sum(),
            }
        }
        OwnLauncher::Horovodrun => number(&["-np", "--num-proc"])?,
        OwnLauncher::Srun => match number(&["-n", "--ntasks"]) {
            Some(np) => np,
            None => number(&["-N", "--nodes"])??.checked_mul(number(&["--ntasks-per-node"])??),
        },
        OwnLauncher::Accelerate => number(&["--num-processes"])?,
        OwnLauncher::Deepspeed => match text(&["--include", "-i"]) {
            // worker-0:0,1@worker-1:0
            Some(include) => {
                let devices = |host: &str| Some(host.split_once(':')?.1.split(',').filter(|id| !id.is_empty()).count());
                include.split('@').map(devices).sum()
            }
            None => product(number(&["--num-gpus"]), number(&["--num-nodes"])),
        },
    }
}

/// Of ranks on each node, and nodes: one of them where only the other is given.
fn product(each: Option<Option<usize>>, nodes: Option<Option<usize>>) -> Option<usize> {
    each.or(nodes)?;
    each.unwrap_or(Some(1))?.checked_mul(nodes.unwrap_or(Some(1))?)
}

/// A host and its slots: `a:2`; one where it names none.
fn slots(host: &str) -> (&str, Option<usize>) {
    match host.rsplit_once(':') {
        Some((name, slots)) => (name, slots.parse().ok()),
        None => (host, Some(1)),
    }
}

#[cfg(test)]
mod tests;
