//! Right programs, of which none may be blamed, and mistakes, of which each must be found with its cause and its line.
//!
//! `tests/inspect/programs.toml` and `mistakes.toml` list them, and `held_out.toml` more of both, which the judges were not written by. HVD_LAB_TORCH_PYTHON names a Python with PyTorch (else HVD_LAB_PEER_PYTHON
//! or python3), HVD_LAB_HOROVOD_PYTHON one with Horovod. What cannot be imported is skipped by name.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::Value;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::needs::skip;

/// Programs that run at the same time: each has two ranks, which spend most of their time on imports.
const AT_ONCE: usize = 2;

#[derive(Deserialize)]
struct Program {
    name: String,
    /// Words before the program; torchrun with two ranks if none are given.
    #[serde(default)]
    launch: Option<String>,
    /// Modules that the program imports beside PyTorch.
    #[serde(default)]
    needs: Vec<String>,
}

#[derive(Deserialize)]
struct Mistake {
    name: String,
    program: String,
    /// The file of a package that is edited.
    #[serde(default)]
    file: Option<String>,
    find: String,
    replace: String,
    topic: String,
    outcome: String,
    /// Text of the line that has to be named.
    line: String,
    /// The program never ends by itself.
    #[serde(default)]
    stalls: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/inspect")
}

fn table<T: for<'a> Deserialize<'a>>(file: &str, key: &str) -> Vec<T> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let mut tables: BTreeMap<String, toml::Value> = toml::from_str(&text).unwrap();
    tables.remove(key).unwrap().try_into().unwrap()
}

/// The Python that has these modules, if any has.
fn python(program: &Program) -> Option<String> {
    let is_horovod = program.needs.iter().any(|module| module.starts_with("horovod"));
    let names: &[&str] = if is_horovod { &["HVD_LAB_HOROVOD_PYTHON"] } else { &["HVD_LAB_TORCH_PYTHON", "HVD_LAB_PEER_PYTHON"] };
    let named = names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let python = named.or_else(|| (!is_horovod).then(|| "python3".to_owned()))?;
    let modules = if program.needs.is_empty() { "torch".to_owned() } else { program.needs.join(", ") };
    // `find_spec` of each is enough, and does not take the seconds of an import.
    let code = format!(
        "import importlib.util, sys\nsys.exit(any(importlib.util.find_spec(m) is None for m in '{modules}'.split(', ')))"
    );
    let found =
        Command::new(&python).args(["-c", &code]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success()).then_some(python)
}

/// Puts the program into the folder `home`, with the edit of the mistake, and returns the words that start it.
fn write(program: &Program, mistake: Option<&Mistake>, python: &str, home: &Path) -> Vec<String> {
    let source = folder().join("programs").join(&program.name);
    let is_package = source.is_dir();
    let edited = mistake.and_then(|mistake| mistake.file.as_deref());
    let names: Vec<String> = if is_package {
        std::fs::create_dir(home.join(&program.name)).unwrap();
        let files = std::fs::read_dir(&source).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.filter(|name| name.ends_with(".py")).map(|name| format!("{}/{name}", program.name)).collect()
    } else {
        vec![format!("{}.py", program.name)]
    };
    let main = if is_package { format!("{}/{}", program.name, edited.unwrap_or("__main__.py")) } else { names[0].clone() };
    for name in names {
        let mut text = std::fs::read_to_string(folder().join("programs").join(&name)).unwrap();
        if let Some(mistake) = mistake.filter(|_| name == main) {
            assert_eq!(text.matches(&mistake.find).count(), 1, "{}: the text to replace", mistake.name);
            text = text.replace(&mistake.find, &mistake.replace);
        }
        std::fs::write(home.join(name), text).unwrap();
    }
    let beside = |name: &str| Path::new(python).with_file_name(name).display().to_string();
    let launch = program.launch.as_deref().unwrap_or("torchrun --standalone --nproc_per_node 2");
    let mut words: Vec<String> = launch
        .split(' ')
        .map(|word| match word {
            "python" => python.to_owned(),
            "torchrun" if python.contains('/') => beside(word),
            "mpirun" => env!("HVD_LAB_BUILD_MPIRUN").to_owned(),
            _ => word.to_owned(),
        })
        .collect();
    words.extend(if is_package { vec!["-m".into(), program.name.clone()] } else { vec![format!("{}.py", program.name)] });
    words
}

