//! The learner's exercise and the ten solutions are the trainer with steps 1 to N on: in their text, and as they train.
//!
//! Never edits a program but with `HVD_LAB_DERIVE=write`, which derives all eleven anew.

mod derive;
mod python_training;
mod tracks_in_python;
mod training;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use derive::{TRAINER, misplaced_marks, strays};

const LAST: usize = 10;

fn at(path: &str) -> PathBuf {
    Path::new(env!("HVD_LAB_CHECKOUT")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The programs as they are kept, from the exercise to the last solution; derived anew before, if that is asked for.
fn kept() -> &'static [String] {
    static KEPT: OnceLock<Vec<String>> = OnceLock::new();
    KEPT.get_or_init(|| {
        if std::env::var("HVD_LAB_DERIVE").is_ok_and(|word| word == "write") {
            for (last, program) in derive::derive(&read(TRAINER)).iter().enumerate() {
                std::fs::write(at(&derive::path(last)), program).unwrap();
            }
        }
        (0..=LAST).map(|last| read(&derive::path(last))).collect()
    })
}

/// Programs that are not what the trainer makes of them.
fn drifted(trainer: &str, programs: &[String]) -> Vec<String> {
    let derived = derive::derive(trainer);
    (0..=LAST).filter(|last| derived[*last] != programs[*last]).map(derive::path).collect()
}

#[test]
fn the_programs_are_what_the_trainer_makes_of_them() {
    let drifted = drifted(&read(TRAINER), kept());
    assert!(
        drifted.is_empty(),
        "{TRAINER} makes something else of {}. Change the trainer only, then derive them anew: \
         HVD_LAB_DERIVE=write cargo test --test ranks solutions",
        drifted.join(", ")
    );
}

#[test]
fn a_changed_line_is_found_in_the_trainer_and_in_a_program() {
    let (trainer, programs) = (read(TRAINER), kept());
    let changed = trainer.replace("epoch + 1, config.epochs)", "epoch + 2, config.epochs)");
    assert_ne!(changed, trainer);
    assert_eq!(drifted(&changed, programs).len(), LAST + 1);
    let changed = trainer.replace("found.broadcast(comm)?", "found.broadcast(comm)?.twice()");
    assert_eq!(drifted(&changed, programs).len(), 4, "steps 7 to 10");
    let mut edited = programs.to_vec();
    edited[3] = edited[3].replace("every update", "an update");
    assert_eq!(drifted(&trainer, &edited), [derive::path(3)]);
}

#[test]
fn a_step_touches_its_own_places_only() {
    let programs = kept();
    for step in 1..=LAST {
        let (before, after) = (&programs[step - 1], &programs[step]);
        assert_ne!(before, after);
        assert_eq!(strays(before, after, step), Vec::<String>::new(), "step {step}");
        // Beside one line that says how far the program is, the two are told apart in another step's eyes.
        let other = if step == LAST { 1 } else { step + 1 };
        assert!(!strays(before, after, other).is_empty(), "step {step} is invisible outside of step {other}'s places");
    }
}

#[test]
fn a_change_elsewhere_is_no_part_of_a_step() {
    let programs = kept();
    let elsewhere = [
        ("clock.lap(Phase::Forward);", ""),
        ("clock.lap(Phase::Forward);\n", "clock.lap(Phase::Forward);\n            clock.begin_step();\n"),
        ("process::ExitCode, ", "fs, process::ExitCode, "),
    ];
    for (line, new) in elsewhere {
        let changed = programs[4].replacen(line, new, 1);
        assert_ne!(changed, programs[4], "{line}");
        assert!(!strays(&programs[3], &changed, 4).is_empty(), "{line}");
    }
}

#[test]
fn what_is_done_and_what_is_to_do_is_marked() {
    for (last, program) in kept().iter().enumerate() {
        assert_eq!(misplaced_marks(program, last), Vec::<usize>::new(), "{}", derive::path(last));
        for step in last + 1..=LAST {
            let todo = format!("// TODO: Step {step}:");
            let block = program.split(&todo).nth(1).unwrap_or_else(|| panic!("{}: no `{todo}`", derive::path(last)));
            let hint = block.lines().nth(1).unwrap_or_default();
            assert!(hint.trim_start().starts_with("// Horovod: "), "{todo}: {hint}");
        }
    }
    assert_eq!(misplaced_marks(&read(&derive::path(4)), 5), [5]);
}
