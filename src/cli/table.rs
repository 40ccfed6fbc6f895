//! Columns of text for a terminal or a pipe.
//!
//! Never cuts a cell: a narrow terminal wraps.

/// Rows under a heading, columns as wide as their widest cell; numbers to the right.
pub(super) fn render(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let is_number = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).all(|cell| cell == "-" || cell.starts_with(|c: char| c.is_ascii_digit()))
    };
    let columns: Vec<(usize, bool)> = (0..heading.len()).map(|column| (width(column), is_number(column))).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        // Not by a width in `format!`, which panics beyond 65535.
        let padded = cells.zip(&columns).map(|(cell, (width, right))| {
            let spaces = " ".repeat(width.saturating_sub(cell.chars().count()));
            if *right { spaces + cell } else { cell.to_owned() + &spaces }
        });
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&mut heading.iter().copied());
    for row in rows {
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
        let lengths: Vec<usize> = render(&["run", "name"], &rows).lines().map(str::len).collect();
        assert_eq!(lengths, [9, 5 + 70_000, 6]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [["1", "finished", "-"], ["12", "failed", "1900"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(
            render(&["run", "state", "img/s"], &rows),
            "run  state     img/s\n  1  finished      -\n 12  failed     1900\n"
        );
    }
}
