//! The places of the steps in the learner's program: found by their marks, and put back to what they were.
//!
//! Never tells whether a step is done well: a mark says what the learner takes for done, and a run shows it.
//!
//! A place goes from a comment `TODO: Step 4: ...` or `Step 4/10: ...` to the next blank line, as in the solutions.

use std::ops::Range;

use super::programs::EXERCISE;
use crate::domain::step::{Step, StepSet};

/// A comment that opens a place of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    step: Step,
    /// Still to do.
    is_open: bool,
}

fn mark(line: &str) -> Option<Mark> {
    let comment = line.trim_start().strip_prefix("//")?.trim_start();
    let (comment, is_open) = comment.strip_prefix("TODO:").map_or((comment, false), |comment| (comment.trim_start(), true));
    let numbered = comment.strip_prefix("Step ")?;
    let digits = numbered.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbered.len());
    Some(Mark { step: Step::from_number(numbered[..digits].parse().ok()?)?, is_open })
}

/// Steps without a `TODO` left.
pub fn done(text: &str) -> StepSet {
    let open: Vec<Step> = text.lines().filter_map(mark).filter(|mark| mark.is_open).map(|mark| mark.step).collect();
    Step::ALL.into_iter().filter(|step| !open.contains(step)).fold(StepSet::NONE, |done, step| done.with(step))
}

/// The last step whose solution a program can be held against: the one before the first that is to do, and at least 1.
pub fn reached(text: &str) -> Step {
    let done = done(text);
    Step::ALL.into_iter().take_while(|step| done.contains(*step)).last().unwrap_or(Step::InitAndPin)
}

/// The first place of the first step that is still to do, with its line, counted from 1.
pub fn next(text: &str) -> Option<(Step, usize)> {
    let open = (1..).zip(text.lines()).filter_map(|(line, text)| Some((mark(text).filter(|mark| mark.is_open)?.step, line)));
    open.min_by_key(|(step, line)| (step.number(), *line))
}

/// The step in whose place a line is, counted from 1.
pub fn step_at(text: &str, line: usize) -> Option<Step> {
    places(text).into_iter().find(|(_, lines)| lines.contains(&(line - 1))).map(|(step, _)| step)
}

/// Lines of every place, counted from 0.
fn places(text: &str) -> Vec<(Step, Range<usize>)> {
    let mut places: Vec<(Step, Range<usize>)> = Vec::new();
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        match mark(line) {
            Some(mark) => {
                is_inside = true;
                places.push((mark.step, index..index + 1));
            }
            None if line.trim().is_empty() => is_inside = false,
            None if is_inside => {
                if let Some((_, lines)) = places.last_mut() {
                    lines.end = index + 1;
                }
            }
            None => {}
        }
    }
    places
}

/// The program with the places of a step as the exercise has them; `Err` with their number where they cannot be told.
pub fn without(text: &str, step: Step) -> Result<String, (usize, usize)> {
    let of_step = |text: &str| places(text).into_iter().filter(|(of, _)| *of == step).map(|(_, lines)| lines).collect::<Vec<_>>();
    let (own, pristine) = (of_step(text), of_step(EXERCISE));
    if own.len() != pristine.len() {
        return Err((own.len(), pristine.len()));
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let fresh: Vec<&str> = EXERCISE.lines().collect();
    for (own, pristine) in own.into_iter().zip(pristine).rev() {
        lines.splice(own, fresh[pristine].iter().copied());
    }
    Ok(lines.join("\n") + "\n")
}

/// What is wrong with a program in which the first `last` steps should be done, and the others to do; in the words of a
/// proofreader.
pub fn problems(text: &str, last: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let of = |step: Step| places(text).into_iter().filter(move |(of, _)| *of == step).map(|(_, place)| place).collect::<Vec<_>>();
    let mut problems = Vec::new();
    for step in Step::ALL {
        let (number, is_open) = (step.number(), step.number() > last);
        let places = of(step);
        let wrong = |place: &&Range<usize>| mark(lines[place.start]).is_some_and(|mark| mark.is_open != is_open);
        if places.is_empty() {
            problems.push(format!("step {number} has no place"));
        }
        if let Some(place) = places.iter().find(wrong) {
            let should = if is_open { "to do" } else { "done" };
            problems.push(format!("line {}: step {number} should be {should}", place.start + 1));
        }
        let is_hint =
            |place: &Range<usize>| lines[place.clone()].iter().any(|line| line.trim_start().starts_with("// Horovod: "));
        if is_open && !places.iter().any(is_hint) {
            problems.push(format!("step {number} does not say how Horovod spells it"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::programs::solution;
    use super::*;

    #[test]
    fn the_exercise_has_all_steps_to_do_and_each_solution_one_less() {
        assert_eq!(done(EXERCISE), StepSet::NONE);
        assert_eq!(next(EXERCISE).map(|(step, _)| step), Some(Step::InitAndPin));
        for step in Step::ALL {
            let text = solution(step);
            assert_eq!(done(text), StepSet::first(step.number()));
            let todo = next(text);
            assert_eq!(todo.map(|(step, _)| step.number()), (step != Step::NovoGrad).then_some(step.number() + 1));
            if let Some((step, line)) = todo {
                assert!(text.lines().nth(line - 1).unwrap().contains(&format!("TODO: Step {}", step.number())));
                assert_eq!((step_at(text, line), step_at(text, line + 1)), (Some(step), Some(step)));
            }
        }
        assert_eq!(step_at(EXERCISE, 1), None);
    }

    #[test]
    fn a_missing_or_wrong_mark_is_found() {
        for step in Step::ALL {
            assert_eq!(problems(solution(step), step.number()), Vec::<String>::new());
        }
        assert_eq!(problems(EXERCISE, 0), Vec::<String>::new());
        assert_eq!(problems(EXERCISE, 1).len(), 1, "step 1 is not done");
        let lost = EXERCISE.replace("TODO: Step 4:", "TODO:");
        assert_eq!(problems(&lost, 0), ["step 4 has no place", "step 4 does not say how Horovod spells it"]);
        let mute = EXERCISE.replace("// Horovod: lr = ", "// lr = ");
        assert_eq!(problems(&mute, 0), ["step 8 does not say how Horovod spells it"]);
    }

    #[test]
    fn a_step_is_reset_and_the_others_are_left_alone() {
        // Beside the places, solutions differ in names and in the count of steps, which stay as they are.
        for step in Step::ALL {
            let before = if step == Step::InitAndPin { EXERCISE } else { solution(Step::ALL[step.number() - 2]) };
            let reset = without(solution(step), step).unwrap();
            let inside = |text: &str| {
                places(text).into_iter().map(|(_, lines)| text.lines().collect::<Vec<_>>()[lines].join("\n")).collect::<Vec<_>>()
            };
            // What Rust needs is told at the first solution that lacks it only.
            assert_eq!(inside(&reset), inside(before), "step {}", step.number());
        }
        let own = solution(Step::Broadcast).replace("let placement", "let my_placement");
        let reset = without(&own, Step::Broadcast).unwrap();
        assert!(reset.contains("let my_placement") && reset.contains("TODO: Step 4"), "{reset}");
        assert_eq!(without(&own.replace("// Step 4/10", "// my broadcast"), Step::Broadcast), Err((0, 1)));
    }
}
