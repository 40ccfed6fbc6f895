//! What may stand in front of a launcher: programs that start the one behind them, and Python.

use super::grammar::{Grammar, LAUNCHERS};

/// A line for each kind of wrapper; the file says what stands in it.
const WRAPPERS: &str = include_str!("../../../../assets/launchers/wrappers.txt");

/// A program that starts the one behind it and is otherwise not to be seen.
struct Wrapper {
    /// Words of which one stands between its name and its flags.
    verbs: Option<&'static str>,
    /// Its flags that are followed by a word of their own.
    values: &'static str,
    /// Positional arguments that it takes before the program.
    positionals: usize,
}

/// The wrapper of this name.
fn wrapper(name: &str) -> Option<Wrapper> {
    WRAPPERS.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut columns = line.splitn(4, ' ');
        let is_it = columns.next()?.split('|').any(|known| known == name);
        let verbs = columns.next().filter(|verbs| *verbs != "-");
        let positionals = columns.next()?.parse().ok()?;
        is_it.then(|| Wrapper { verbs, values: columns.next().unwrap_or_default(), positionals })
    })
}

/// Those that let another process, outside the run, start the program.
const CONTAINERS: [&str; 4] = ["docker", "podman", "nerdctl", "kubectl"];

/// Python's own flags that are followed by a word of their own.
const PYTHON_VALUES: [&str; 3] = ["-X", "-W", "--check-hash-based-pycs"];

/// A launcher in a command line: where its own words begin, the variables that are set for it, and the container that it is in.
type Found = (&'static Grammar, usize, Vec<(String, String)>, Option<&'static str>);

/// Which launcher stands in the words from this one on, behind whatever is put in front of it.
pub(super) fn found(argv: &[String], from: usize) -> Option<Found> {
    let (mut at, mut assigned, mut container) = (from, Vec::new(), None);
    let (grammar, name) = loop {
        let name = base(argv.get(at)?);
        if let Some(grammar) = LAUNCHERS.iter().find(|grammar| grammar.is_named(name)) {
            break (grammar, at);
        }
        if name.starts_with("python") || name.starts_with("pypy") {
            let (program, is_module) = behind_python(argv, at + 1)?;
            let name = argv.get(program)?.as_str();
            if is_module {
                break (LAUNCHERS.iter().find(|grammar| grammar.modules.contains(&name))?, program);
            }
            // A launcher is a script that belongs to Python, without an ending.
            if base(name).ends_with(".py") {
                return None;
            }
            at = program;
            continue;
        }
        container = container.or(CONTAINERS.into_iter().find(|known| *known == name));
        at = behind_wrapper(argv, at, &mut assigned)?;
    };
    // Behind its name, and the verb that it may have.
    let has_verb = grammar.verb.is_some_and(|verb| argv.get(name + 1).is_some_and(|word| word == verb));
    Some((grammar, name + 1 + usize::from(has_verb), assigned, container))
}

/// A launcher inside of one word that a shell is given, or behind a wrapper's flags that are not known: it can be named and not read.
pub fn hidden_launcher(argv: &[String]) -> Option<&'static str> {
    let is_container = argv.first().is_some_and(|name| CONTAINERS.contains(&base(name)));
    // `bash -lc "..."`, `env -S "..."`.
    let takes_a_line = |flag: &String| flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with(['c', 'S']);
    let words = argv.windows(2).filter(|pair| is_container || takes_a_line(&pair[0])).map(|pair| &pair[1]);
    let mut parts = words.flat_map(|word| word.split(|c: char| c.is_whitespace() || ";&|()`'\"".contains(c)));
    parts.find_map(|part| {
        let known = |grammar: &&Grammar| grammar.is_named(base(part)) || grammar.modules.contains(&part);
        LAUNCHERS.iter().find(known).map(|grammar| grammar.launcher.name())
    })
}

/// The index of the module or script that Python runs, and whether it is a module.
fn behind_python(argv: &[String], mut at: usize) -> Option<(usize, bool)> {
    loop {
        let word = argv.get(at)?.as_str();
        let is_cluster = word.starts_with('-') && !word.starts_with("--");
        match word {
            _ if PYTHON_VALUES.contains(&word) => at += 2,
            _ if is_cluster && (word.starts_with("-X") || word.starts_with("-W")) => at += 1,
            _ if is_cluster && word.ends_with('m') => return Some((at + 1, true)),
            _ if is_cluster && word.ends_with('c') => return None,
            _ if word.starts_with('-') => at += 1,
            _ => return Some((at, false)),
        }
    }
}

/// The program that a wrapper starts; `None` if the word is not a wrapper. What env sets goes to `assigned`.
fn behind_wrapper(argv: &[String], at: usize, assigned: &mut Vec<(String, String)>) -> Option<usize> {
    let name = base(&argv[at]);
    let wrapper = wrapper(name)?;
    let mut next = at + 1;
    if let Some(verbs) = wrapper.verbs {
        next += argv.get(next..)?.iter().position(|word| verbs.split('|').any(|verb| word == verb))? + 1;
    }
    let mut positionals = wrapper.positionals;
    while let Some(word) = argv.get(next) {
        if word == "--" {
            next += 1;
            break;
        }
        let assignment = word.split_once('=').filter(|(name, _)| !name.is_empty() && !name.starts_with('-'));
        if wrapper.values.split_whitespace().any(|flag| flag == word) {
            let variable = argv.get(next + 1).filter(|_| matches!(&**word, "-e" | "--env")).and_then(|word| word.split_once('='));
            assigned.extend(variable.map(|(name, value)| (name.to_owned(), value.to_owned())));
            next += 2;
        } else if word.starts_with('-') && word.len() > 1 {
            next += 1;
        } else if let Some((name, value)) = assignment.filter(|_| matches!(name, "env" | "sudo")) {
            assigned.push((name.to_owned(), value.to_owned()));
            next += 1;
        } else if positionals > 0 {
            positionals -= 1;
            next += 1;
        } else {
            break;
        }
    }
    (next < argv.len()).then_some(next)
}

/// Without folders.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}
