//! A run of the user's own program: its words, who starts its ranks, and what is to be read of it.
//!
//! Never looks at a file: whether there is such a program is found out when it is started.

use serde::{Deserialize, Serialize};

use super::bounds::{Bounded, count};
use super::launcher::{LauncherWords, OwnLauncher};
use super::printable;
use super::user_metrics::{FIGURES, Figure};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensorboard: Option<String>,
    /// Whether the inspector looks into its ranks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inspect: bool,
}

/// `python3.11`, `/usr/bin/python` or `pypy3`.
fn is_python(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == 't'))
}

/// Whether a shell would take this first word as a variable for the program behind it: `EPOCHS=3`.
pub fn sets_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Words and letters of a command line that a record may have.
const MAX_WORDS: usize = 10_000;
const MAX_LETTERS: usize = 1 << 20;

impl CommandSpec {
    /// The launcher that starts its ranks, and its words; `None` where the lab starts them.
    pub fn launcher_words(&self) -> Option<LauncherWords> {
        LauncherWords::find(&self.argv)
    }

    /// Who starts its ranks; `None` where the lab does.
    pub fn own_launcher(&self) -> Option<OwnLauncher> {
        self.launcher_words().map(|words| words.launcher)
    }

    /// Ranks that its own launcher starts, as far as its words and the variables of `outside` say so.
    pub fn own_np(&self, outside: &dyn Fn(&str) -> Option<String>) -> Option<usize> {
        self.launcher_words()?.np(outside)
    }

    /// Its words without the number of ranks: what is the same in all runs of the same work.
    pub fn work(&self) -> Vec<String> {
        self.launcher_words().map_or_else(|| self.argv.clone(), |words| words.without_counts(&self.argv))
    }

    /// The flag of Python among its words that keep the inspector out of a rank: `-I` and `-E` ignore PYTHONPATH, `-S` does not import
    /// the module site. An interpreter that is the launcher hands PYTHONPATH on in any case.
    pub fn flag_against_inspector(&self) -> Option<char> {
        let first = self.launcher_words().map_or(0, |words| words.start);
        let mut words = self.argv.iter().skip(first).skip_while(|word| !is_python(word)).skip(1);
        while let Some(flags) = words.next()?.strip_prefix('-') {
            for (at, letter) in flags.char_indices() {
                match letter {
                    'I' | 'E' | 'S' => return Some(letter),
                    // What follows is the program, or starts with a second dash.
                    'c' | 'm' | '-' => return None,
                    'W' | 'X' => {
                        if at + 1 == flags.len() {
                            words.next();
                        }
                        break;
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// In a column of a table: its script, or else the program, without folders.
    pub fn title(&self) -> String {
        let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
        let script = self.argv.iter().find(|word| [".py", ".sh", ".jl", ".ipynb"].iter().any(|end| word.ends_with(end)));
        printable::excerpt(&script.or(self.argv.first()).map(name).unwrap_or_default()).into_owned()
    }

    /// The patterns with the figures that they are of.
    pub fn pattern_fields(&self) -> impl Iterator<Item = (Figure, &str)> {
        self.patterns.iter().filter_map(|pattern| {
            let (name, expression) = pattern.split_once('=')?;
            Some((Figure::named(name)?, expression))
        })
    }

    /// The first thing in it that cannot run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        if self.argv.first().is_none_or(String::is_empty) {
            return Some("no program is named: write it behind --, such as `hvd-lab run -- python train.py`".into());
        }
        if let [program, verb, ..] = &self.argv[..]
            && program.rsplit('/').next() == Some("hvd-lab")
            && ["run", "inspect"].contains(&verb.as_str())
        {
            return Some(format!("this is a run of hvd-lab already: leave out `{program} {verb}`, and name the program itself"));
        }
        if let Some(word) = self.argv.first().filter(|word| sets_variable(word)) {
            return Some(format!("`{word}` is no program: write `env {word}` in front of one"));
        }
        if let Some(word) = self.argv.iter().find(|word| word.contains('\0')) {
            return Some(format!("`{}` has a zero byte, which no program can be given", printable::line(word)));
        }
        self.patterns.iter().find_map(|pattern| {
            let names = || FIGURES.map(|field| field.name).join(", ");
            match pattern.split_once('=') {
                None => Some(format!("--pattern {pattern} has no `=`: write NAME=REGEX, such as loss=\"cost ([0-9.]+)\"")),
                Some((name, _)) if Figure::named(name).is_none() => {
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
mod tests {
    use super::*;

    #[test]
    fn a_python_that_ignores_the_inspector_is_known_by_its_flags() {
        for (line, flag) in [
            ("python -I t.py", Some('I')),
            ("/usr/bin/python3.11 -uE -W error t.py", Some('E')),
            ("python3 -W error -X dev -S t.py", Some('S')),
            ("mpirun -np 2 python -I t.py", Some('I')),
            ("torchrun --nproc_per_node 2 --no-python python3 -I t.py", Some('I')),
            ("python -I -m torch.distributed.run t.py", None),
            ("python -u t.py -I", None),
            ("python -m pkg -I", None),
            ("python -W I t.py", None),
            ("python -WI t.py", None),
            ("python --version", None),
            ("python", None),
            ("torchrun t.py -I", None),
            ("env A=-I sh -I", None),
        ] {
            assert_eq!(CommandSpec::sample(line).flag_against_inspector(), flag, "{line}");
        }
    }

    #[test]
    fn what_cannot_run_is_said() {
        let with = |pattern: &str| CommandSpec { patterns: vec![pattern.into()], ..CommandSpec::sample("python t.py") };
        assert_eq!(with("loss=cost (.*)").problem(), None);
        assert!(with("loss").problem().unwrap().contains("write NAME=REGEX"));
        assert!(with("cost=x").problem().unwrap().contains("`cost` is no figure of a training. Use one of epoch, "));
        assert!(with("loss=").problem().unwrap().contains("is empty"));
        let nested = CommandSpec::sample("/opt/bin/hvd-lab inspect -- torchrun t.py").problem().unwrap();
        assert!(CommandSpec::sample("FOO=1 torchrun t.py").problem().unwrap().contains("write `env FOO=1`"));
        assert_eq!(CommandSpec::sample("./a=b").problem(), None);
        assert!(nested.contains("leave out `/opt/bin/hvd-lab inspect`"), "{nested}");
        assert!(CommandSpec { argv: vec![], ..with("loss=x") }.problem().unwrap().starts_with("no program is named"));
        assert_eq!(CommandSpec::sample("/usr/bin/python3 -u /home/x/train.py").title(), "train.py");
    }
}
