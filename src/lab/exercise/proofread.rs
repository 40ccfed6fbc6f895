//! What should be mended in the exercises and their solutions.

use super::program::Program;
use super::programs::PROGRAMS;

/// What should be mended in the exercises and their solutions, by name.
pub fn proofread() -> Vec<String> {
    PROGRAMS.into_iter().flat_map(of).collect()
}

fn of(program: &Program) -> Vec<String> {
    let file = program.file;
    let exercise = (format!("the exercise {file}"), program.exercise.to_owned(), 0);
    let solution = |number| (format!("the solution of {file} after {} {number}", program.noun), program.solution(number), number);
    let all = std::iter::once(exercise).chain(program.numbers().map(solution));
    all.flat_map(|(name, text, last)| program.problems(&text, last).into_iter().map(move |what| format!("{name}: {what}")))
        .collect()
}
