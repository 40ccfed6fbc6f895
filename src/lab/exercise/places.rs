//! The places of a learner's program: found by their marks, and put back to what they were.
//!
//! A mark says what the learner thinks is done. Whether it is done well is for a run to show.
//!
//! A place goes from a comment `TODO: Step 4: ...` or `Step 4/10: ...` to the line that follows it in the exercise, which
//! learners leave where it is, whatever blank lines and comments they put into the place. Places are known by their
//! numbers, from 1; a number may have several.

use std::collections::BTreeSet;
use std::ops::Range;

use super::program::Program;
use super::programs::PROGRAMS;

/// How the comment begins that says how the original spells a place.
const ORIGINALS: [&str; 2] = ["Horovod: ", "nvcnn: "];

/// A comment that opens a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    number: usize,
    /// Still to do.
    is_open: bool,
}

impl Program {
    fn mark(&self, line: &str) -> Option<Mark> {
        let comment = line.trim_start().strip_prefix(self.language.comment())?.trim_start();
        let (comment, is_open) = comment.strip_prefix("TODO:").map_or((comment, false), |comment| (comment.trim_start(), true));
        let numbered = comment.strip_prefix(self.mark)?.strip_prefix(' ')?;
        let (number, rest) = numbered.split_at(numbered.find(|c: char| !c.is_ascii_digit())?);
        // "Step 4 was hard" is a comment like any other.
        let is_title = is_open || rest.starts_with(['/', ':', ',']);
        let number = number.parse().ok().filter(|number| is_title && (1..=self.count).contains(number))?;
        Some(Mark { number, is_open })
    }

    /// Numbers without a `TODO` left.
    pub fn done(&self, text: &str) -> BTreeSet<usize> {
        let open: BTreeSet<usize> =
            text.lines().filter_map(|line| self.mark(line)).filter(|mark| mark.is_open).map(|mark| mark.number).collect();
        self.numbers().filter(|number| !open.contains(number)).collect()
    }

    /// The last number whose solution a program can be held against: the one before the first that is to do, and at least 1.
    pub fn reached(&self, text: &str) -> usize {
        let done = self.done(text);
        self.numbers().take_while(|number| done.contains(number)).last().unwrap_or(1)
    }

    /// The first place of the first number that is still to do, with its line, counted from 1.
    pub fn next(&self, text: &str) -> Option<(usize, usize)> {
        let open =
            (1..).zip(text.lines()).filter_map(|(line, text)| Some((self.mark(text).filter(|mark| mark.is_open)?.number, line)));
        open.min()
    }

    /// The line, counted from 1, in which the first place of a number begins.
    pub fn line_of(&self, text: &str, number: usize) -> Option<usize> {
        let mut lines = (1..).zip(text.lines());
        lines.find(|(_, line)| self.mark(line).is_some_and(|mark| mark.number == number)).map(|(line, _)| line)
    }

    /// The number in whose place a line is, counted from 1.
    pub fn place_at(&self, text: &str, line: usize) -> Option<usize> {
        self.places(text).into_iter().find(|(_, lines)| lines.contains(&(line - 1))).map(|(number, _)| number)
    }

    /// Lines of every place, counted from 0, with the blank lines behind it.
    fn places(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let lines: Vec<&str> = text.lines().collect();
        let ends = self.behind();
        let mut places: Vec<(usize, Range<usize>)> = Vec::new();
        let mut from = 0;
        while let Some((start, number)) = (from..lines.len()).find_map(|index| Some((index, self.mark(lines[index])?.number))) {
            let nth = places.iter().filter(|(of, _)| *of == number).count();
            let behind = ends.iter().filter(|(of, _)| *of == number).nth(nth).map(|(_, behind)| behind.as_str());
            from = self.end(&lines, start, number, behind);
            places.push((number, start..from));
        }
        places
    }

    /// Where a place ends that starts at a line: where the exercise goes on, or, if that is not to be found, at a blank line.
    fn end(&self, lines: &[&str], start: usize, number: usize, behind: Option<&str>) -> usize {
        let inside = start + 1..lines.len();
        let is_behind = |index: &usize| behind == Some(&self.key(lines[*index]));
        let is_other = |index: &usize| self.mark(lines[*index]).is_some_and(|mark| mark.number != number);
        let end = inside.clone().find(|index| is_behind(index) || is_other(index)).filter(is_behind);
        let blank = || inside.clone().find(|&index| lines[index].trim().is_empty());
        end.or_else(blank).unwrap_or(lines.len())
    }

    /// The key of a line: of a mark its number, of any other line its text with its indent.
    fn key(&self, line: &str) -> String {
        self.mark(line).map_or_else(|| line.trim_end().to_owned(), |mark| format!("{} {}", self.mark, mark.number))
    }

