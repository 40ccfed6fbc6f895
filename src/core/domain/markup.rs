//! Text that means itself inside of markup: names and notes that people type end up in reports.
//!
//! Never lets a line break through, nor what `safe` takes out.

use super::printable;

/// One line of plain text, with a backslash before some characters and words in the place of others.
fn escaped(text: &str, backslashed: &str, words: &[(char, &str)]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable::line(text).chars() {
        match words.iter().find(|(special, _)| *special == c) {
            Some((_, word)) => escaped += word,
            None if backslashed.contains(c) => escaped.extend(['\\', c]),
            None => escaped.push(c),
        }
    }
    escaped
}

/// For a Markdown table or paragraph: no markup, no cell border, no second line.
pub fn markdown(text: &str) -> String {
    escaped(text, r"\`*_|<>[]&#~", &[])
}

/// A Markdown table, whatever stands in its cells.
pub fn table(heading: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", heading.join(" | "), "---|".repeat(heading.len()));
    rows.for_each(|cells| text += &format!("| {} |\n", cells.iter().map(|cell| markdown(cell)).collect::<Vec<_>>().join(" | ")));
    text
}

/// For HTML and SVG, in text and in attributes.
pub fn xml(text: &str) -> String {
    escaped(text, "", &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")])
}

/// For LaTeX, outside of formulas.
pub fn latex(text: &str) -> String {
    const WORDS: [(char, &str); 8] = [
        ('\\', r"\textbackslash{}"),
        ('~', r"\textasciitilde{}"),
        ('^', r"\textasciicircum{}"),
        ('<', r"\textless{}"),
        ('>', r"\textgreater{}"),
        ('|', r"\textbar{}"),
        ('"', "''"),
        ('–', "--"),
    ];
    escaped(text, "&%$#_{}", &WORDS)
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
