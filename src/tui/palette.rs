//! The command palette: everything that a key does, found by its words.
//!
//! Never a list of its own: what is not in the key table is not here.

use super::keymap::{self, Binding, Command, On, Scope};
use super::state::Pane;
use crate::domain::step::Step;

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub scope: Scope,
    pub command: Command,
    pub key: String,
    /// What it does.
    pub text: String,
}

impl Entry {
    /// The pane it works in, which gets the focus.
    pub fn pane(&self) -> Option<Pane> {
        match self.scope {
            Scope::Pane(pane) => Some(pane),
            _ => None,
        }
    }
}

/// What the typed words are found in: those that begin with them first, then those that have all of them.
pub fn found(typed: &str) -> Vec<Entry> {
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let mut found: Vec<(Entry, String)> = entries()
        .map(|(entry, label)| {
            let pane = entry.pane().map_or("", Pane::title);
            let all = format!("{} {label} {pane} {}", entry.text, entry.key).to_lowercase();
            (entry, all)
        })
        .filter(|(_, all)| words.iter().all(|word| all.contains(word)))
        .collect();
    found.sort_by_key(|(_, all)| !all.starts_with(typed.trim()));
    found.into_iter().map(|(entry, _)| entry).collect()
}

/// With their labels. A key for ten steps is ten commands.
fn entries() -> impl Iterator<Item = (Entry, &'static str)> {
    keymap::table().filter(|binding| is_listed(binding)).flat_map(|binding| {
        let entry = |command, key: String, text: String| (Entry { scope: binding.scope, command, key, text }, binding.label);
        if binding.on.contains(&On::Digit) {
            let step = |step: Step| {
                let key = (step.number() % 10).to_string();
                entry(Command::ToggleStep(step), key, format!("toggle step {}: {}", step.number(), step.title()))
            };
            Step::ALL.into_iter().map(step).collect::<Vec<_>>()
        } else {
            vec![entry(binding.command, binding.key.to_owned(), binding.help.to_owned())]
        }
    })
}

/// Moving about is for fingers, and the palette is open already.
fn is_listed(binding: &Binding) -> bool {
    let moves = [Command::Up, Command::Down, Command::PageUp, Command::PageDown, Command::Back, Command::Palette];
    let in_panes = !matches!(binding.scope, Scope::Window(_));
    in_panes && !binding.help.is_empty() && !moves.contains(&binding.command)
}
