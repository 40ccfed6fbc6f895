//! A diff laid out as rows of a given width, in one column or in two beside each other: pieces with roles.
//!
//! A mark before each line says the same as its role, for output without colours.

use crate::columns;
use crate::course;
use crate::domain::units;

use super::diff::{Block, Diff, Line, side_by_side};

/// What a piece of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Same,
    Removed,
    Added,
    /// Words that changed, inside of a line that did.
    RemovedWord,
    AddedWord,
    /// Numbers, rules, and words of ours.
    Sign,
}

pub type Piece = course::Piece<Role>;
pub type Row = course::Row<Role>;

/// Columns from which there is room for two programs beside each other.
pub const TWO_COLUMNS: usize = 108;
/// Between the two.
const RULE: &str = " │ ";
/// Digits of a line number.
const DIGITS: usize = 3;

/// The rows of a diff, none longer than `width`; in two columns if that is asked for and there is room.
pub fn rows(diff: &Diff, width: usize, beside: bool) -> Vec<Row> {
    if diff.blocks.is_empty() {
        return vec![vec![sign(format!("no difference: {} and {} are equal", diff.old, diff.new))]];
    }
    let beside = beside && width >= TWO_COLUMNS;
    let mut rows = vec![heading(diff, width, beside)];
    for block in &diff.blocks {
        match (block, beside) {
            (Block::Gap(lines), _) => rows.push(vec![sign(format!("  … {} unchanged", units::counted(*lines, "line")))]),
            (Block::Same(lines), false) => {
                for (new, line) in lines {
                    one_column(&mut rows, line, Some(line.number), Some(*new), Role::Same, width);
                }
            }
            (Block::Change { removed, added }, false) => {
                removed.iter().for_each(|line| one_column(&mut rows, line, Some(line.number), None, Role::Removed, width));
                added.iter().for_each(|line| one_column(&mut rows, line, None, Some(line.number), Role::Added, width));
            }
            (Block::Same(lines), true) => {
                for (new, line) in lines {
                    let right = Line { number: *new, parts: line.parts.clone() };
                    two_columns(&mut rows, Some(line), Some(&right), [Role::Same; 2], width);
                }
            }
            (Block::Change { removed, added }, true) => {
                for (left, right) in side_by_side(removed, added) {
                    two_columns(&mut rows, left, right, [Role::Removed, Role::Added], width);
                }
            }
        }
    }
    rows
}

fn heading(diff: &Diff, width: usize, beside: bool) -> Row {
    if !beside {
        return vec![sign(format!("- {}   + {}", diff.old, diff.new))];
    }
    let side = (width - columns::width(RULE)) / 2;
    let left = columns::left(&format!("- {}", diff.old), side);
    vec![sign(format!("{left}{RULE}+ {}", diff.new))]
}

fn one_column(rows: &mut Vec<Row>, line: &Line, old: Option<usize>, new: Option<usize>, role: Role, width: usize) {
    let number = |number: Option<usize>| number.map_or(" ".repeat(DIGITS), |number| format!("{number:>DIGITS$}"));
    let before = format!("{} {} {} ", number(old), number(new), mark(role));
    rows.extend(behind(&before, line, role, width));
}

/// A line in rows of at most `width` columns, with a text before the first of them and blanks before the others.
fn behind(before: &str, line: &Line, role: Role, width: usize) -> Vec<Row> {
    let folded = folded(line, role, width.saturating_sub(before.len())).into_iter().enumerate();
    let first = |index: usize| if index == 0 { before.to_owned() } else { " ".repeat(before.len()) };
    folded.map(|(index, pieces)| [vec![sign(first(index))], pieces].concat()).collect()
}

fn two_columns(rows: &mut Vec<Row>, left: Option<&Line>, right: Option<&Line>, roles: [Role; 2], width: usize) {
    let side = (width - columns::width(RULE)) / 2;
    let cells = [(left, roles[0]), (right, roles[1])].map(|(line, role)| {
        let Some(line) = line else { return Vec::new() };
        behind(&format!("{:>DIGITS$} {} ", line.number, mark(role)), line, role, side)
    });
    for index in 0..cells[0].len().max(cells[1].len()) {
        let mut row = cells[0].get(index).cloned().unwrap_or_default();
        let used: usize = row.iter().map(|piece| columns::width(&piece.text)).sum();
        row.push(sign(format!("{}{RULE}", " ".repeat(side.saturating_sub(used)))));
        row.extend(cells[1].get(index).cloned().unwrap_or_default());
        rows.push(row);
    }
}

