//! The one table of key tables: which keys are in force now, and what help and palette list.
//!
//! Dispatch, footer, help and palette all look keys up here, so that they cannot disagree.

use std::sync::LazyLock;

use crossterm::event::KeyEvent;

use super::{features, windows};
use crate::domain::step::Step;
use crate::tui::actions::{Binding, Char, Command as C, Command, Ctrl, ENDS, Move, On, Pane, UP_DOWN, keys, row};
use crate::tui::help::state::{Entry, Section};
use crate::tui::state::State;
use crate::tui::{collectives, replay};

/// Where a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Panes and windows alike.
    Everywhere,
    /// The panes, whichever has the focus.
    Panes,
    Pane(Pane),
    /// The panes of a replay, before all others.
    Replay,
    /// Windows that scroll.
    Pages,
    /// The window in front.
    Window,
}

#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub scope: Scope,
    pub binding: Binding,
}

static EVERYWHERE: &[Binding] = &[row(&[Ctrl('z')], C::Suspend, "Ctrl-Z", "", "back to the shell; `fg` shows the screen again")];

/// Windows of more lines than may fit.
static PAGES: &[Binding] = &[
    row(UP_DOWN, C::Scroll(Move::Up), "↑↓", "scroll", "a line"),
    row(keys::PAGES, C::Scroll(Move::PageUp), "PgUp", "", "a page back; PgDn or Space: a page forward"),
    row(&[Char(' ')], C::Scroll(Move::PageDown), "", "", ""),
    row(ENDS, C::Scroll(Move::First), "Home", "", "to the top; End to the bottom"),
];

static STEPS: &[Binding] =
    &[row(&[On::Digit], C::ToggleStep(Step::InitAndPin), "1-9,0", "toggle", "toggle step 1 to 10").ranked(4)];

/// No keys, but what the help explains as well: what signs mean, which stand where words have no room.
static SIGNS: &[Binding] = &[
    row(&[], C::Help, "✓ ✗ ▶ ◼", "", "in Runs: finished, failed, running, stopped"),
    row(&[], C::Help, "◆", "", "in Runs: the baseline, which the other runs are compared with"),
    row(&[], C::Help, "A B C", "", "in Chart and Runs: the letter of a run, beside its colour"),
    row(&[], C::Help, "*", "", "behind images/s: other programs used the cores meanwhile"),
    row(&[], C::Help, "○", "", "published by others, or simulated: not measured here"),
    row(&[], C::Help, "✓ · ✗", "", "in Steps: proven or written by you, shown by a run, tried and failed"),
    row(&[], C::Help, "[x] [!]", "", "in Steps: on; on without effect, because step 1 is off"),
];

fn scoped(scope: Scope, rows: &[Binding]) -> Vec<Key> {
    rows.iter().map(|binding| Key { scope, binding: *binding }).collect()
}

/// All that works without a window. The focused pane comes before all panes: its keys win.
static TABLE: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let panes = Pane::ALL.map(|pane| scoped(Scope::Pane(pane), features::keys(pane))).concat();
    [
        scoped(Scope::Replay, replay::KEYS),
        panes,
        scoped(Scope::Panes, STEPS),
        features::APP_KEYS.iter().map(|row| Key { scope: Scope::Panes, binding: row.binding }).collect(),
        scoped(Scope::Everywhere, EVERYWHERE),
        scoped(Scope::Pages, PAGES),
    ]
    .concat()
});

pub fn table() -> impl Iterator<Item = &'static Key> {
    TABLE.iter()
}

/// What `key` asks for now.
pub fn command(state: &State, key: KeyEvent) -> Option<Command> {
    in_force(state).into_iter().find_map(|row| row.binding.command_of(key))
}

/// The keys in force: of a replay, of the focused pane, of all panes, of everywhere and of pages, then those of the window in front.
pub fn in_force(state: &State) -> Vec<Key> {
    let window = windows::keys(state);
    let is_in_force = |key: &&Key| match key.scope {
        Scope::Everywhere => true,
        Scope::Panes => window.is_none(),
        Scope::Pane(pane) => window.is_none() && pane == state.focus,
        Scope::Replay => window.is_none() && state.shared.replay.is_some(),
        Scope::Pages => windows::scrolls(state),
        Scope::Window => false,
    };
    let mut keys: Vec<Key> = table().filter(is_in_force).copied().collect();
    keys.extend(scoped(Scope::Window, window.unwrap_or_default()));
    keys
}

/// What the help lists, place by place.
pub fn sections() -> &'static [Section] {
    static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
        // The table has no keys of windows: they are handed in.
        let section = |title: &str, scope: Scope, of_window: &[Binding]| {
            let rows = table().filter(|key| key.scope == scope).map(|key| &key.binding).chain(of_window);
            let keys = rows.filter(|binding| !binding.help.is_empty()).copied().collect();
            Section { title: title.to_owned(), of_replay: scope == Scope::Replay, keys }
        };
        let mut sections = vec![
            section("Everywhere", Scope::Panes, &[]),
            section("In a replay", Scope::Replay, &[]),
            section("In windows too", Scope::Everywhere, &[]),
            section("In windows that scroll", Scope::Pages, &[]),
            section("Signs", Scope::Window, SIGNS),
        ];
        sections.extend(Pane::ALL.map(|pane| section(&format!("In {}", pane.title()), Scope::Pane(pane), &[])));
        sections.push(section(collectives::keys::HELP, Scope::Window, collectives::keys::PLAYER));
        sections
    });
    &SECTIONS
}

/// The commands of the palette: a key for ten steps is ten commands.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let listed = table().filter(|key| key.scope != Scope::Replay && is_listed(key));
        let entries = listed.flat_map(|Key { scope, binding }| {
            let pane = if let Scope::Pane(pane) = scope { Some(*pane) } else { None };
            let entry = |command, key, text| Entry { command, pane, key, label: binding.label, text };
            if binding.on.contains(&On::Digit) {
                let toggle = |step: Step| {
                    let text = format!("toggle step {}: {}", step.number(), step.title());
                    entry(C::ToggleStep(step), (step.number() % 10).to_string(), text)
                };
                Step::ALL.map(toggle).to_vec()
            } else {
                vec![entry(binding.command, binding.key.to_owned(), binding.help.to_owned())]
            }
        });
        entries.collect()
    });
    &ENTRIES
}

/// Moving about is for fingers, and the palette is open already.
fn is_listed(key: &Key) -> bool {
    let moves = matches!(key.binding.command, C::Move(by) | C::Scroll(by) if matches!(by, Move::Up | Move::Down | Move::PageUp | Move::PageDown));
    !key.binding.help.is_empty() && !moves && !matches!(key.binding.command, C::Back | C::App("palette"))
}
