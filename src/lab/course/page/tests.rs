//! Tests of the layout.

use super::*;

const TEXT: &str = "\
# One

A first paragraph with **strong words**, `hvd.rank() == 0` and
a [link](https://example.org) in it.

- an item that is long enough to be broken into two rows
  - nested
3. three

> a quote

```rust
fn main() {}
```

| step | what it is for |
|---|---:|
| 1 | to know who else is there, and which device is mine |
| 10 | NovoGrad |
";

fn plain(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.iter().map(|piece| piece.text.as_str()).collect()).collect()
}

#[test]
fn blocks_are_laid_out_within_the_width() {
    assert_eq!(
        plain(&lay_out(TEXT, 40)),
        [
            "One",
            "",
            "A first paragraph with strong words,",
            "hvd.rank() == 0 and a link in it.",
            "",
            "• an item that is long enough to be",
            "  broken into two rows",
            "  • nested",
            "",
            "3. three",
            "",
            "│ a quote",
            "",
            "  fn main() {}",
            "",
            "step  what it is for",
            "────  ──────────────────────────────────",
            "1     to know who else is there, and",
            "      which device is mine",
            "10    NovoGrad",
        ]
    );
    for width in 6..100 {
        assert!(plain(&lay_out(TEXT, width)).iter().all(|row| row.chars().count() <= width.max(LEAST_COLUMN * 2 + GAP)));
    }
}

#[test]
fn pieces_know_what_they_are() {
    let rows = lay_out(TEXT, 60);
    let role = |text: &str| rows.iter().flatten().find(|piece| piece.text == text).map(|piece| piece.role);
    assert_eq!(role("One"), Some(Role::Heading));
    assert_eq!(role("strong"), Some(Role::Strong));
    assert_eq!(role("hvd.rank() == 0"), Some(Role::Code));
    assert_eq!(role("link"), Some(Role::Link));
    assert_eq!(role("  fn main() {}"), Some(Role::Code));
}

#[test]
fn any_text_is_laid_out() {
    // A letter with so many marks, each in a column of its own, that it is wider than a row.
    let wide = "a ｶ".to_owned() + &"ﾞ".repeat(200) + " b";
    for text in ["", "\n\n", "```\nopen", "| a |\n|---|", "- \n- ", "> ", "**", "1. a\n\n   b\n2. c", "<b>x</b>", "a\\\nb", &wide]
    {
        for width in 0..12 {
            lay_out(text, width);
        }
    }
}
