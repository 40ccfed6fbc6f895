//! The one table of key tables, and what help and palette list of it.
//!
//! Never dispatches by itself: a key is looked up here, so footer, help and behaviour cannot disagree.

use std::sync::LazyLock;

use crossterm::event::KeyCode as K;

use super::features;
use crate::domain::step::Step;
use crate::tui::actions::command::Command as A;
use crate::tui::actions::command::{Command, Move};
use crate::tui::actions::keys::On::{self, Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, DOWN, UP, row};
use crate::tui::actions::pane::Pane;
use crate::tui::help::state::{Entry, KeyRow, Section};
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

static EVERYWHERE: &[Binding] = &[row(&[Ctrl('z')], A::Suspend, "Ctrl-Z", "", "back to the shell; `fg` shows the screen again")];

/// Windows of more lines than may fit.
static PAGES: &[Binding] = &[
    row(UP, A::Scroll(Move::Up), "↑↓", "scroll", "a line"),
    row(DOWN, A::Scroll(Move::Down), "", "", ""),
    row(&[Code(K::PageUp)], A::Scroll(Move::PageUp), "PgUp", "", "a page back; PgDn or Space: a page forward"),
    row(&[Code(K::PageDown), Char(' ')], A::Scroll(Move::PageDown), "", "", ""),
    row(&[Code(K::Home)], A::Scroll(Move::First), "Home", "", "to the top; End to the bottom"),
    row(&[Code(K::End)], A::Scroll(Move::Last), "", "", ""),
];

static STEPS: &[Binding] =
    &[row(&[On::Digit], A::ToggleStep(Step::InitAndPin), "1-9,0", "toggle", "toggle step 1 to 10").ranked(4)];

fn keys(scope: Scope, rows: &[Binding]) -> Vec<Key> {
    rows.iter().map(|binding| Key { scope, binding: *binding }).collect()
}

/// All that works without a window. The focused pane comes before all panes: its keys win.
static TABLE: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let panes = Pane::ALL.map(|pane| keys(Scope::Pane(pane), features::keys(pane))).concat();
    [
        keys(Scope::Replay, replay::keys::KEYS),
        panes,
        keys(Scope::Panes, STEPS),
        features::PANES.iter().map(|row| Key { scope: Scope::Panes, binding: row.binding }).collect(),
        keys(Scope::Everywhere, EVERYWHERE),
        keys(Scope::Pages, PAGES),
    ]
    .concat()
});

pub fn table() -> impl Iterator<Item = &'static Key> {
    TABLE.iter()
}

/// What the help lists, place by place.
pub fn sections() -> &'static [Section] {
    static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
        let of = |title: &str, scope: Scope, bindings: Vec<Binding>| {
            let listed = bindings.into_iter().filter(|binding| !binding.help.is_empty());
            let rows = listed.map(|binding| KeyRow {
                key: binding.key,
                label: binding.label,
                help: binding.help,
                starts_or_stops: binding.command.starts_or_stops(),
            });
            Section { title: title.to_owned(), of_replay: scope == Scope::Replay, rows: rows.collect() }
        };
        let section = |title: &str, scope: Scope| {
            of(title, scope, table().filter(|key| key.scope == scope).map(|key| key.binding).collect())
        };
        let mut sections = vec![
            section("Everywhere", Scope::Panes),
            section("In a replay", Scope::Replay),
            section("In windows too", Scope::Everywhere),
            section("In windows that scroll", Scope::Pages),
        ];
        sections.extend(Pane::ALL.map(|pane| section(&format!("In {}", pane.title()), Scope::Pane(pane))));
        let collectives = collectives::keys::PLAYER.to_vec();
        sections.push(of(collectives::keys::HELP, Scope::Window, collectives));
        sections
    });
    &SECTIONS
}

/// The commands of the palette: a key for ten steps is ten commands.
static COMMANDS: LazyLock<Vec<(Command, Entry)>> = LazyLock::new(|| {
    let listed = table().filter(|key| key.scope != Scope::Replay && is_listed(key));
    let entries = listed.flat_map(|Key { scope, binding }| {
        let pane = if let Scope::Pane(pane) = scope { Some(*pane) } else { None };
        let entry = |key: String, text: String| Entry { pane, key, label: binding.label, text };
        if binding.on.contains(&On::Digit) {
            let toggle = |step: Step| {
                let text = format!("toggle step {}: {}", step.number(), step.title());
                (A::ToggleStep(step), entry((step.number() % 10).to_string(), text))
            };
            Step::ALL.map(toggle).to_vec()
        } else {
            vec![(binding.command, entry(binding.key.to_owned(), binding.help.to_owned()))]
        }
    });
    entries.collect()
});

/// Moving about is for fingers, and the palette is open already.
fn is_listed(key: &Key) -> bool {
    let moves = matches!(key.binding.command, A::Move(by) | A::Scroll(by) if matches!(by, Move::Up | Move::Down | Move::PageUp | Move::PageDown));
    !key.binding.help.is_empty() && !moves && !matches!(key.binding.command, A::Back | A::Open("palette"))
}

pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| COMMANDS.iter().map(|(_, entry)| entry.clone()).collect());
    &ENTRIES
}

/// What an entry of the palette does, and the pane that it does it in.
pub fn of_entry(number: usize) -> Option<(Command, Option<Pane>)> {
    COMMANDS.get(number).map(|(command, entry)| (*command, entry.pane))
}
