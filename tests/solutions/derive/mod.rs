//! Derives the learner's exercise and the ten solutions from the trainer: the same program with steps 1 to N on.
//!
//! Never touches a file: text in, text out, laid out by `rustfmt`.

mod fold;
mod imports;
mod marks;

use std::io::Write;
use std::process::{Command, Stdio};

use hvd_lab::domain::step::Step;

/// The one source of all.
pub const TRAINER: &str = "src/ranks/bin/hvd-train.rs";

const HEADER: &str = "\
//! The trainer on its way from serial to distributed: a step marked `Step N/10` is done, `TODO: Step N` is still to do.
//!
//! Never edited in the repository: derived from `src/ranks/bin/hvd-train.rs` by
//! `HVD_LAB_DERIVE=write cargo test --test ranks solutions`.
";

/// How the trainer takes its flags, and how a program does whose steps are what is written in it.
const FLAGS: &str = "Ok(config) => config,";
const DONE: &str = "Ok(config) => Config { steps: StepSet::first(";

/// Where the program with steps 1 to `last` is kept; 0 is the learner's.
pub fn path(last: usize) -> String {
    match last {
        0 => "lessons/fashion_mnist.rs".into(),
        _ => format!("solutions/fashion_mnist_after_step_{last:02}.rs"),
    }
}

/// The programs with steps 1 to N, for N from 0 to 10.
pub fn derive(trainer: &str) -> Vec<String> {
    let folded: Vec<String> = (0..=Step::ALL.len()).map(|last| folded(trainer, last)).collect();
    let needs: Vec<(usize, String)> = (1..folded.len())
        .flat_map(|step| {
            let [before, after] = [&folded[step - 1], &folded[step]].map(|text| imports::paths(text));
            after.difference(&before).map(|path| (step, path.clone())).collect::<Vec<_>>()
        })
        .collect();
    folded.iter().enumerate().map(|(last, text)| formatted(&marks::open(text, last, &needs))).collect()
}

fn folded(trainer: &str, last: usize) -> String {
    let is_on = |name: &str| {
        let step = Step::ALL.into_iter().find(|step| format!("{step:?}") == name);
        step.unwrap_or_else(|| panic!("there is no Step::{name}")).number() <= last
    };
    let opening: usize = trainer.lines().take_while(|line| line.starts_with("//!")).map(|line| line.len() + 1).sum();
    let body = &trainer[opening..];
    assert_eq!(body.matches(FLAGS).count(), 1, "{TRAINER} has no one place that says `{FLAGS}`");
    assert_eq!(body.matches("step::Step,").count(), 1, "{TRAINER} has no one import of `step::Step,`");
    let told = format!("// The events tell the lab which steps are done: raise this with each.\n{DONE}{last}), ..config }},");
    let body = body.replace(FLAGS, &told).replace("step::Step,", "step::StepSet,");
    let text = imports::without_unused(&fold::specialise(&body, &is_on), &body);
    assert!(!text.contains("(Step::"), "a question about a step is left:\n{text}");
    format!("{HEADER}{text}")
}

/// What differs between the programs with and without a step, outside of that step's places; empty if nothing.
///
/// Apart from the places, the count of done steps changes, and names that the places mention come and go.
pub fn strays(before: &str, after: &str, step: usize) -> Vec<String> {
    let outside = |text: &str| {
        let text = imports::cut(text);
        let (_, outside) = marks::divided(&text, step);
        let code = outside.into_iter().filter(|line| !line.trim().is_empty() && !line.trim().starts_with(DONE));
        code.map(str::to_owned).collect::<Vec<_>>()
    };
    let (left, right) = (outside(before), outside(after));
    let mut strays: Vec<String> = left.iter().filter(|line| !right.contains(line)).map(|line| format!("- {line}")).collect();
    strays.extend(right.iter().filter(|line| !left.contains(line)).map(|line| format!("+ {line}")));
    if strays.is_empty() && left != right {
        strays.push("lines change places".into());
    }
    let [had, has] = [before, after].map(imports::paths);
    let unmentioned = |paths: Vec<&String>, text: &str| {
        let inside = marks::divided(text, step).0.join("\n");
        let is_mentioned =
            |path: &str| inside.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == imports::name(path));
        paths.into_iter().filter(|path| !is_mentioned(path)).map(|path| format!("use {path}")).collect::<Vec<_>>()
    };
    strays.extend(unmentioned(had.difference(&has).collect(), before));
    strays.extend(unmentioned(has.difference(&had).collect(), after));
    strays
}

/// Steps whose mark in the program is not as it should be, with `last` steps done.
pub fn misplaced_marks(program: &str, last: usize) -> Vec<usize> {
    let marks: Vec<(usize, bool)> = program.lines().filter_map(marks::Mark::of).map(|mark| (mark.step, mark.is_open)).collect();
    let is_right = |step: usize| {
        let mut own = marks.iter().filter(|(of, _)| *of == step).peekable();
        own.peek().is_some() && own.all(|(_, is_open)| *is_open == (step > last))
    };
    (1..=Step::ALL.len()).filter(|step| !is_right(*step)).collect()
}

fn formatted(text: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path", env!("HVD_LAB_CHECKOUT")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("rustfmt cannot be started ({error}): rustup component add rustfmt"));
    // It reads all before it writes, so neither side waits for the other.
    rustfmt.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = rustfmt.wait_with_output().unwrap();
    assert!(output.status.success(), "rustfmt refuses\n{text}");
    String::from_utf8(output.stdout).unwrap()
}
