//! The families of programs whose lines look alike, and the shapes of those lines, from `assets/adapters.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

/// A family of programs that print alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    pub name: String,
    /// The shapes of its lines: the first that fits a line reads it.
    pub lines: Vec<String>,
    /// Whether what a shape does not name may be looked for by its words.
    pub has_words: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    family: Vec<Family>,
}

/// A line that two families could read belongs to the first one.
// The file is part of the program, and tests read it.
pub(super) static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let table: Table = toml::from_str(include_str!("../../../../assets/adapters.toml")).unwrap_or_default();
    table.family
});
