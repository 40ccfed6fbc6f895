//! Parts of a lesson that stay folded until a learner asks for them: the same lines in another library or language.

use std::borrow::Cow;

/// Headings of the parts that fold for those who write Python, and for those who write Rust.
const FOR_PYTHON: &[&str] = &["Horovod with PyTorch", "Here in Rust"];
const FOR_RUST: &[&str] = &["Horovod with Keras", "Horovod with PyTorch", "Here in Python"];

/// The text with one line in place of the parts that fold for a learner who `writes_rust`, or else Python. `how` says how to unfold
/// them.
pub fn fold<'a>(markdown: &'a str, writes_rust: bool, how: &str) -> Cow<'a, str> {
    if !has_folds(markdown, writes_rust) {
        return markdown.into();
    }
    let mut text = String::with_capacity(markdown.len());
    let mut folded: Vec<&str> = Vec::new();
    let mut is_in_fence = false;
    for line in markdown.lines() {
        is_in_fence ^= line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        let ends = !is_in_fence && ["# ", "## ", "### "].iter().any(|level| line.starts_with(level));
        match part(line, writes_rust).filter(|_| ends) {
            Some(name) => folded.push(name),
            None if ends && !folded.is_empty() => {
                text.push_str(&format!("*Folded: {}. {how}*\n\n", std::mem::take(&mut folded).join(", ")));
            }
            None => {}
        }
        if folded.is_empty() {
            text.push_str(line);
            text.push('\n');
        }
    }
    if !folded.is_empty() {
        text.push_str(&format!("*Folded: {}. {how}*\n", folded.join(", ")));
    }
    text.into()
}

/// Whether anything in the text folds.
pub fn has_folds(markdown: &str, writes_rust: bool) -> bool {
    markdown.lines().any(|line| part(line, writes_rust).is_some())
}

/// The part that begins with this line.
fn part(line: &str, writes_rust: bool) -> Option<&'static str> {
    let heading = line.strip_prefix("### ")?.trim();
    let folded = if writes_rust { FOR_RUST } else { FOR_PYTHON };
    folded.iter().copied().find(|name| *name == heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "## How\n\n### Horovod with Keras\n\nk\n\n### Horovod with PyTorch\n\n```python\n### Here in Rust\np\n```\n\n\
                        ### Here in Rust\n\nr\n\n## Run it\n\nx\n";

    #[test]
    fn one_line_stands_for_the_parts_that_fold() {
        let folded = fold(TEXT, false, "Press f.");
        let wanted =
            "## How\n\n### Horovod with Keras\n\nk\n\n*Folded: Horovod with PyTorch, Here in Rust. Press f.*\n\n## Run it\n\nx\n";
        assert_eq!(folded, wanted);
        let in_rust = fold(TEXT, true, "Press f.");
        assert!(in_rust.contains("*Folded: Horovod with Keras, Horovod with PyTorch. Press f.*"), "{in_rust}");
        assert!(in_rust.contains("### Here in Rust\n\nr\n") && !in_rust.contains("\nk\n"), "{in_rust}");
        let at_the_end = fold("a\n### Here in Rust\nr\n", false, "Press f.");
        assert_eq!(at_the_end, "a\n*Folded: Here in Rust. Press f.*\n");
    }

    #[test]
    fn a_text_without_such_parts_stays_as_it_is() {
        assert!(matches!(fold("## How\n\n### Here\n\nr\n", false, "Press f."), Cow::Borrowed(_)));
        assert!(has_folds(TEXT, false) && !has_folds("Here in Rust\n", true));
    }
}
