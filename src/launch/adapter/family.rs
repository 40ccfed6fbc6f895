//! A family of programs whose lines look alike, and the notation of its lines.

use regex::{Regex, RegexBuilder};

/// Numbers as programs print them.
const NUMBER: &str = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|NaN|inf|Infinity)";
/// Memory of a compiled expression.
const MOST_BYTES: usize = 4 << 20;

/// A family of programs that print alike.
pub struct Family {
    pub name: &'static str,
    /// The shapes of its lines: the first that fits a line reads it. A group has the name of a field, perhaps with `_percent`.
    /// `total_rate` and `rate` are images a second, of all ranks or of one; `val` marks a line of validation. `NUM` is a number.
    pub lines: &'static [&'static str],
    /// Whether what a shape does not name may be looked for by its words.
    pub has_words: bool,
}

/// An expression in the notation of the families.
pub fn compiled(expression: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&expression.replace("NUM", NUMBER)).size_limit(MOST_BYTES).build();
    built.map_err(|error| error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}
