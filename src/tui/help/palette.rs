//! What the words typed into the palette find.

use super::state::Entry;
use crate::tui::actions::pane::Pane;

/// The places of the entries that the typed words are found in: those that begin with them first, then those that have all
/// of them.
pub fn found(entries: &[Entry], typed: &str) -> Vec<usize> {
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let all = entries.iter().enumerate().map(|(number, entry)| {
        let pane = entry.pane.map_or("", Pane::title);
        (number, format!("{} {} {pane} {}", entry.text, entry.label, entry.key).to_lowercase())
    });
    let mut found: Vec<(usize, String)> = all.filter(|(_, all)| words.iter().all(|word| all.contains(word))).collect();
    found.sort_by_key(|(_, all)| !all.starts_with(typed.trim()));
    found.into_iter().map(|(number, _)| number).collect()
}
