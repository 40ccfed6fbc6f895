//! What `exercise run` gives beside its words: one JSON object, what to do next, and small runs where the checker went on by itself.
//!
//! Never uses a stand-in: the programs are run and judged.

use std::fs;

use hvd_lab_terminal::course::Outcome;
use hvd_lab_terminal::exercise::{RING_SOLUTION, TEN_STEPS_IN_PYTHON};
use hvd_lab_terminal::runs::Trial;
use serde_json::{Value, json};

use super::exercise_in_python::{judged_rows, started};
use crate::support::lab::{Lab, stderr};
use crate::support::trainer::{self, turn};

/// The exit code, and the one object on standard output.
fn attempt(lab: &Lab, program: &str) -> (Option<i32>, Value) {
    fs::write(lab.home().join("exercise/fashion_mnist.py"), program).unwrap();
    let output = lab.run(&["exercise", "run", "--json"]);
    let object = serde_json::from_slice(&output.stdout);
    (output.status.code(), object.unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

#[test]
fn an_attempt_is_one_json_object_that_says_what_is_next() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let all = TEN_STEPS_IN_PYTHON.solution(10);
    let changed = |put: &str| all.replace("lr = args.base_lr * hvd.size()\n\n", put);

    let (code, broken) = attempt(&lab, &changed("lr = args.base_lr * (\n\n"));
    assert_eq!((code, &broken["passed"], &broken["run"]), (Some(1), &json!(false), &json!(null)));
    let error = &broken["errors"][0];
    assert!(error["message"].as_str().unwrap().contains("SyntaxError") && error["number"] == 8, "{broken}");

    let (code, wrong) = attempt(&lab, &changed("lr = args.base_lr\n\n"));
    assert_eq!((code, &wrong["passed"], &wrong["run"], &wrong["state"]), (Some(1), &json!(false), &json!(1), &json!("finished")));
    let step = &wrong["verdicts"][7];
    let line = TEN_STEPS_IN_PYTHON.line_of(&all, 8).unwrap();
    assert_eq!((&step["number"], &step["line"], &step["is_done"]), (&json!(8), &json!(line), &json!(true)), "{step}");
    assert_eq!((&step["outcome"], &step["title"]), (&json!(Outcome::Failed), &json!("Scale the learning rate")), "{step}");
    assert!(step["evidence"].as_str().is_some_and(|evidence| evidence.len() > 20), "{step}");
    assert_eq!(wrong["next"], "fix step 8 (Scale the learning rate)");

    let (code, right) = attempt(&lab, &all);
    assert_eq!((code, &right["passed"]), (Some(0), &json!(true)), "{right}");
    assert!(right["verdicts"].as_array().unwrap().iter().all(|verdict| verdict["outcome"] == json!(Outcome::Passed)), "{right}");
    let next = right["next"].as_str().unwrap();
    assert!(next.starts_with("lesson 11 ") && next.contains("hvd-lab exercise start --track four-changes"), "{next}");
    assert!(right["words"].as_str().unwrap().ends_with(&format!("All 10 steps pass.\nnext: {next}\n")), "{right}");

    // What the checker has tried by itself is small, and can be judged as before.
    let store = lab.store();
    let further = |id: &u32| lab.folder(*id).read_record().unwrap().request.trial == Some(Trial::Further);
    let ids: Vec<u32> = store.ids().into_iter().map(|id| id.0).collect();
    let further: Vec<u32> = ids.into_iter().filter(further).collect();
    assert_eq!(further.len(), 2, "an early stop, and three ranks");
    for id in further {
        let folder = lab.folder(id);
        assert_eq!(folder.last_checkpoint(), None, "run {id}");
        let bytes: u64 = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes < 1 << 20, "run {id} has {bytes} bytes");
        let check = lab.run(&["check", &id.to_string(), "--json"]);
        let verdicts: Value = serde_json::from_slice(&check.stdout).unwrap();
        let failed = verdicts["verdicts"].as_array().unwrap().iter().find(|verdict| verdict["outcome"] == json!(Outcome::Failed));
        assert_eq!((verdicts["verdicts"].as_array().unwrap().len(), failed), (10, None), "{}", stderr(&check));
    }
    let first = right["run"].as_u64().unwrap();
    assert!(lab.folder(u32::try_from(first).unwrap()).last_checkpoint().is_some(), "the run that was asked for is whole");
}

#[test]
fn a_ring_is_one_json_object_too() {
    let (_turn, Some(lab)) = (turn(), trainer::with_trainer()) else { return };
    assert!(lab.run(&["exercise", "start", "--track", "collectives"]).status.success());
    let attempt = || {
        let output = lab.run(&["exercise", "run", "--track", "collectives", "--json"]);
        let object: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code(), object)
    };
    let (code, wrong) = attempt();
    assert_eq!((code, &wrong["passed"], &wrong["next"]), (Some(1), &json!(false), &json!(null)), "{wrong}");
    assert!(wrong["words"].as_str().unwrap().contains(wrong["message"].as_str().unwrap()), "{wrong}");
    fs::write(lab.home().join("exercise/ring.py"), RING_SOLUTION).unwrap();
    let (code, right) = attempt();
    assert_eq!((code, &right["passed"]), (Some(0), &json!(true)), "{right}");
    assert!(right["message"].as_str().unwrap().starts_with("every sum is right"), "{right}");
    assert!(right["next"].as_str().unwrap().contains("the trainer, ten steps (`hvd-lab exercise start`)"), "{right}");
}

#[test]
fn numbers_that_no_training_has_are_refused_with_what_can_be_given() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let solution = TEN_STEPS_IN_PYTHON.solution(10);
    let astray = judged_rows("tests/wrong/bounds_in_python.toml", &solution, "step", |program| {
        fs::write(lab.home().join("exercise/fashion_mnist.py"), program).unwrap();
        lab.run(&["exercise", "run"])
    });
    assert!(astray.is_empty(), "{}", astray.join("\n"));
}
