//! An instructor sees who is at which step, stuck or done, whatever else lies in the folder; a learner shares with one command.
//!
//! Never waits: the time is passed in.

use std::fs;
use std::path::Path;

use hvd_lab_terminal::course::{Class, Outcome, Prediction, Progress, Standing, State, Verdict, check_all};
use hvd_lab_terminal::domain::step::{Step, StepSet};
use hvd_lab_terminal::runs::RunId;
use serde_json::Value;

use super::asked;
use super::good::evidence;
use crate::support::lab::{Lab, stderr, stdout};

const NOW_S: f64 = 1_800_000_000.0;

/// Steps 1 to `done` written and the next one failed in so many runs, both so many minutes ago.
fn progress(done: usize, done_min: f64, failed_runs: u32, failed_min: f64) -> Progress {
    let mut progress = Progress::default();
    let passed = check_all(&evidence()).into_iter().take(done).collect::<Vec<_>>();
    progress.note_written(&passed, StepSet::first(done), RunId(1));
    let failed = |step: Step| Verdict { number: step.number(), outcome: Outcome::Failed, evidence: format!("{step} went wrong") };
    if let Some(step) = Step::from_number(done + 1) {
        (0..failed_runs).for_each(|run| progress.note_written(&[failed(step)], StepSet::ALL, RunId(2 + run)));
    }
    let done = progress.seen.values_mut().chain(progress.written.values_mut());
    done.for_each(|done| done.time_s = NOW_S - done_min * 60.0);
    progress.tried.values_mut().for_each(|tried| {
        (tried.first_s, tried.time_s) = (NOW_S - failed_min * 60.0, NOW_S - failed_min * 60.0);
    });
    progress
}

fn put(folder: &Path, name: &str, progress: &Progress) {
    fs::write(folder.join(name), progress.to_json()).unwrap();
}

fn find<'a>(class: &'a Class, name: &str) -> &'a Standing {
    class.learners.iter().find(|learner| learner.learner == name).unwrap_or_else(|| panic!("no {name}: {class:?}"))
}

#[test]
fn everyone_is_at_a_step_and_working_stuck_or_done() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let cases = [
        ("done", progress(10, 300.0, 0, 0.0), State::Done, "wwwwwwwwww", None),
        ("new", Progress::default(), State::NotBegun, "..........", Some(1)),
        ("quick", progress(3, 5.0, 2, 1.0), State::Working, "www!......", Some(4)),
        ("stuck", progress(3, 20.0, 2, 1.0), State::Stuck, "www!......", Some(4)),
        ("almost", progress(3, 19.9, 2, 1.0), State::Working, "www!......", Some(4)),
        // Reads, or has lunch: nothing failed since the last step.
        ("reads", progress(3, 90.0, 0, 0.0), State::Working, "www.......", Some(4)),
        ("failed-before", progress(3, 30.0, 1, 31.0), State::Working, "www!......", Some(4)),
        ("never-passed", progress(0, 0.0, 1, 25.0), State::Stuck, "!.........", Some(1)),
    ];
    for (name, progress, ..) in &cases {
        put(dir, &format!("{name}.json"), progress);
    }
    let class = Class::read(dir, NOW_S).unwrap();
    assert_eq!((class.learners.len(), class.problems.as_slice()), (cases.len(), [].as_slice()));
    for (name, _, state, marks, next) in &cases {
        let found = find(&class, name);
        assert_eq!((found.state, found.marks().as_str(), found.next), (*state, *marks, *next), "{name}");
    }
    assert_eq!(find(&class, "stuck").idle_s.map(f64::round), Some(60.0));
    let totals = [class.totals(Step::Broadcast), class.totals(Step::InitAndPin)];
    assert_eq!(totals, [([1, 0, 0, 1], 4), ([6, 0, 0, 6], 1)]);
    let first: Vec<&str> = class.learners.iter().take(3).map(|one| one.learner.as_str()).collect();
    assert_eq!(first, ["never-passed", "stuck", "almost"], "Stuck learners come first");
    assert_eq!(find(&class, "quick").failing[0].runs, 2);
    let ahead = Class::read(dir, NOW_S - 1e6).unwrap();
    assert_eq!(find(&ahead, "stuck").idle_s, Some(0.0), "a learner's clock may be ahead");
}

