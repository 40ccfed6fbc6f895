//! What the words typed into the palette find.

use super::state::Entry;
use crate::tui::actions::Pane;

/// Other words for what a command's text says, as people know them from elsewhere.
pub static SYNONYMS: &[(&str, &str)] = &[
    ("write the shown runs to a file", "save export csv markdown json svg table"),
    ("write all lines", "save export"),
    ("name the chosen run", "rename title label"),
    ("write a note", "comment annotate"),
    ("move the chosen run to the trash", "remove rm erase"),
    ("undo the last", "restore back"),
    ("search a text", "find grep regex regexp"),
    ("only lines with", "grep"),
    ("start a run", "launch train go play"),
    ("stop the run", "kill cancel abort end"),
    ("train the chosen run for more epochs", "resume extend"),
    ("compare all runs with the chosen one", "reference"),
    ("compare the chosen run", "speedup speed-up gain diff difference"),
    ("details of the chosen run", "info command mpirun configuration"),
    ("edit it", "editor vim code exercise own"),
    ("what the chosen step changes", "diff code source"),
    ("more or fewer ranks", "processes workers gpus scale"),
    ("theme", "colour color dark light palette"),
    ("quit", "exit close leave"),
    ("release the mouse", "select copy text"),
    ("for a projector", "presentation beamer classroom large"),
    ("run without and with", "guided pair experiment"),
    ("run with all steps but one", "ablation experiment"),
    ("logarithmic", "scale"),
    ("pin the chosen run", "overlay"),
    ("choose a figure", "column"),
    ("copy the marked", "clipboard yank"),
    ("mark lines", "select visual"),
    ("each line came", "timestamps clock"),
];

/// The places of the entries that the typed words are found in: those that begin with them first, then those that have them
/// themselves, then those of which another word is known; of equal ones those that were used last (the newest first).
pub fn found(entries: &[Entry], typed: &str, recent: &[usize]) -> Vec<usize> {
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let has_all = |text: &str| words.iter().all(|word| text.contains(word));
    let rank = |(number, entry): (usize, &Entry)| {
        let pane = entry.pane.map_or("", Pane::title);
        let own = format!("{} {} {pane} {}", entry.text, entry.label, entry.key).to_lowercase();
        let others: Vec<&str> = SYNONYMS.iter().filter(|(of, _)| entry.text.contains(of)).map(|(_, words)| *words).collect();
        let kind = match () {
            () if own.starts_with(typed.trim()) || entry.label == typed.trim() => 0,
            () if has_all(&own) => 1,
            () if has_all(&format!("{own} {}", others.join(" "))) => 2,
            () => return None,
        };
        let used = recent.iter().position(|other| *other == number).unwrap_or(recent.len());
        // Before a word is typed there is nothing to choose by but that.
        Some((if words.is_empty() { 0 } else { kind }, used, number))
    };
    let mut found: Vec<(usize, usize, usize)> = entries.iter().enumerate().filter_map(rank).collect();
    found.sort_unstable();
    found.into_iter().map(|(.., number)| number).collect()
}
