//! The learner's own trainer, built and run for real: each exercise fails as shipped, each solution passes, errors of the
//! compiler are readable, and what hangs is ended and explained.
//!
//! Never uses a stand-in but where nothing is built. Without mpirun or hvd-train the others are skipped by name.

use std::fs;
use std::process::Output;

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::exercise::TEN_STEPS;
use hvd_lab_terminal::process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::lab::{Lab, finish, stderr, stdout};
use crate::support::trainer::{self, turn};
use crate::support::wait::wait_until;

const EXERCISE: &str = TEN_STEPS.exercise;

fn solution(step: Step) -> String {
    TEN_STEPS.solution(step.number())
}

/// With a copy of the exercise.
fn started() -> Option<Lab> {
    let lab = trainer::with_trainer()?;
    assert!(lab.run(&["exercise", "start", "--language", "rust"]).status.success());
    Some(lab)
}

/// Hand a program in as the learner's own.
fn attempt(lab: &Lab, program: &str) -> Output {
    fs::write(lab.home().join("exercise/fashion_mnist.rs"), program).unwrap();
    lab.run(&["exercise", "run"])
}

#[test]
fn a_copy_is_made_once_and_reset_with_a_backup() {
    let lab = Lab::with_fake_mpirun("5");
    let missing = lab.run(&["exercise", "run"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("`hvd-lab exercise start` makes it"), "{}", stderr(&missing));
    let started = lab.run(&["exercise", "start"]);
    assert!(stderr(&started).contains("next: step 1"), "{}", stderr(&started));
    let file = lab.home().join("exercise/fashion_mnist.rs");
    assert_eq!(stdout(&started).trim(), file.display().to_string());
    assert_eq!(fs::read_to_string(&file).unwrap(), EXERCISE);

    fs::write(&file, solution(Step::FewerSteps)).unwrap();
    assert!(stderr(&lab.run(&["exercise", "start"])).contains("next: step 6"), "the learner's work is left alone");
    let diff = stdout(&lab.run(&["exercise", "diff"]));
    assert!(diff.contains("no difference: yours and solution after step 5"), "{diff}");
    let diff = stdout(&lab.run(&["exercise", "diff", "--step", "6", "--mine"]));
    assert!(diff.contains("+ ") && diff.contains("metric_average"), "{diff}");

    let unanswered = lab.run(&["exercise", "reset", "--step", "5"]);
    assert_eq!(unanswered.status.code(), Some(2), "nobody was there to ask");
    let reset = lab.run(&["exercise", "reset", "--step", "5", "--yes"]);
    assert!(reset.status.success() && stderr(&reset).contains("fashion_mnist.1.bak"), "{}", stderr(&reset));
    assert!(fs::read_to_string(&file).unwrap().contains("TODO: Step 5"));
    assert_eq!(fs::read_to_string(lab.home().join("exercise/fashion_mnist.1.bak")).unwrap(), solution(Step::FewerSteps));

    let source = lab.home().join("gone").display().to_string();
    let elsewhere = lab.env("HVD_LAB_SOURCE", &source).run(&["exercise", "build"]);
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(stderr(&elsewhere).contains(&format!("there is none in {source}: clone")), "{}", stderr(&elsewhere));
}

#[test]
fn every_exercise_fails_as_shipped_and_every_solution_passes() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    for done in 0..=Step::ALL.len() {
        let program = TEN_STEPS.solution(done);
        let output = attempt(&lab, &program);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(if done == 0 { 1 } else { 0 }), "step {done}:\n{text}{}", stderr(&output));
        for step in 1..=done {
            assert!(text.contains(&format!("step {step:>2} passed: ")), "solution {done}:\n{text}");
        }
        if done < Step::ALL.len() {
            assert!(text.contains(&format!("step {:>2} is still to do: ", done + 1)), "exercise {}:\n{text}", done + 1);
        }
        // Progress follows what the program did, whatever flag or text says.
        let progress = stdout(&lab.run(&["progress"]));
        assert!(
            progress.contains(&format!("seen {done}, predicted 0, proven 0, written {done} of 10 steps")),
            "solution {done}:\n{progress}"
        );
    }
    let record = fs::read_to_string(lab.folder(1).record_file()).unwrap();
    assert!(record.contains("\"program\""), "the run is the learner's own: {record}");
}

#[test]
fn a_claim_is_no_evidence() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    // All marks say done, and the events say so too; only the broadcast is not made.
    let all = solution(Step::NovoGrad);
    let call = "    broadcast_state(comm, &mut *model, &mut *optimizer)?;";
    let wrong = all.replace(call, &format!("    if size == 0 {{\n    {call}\n    }}"));
    assert_ne!(wrong, all);
    let output = attempt(&lab, &wrong);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    assert!(text.contains("step  4 failed: rank 1 started from other weights"), "{text}");
    assert!(stdout(&lab.run(&["progress"])).contains("written 9 of 10"), "{text}");
}

