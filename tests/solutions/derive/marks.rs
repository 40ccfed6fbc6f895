//! The marks of steps in comments (`Step 4/10: ...`, `TODO: Step 4: ...`), and the places that they open.
//!
//! Never looks at code: a place goes from the line with its mark to the next blank line.

use std::collections::BTreeSet;

/// A comment line that opens a place of a step.
pub struct Mark<'a> {
    pub step: usize,
    /// Not done yet: `TODO: Step 4`.
    pub is_open: bool,
    /// What follows the number: `: start from the root's weights.`, ` again: ...`, `, second half: ...`.
    pub rest: &'a str,
}

impl Mark<'_> {
    pub fn of(line: &str) -> Option<Mark<'_>> {
        let comment = line.trim_start().strip_prefix("// ")?;
        let (comment, is_open) = comment.strip_prefix("TODO: ").map_or((comment, false), |comment| (comment, true));
        let numbered = comment.strip_prefix("Step ")?;
        let digits = numbered.find(|c: char| !c.is_ascii_digit())?;
        let (step, rest) = (numbered[..digits].parse().ok()?, &numbered[digits..]);
        let rest = if is_open { rest } else { rest.strip_prefix("/10")? };
        Some(Mark { step, is_open, rest })
    }
}

/// The comment of every step after the `last` becomes a mark of what is to be done, with Horovod's spelling as its hint
/// and the names that Rust needs for it.
pub fn open(text: &str, last: usize, needs: &[(usize, String)]) -> String {
    let mut lines = text.lines().peekable();
    let mut opened: Vec<String> = Vec::new();
    let mut told = BTreeSet::new();
    while let Some(line) = lines.next() {
        let Some(mark) = Mark::of(line).filter(|mark| mark.step > last) else {
            opened.push(line.to_owned());
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        let what = mark.rest.split(" Without: ").next().unwrap_or_default();
        opened.push(format!("{indent}// TODO: Step {}{what}", mark.step));
        while let Some(comment) = lines.next_if(|line| line.trim_start().starts_with("//")) {
            if comment.trim_start().starts_with("// Horovod: ") {
                opened.push(comment.to_owned());
            }
        }
        if told.insert(mark.step) {
            let names = needs.iter().filter(|(step, _)| *step == mark.step);
            opened.extend(names.map(|(_, path)| format!("{indent}// Needs: use {path};")));
        }
    }
    opened.join("\n") + "\n"
}

/// The lines in places of a step, and those that are in none of its places.
pub fn divided(text: &str, step: usize) -> (Vec<&str>, Vec<&str>) {
    let mut is_inside = false;
    text.lines().partition(|line| {
        match Mark::of(line) {
            Some(mark) => is_inside = mark.step == step,
            None => is_inside &= !line.trim().is_empty(),
        }
        is_inside
    })
}
