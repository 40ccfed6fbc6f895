//! What the checks say: every sentence of a verdict, apart from what is judged.
//!
//! Never decides anything: the check beside each file finds what is so, and hands it over as names, numbers and causes.

pub mod collectives;
pub mod four_changes;
pub mod group;
pub mod identity;
pub mod photos;
pub mod rate;
pub mod rule;
pub mod seen;
pub mod together;
pub mod work;

/// The first digits of a digest: enough to tell two apart in a sentence.
pub fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}

/// The first few of a list, and a sign where there are more.
pub fn some(items: impl Iterator<Item = String>, all: usize) -> String {
    let items: Vec<String> = items.take(4).collect();
    format!("{}{}", items.join(", "), if all > items.len() { ", ..." } else { "" })
}