/// A line in rows of at most `width` columns; at least one. It is broken at spaces where there are any, and goes on a
/// little further in than it began.
fn folded(line: &Line, role: Role, width: usize) -> Vec<Row> {
    let mut signs: Vec<(&str, Role)> = Vec::new();
    for part in &line.parts {
        let role = match (role, part.has_changed) {
            (Role::Removed, true) => Role::RemovedWord,
            (Role::Added, true) => Role::AddedWord,
            (role, _) => role,
        };
        signs.extend(columns::signs(&part.text).map(|sign| (sign, role)));
    }
    let mut rest = signs.as_slice();
    let width = width.max(8);
    let further = (rest.iter().take_while(|(sign, _)| *sign == " ").count() + 2).min(width / 2);
    let (mut rows, mut indent) = (Vec::new(), 0);
    loop {
        let room = width - indent;
        let mut used = 0;
        let fits = |(sign, _): &&(&str, Role)| {
            used += columns::width(sign);
            used <= room
        };
        // A letter may carry so many marks that it is wider than the row: it stands there alone.
        let fitting = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let end = if fitting == rest.len() {
            fitting
        } else {
            rest[..fitting].iter().rposition(|(sign, _)| *sign == " ").filter(|at| *at > further).map_or(fitting, |at| at + 1)
        };
        let mut row = if indent > 0 { vec![sign(" ".repeat(indent))] } else { Row::new() };
        let (now, after) = rest.split_at(end);
        for (sign, role) in now {
            match row.last_mut().filter(|piece| piece.role == *role) {
                Some(piece) => piece.text.push_str(sign),
                None => row.push(Piece { text: (*sign).into(), role: *role }),
            }
        }
        rest = after;
        rows.push(row);
        if rest.is_empty() {
            return rows;
        }
        indent = further;
    }
}

fn mark(role: Role) -> char {
    match role {
        Role::Removed | Role::RemovedWord => '-',
        Role::Added | Role::AddedWord => '+',
        Role::Same | Role::Sign => ' ',
    }
}

fn sign(text: impl Into<String>) -> Piece {
    Piece { text: text.into(), role: Role::Sign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::TEN_STEPS;

    #[test]
    fn a_long_line_is_broken_at_spaces_and_loses_nothing() {
        let long = "    let one = two(three, four, five, six, seven, eight, nine, ten, eleven, twelve);";
        let diff = Diff::new(("old", ""), ("new", long));
        let rows: Vec<String> = rows(&diff, 40, false).iter().map(text).collect();
        assert!(rows.len() > 3 && rows[2].starts_with(&" ".repeat(16)), "{rows:?}");
        let whole: String = rows[1..].iter().flat_map(|row| row.split_whitespace()).skip(2).collect();
        assert_eq!(whole, long.replace(' ', ""));
    }

    #[test]
    fn a_letter_with_more_marks_than_a_row_has_columns_stands_alone() {
        // Each mark takes a column of its own, and all of them are one sign with the letter.
        let diff = Diff::new(("old", ""), ("new", &format!("a {} b", "ｶ".to_owned() + &"ﾞ".repeat(200))));
        let whole: String = rows(&diff, 40, false)[1..].iter().map(text).collect();
        assert_eq!(whole.matches('ﾞ').count(), 200, "{whole}");
    }

    fn text(row: &Row) -> String {
        row.iter().map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn every_row_fits_in_one_column_and_in_two() {
        for step in TEN_STEPS.numbers() {
            for (width, beside) in [(40, false), (72, false), (72, true), (108, true), (130, true)] {
                for row in rows(&Diff::of_place(&TEN_STEPS, step), width, beside) {
                    assert!(text(&row).chars().count() <= width, "{width}: {}", text(&row));
                }
            }
        }
    }

    #[test]
    fn one_column_marks_lines_with_signs_and_two_put_them_beside_each_other() {
        let diff = Diff::new(("old", "fn f() {\n    a(1);\n}\n"), ("new", "fn f() {\n    a(1, 2);\n}\n"));
        let one: Vec<String> = rows(&diff, 72, false).iter().map(text).collect();
        assert_eq!(one[0], "- old   + new");
        assert_eq!(one[2..4], ["  2     -     a(1);", "      2 +     a(1, 2);"]);
        let two: Vec<String> = rows(&diff, TWO_COLUMNS, true).iter().map(text).collect();
        assert_eq!(two.len(), 4, "{two:?}");
        assert!(two[2].starts_with("  2 -     a(1);") && two[2].ends_with("│   2 +     a(1, 2);"), "{}", two[2]);
        // No room: one column after all.
        assert_eq!(rows(&diff, TWO_COLUMNS - 1, true), rows(&diff, TWO_COLUMNS - 1, false));
    }
}