#[test]
fn an_error_of_the_compiler_is_shown_with_its_line_and_its_step() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    let output = attempt(&lab, &solution(Step::NovoGrad).replace("config.base_lr * size as f64", "config.base_lr * size"));
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    for part in ["fashion_mnist.rs:", "(step 8): cannot multiply `f64` by `usize`", "    let initial_lr = config.base_lr * size;"]
    {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    assert!(lab.store().ids().is_empty(), "what does not build is not run");
}

#[test]
fn what_hangs_is_ended_and_explained() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    let all = solution(Step::NovoGrad);
    let validated = "        let validated = evaluate";
    let cases = [
        // The root alone waits for the others, who have left the epoch behind.
        (
            "        if topology.rank.0 == 0 {\n            comm.barrier()?;\n        }\n",
            "the ranks called different collectives",
        ),
        // One rank never comes.
        ("        while topology.rank.0 == 1 {\n            std::thread::yield_now();\n        }\n", "rank 1 has not arrived"),
        // Nobody reads all that.
        (
            "        while topology.size.0 > 1 {\n            println!(\"still here\");\n        }\n",
            "is there a print in a loop?",
        ),
        // Nobody gets on, and nobody waits in a collective.
        ("        while topology.size.0 > 1 {\n            std::thread::yield_now();\n        }\n", "a loop that never ends?"),
    ];
    let mut cases: Vec<_> =
        cases.map(|(lines, said)| (all.replacen(validated, &format!("{lines}{validated}"), 1), said)).into_iter().collect();
    cases.push((
        all.replace("in found.epoch..config.epochs {", "in found.epoch.. {"),
        "began epoch 3, and the run is of 2 epochs",
    ));
    for (wrong, said) in cases {
        assert_ne!(wrong, all);
        let output = attempt(&lab, &wrong);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
        assert!(text.contains("the run failed: ") && text.contains(said), "no `{said}` in:\n{text}");
        let id = lab.store().ids().last().copied().unwrap();
        let status = lab.status(id.0);
        let last_step = lab.folder(id.0).events().filter(|line| matches!(line.event, Event::Step { .. }));
        let last_step = last_step.map(|line| line.time_s).fold(0.0, f64::max);
        // Time in which other programs had the cores is added, and said.
        let limit = if status.message.contains("other programs had the cores") { 120.0 } else { 25.0 };
        assert!(status.ended_s.unwrap() - last_step < limit, "from the last batch to the end: {status:?}");
        // One that nobody has asked for its exit code yet has ended all the same.
        let has_ended = |pid: &u32| process::look_up(*pid).is_none_or(|found| found.zombie);
        assert!(lab.pids(id.0).iter().all(has_ended), "a rank outlived its run");
    }
}

#[test]
fn a_rate_that_never_falls_shows_in_a_longer_run() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    let all = solution(Step::NovoGrad);
    let wrong = all.replacen("schedule.lr(epoch, index)", "schedule.lr(epoch.min(14), index)", 1);
    assert_ne!(wrong, all);
    let output = attempt(&lab, &wrong);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    let said = "on 3 ranks of two simulated hosts, for 16 epochs, epoch 16, batch 1 trained at";
    assert!(text.contains("step  8 failed") && text.contains(said), "{text}");
}

#[test]
fn a_save_is_built_and_run_and_one_ctrl_c_leaves() {
    let (_turn, Some(lab)) = (turn(), started()) else { return };
    let watch = lab.spawn(&["exercise", "watch"]);
    lab.wait_until_over(1);
    fs::write(lab.home().join("exercise/fashion_mnist.rs"), solution(Step::InitAndPin)).unwrap();
    wait_until("the run of what was saved", || lab.store().ids().iter().any(|id| id.0 == 2));
    // Whatever the second run is doing.
    kill(Pid::from_raw(watch.id() as i32), Signal::SIGINT).unwrap();
    let left = finish(watch);
    let said = stdout(&left);
    assert_eq!(left.status.code(), Some(130), "{said}{}", stderr(&left));
    assert_eq!(lab.wait_until_over(2).state, RunState::Stopped);
    assert!(said.contains("run 2 was stopped") && said.contains("it is not judged"), "{said}");
    assert!(!said.contains("step  2 is still to do"), "a run that was broken off shows nothing: {said}");

    let watch = lab.spawn(&["exercise", "watch"]);
    lab.wait_until_over(3);
    kill(Pid::from_raw(watch.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(finish(watch).status.code(), Some(130), "while nothing runs");
}
