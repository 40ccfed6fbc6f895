//! Wrong trainers as learners write them: a solution with a few words changed, and what the lab has to say of it.
//!
//! Never guesses a place: the words to change stand in the solution exactly once, or the case is refused.

use std::path::{Path, PathBuf};

use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::exercise::{FOUR_CHANGES, NVCNN, Program, TEN_STEPS};
use serde::Deserialize;

/// Chooses the trainer in the one program that holds them all.
pub const VARIABLE: &str = "HVD_LAB_WRONG_TRAINER";
const FILES: [&str; 6] = ["identity", "together", "work", "rate", "hangs", "seen"];
/// Of the MNIST program, in which steps are changes.
const CHANGES: &str = "changes";
/// Of the training on photos, likewise.
const PHOTOS: &str = "photos";
const LAST: usize = 10;

/// A row `[[wrong]]` of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    pub name: String,
    /// The solution it is made of: that after this step.
    #[serde(default = "last")]
    pub after: usize,
    #[serde(rename = "change")]
    changes: Vec<Change>,
    /// The step whose check rejects it; none of a program that is wrong in no step of its own.
    #[serde(default)]
    pub step: Option<usize>,
    /// Words of the sentence that rejects it.
    pub says: Vec<String>,
    /// Its check cannot tell, which is no pass either.
    #[serde(default)]
    pub cannot_tell: bool,
    /// Other steps that it may fail.
    #[serde(default)]
    pub also: Vec<usize>,
    /// False for a program that does not come to its end: the run itself says why.
    #[serde(default = "yes")]
    pub runs: bool,
    /// Judged when a finished run goes on from its checkpoint.
    #[serde(default)]
    pub continued: bool,
    /// Ranks that it takes to be wrong.
    #[serde(default = "two")]
    pub np: usize,
    /// Ranks on each simulated host.
    #[serde(default)]
    pub ranks_per_host: Option<usize>,
    /// Judged when the mean accuracy of the ranks reaches the target after the first epoch, and that of one rank does not.
    #[serde(default)]
    pub stops: bool,
    /// Words that the log of a rank must hold.
    #[serde(default)]
    pub logs: String,
    /// It is not wrong at all: other than the solution, and to be accepted.
    #[serde(default)]
    pub right: bool,
    /// Cores that it takes to be wrong.
    #[serde(default)]
    pub cores: usize,
    /// Its step is a change of another program than the trainer.
    #[serde(skip)]
    pub is_change: bool,
    /// That program.
    #[serde(skip)]
    exercise: Option<&'static Program>,
    /// Asked of the run.
    #[serde(default = "warmup_epochs")]
    pub warmup_epochs: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    find: String,
    put: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    wrong: Vec<Wrong>,
}

fn last() -> usize {
    LAST
}

fn warmup_epochs() -> usize {
    3
}

fn two() -> usize {
    2
}

fn yes() -> bool {
    true
}

fn read(path: &str) -> String {
    let path = Path::new(env!("HVD_LAB_CHECKOUT")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Wrong trainers.
pub fn corpus() -> Vec<Wrong> {
    FILES.into_iter().flat_map(parse).collect()
}

/// Wrong MNIST programs.
pub fn changes() -> Vec<Wrong> {
    changes_of(&FOUR_CHANGES, CHANGES)
}

/// Wrong trainings on photos.
pub fn photos() -> Vec<Wrong> {
    changes_of(&NVCNN, PHOTOS)
}

fn changes_of(program: &'static Program, file: &str) -> Vec<Wrong> {
    let of = |wrong: Wrong| Wrong { after: wrong.after.min(program.count), is_change: true, exercise: Some(program), ..wrong };
    parse(file).into_iter().map(of).collect()
}

fn parse(name: &str) -> Vec<Wrong> {
    let file = format!("tests/wrong/{name}.toml");
    toml::from_str::<File>(&read(&file)).unwrap_or_else(|error| panic!("{file}: {error}")).wrong
}

impl Wrong {
    /// The wrong trainer, or what is wrong with the case.
    pub fn program(&self) -> Result<String, String> {
        let of = self.exercise.unwrap_or(&TEN_STEPS);
        self.changes.iter().try_fold(of.solution(self.after), |text, change| match text.matches(&change.find).count() {
            1 => Ok(text.replace(&change.find, &change.put)),
            count => Err(format!(
                "{}: `{}` stands {count} times in the solution after {} {}",
                self.name, change.find, of.noun, self.after
            )),
        })
    }

    pub fn step(&self) -> Option<Step> {
        self.step.map(|number| Step::from_number(number).unwrap_or_else(|| panic!("{}: no step {number}", self.name)))
    }
}

/// Rust of a program that holds all solutions (`solution_01`, `mnist_1`, `nvcnn_1`) and wrong trainers, each in a module of its own.
pub fn source(wrong: &[Wrong]) -> String {
    let steps = TEN_STEPS.numbers().map(|after| (format!("solution_{after:02}"), TEN_STEPS.solution(after)));
    let mnist = FOUR_CHANGES.numbers().map(|after| (format!("mnist_{after}"), FOUR_CHANGES.solution(after)));
    let photos = NVCNN.numbers().map(|after| (format!("nvcnn_{after}"), NVCNN.solution(after)));
    let wrong = wrong.iter().map(|wrong| (wrong.name.clone(), wrong.program().unwrap()));
    let (mut modules, mut arms) = (String::new(), String::new());
    for (name, program) in steps.chain(mnist).chain(photos).chain(wrong) {
        let opening: usize = program.lines().take_while(|line| line.starts_with("//!")).map(|line| line.len() + 1).sum();
        let body = program[opening..].replace("\nfn main() ->", "\npub fn main() ->");
        modules += &format!("#[allow(warnings)]\nmod {name} {{\n{body}\n}}\n");
        arms += &format!("        Ok(\"{name}\") => {name}::main(),\n");
    }
    format!(
        "{modules}\nfn main() -> std::process::ExitCode {{\n    match std::env::var(\"{VARIABLE}\").as_deref() {{\n{arms}        \
         other => panic!(\"no trainer {{other:?}}\"),\n    }}\n}}\n"
    )
}

/// Builds it with these wrong programs beside the lab, as the lab is built.
pub fn build(wrong: &[Wrong]) -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_hvd-lab")).parent().unwrap();
    let file = beside.join("wrong_trainers.rs");
    let source = source(wrong);
    // Cargo builds anew what is newer than before.
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&source) {
        std::fs::write(&file, source).unwrap();
    }
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["rustc", "--locked", "--quiet", "-p", "hvd-lab-ranks", "--example", "wrong_trainers"]);
    cargo.arg("--target-dir").arg(beside.parent().unwrap()).current_dir(env!("HVD_LAB_CHECKOUT"));
    if beside.ends_with("release") {
        cargo.arg("--release");
    }
    // They run for a second each: what counts is the time to build them.
    cargo.args(["--", "--cfg", "wrong_trainers", "-C", "opt-level=0", "-C", "debuginfo=0"]);
    cargo.env("HVD_LAB_WRONG_TRAINERS", &file);
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    beside.join("examples/wrong_trainers")
}
