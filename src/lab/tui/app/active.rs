//! The keys in force: those of the window in front, else of the focused pane and of all panes.

use crossterm::event::KeyEvent;

use super::features::Command;
use super::features::State;
use super::keymap::{Key, Scope, table};
use super::windows;

/// What `key` asks for now.
pub fn command(state: &State, key: KeyEvent) -> Option<Command> {
    keys(state).into_iter().find_map(|row| row.binding.command_of(key))
}

/// The keys in force, the most specific first.
pub fn keys(state: &State) -> Vec<Key> {
    let window = windows::keys(state);
    let in_force = |key: &&Key| match key.scope {
        Scope::Everywhere => true,
        Scope::Panes => window.is_none(),
        Scope::Pane(pane) => window.is_none() && pane == state.focus,
        Scope::Replay => window.is_none() && state.shared.replay.is_some(),
        Scope::Pages => windows::scrolls(state),
        Scope::Window => false,
    };
    let own = window.iter().flatten().map(|binding| Key { scope: Scope::Window, binding: *binding });
    table().filter(in_force).copied().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::actions::keys::{Binding, On};

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        let mut places: Vec<Vec<Binding<Command>>> = windows::tables();
        let mut scopes: Vec<Scope> = table().map(|key| key.scope).collect();
        scopes.dedup();
        for scope in scopes {
            places.push(table().filter(|key| key.scope == scope).map(|key| key.binding).collect());
        }
        assert!(places.len() > 20);
        for place in places {
            for (index, binding) in place.iter().enumerate() {
                for other in &place[index + 1..] {
                    let shared = binding.on.iter().find(|on| other.on.contains(on) && **on != On::Text);
                    assert_eq!(shared, None, "{binding:?} and {other:?}");
                }
            }
        }
    }

    /// Nobody gets what they did not mean because another pane has the focus. What opened a window closes it, and `n` is no.
    #[test]
    fn these_letters_mean_the_same_wherever_they_stand() {
        let all: Vec<Binding<Command>> = table().map(|key| key.binding).chain(windows::tables().into_iter().flatten()).collect();
        // `Runs(Compare)` and `App(Compare)` are one thing.
        let name = |binding: &Binding<Command>| {
            let text = format!("{:?}", binding.command);
            text.split(['(', ')']).nth(1).unwrap_or_default().to_owned()
        };
        let mut conflicts = Vec::new();
        for letter in ('A'..='Z').chain('a'..='z').chain(['?']).filter(|letter| !OF_THEIR_PLACE.contains(*letter)) {
            let meanings = all.iter().filter(|binding| binding.on.contains(&On::Char(letter))).map(name);
            let meanings: std::collections::BTreeSet<String> = meanings.filter(|name| name != "Back").collect();
            let is_one = match letter {
                // Of a name, and of what was changed in one's own program.
                'u' => meanings.iter().all(|name| name == "Undo" || name == "Reset"),
                // The question that it asked is answered by it too.
                'c' => meanings.iter().all(|name| name == "Continue" || name == "Accept"),
                'x' => meanings.iter().all(|name| ["Stop", "StopAndLeave", "Accept"].contains(&name.as_str())),
                _ => meanings.len() <= 1,
            };
            if !is_one {
                conflicts.push(format!("{letter}: {meanings:?}"));
            }
        }
        assert!(conflicts.is_empty(), "{conflicts:#?}");
    }

    /// Moving about, yes and no, and what is about the one list or graph that has the focus: it is named there.
    const OF_THEIR_PLACE: &str = "hjklyNabfmos";

    #[test]
    fn whatever_the_footer_names_works() {
        let of_windows = windows::tables().into_iter().flatten();
        for binding in table().map(|key| key.binding).chain(of_windows) {
            assert!(!binding.on.is_empty());
            if !binding.label.is_empty() {
                assert!(!binding.key.is_empty(), "{binding:?}");
            }
        }
    }
}
