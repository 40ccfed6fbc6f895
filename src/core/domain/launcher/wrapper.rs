//! What may stand in front of a launcher: programs that start the one behind them, and Python.

use super::grammar::{Grammar, LAUNCHERS};

/// A program that starts the one behind it and is otherwise not to be seen.
struct Wrapper {
    name: &'static str,
    /// Words of which one stands between its name and its flags; empty if there are none.
    verbs: &'static str,
    /// Its flags that are followed by a word of their own.
    values: &'static str,
    /// Positional arguments that it takes before the program.
    positionals: usize,
}

const fn wrapper(name: &'static str, verbs: &'static str, values: &'static str, positionals: usize) -> Wrapper {
    Wrapper { name, verbs, values, positionals }
}

/// Those that let another process, outside the run, start the program.
const CONTAINERS: [&str; 4] = ["docker", "podman", "nerdctl", "kubectl"];
const CONTAINER_VALUES: &str = "-v --volume --mount -e --env --env-file -w --workdir -u --user --name --gpus --shm-size --network --net \
                                --ipc --pid --cpus --cpuset-cpus -m --memory --runtime --entrypoint -p --publish --device -h \
                                --hostname --ulimit --security-opt --cap-add --cap-drop --platform --pull \
                                --group-add --userns --uts --tmpfs --label -l --log-driver --add-host --annotation -f --file \
                                -n --namespace -c --container";
const APPTAINER_VALUES: &str =
    "-B --bind --mount --env --env-file -H --home -W --workdir --pwd --cwd -o --overlay -S --scratch --app --network --security";

const WRAPPERS: [Wrapper; 41] = [
    wrapper("env", "", "-u --unset -C --chdir", 0),
    wrapper("nohup", "", "", 0),
    wrapper("setsid", "", "", 0),
    wrapper("unbuffer", "", "", 0),
    wrapper("catchsegv", "", "", 0),
    wrapper("ltrace", "", "-o -e -s -p -u", 0),
    wrapper("flock", "", "-w --timeout --wait -E --conflict-exit-code", 1),
    wrapper("cgexec", "", "-g", 0),
    wrapper("systemd-run", "", "-p --property -u --unit --slice --uid --gid -E --setenv --working-directory", 0),
    wrapper("ncu", "", "-o --export --set --section -k --kernel-name -c --launch-count -s --launch-skip --target-processes", 0),
    wrapper("compute-sanitizer", "", "--tool --log-file --target-processes", 0),
    wrapper("rye", "run", "", 0),
    wrapper("docker", "run|exec", CONTAINER_VALUES, 1),
    wrapper("podman", "run|exec", CONTAINER_VALUES, 1),
    wrapper("nerdctl", "run|exec", CONTAINER_VALUES, 1),
    wrapper("kubectl", "exec", CONTAINER_VALUES, 1),
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
    wrapper("apptainer", "exec|run", APPTAINER_VALUES, 1),
    wrapper("singularity", "exec|run", APPTAINER_VALUES, 1),
];

/// Python's own flags that are followed by a word of their own.
const PYTHON_VALUES: [&str; 3] = ["-X", "-W", "--check-hash-based-pycs"];

/// A launcher in a command line, and what stands in front of it.
pub(super) struct Found {
    pub grammar: &'static Grammar,
    /// Where its own words begin.
    pub start: usize,
    pub assigned: Vec<(String, String)>,
    pub container: Option<&'static str>,
}

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
    Some(Found { grammar, start: name + 1 + usize::from(has_verb), assigned, container })
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
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut next = at + 1;
    if !wrapper.verbs.is_empty() {
        next += argv.get(next..)?.iter().position(|word| wrapper.verbs.split('|').any(|verb| word == verb))? + 1;
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
