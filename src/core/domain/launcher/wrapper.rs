//! What may stand in front of a launcher: programs that start the one behind them, and Python.

use super::grammar::{Grammar, LAUNCHERS};

/// A program that starts the one behind it and is otherwise not to be seen.
struct Wrapper {
    name: &'static str,
    /// Between its name and its flags; empty where there is none.
    verb: &'static str,
    /// Its flags that are followed by a word of their own.
    values: &'static str,
    /// Positional arguments that it takes before the program.
    positionals: usize,
}

const fn wrapper(name: &'static str, verb: &'static str, values: &'static str, positionals: usize) -> Wrapper {
    Wrapper { name, verb, values, positionals }
}

const WRAPPERS: [Wrapper; 30] = [
    wrapper("env", "", "-u --unset -C --chdir", 0),
    wrapper("nohup", "", "", 0),
    wrapper("setsid", "", "", 0),
    wrapper("unbuffer", "", "", 0),
    wrapper("catchsegv", "", "", 0),
    wrapper("time", "", "-f --format -o --output", 0),
    wrapper("gtime", "", "-f --format -o --output", 0),
    wrapper("nice", "", "-n --adjustment", 0),
    wrapper("ionice", "", "-c --class -n --classdata", 0),
    wrapper("stdbuf", "", "-i -o -e --input --output --error", 0),
    wrapper("numactl", "", "-i -N -m -C -p -P --interleave --cpunodebind --membind --physcpubind", 0),
    wrapper("sudo", "", "-u --user -g --group -C -D -h -p", 0),
    wrapper("prlimit", "", "", 0),
    wrapper("xvfb-run", "", "-e -f -n -p -s", 0),
    wrapper("strace", "", "-o -e -s -E -p", 0),
    wrapper("timeout", "", "-s --signal -k --kill-after", 1),
    wrapper("taskset", "", "", 1),
    wrapper("chrt", "", "-T -P -D", 1),
    wrapper(
        "nsys",
        "profile",
        "-o --output -t --trace -s --sample -c --capture-range -f --force-overwrite -d --duration -y --delay -e --env-var",
        0,
    ),
    wrapper(
        "uv",
        "run",
        "--with --with-editable --with-requirements -p --python --extra --group --package --project --directory --env-file",
        0,
    ),
    wrapper("poetry", "run", "-C --directory -P --project", 0),
    wrapper("pipenv", "run", "", 0),
    wrapper("pdm", "run", "-p --project", 0),
    wrapper("hatch", "run", "-e --env", 0),
    wrapper("pixi", "run", "-e --environment --manifest-path", 0),
    wrapper("conda", "run", "-n --name -p --prefix --cwd -e --env", 0),
    wrapper("mamba", "run", "-n --name -p --prefix --cwd -e --env", 0),
    wrapper("micromamba", "run", "-n --name -p --prefix --cwd -e --env", 0),
    wrapper("apptainer", "exec", "-B --bind --env --env-file -H --home -W --workdir --pwd -o --overlay -S --scratch --app", 1),
    wrapper("singularity", "exec", "-B --bind --env --env-file -H --home -W --workdir --pwd -o --overlay -S --scratch --app", 1),
];

/// Python's own flags that are followed by a word of their own.
const PYTHON_VALUES: [&str; 3] = ["-X", "-W", "--check-hash-based-pycs"];

/// Which launcher stands in the words, behind whatever is put in front of it, and where its own begin.
pub(super) fn found(argv: &[String]) -> Option<(&'static Grammar, usize)> {
    let mut at = 0;
    // Behind its name, and the verb that it may have.
    let with_start = |grammar: &'static Grammar, name: usize| {
        let is_verb = grammar.verb.is_some_and(|verb| argv.get(name + 1).is_some_and(|word| word == verb));
        Some((grammar, name + 1 + usize::from(is_verb)))
    };
    loop {
        let name = base(argv.get(at)?);
        if let Some(grammar) = LAUNCHERS.iter().find(|grammar| grammar.is_named(name)) {
            return with_start(grammar, at);
        }
        if name.starts_with("python") || name.starts_with("pypy") {
            match behind_python(argv, at + 1)? {
                Python::Module(module) => {
                    let name = argv.get(module).map(String::as_str)?;
                    let grammar = LAUNCHERS.iter().find(|grammar| grammar.modules.contains(&name))?;
                    return with_start(grammar, module);
                }
                // A launcher is a script of Python's itself.
                Python::Script(script) if base(&argv[script]).ends_with(".py") => return None,
                Python::Script(script) => at = script,
            }
            continue;
        }
        at = behind_wrapper(argv, at)?;
    }
}

enum Python {
    /// The word with the name of a module, or of a script.
    Module(usize),
    Script(usize),
}

fn behind_python(argv: &[String], mut at: usize) -> Option<Python> {
    loop {
        let word = argv.get(at)?.as_str();
        let is_cluster = word.starts_with('-') && !word.starts_with("--");
        match word {
            _ if PYTHON_VALUES.contains(&word) => at += 2,
            _ if is_cluster && (word.starts_with("-X") || word.starts_with("-W")) => at += 1,
            _ if is_cluster && word.ends_with('m') => return Some(Python::Module(at + 1)),
            _ if is_cluster && word.ends_with('c') => return None,
            _ if word.starts_with('-') => at += 1,
            _ => return Some(Python::Script(at)),
        }
    }
}

/// The program that a wrapper starts; `None` where the word is none.
fn behind_wrapper(argv: &[String], at: usize) -> Option<usize> {
    let name = base(&argv[at]);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut next = at + 1;
    if !wrapper.verb.is_empty() {
        next += argv.get(next..)?.iter().position(|word| word == wrapper.verb)? + 1;
    }
    let mut positionals = wrapper.positionals;
    while let Some(word) = argv.get(next) {
        if word == "--" {
            next += 1;
            break;
        }
        let is_assignment = matches!(name, "env" | "sudo") && word.find('=').is_some_and(|at| at > 0 && !word.starts_with('-'));
        if wrapper.values.split_whitespace().any(|flag| flag == word) {
            next += 2;
        } else if word.starts_with('-') && word.len() > 1 || is_assignment {
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