#[test]
fn other_files_are_named_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    fs::create_dir(dir.join("grace")).unwrap();
    put(dir, "grace/progress.json", &progress(2, 1.0, 0, 0.0));
    fs::create_dir(dir.join("empty")).unwrap();
    let bad = [
        ("damaged.json", "{\"version\": 1, \"done\": {\"4\"", "damaged"),
        ("binary.json", "\u{0}\u{1}", "damaged"),
        ("package.json", "{\"name\": \"x\", \"version\": \"1.0.0\"}", "neither"),
        ("list.json", "[1, 2]", "neither"),
        ("newer.json", "{\"version\": 2, \"done\": []}", "newer"),
        ("newer-report.json", "{\"report\": 9}", "newer"),
        ("half-report.json", "{\"report\": 1}", "neither"),
    ];
    for (name, text, _) in bad {
        fs::write(dir.join(name), text).unwrap();
    }
    fs::create_dir(dir.join("folder.json")).unwrap();
    std::os::unix::fs::symlink("gone", dir.join("gone.json")).unwrap();
    fs::write(dir.join("notes.txt"), "no").unwrap();
    // As a file of the first labs, without tries; and one with a step that no lab has.
    fs::write(dir.join("old.json"), r#"{"version":1,"done":{"1":{"run":1,"time_s":1.0,"evidence":"e"},"77":{"run":1,"time_s":1.0,"evidence":"e"}},"predictions":{}}"#).unwrap();
    let class = Class::read(dir, NOW_S).unwrap();
    assert_eq!(class.learners.iter().map(|one| one.learner.as_str()).collect::<Vec<_>>(), ["grace", "old"]);
    let old = find(&class, "old");
    assert_eq!((old.done.as_slice(), old.marks().as_str()), ([].as_slice(), "s........."), "what they took for done was seen");
    for (name, _, what) in bad.iter().chain(&[("gone.json", "", "cannot be read")]) {
        let named = class.problems.iter().find(|problem| problem.starts_with(name));
        assert!(named.is_some_and(|problem| problem.contains(what)), "{name}: {:?}", class.problems);
    }
    assert_eq!(class.problems.len(), bad.len() + 1, "{:?}", class.problems);
    assert!(Class::read(&dir.join("nowhere"), NOW_S).is_err());
}

#[test]
fn a_failed_run_counts_once_however_often_it_is_judged() {
    let failed = Verdict { number: Step::Broadcast.number(), outcome: Outcome::Failed, evidence: "no".into() };
    let mut progress = Progress::default();
    let mut note = |outcome, steps: &str, run| {
        progress.note(&[Verdict { outcome, ..failed.clone() }], steps.parse().unwrap(), RunId(run));
        progress.tried.get(&4).map(|tried| (tried.runs, tried.run.0))
    };
    assert_eq!(note(Outcome::Failed, "1-3", 1), None, "the step was off");
    assert_eq!(note(Outcome::Failed, "1-4", 2), Some((1, 2)));
    assert_eq!(note(Outcome::Failed, "1-4", 2), Some((1, 2)));
    assert_eq!(note(Outcome::Failed, "1-4", 3), Some((2, 3)));
    assert_eq!(note(Outcome::CannotTell, "1-4", 4), Some((2, 3)));
    assert_eq!(note(Outcome::Passed, "1-4", 5), Some((2, 3)), "how many it took is kept");
    assert_eq!(note(Outcome::Failed, "1-4", 6), Some((2, 3)), "done is done");
    progress.reset(Step::Broadcast);
    assert_eq!(progress, Progress::default());
}

/// Changes what `hvd-lab` keeps without a run.
fn predict(lab: &Lab, lesson: usize) -> Option<String> {
    let file = hvd_lab_terminal::course::ProgressFile::of(lab.home());
    file.update(|progress| progress.predict(asked(lesson), Prediction::Choice(0), true)).unwrap().1.note
}