/// The findings of a run of the program.
fn findings(program: &Program, mistake: Option<&Mistake>, python: &str) -> Result<Vec<Value>, String> {
    let Some(lab) = Lab::with_mpirun() else { return Err("no mpirun".into()) };
    let words = write(program, mistake, python, lab.home());
    let stalls = mistake.is_some_and(|mistake| mistake.stalls);
    let limit = if stalls { "0:00:50" } else { "0:02:30" };
    let mut command = lab.command(&["inspect", "--force", "--time-limit", limit, "--"]);
    command.args(words).current_dir(lab.home()).env("OMP_NUM_THREADS", "1").env("HVD_LAB_INSPECT_STALL", "5");
    // Programs that name a port of their own take this one, because others of them run at the same time.
    let port = TcpListener::bind("localhost:0").and_then(|socket| socket.local_addr()).unwrap().port();
    command.env("MASTER_PORT", port.to_string());
    command.envs([("CUDA_VISIBLE_DEVICES", ""), ("TF_CPP_MIN_LOG_LEVEL", "3"), ("PYTHONDONTWRITEBYTECODE", "1")]);
    command.env_remove("PYTHONPATH").stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command.spawn().unwrap());
    if mistake.is_none() && !output.status.success() {
        return Err(format!("{}{}", stdout(&output), stderr(&output)));
    }
    let check = finish(lab.command(&["check", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let json: Value = serde_json::from_str(&stdout(&check)).map_err(|error| format!("{error}: {}", stderr(&check)))?;
    lab.assert_nothing_left(1);
    // The line that a finding names, while the program is still there.
    let with_line = |finding: &Value| {
        let mut finding = finding.clone();
        finding["text"] = line_of(&finding["place"]).into();
        finding
    };
    Ok(json["findings"].as_array().cloned().unwrap_or_default().iter().map(with_line).collect())
}

fn line_of(place: &Value) -> String {
    let text = std::fs::read_to_string(place["file"].as_str().unwrap_or_default()).unwrap_or_default();
    let number = place["line"].as_u64().unwrap_or(0) as usize;
    text.lines().nth(number.wrapping_sub(1)).unwrap_or_default().trim().to_owned()
}

fn objections(findings: &[Value]) -> Vec<String> {
    let is_one = |finding: &&Value| finding["outcome"] == "wrong" || finding["outcome"] == "look" && finding["topic"] != "speed";
    let words =
        |finding: &Value| format!("{} ({}) at `{}`: {}", finding["topic"], finding["outcome"], finding["text"], finding["seen"]);
    findings.iter().filter(is_one).map(words).collect()
}

/// What is not as it should be with a right program, or with one mistake.
fn complaint(program: &Program, mistake: Option<&Mistake>, python: &str) -> Option<String> {
    let name = mistake.map_or(&program.name, |mistake| &mistake.name);
    // PyTorch's gloo aborts now and then while it ends, with and without the inspector: then once more.
    let has_aborted = |why: &Result<Vec<Value>, String>| {
        why.as_ref().is_err_and(|why| why.contains("terminate called without an active exception"))
    };
    let mut found = findings(program, mistake, python);
    for _ in 1..8 {
        if has_aborted(&found) {
            found = findings(program, mistake, python);
        }
    }
    let findings = match found {
        Ok(findings) => findings,
        Err(why) => return Some(format!("{name}: {why}")),
    };
    let Some(mistake) = mistake else {
        let blamed = objections(&findings);
        return (!blamed.is_empty()).then(|| format!("{name} is right, and is blamed: {}", blamed.join("; ")));
    };
    let is_found = findings.iter().any(|finding| {
        finding["topic"] == mistake.topic.as_str()
            && finding["outcome"] == mistake.outcome.as_str()
            && finding["text"].as_str().is_some_and(|text| text.contains(&mistake.line))
    });
    let seen = || {
        format!("{name}: {} ({}) at `{}` is missing in {:?}", mistake.topic, mistake.outcome, mistake.line, objections(&findings))
    };
    (!is_found).then(seen)
}

/// Judges all of these, some at once, and fails with every complaint.
fn judge(cases: &[(&Program, Option<&Mistake>)]) {
    let pythons: BTreeMap<&str, Option<String>> =
        cases.iter().map(|(program, _)| (program.name.as_str(), python(program))).collect();
    for (name, python) in &pythons {
        if python.is_none() {
            skip("torch", format!("{name}: its modules cannot be imported (HVD_LAB_TORCH_PYTHON, HVD_LAB_HOROVOD_PYTHON)"));
        }
    }
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((program, mistake)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(python) = &pythons[program.name.as_str()] else { continue };
                    if let Some(complaint) = complaint(program, *mistake, python) {
                        eprintln!("{complaint}");
                        complaints.lock().unwrap().push(complaint);
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), cases.len(), complaints.join("\n"));
}

fn no_right_one_is_blamed(file: &str) {
    let programs: Vec<Program> = table(file, "program");
    judge(&programs.iter().map(|program| (program, None)).collect::<Vec<_>>());
}

fn each_mistake_is_found(file: &str) {
    let programs: Vec<Program> = ["programs.toml", "held_out.toml"].into_iter().flat_map(|file| table(file, "program")).collect();
    let mistakes: Vec<Mistake> = table(file, "mistake");
    let of = |mistake: &Mistake| programs.iter().position(|program| program.name == mistake.program).unwrap();
    let cases: Vec<(&Program, Option<&Mistake>)> =
        mistakes.iter().map(|mistake| (&programs[of(mistake)], Some(mistake))).collect();
    judge(&cases);
}

#[test]
fn no_right_program_is_blamed() {
    no_right_one_is_blamed("programs.toml");
}

#[test]
fn no_right_program_of_the_second_corpus_is_blamed() {
    no_right_one_is_blamed("held_out.toml");
}

#[test]
fn each_mistake_is_found_with_its_line() {
    each_mistake_is_found("mistakes.toml");
}

#[test]
fn each_mistake_of_the_second_corpus_is_found_with_its_line() {
    each_mistake_is_found("held_out.toml");
}

/// The Python that has PyTorch.
fn torch() -> Option<String> {
    let plain = Program { name: "PyTorch".into(), launch: None, needs: Vec::new() };
    let python = python(&plain);
    if python.is_none() {
        skip("torch", "no Python with PyTorch (HVD_LAB_TORCH_PYTHON)");
    }
    python
}

#[test]
fn the_inspector_changes_no_bit_and_no_line_of_a_program() {
    let Some(python) = torch() else { return };
    // It prints what does not hold, ends each of its programs within its own limit, and then with 1.
    let output = Command::new(python).arg(folder().join("self_check.py")).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn the_exercise_in_pytorch_goes_from_the_first_step_to_the_last() {
    let Some(python) = torch() else { return };
    let Some(lab) = Lab::with_mpirun() else { return };
    let says = |verb: &str| {
        let mut command = lab.command(&["exercise", verb, "--track", "ddp"]);
        command.env("HVD_LAB_PYTHON", &python).env_remove("PYTHONPATH").stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command.spawn().unwrap())
    };
    let started = says("start");
    assert!(started.status.success(), "{}", stderr(&started));
    let failed = says("run");
    assert!(
        !failed.status.success() && stdout(&failed).contains("step  1 is still to do"),
        "{}{}",
        stdout(&failed),
        stderr(&failed)
    );
    let program = stdout(&says("path"));
    std::fs::copy(Path::new(env!("HVD_LAB_CHECKOUT")).join("solutions/fashion_mnist_ddp.py"), program.trim()).unwrap();
    let passed = says("run");
    assert!(passed.status.success(), "{}{}", stdout(&passed), stderr(&passed));
    lab.assert_nothing_left(2);
}
