//! A run of the user's own program: its words, who starts its ranks, and what is to be read of it.
//!
//! Never looks at a file: whether there is such a program is found out when it is started.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounded, MAX_RANKS, count};
use super::logged::{FIGURES, Field};
use super::safe;

/// A program of the user's own, as a run starts it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// As it would be typed: the program first.
    pub argv: Vec<String>,
    /// Where it works: an absolute path.
    pub directory: String,
    /// `NAME=REGEX`: what else is to be read of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// A folder with TensorBoard event files that it writes: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensorboard: Option<String>,
}

/// Programs that start ranks themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnLauncher {
    /// `torchrun`, `python -m torch.distributed.run`.
    Torchrun,
    Mpirun,
    Horovodrun,
    Srun,
    Accelerate,
    Deepspeed,
}

impl OwnLauncher {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            OwnLauncher::Torchrun => "torchrun",
            OwnLauncher::Mpirun => "mpirun",
            OwnLauncher::Horovodrun => "horovodrun",
            OwnLauncher::Srun => "srun",
            OwnLauncher::Accelerate => "accelerate",
            OwnLauncher::Deepspeed => "deepspeed",
        }
    }
}

/// How a launcher is told how many ranks to start: by the product of these flags.
struct Known {
    launcher: OwnLauncher,
    names: &'static [&'static str],
    flags: &'static [&'static [&'static str]],
}

const KNOWN: [Known; 6] = [
    Known {
        launcher: OwnLauncher::Torchrun,
        names: &["torchrun", "torch.distributed.run", "torch.distributed.launch"],
        flags: &[&["--nproc_per_node", "--nproc-per-node"], &["--nnodes"]],
    },
    Known {
        launcher: OwnLauncher::Mpirun,
        names: &["mpirun", "mpiexec", "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "orterun", "prterun"],
        flags: &[&["-np", "-n", "--np", "--n", "-c"]],
    },
    Known { launcher: OwnLauncher::Horovodrun, names: &["horovodrun"], flags: &[&["-np", "--num-proc"]] },
    Known { launcher: OwnLauncher::Srun, names: &["srun"], flags: &[&["-n", "--ntasks"]] },
    Known { launcher: OwnLauncher::Accelerate, names: &["accelerate"], flags: &[&["--num_processes", "--num-processes"]] },
    Known { launcher: OwnLauncher::Deepspeed, names: &["deepspeed"], flags: &[&["--num_gpus"], &["--num_nodes"]] },
];

/// Words and letters of a command line that a record may have.
const MAX_WORDS: usize = 10_000;
const MAX_LETTERS: usize = 1 << 20;

impl CommandSpec {
    fn known(&self) -> Option<&'static Known> {
        let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let first = name(self.argv.first()?);
        // `python -m torch.distributed.run` is torchrun.
        let module = first.starts_with("python").then(|| self.argv.windows(2).find(|pair| pair[0] == "-m").map(|pair| &pair[1]));
        let is = |known: &&Known| {
            known.names.contains(&first.as_str()) || module.flatten().is_some_and(|module| known.names.contains(&module.as_str()))
        };
        KNOWN.iter().find(is)
    }

    /// Who starts its ranks; `None` where the lab does.
    pub fn own_launcher(&self) -> Option<OwnLauncher> {
        self.known().map(|known| known.launcher)
    }

    /// Where the launcher's own words end: behind its name.
    pub fn launcher_words(&self) -> usize {
        let module = self.argv.windows(2).position(|pair| pair[0] == "-m");
        match self.own_launcher() {
            Some(OwnLauncher::Torchrun) => module.map_or(1, |at| at + 2),
            _ => 1,
        }
    }

    /// How many ranks the words ask their own launcher for, with the places of the numbers; `None` where they do not say so in
    /// a number.
    fn asked(&self) -> Option<(usize, Vec<(usize, usize)>)> {
        let (mut product, mut places) = (None, Vec::new());
        for flags in self.known()?.flags {
            let Some((word, letter, value)) = self.value_of(flags) else { continue };
            // `--nnodes=1:4` is elastic.
            product = Some(product.unwrap_or(1_usize).checked_mul(value.parse().ok()?)?);
            places.push((word, letter));
        }
        Some((product?, places))
    }

    /// The value of a flag: the word that it is in, from which letter on, and its text.
    fn value_of(&self, names: &[&str]) -> Option<(usize, usize, &str)> {
        self.argv.iter().enumerate().skip(1).find_map(|(at, word)| {
            let behind = || names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('='));
            match names.contains(&word.as_str()) {
                true => Some((at + 1, 0, self.argv.get(at + 1)?.as_str())),
                false => behind().map(|value| (at, word.len() - value.len(), value)),
            }
        })
    }

    /// Ranks that its own launcher starts, as far as its words say so.
    pub fn own_np(&self) -> Option<usize> {
        self.asked().map(|(np, _)| np).filter(|np| (1..=MAX_RANKS).contains(np))
    }

    /// Its words without the number of ranks: what is the same in all runs of the same work.
    pub fn work(&self) -> Vec<String> {
        let mut words = self.argv.clone();
        for (word, letter) in self.asked().map(|(_, places)| places).unwrap_or_default() {
            words[word].replace_range(letter.., "N");
        }
        words
    }

    /// In a column of a table: its script, or else the program, without folders.
    pub fn title(&self) -> String {
        let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
        let script = self.argv.iter().find(|word| [".py", ".sh", ".jl", ".ipynb"].iter().any(|end| word.ends_with(end)));
        safe::excerpt(&script.or(self.argv.first()).map(name).unwrap_or_default()).into_owned()
    }

    /// The patterns with the figures that they are of.
    pub fn pattern_fields(&self) -> impl Iterator<Item = (Field, &str)> {
        self.patterns.iter().filter_map(|pattern| {
            let (name, expression) = pattern.split_once('=')?;
            Some((Field::named(name)?, expression))
        })
    }

    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        if self.argv.first().is_none_or(String::is_empty) {
            return Some("no program is named: write it behind --, such as `hvd-lab run -- python train.py`".into());
        }
        if let Some(word) = self.argv.iter().find(|word| word.contains('\0')) {
            return Some(format!("`{}` has a zero byte, which no program can be given", safe::line(word)));
        }
        self.patterns.iter().find_map(|pattern| {
            let names = || FIGURES.map(|field| field.name).join(", ");
            match pattern.split_once('=') {
                None => Some(format!("--pattern {pattern} has no `=`: write NAME=REGEX, such as loss=\"cost ([0-9.]+)\"")),
                Some((name, _)) if Field::named(name).is_none() => {
                    Some(format!("--pattern {name}=...: `{name}` is no figure of a training. Use one of {}", names()))
                }
                Some((_, "")) => Some(format!("--pattern {pattern}: the regular expression is empty")),
                _ => None,
            }
        })
    }
}

