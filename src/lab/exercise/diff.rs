//! Two programs line by line: what goes, what comes, and which words of a line changed.

use std::collections::BTreeSet;
use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

use super::program::Program;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;
/// Part of the characters of two lines from which they stand beside each other.
const ALIKE: f32 = 0.6;

/// Time to look for the shortest difference; after it any difference will do.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of two lines, and pairs of lines, that are compared to find what stands beside what: a file may hold anything.
const LONGEST_LINE: usize = 1000;
const MOST_PAIRS: usize = 10_000;

/// The difference between two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Names of the two, for a heading: `before step 4`, `after step 4`.
    pub old: String,
    pub new: String,
    /// From top to bottom; empty if the two are equal.
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Lines that both have, with their numbers in the two.
    Same(Vec<(usize, Line)>),
    /// Lines of the old that give way to lines of the new; one of the two may be empty.
    Change { removed: Vec<Line>, added: Vec<Line> },
    /// This number of equal lines is left out.
    Gap(usize),
}

/// A line of a program, in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    pub parts: Vec<Part>,
}

/// A piece of a line; what is alike on the other side has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub has_changed: bool,
}

impl Line {
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

impl Diff {
    pub fn new(old: (impl Into<String>, &str), new: (impl Into<String>, &str)) -> Diff {
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old.1, new.1);
        let mut blocks = Vec::new();
        let mut shown_until = 0;
        for group in diff.grouped_ops(CONTEXT) {
            let start = group.first().map_or(0, |op| op.old_range().start);
            if start > shown_until {
                blocks.push(Block::Gap(start - shown_until));
            }
            shown_until = group.last().map_or(start, |op| op.old_range().end);
            blocks.extend(group.iter().map(|op| block(&diff, op)));
        }
        let left = diff.old_len() - shown_until;
        if !blocks.is_empty() && left > 0 {
            blocks.push(Block::Gap(left));
        }
        Diff { old: old.0.into(), new: new.0.into(), blocks }
    }

    /// Exactly what a place changes: the solution before it, and the one after.
    pub fn of_place(program: &Program, number: usize) -> Diff {
        let after = |number: usize| format!("after {} {number}", program.noun);
        let before = if number == 1 { "the serial program".to_owned() } else { after(number - 1) };
        Diff::new((before, &program.before(number)), (after(number), &program.solution(number)))
    }

    /// The learner's program against the solution with the places up to `number`, and with later ones that the learner has done: nobody
    /// is to undo those.
    pub fn to_solution(program: &Program, own: &str, number: usize) -> Diff {
        let later: BTreeSet<usize> = program.done(own).into_iter().filter(|done| *done > number).collect();
        let reached = program.numbers().take_while(|one| *one <= number || later.contains(one)).last().unwrap_or(number);
        let mut name = format!("solution after {} {reached}", program.noun);
        let others: Vec<String> = later.range(reached + 1..).map(usize::to_string).collect();
        if !others.is_empty() {
            name += &format!(", with {}s {} too", program.noun, others.join(", "));
        }
        Diff::new(("yours", own), (name, &program.solution_of(&(1..=number).chain(later).collect())))
    }

    /// Lines that go, and lines that come.
    pub fn count(&self) -> (usize, usize) {
        self.blocks.iter().fold((0, 0), |(removed, added), block| match block {
            Block::Change { removed: some, added: others } => (removed + some.len(), added + others.len()),
            Block::Same(_) | Block::Gap(_) => (removed, added),
        })
    }
}

