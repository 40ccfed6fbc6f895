//! What should be mended in the exercise and its solutions.

use super::places;
use super::programs::{EXERCISE, solution};
use crate::domain::step::Step;

/// What should be mended in the exercise and its solutions, by name.
pub fn proofread() -> Vec<String> {
    let all = std::iter::once(("the exercise".to_owned(), EXERCISE, 0));
    let all =
        all.chain(Step::ALL.map(|step| (format!("the solution after step {}", step.number()), solution(step), step.number())));
    all.flat_map(|(name, text, last)| places::problems(text, last).into_iter().map(move |what| format!("{name}: {what}")))
        .collect()
}