impl Bounded for CommandSpec {
    fn out_of_bounds(&self) -> Option<String> {
        let words = self.argv.len() + self.patterns.len();
        let letters = self.argv.iter().chain(&self.patterns).map(String::len).sum();
        count("number of words", words, MAX_WORDS).or_else(|| count("letters of the command", letters, MAX_LETTERS))
    }
}

#[cfg(test)]
impl CommandSpec {
    /// Of this line, without quotes in it.
    pub fn sample(line: &str) -> CommandSpec {
        let argv = line.split(' ').map(String::from).collect();
        CommandSpec { argv, directory: "/work".into(), patterns: Vec::new(), tensorboard: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_their_names() {
        for (line, launcher, np, work) in [
            ("python train.py -n 4", None, None, "python train.py -n 4"),
            ("./mpirun.py -np 4", None, None, "./mpirun.py -np 4"),
            ("torchrun --nproc_per_node=2 t.py", Some(OwnLauncher::Torchrun), Some(2), "torchrun --nproc_per_node=N t.py"),
            (
                "python3 -m torch.distributed.run --nnodes 2 --nproc-per-node 4 t.py",
                Some(OwnLauncher::Torchrun),
                Some(8),
                "python3 -m torch.distributed.run --nnodes N --nproc-per-node N t.py",
            ),
            ("torchrun --nproc_per_node=gpu t.py", Some(OwnLauncher::Torchrun), None, "torchrun --nproc_per_node=gpu t.py"),
            ("/opt/mpi/bin/mpirun -np 3 ./a.out", Some(OwnLauncher::Mpirun), Some(3), "/opt/mpi/bin/mpirun -np N ./a.out"),
            ("horovodrun -np 2 python t.py", Some(OwnLauncher::Horovodrun), Some(2), "horovodrun -np N python t.py"),
            ("srun --ntasks=2 python t.py", Some(OwnLauncher::Srun), Some(2), "srun --ntasks=N python t.py"),
            ("accelerate launch t.py", Some(OwnLauncher::Accelerate), None, "accelerate launch t.py"),
            ("mpirun -np 0 t", Some(OwnLauncher::Mpirun), None, "mpirun -np N t"),
        ] {
            let spec = CommandSpec::sample(line);
            assert_eq!((spec.own_launcher(), spec.own_np(), spec.work().join(" ")), (launcher, np, work.to_owned()), "{line}");
        }
    }

    #[test]
    fn what_cannot_run_is_said() {
        let with = |pattern: &str| CommandSpec { patterns: vec![pattern.into()], ..CommandSpec::sample("python t.py") };
        assert_eq!(with("loss=cost (.*)").problem(), None);
        assert!(with("loss").problem().unwrap().contains("write NAME=REGEX"));
        assert!(with("cost=x").problem().unwrap().contains("`cost` is no figure of a training. Use one of epoch, "));
        assert!(with("loss=").problem().unwrap().contains("is empty"));
        assert!(CommandSpec { argv: vec![], ..with("loss=x") }.problem().unwrap().starts_with("no program is named"));
        assert_eq!(CommandSpec::sample("/usr/bin/python3 -u /home/x/train.py").title(), "train.py");
    }
}