    /// The number of every place of the exercise, and the key of the line behind it: of the last, what ends its function.
    fn behind(&self) -> Vec<(usize, String)> {
        let lines: Vec<&str> = self.exercise.lines().collect();
        let behind = |start: usize| lines[start..].iter().skip_while(|line| !line.is_empty()).find(|line| !line.is_empty());
        let place = |start: usize| Some((self.mark(lines[start])?.number, self.key(behind(start).unwrap_or(&"}"))));
        (0..lines.len()).filter_map(place).collect()
    }

    /// The program with the places of a number as the exercise has them; `Err` with how many there are, and should be, where
    /// they cannot be told.
    pub fn without(&self, text: &str, number: usize) -> Result<String, (usize, usize)> {
        let of_number = |text: &str| {
            self.places(text).into_iter().filter(|(of, _)| *of == number).map(|(_, lines)| lines).collect::<Vec<_>>()
        };
        let (own, pristine) = (of_number(text), of_number(self.exercise));
        if own.len() != pristine.len() {
            return Err((own.len(), pristine.len()));
        }
        let mut lines: Vec<&str> = text.lines().collect();
        let fresh: Vec<&str> = self.exercise.lines().collect();
        for (own, pristine) in own.into_iter().zip(pristine).rev() {
            lines.splice(own, fresh[pristine].iter().copied());
        }
        Ok(lines.join("\n") + "\n")
    }

    /// What is wrong with a program in which the numbers up to `last` should be done, and the others to do; in the words of a
    /// proofreader.
    fn problems(&self, text: &str, last: usize) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let all = self.places(text);
        let mut problems = Vec::new();
        for number in self.numbers() {
            let named = self.part_named(Some(number));
            let is_open = number > last;
            let places: Vec<_> = all.iter().filter(|(of, _)| *of == number).map(|(_, place)| place.clone()).collect();
            let wrong = |place: &&Range<usize>| self.mark(lines[place.start]).is_some_and(|mark| mark.is_open != is_open);
            if places.is_empty() {
                problems.push(format!("{named} has no place"));
            }
            if let Some(place) = places.iter().find(wrong) {
                let should = if is_open { "to do" } else { "done" };
                problems.push(format!("line {}: {named} should be {should}", place.start + 1));
            }
            let comment = self.language.comment();
            let starts = |line: &str| {
                let words = line.trim_start().strip_prefix(comment).map(str::trim_start);
                words.is_some_and(|words| ORIGINALS.iter().any(|original| words.starts_with(original)))
            };
            let is_hint = |place: &Range<usize>| lines[place.clone()].iter().any(|line| starts(line));
            if is_open && !places.iter().any(is_hint) {
                problems.push(format!("{named} does not say how the original spells it"));
            }
        }
        problems
    }
}

/// What should be fixed in the exercises and their solutions, by name.
pub fn proofread() -> Vec<String> {
    PROGRAMS.into_iter().flat_map(problems_of).collect()
}

