//! Lines of a table as spreadsheets and scripts write them: what separates the cells, and the cells.

/// The cells of a line, without quotes and without the empty cells that a spreadsheet writes behind the last column.
pub fn cells(line: &str, separator: char, columns: usize) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            _ if letter == separator && !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().into_iter().for_each(|cell| cell.push(letter)),
        }
    }
    while cells.len() > columns && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The headings of a table: its separator, and its columns in small letters.
pub fn headings(line: &str) -> (char, Vec<String>) {
    let separator = [';', '\t'].into_iter().find(|separator| line.contains(*separator)).unwrap_or(',');
    (separator, cells(line, separator, 0).iter().map(|column| column.to_lowercase()).collect())
}

/// A number of a cell. Where commas do not separate the cells, they separate decimals.
pub fn number(cell: &str, separator: char) -> Option<f64> {
    if separator == ',' { cell.parse().ok() } else { cell.replace(',', ".").parse().ok() }
}

/// The lines that say something, with their numbers from 1: not empty ones, comments, rows of empty cells and Excel's `sep=;`.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let says_something = |line: &str| !line.chars().all(|letter| matches!(letter, ' ' | '\t' | ';' | ',' | '"'));
    // Old programs on the Mac end lines with a carriage return alone.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let lines = text.split(end).enumerate().map(|(at, line)| (at + 1, line.trim_end_matches('\r')));
    lines.filter(move |(_, line)| says_something(line) && !line.trim_start().starts_with('#') && !line.starts_with("sep="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_decides_and_quotes_and_empty_columns_are_taken_off() {
        for (line, columns) in [
            ("Name,Work", &["name", "work"][..]),
            ("name; \"work\" ;;;", &["name", "work"]),
            ("name\tlast, first\t", &["name", "last, first"]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("", &[]),
        ] {
            assert_eq!(headings(line).1, columns, "{line}");
        }
        assert_eq!(cells("fc,1000,", ',', 3), ["fc", "1000", ""], "a column without a value");
        assert_eq!(cells("a;b;;;", ';', 2), ["a", "b"]);
        assert_eq!((number("0,5", ';'), number("0,5", ','), number("0.5", ',')), (Some(0.5), None, Some(0.5)));
        let found: Vec<_> = lines("sep=;\r\n# mine\r\na;b\r\n;;\r\n\r\n1;2").collect();
        assert_eq!(found, [(3, "a;b"), (6, "1;2")]);
        assert_eq!(lines("a\r1\r").collect::<Vec<_>>(), [(1, "a"), (2, "1")]);
    }
}
