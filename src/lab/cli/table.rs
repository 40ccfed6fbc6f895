//! Columns of text for a terminal or a pipe.
//!
//! Never cuts a cell: a narrow terminal wraps.

use crate::columns;
use crate::domain::printable;

/// Rows under a heading, columns as wide as their widest cell; numbers to the right.
pub(super) fn render(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    // Before they are measured; a name with a line break must not look like a row of its own.
    let safe = |row: Vec<String>| row.iter().map(|cell| printable::line(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(safe).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| columns::width(cell));
        cells.chain([columns::width(heading[column])]).max().unwrap_or(0)
    };
    let is_number = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).all(|cell| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit()))
    };
    let columns: Vec<(usize, bool)> = (0..heading.len()).map(|column| (width(column), is_number(column))).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        // Not by a width in `format!`, which panics beyond 65535.
        let padded = cells.zip(&columns).map(|(cell, (width, right))| match right {
            true => columns::right(cell, *width),
            false => columns::left(cell, *width),
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&mut heading.iter().copied());
    for row in &rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// The text, or `-` where there is none.
pub(super) fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "-".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_may_be_as_long_as_it_likes() {
        let rows = [vec!["1".to_owned(), "x".repeat(70_000)], vec!["2".to_owned(), "y".to_owned()]];
        let lengths: Vec<usize> = render(&["run", "name"], rows).lines().map(str::len).collect();
        assert_eq!(lengths, [9, 5 + 70_000, 6]);
    }

    #[test]
    fn a_cell_is_one_line_and_as_wide_as_it_looks() {
        let rows = [["日本", "x"], ["a\n2  \x1b[2Jfinished", "y"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(render(&["name", "of"], rows), "name           of\n日本           x\na 2  finished  y\n");
    }

    #[test]
    fn columns_line_up() {
        let rows = [["1", "finished", "-"], ["12", "failed", "1900"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(
            render(&["run", "state", "img/s"], rows),
            "run  state     img/s\n  1  finished      -\n 12  failed     1900\n"
        );
    }
}
