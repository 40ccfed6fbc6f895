//! Columns of text for a terminal or a pipe.
//!
//! Never cuts a cell: a narrow terminal wraps.

use crate::columns;
use crate::domain::printable;

/// Rows under a heading, columns as wide as their widest cell; numbers to the right.
pub(super) fn render(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    // Before they are measured; a name with a line break must not look like a row of its own.
    let safe = |row: Vec<String>| row.iter().map(|cell| printable::line(cell).into_owned()).collect();
    let heading = heading.iter().map(|name| (*name).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows.into_iter().map(safe)).collect();
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let width = |column: usize| cells(column).map(|cell| columns::width(cell)).max().unwrap_or(0);
    let is_number = |cell: &String| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit());
    let columns: Vec<(usize, bool)> =
        (0..rows[0].len()).map(|column| (width(column), cells(column).skip(1).all(is_number))).collect();
    let line = |row: &Vec<String>| {
        // Not by a width in `format!`, which panics beyond 65535.
        let pad = |(cell, (width, right)): (&String, &(usize, bool))| {
            if *right { columns::right(cell, *width) } else { columns::left(cell, *width) }
        };
        format!("{}\n", row.iter().zip(&columns).map(pad).collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
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