fn problems_of(program: &Program) -> Vec<String> {
    let file = program.file;
    let exercise = (format!("the exercise {file}"), program.exercise.to_owned(), 0);
    let solution = |number| (format!("the solution of {file} after {} {number}", program.noun), program.solution(number), number);
    let all = std::iter::once(exercise).chain(program.numbers().map(solution));
    all.flat_map(|(name, text, last)| program.problems(&text, last).into_iter().map(move |what| format!("{name}: {what}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::programs::{PROGRAMS, TEN_STEPS};
    use super::*;
    use crate::domain::step::Step;

    const EXERCISE: &str = TEN_STEPS.exercise;

    fn solution(step: Step) -> String {
        TEN_STEPS.solution(step.number())
    }

    fn places(text: &str) -> Vec<(usize, Range<usize>)> {
        TEN_STEPS.places(text)
    }

    fn without(text: &str, step: Step) -> Result<String, (usize, usize)> {
        TEN_STEPS.without(text, step.number())
    }

    #[test]
    fn an_exercise_has_all_to_do_and_each_solution_one_less() {
        for program in PROGRAMS {
            assert_eq!(program.done(program.exercise), BTreeSet::new());
            assert_eq!(program.next(program.exercise).map(|(number, _)| number), Some(1));
            for number in program.numbers() {
                let text = program.solution(number);
                assert_eq!(program.done(&text), (1..=number).collect());
                let todo = program.next(&text);
                assert_eq!(todo.map(|(next, _)| next), (number < program.count).then_some(number + 1));
                if let Some((next, line)) = todo {
                    assert!(text.lines().nth(line - 1).unwrap().contains(&format!("TODO: {} {next}", program.mark)));
                    assert_eq!((program.place_at(&text, line), program.place_at(&text, line + 1)), (Some(next), Some(next)));
                }
            }
            assert_eq!(program.place_at(program.exercise, 1), None);
        }
    }

    #[test]
    fn a_missing_or_wrong_mark_is_found() {
        let problems = |text: &str, last| TEN_STEPS.problems(text, last);
        for program in PROGRAMS {
            for number in program.numbers() {
                assert_eq!(program.problems(&program.solution(number), number), Vec::<String>::new());
            }
            assert_eq!(program.problems(program.exercise, 0), Vec::<String>::new());
        }
        assert_eq!(problems(EXERCISE, 1).len(), 1, "step 1 is not done");
        let lost = EXERCISE.replace("TODO: Step 4:", "TODO:");
        assert_eq!(problems(&lost, 0), ["step 4 has no place", "step 4 does not say how the original spells it"]);
        let mute = EXERCISE.replace("// Horovod: lr = ", "// lr = ");
        assert_eq!(problems(&mute, 0), ["step 8 does not say how the original spells it"]);
    }

    #[test]
    fn a_step_is_reset_and_the_others_are_left_alone() {
        // Beside the places, solutions differ in names and in the count of steps, which stay as they are.
        for step in Step::ALL {
            let reset = without(&solution(step), step).unwrap();
            let inside = |text: &str| {
                places(text).into_iter().map(|(_, lines)| text.lines().collect::<Vec<_>>()[lines].join("\n")).collect::<Vec<_>>()
            };
            // What Rust needs is told at the first solution that lacks it only.
            assert_eq!(inside(&reset), inside(&TEN_STEPS.before(step.number())), "step {}", step.number());
        }
        let own = solution(Step::Broadcast).replace("let placement", "let my_placement");
        let reset = without(&own, Step::Broadcast).unwrap();
        assert!(reset.contains("let my_placement") && reset.contains("TODO: Step 4"), "{reset}");
        assert_eq!(without(&own.replace("// Step 4/10", "// my broadcast"), Step::Broadcast), Err((0, 1)));
    }

    #[test]
    fn a_reset_leaves_nothing_of_a_step_and_all_of_the_others_whatever_stands_between_its_lines() {
        let spread = |text: &str, step: Step| {
            let own = places(text).into_iter().filter(|(of, _)| *of == step.number()).map(|(_, lines)| lines);
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            for index in own.flat_map(|place| place.skip(1)).collect::<Vec<_>>().into_iter().rev() {
                let added =
                    format!("\n    \n    // Step {0} was hard, and:\n    // Step {0}: mine\n\n    /* mine */", step.number());
                lines.insert(index, added);
            }
            lines.join("\n") + "\n"
        };
        for step in Step::ALL {
            assert_eq!(without(&spread(EXERCISE, step), step).as_deref(), Ok(EXERCISE), "step {}", step.number());
            // Another step's blank lines and comments are its learner's.
            let done = solution(Step::NovoGrad);
            let other = Step::ALL[step.number() % Step::ALL.len()];
            let own = spread(&spread(&done, other), step);
            let kept = spread(&without(&done, step).unwrap(), other);
            assert_eq!(without(&own, step).as_ref(), Ok(&kept), "step {}", step.number());
        }
    }

    #[test]
    fn a_reset_goes_no_further_than_a_blank_line_where_what_followed_was_changed() {
        let done = solution(Step::NovoGrad);
        // The lines that followed the places of steps 1, 2, 7 and 9, the mark that followed step 10, and a function at the end.
        let (data, plan) = ("let data = startup", "let plan = Plan");
        assert!(done.contains(data) && done.contains(plan) && done.contains("// Step 3/10"));
        let own = done.replace(data, "let my_data = startup").replace(plan, "let my_plan = Plan");
        let own = own
            .replace("// A rank that fails must", "// A rank must")
            .replace("let training_seconds = began", "let mine = began");
        let own = own.replace("// Step 3/10:", "//") + "\nfn helper() {}\n";
        for step in Step::ALL.into_iter().filter(|step| *step != Step::DistributedOptimizer) {
            let reset = without(&own, step).unwrap();
            let outside = |text: &str| {
                let places: Vec<_> =
                    places(text).into_iter().filter(|(of, _)| *of == step.number()).map(|(_, lines)| lines).collect();
                let lines = text
                    .lines()
                    .enumerate()
                    .filter(|(index, line)| !line.is_empty() && !places.iter().any(|p| p.contains(index)));
                lines.map(|(_, line)| line.to_owned()).collect::<Vec<_>>()
            };
            assert_eq!(outside(&reset), outside(&own), "step {}", step.number());
            for kept in ["let my_data =", "let my_plan =", "// A rank must", "let mine =", "fn helper()"] {
                assert!(reset.contains(kept), "step {}: {kept}", step.number());
            }
            assert!(reset.contains("DistributedOptimizer::new"), "step {}", step.number());
        }
    }

    #[test]
    fn a_place_ends_where_it_does_in_the_exercise_or_at_the_next_one() {
        for program in PROGRAMS {
            for text in program.numbers().map(|number| program.solution(number)).chain([program.exercise.to_owned()]) {
                let lines: Vec<&str> = text.lines().collect();
                for (number, place) in program.places(&text) {
                    let own: Vec<_> = lines[place].iter().map(|line| line.trim()).collect();
                    let blank = own.iter().position(|line| line.is_empty()).unwrap_or(own.len());
                    assert!(own[blank..].iter().all(|line| line.is_empty()), "{} {number}: {own:?}", program.mark);
                }
            }
        }
    }
}
