//! Text that means itself inside of markup: names and notes that people type end up in reports.
//!
//! Never lets a line break through, nor what `safe` takes out.

use super::printable;

/// For a Markdown table or paragraph: no markup, no cell border, no second line.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable::line(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '<' | '>' | '[' | ']' | '&' | '#' | '~' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A Markdown table, whatever stands in its cells.
pub fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heading.join(" | "), "---|".repeat(heading.len()));
    rows.for_each(|cells| text += &format!("| {} |\n", cells.iter().map(|cell| markdown(cell)).collect::<Vec<_>>().join(" | ")));
    text
}

/// For HTML and SVG, in text and in attributes.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable::line(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// For LaTeX, outside of formulas.
pub fn latex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable::line(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '<' => escaped += "\\textless{}",
            '>' => escaped += "\\textgreater{}",
            '|' => escaped += "\\textbar{}",
            // Its own command is missing in LaTeX's oldest encoding, which is the default one.
            '"' => escaped += "''",
            '–' => escaped += "--",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        assert_eq!(markdown("a|b\n<script>*x*"), "a\\|b \\<script\\>\\*x\\*");
        assert_eq!(markdown("400 / 32 = 13 (0.5)"), "400 / 32 = 13 (0.5)");
        assert_eq!(xml("<b>'\"&\u{0}"), "&lt;b&gt;&#39;&quot;&amp;");
        assert_eq!(latex("50 % of \\a_b"), "50 \\% of \\textbackslash{}a\\_b");
    }
}