#[test]
fn a_learner_shares_with_one_command_and_every_change_follows() {
    let (lab, class) = (Lab::with_fake_mpirun("5"), tempfile::tempdir().unwrap());
    let dir = class.path().to_str().unwrap();
    let said = lab.run(&["progress", "--share", dir, "--name", "Ada ../L"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let copy = class.path().join("Ada-..-L.json");
    assert!(copy.is_file() && stdout(&said).contains(copy.to_str().unwrap()), "{}", stdout(&said));
    assert_eq!(predict(&lab, 4), None);
    let shared: Progress = serde_json::from_slice(&fs::read(&copy).unwrap()).unwrap();
    assert_eq!(shared.predictions.len(), 1);
    assert_eq!(fs::read_dir(class.path()).unwrap().count(), 1, "nothing else is left there");

    let seen = lab.run(&["class", dir, "--json"]);
    let seen: Value = serde_json::from_slice(&seen.stdout).unwrap();
    assert_eq!((&seen["learners"][0]["learner"], &seen["learners"][0]["state"]), (&"Ada-..-L".into(), &"working".into()));
    assert_eq!(seen["totals"].as_array().map(Vec::len), Some(10));
    fs::write(class.path().join("x.json"), "{").unwrap();
    let seen = lab.run(&["class", dir]);
    assert_eq!(seen.status.code(), Some(0));
    for words in ["..........", "step 1: Init and pin", "1 learner: 1 working", "left out: x.json is damaged"] {
        assert!(stdout(&seen).contains(words), "no `{words}` in {}", stdout(&seen));
    }

    // A folder that has gone costs a note, and nothing else.
    fs::remove_dir_all(class.path()).unwrap();
    assert!(predict(&lab, 5).is_some_and(|note| note.contains("is kept") && note.contains(dir)));
    let kept = lab.run(&["progress"]);
    assert_eq!(kept.status.code(), Some(0));
    assert_eq!(lab.run(&["progress", "--share", "none"]).status.code(), Some(0));
    assert_eq!(predict(&lab, 6), None);
    let whole: Value = serde_json::from_slice(&fs::read(lab.home().join("progress.json")).unwrap()).unwrap();
    assert_eq!(whole["predictions"].as_object().map(serde_json::Map::len), Some(3));
}

#[test]
fn the_environment_of_a_class_is_enough() {
    let class = tempfile::tempdir().unwrap();
    let dir = class.path().to_str().unwrap();
    let lab = Lab::with_fake_mpirun("5").env("HVD_LAB_CLASS", dir);
    let said = lab.run(&["progress", "--reset", "all"]);
    assert_eq!((said.status.code(), stderr(&said).as_str()), (Some(0), ""));
    let files: Vec<_> = fs::read_dir(class.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let gone = class.path().join("gone").display().to_string();
    let lab = lab.env("HVD_LAB_CLASS", &gone);
    let said = lab.run(&["progress", "--reset", "all"]);
    assert!(said.status.success() && stderr(&said).contains(&format!("{gone} is not a folder")), "{}", stderr(&said));
}

#[test]
fn what_cannot_be_shared_or_shown_is_one_line() {
    let (lab, class) = (Lab::with_fake_mpirun("5"), tempfile::tempdir().unwrap());
    let dir = class.path().to_str().unwrap();
    let gone = class.path().join("gone").display().to_string();
    let cases: [(&[&str], &str); 5] = [
        (&["progress", "--share", &gone], &format!("{gone} is not a folder")),
        (&["progress", "--share", dir, "--name", "///"], "`///` is not a name"),
        (&["progress", "--share", dir, "--reset", "4"], "cannot be used with"),
        (&["class", &gone], &format!("cannot read the class's folder {gone}")),
        (&["class"], "DIR"),
    ];
    for (args, said) in cases {
        let output = lab.run(args);
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
    assert!(stdout(&lab.run(&["class", dir])).contains("no learner in"));
}