fn block<'a>(diff: &'a TextDiff<'a, 'a, str>, op: &DiffOp) -> Block {
    let (mut same, mut removed, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for change in diff.iter_inline_changes(op) {
        let mut parts: Vec<Part> = Vec::new();
        for (has_changed, text) in change.iter_strings_lossy() {
            let text = text.trim_end_matches(['\n', '\r']);
            if !text.is_empty() {
                parts.push(Part { text: text.to_owned(), has_changed });
            }
        }
        let line = |index: Option<usize>| Line { number: index.unwrap_or(0) + 1, parts };
        match change.tag() {
            ChangeTag::Equal => same.push((change.new_index().unwrap_or(0) + 1, line(change.old_index()))),
            ChangeTag::Delete => removed.push(line(change.old_index())),
            ChangeTag::Insert => added.push(line(change.new_index())),
        }
    }
    if same.is_empty() { Block::Change { removed, added } } else { Block::Same(same) }
}

/// The lines of a change beside each other: each that goes with the one that comes in its place, where there is one.
pub fn side_by_side<'a>(removed: &'a [Line], added: &'a [Line]) -> Vec<(Option<&'a Line>, Option<&'a Line>)> {
    let mut pairs = Vec::new();
    let few = removed.len().saturating_mul(added.len()) <= MOST_PAIRS;
    let short = |line: &Line| line.parts.iter().map(|part| part.text.len()).sum::<usize>() <= LONGEST_LINE;
    let (mut removed, mut added) = (removed, added);
    while let [line, rest @ ..] = removed {
        let likeness = |other: &Line| {
            if few && short(line) && short(other) { TextDiff::from_chars(line.text(), other.text()).ratio() } else { 0.0 }
        };
        let alike = added.iter().map(likeness).enumerate().filter(|(_, likeness)| *likeness > ALIKE);
        let most_alike = alike.max_by(|(_, one), (_, other)| one.total_cmp(other));
        let (taken, twin) = most_alike.map_or((0, None), |(place, _)| (place + 1, added.get(place)));
        pairs.extend(added.iter().take(taken.saturating_sub(1)).map(|line| (None, Some(line))));
        pairs.push((Some(line), twin));
        (removed, added) = (rest, &added[taken..]);
    }
    pairs.extend(added.iter().map(|line| (None, Some(line))));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::{PROGRAMS, TEN_STEPS};

    /// What each place of each program changes.
    fn all() -> impl Iterator<Item = (&'static Program, usize, Diff)> {
        let of =
            |program: &'static Program| program.numbers().map(move |number| (program, number, Diff::of_place(program, number)));
        PROGRAMS.into_iter().flat_map(of)
    }

    type Numbered = Vec<(usize, String)>;

    /// Both programs again, as far as a diff shows them, and how many lines of the old it leaves out.
    fn shown(diff: &Diff) -> (Numbered, Numbered, usize) {
        let (mut old, mut new, mut gaps) = (Vec::new(), Vec::new(), 0);
        for block in &diff.blocks {
            match block {
                Block::Same(lines) => lines.iter().for_each(|(number, line)| {
                    old.push((line.number, line.text()));
                    new.push((*number, line.text()));
                }),
                Block::Change { removed, added } => {
                    old.extend(removed.iter().map(|line| (line.number, line.text())));
                    new.extend(added.iter().map(|line| (line.number, line.text())));
                }
                Block::Gap(lines) => gaps += lines,
            }
        }
        (old, new, gaps)
    }

    #[test]
    fn what_is_shown_stands_at_its_number_in_both_programs_and_nothing_is_lost() {
        for (program, number, diff) in all() {
            let (old, new, gaps) = shown(&diff);
            let (before, after) = (program.before(number), program.solution(number));
            let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
            assert!(old.iter().all(|(line, text)| before[line - 1] == text), "{} {number}", program.noun);
            assert!(new.iter().all(|(line, text)| after[line - 1] == text), "{} {number}", program.noun);
            assert_eq!(old.len() + gaps, before.len());
            assert_eq!(new.len() + gaps, after.len());
            let (removed, added) = diff.count();
            assert!(removed > 0 && added > 0 && before.len() + added == after.len() + removed);
        }
    }

    #[test]
    fn a_changed_word_is_marked_and_its_neighbours_are_not() {
        let diff = Diff::new(("old", "let lr = base_lr;\nkept\n"), ("new", "let lr = base_lr * size;\nkept\n"));
        let Block::Change { removed, added } = &diff.blocks[0] else { panic!("{diff:?}") };
        let changed =
            |line: &Line| line.parts.iter().filter(|part| part.has_changed).map(|part| part.text.clone()).collect::<String>();
        assert!(added[0].parts.iter().any(|part| !part.has_changed && part.text.contains("let lr")), "{diff:?}");
        assert!(changed(&added[0]).contains("size") && !changed(&removed[0]).contains("let"), "{diff:?}");
        assert_eq!(side_by_side(removed, added), [(Some(&removed[0]), Some(&added[0]))]);
        assert_eq!(side_by_side(&[], added), [(None, Some(&added[0]))]);
    }

    #[test]
    fn a_line_stands_beside_the_one_that_takes_its_place() {
        for (.., diff) in all() {
            for block in diff.blocks {
                let Block::Change { removed, added } = block else { continue };
                let pairs = side_by_side(&removed, &added);
                let (left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                assert!(
                    left.into_iter().flatten().eq(&removed) && right.into_iter().flatten().eq(&added),
                    "none twice, in order"
                );
            }
        }
        let line = |number, text: &str| Line { number, parts: vec![Part { text: text.into(), has_changed: true }] };
        let (old, new) = ([line(1, "let lr = base_lr;")], [line(1, "// scaled"), line(2, "let lr = base_lr * size;")]);
        assert_eq!(side_by_side(&old, &new), [(None, Some(&new[0])), (Some(&old[0]), Some(&new[1]))]);
    }

    #[test]
    fn a_file_that_holds_anything_is_compared_in_time() {
        let begin = std::time::Instant::now();
        let many: String = (0..100_000).map(|number| format!("\n{{{number}}}\n")).collect();
        for own in [TEN_STEPS.exercise.to_owned() + &many, TEN_STEPS.exercise.to_owned() + &"x".repeat(4 << 20)] {
            let diff = Diff::to_solution(&TEN_STEPS, &own, 4);
            for block in &diff.blocks {
                let Block::Change { removed, added } = block else { continue };
                assert!(side_by_side(removed, added).len() >= removed.len().max(added.len()));
            }
        }
        assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
    }

    #[test]
    fn later_places_that_are_done_are_not_shown_as_to_undo() {
        for program in PROGRAMS {
            let all: BTreeSet<usize> = program.numbers().collect();
            for open in 1..program.count {
                let done: BTreeSet<usize> = all.iter().copied().filter(|number| *number != open).collect();
                let own = program.solution_of(&done);
                assert_eq!(program.done(&own), done, "{} {open}", program.mark);
                let before = Diff::to_solution(program, &own, open - 1);
                assert_eq!(before.blocks, [], "{} {open}", program.mark);
                let (removed, added) = Diff::to_solution(program, &own, open).count();
                assert!(removed + added > 0, "{} {open}", program.mark);
                assert_eq!(
                    Diff::to_solution(program, &own, open).new,
                    format!("solution after {} {}", program.noun, program.count)
                );
            }
        }
        let own = TEN_STEPS.solution_of(&[1, 2, 3, 5, 6, 9].into());
        assert_eq!(Diff::to_solution(&TEN_STEPS, &own, 3).new, "solution after step 3, with steps 5, 6, 9 too");
    }

    #[test]
    fn equal_programs_have_no_blocks() {
        assert_eq!(Diff::to_solution(&TEN_STEPS, &TEN_STEPS.solution(9), 9).blocks, []);
    }
}
