//! The one table of key tables, and what help and palette list of it.
//!
//! Never dispatches by itself: a key is looked up here, so footer, help and behaviour cannot disagree.

use std::sync::LazyLock;

use crossterm::event::KeyCode as K;

use super::command::AppCommand as A;
use super::features::{self, Command};
use crate::domain::step::Step;
use crate::tui::actions::keys::On::{self, Char, Code, Ctrl};
use crate::tui::actions::keys::{self, Binding, DOWN, ESCAPE, Move, UP, row};
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
    pub binding: Binding<Command>,
}

static EVERYWHERE: &[Binding<A>] =
    &[row(&[Ctrl('z')], A::Suspend, "Ctrl-Z", "", "back to the shell; `fg` shows the screen again")];

/// Windows of more lines than may fit.
static PAGES: &[Binding<Command>] = &[
    row(UP, Command::Scroll(Move::Up), "↑↓", "scroll", "a line"),
    row(DOWN, Command::Scroll(Move::Down), "", "", ""),
    row(&[Code(K::PageUp)], Command::Scroll(Move::PageUp), "PgUp", "", "a page back; PgDn or Space: a page forward"),
    row(&[Code(K::PageDown), Char(' ')], Command::Scroll(Move::PageDown), "", "", ""),
    row(&[Code(K::Home)], Command::Scroll(Move::First), "Home", "", "to the top; End to the bottom"),
    row(&[Code(K::End)], Command::Scroll(Move::Last), "", "", ""),
];

/// Whichever pane has the focus.
static PANES: &[Binding<A>] = &[
    row(&[On::Digit], A::ToggleStep(Step::InitAndPin), "1-9,0", "toggle", "toggle step 1 to 10").ranked(4),
    row(&[Char('r')], A::Run, "r", "run", "start a run with these steps and settings").ranked(0),
    row(&[Char('x')], A::Stop, "x", "stop", "stop the run (asks first)").ranked(0),
    row(&[Char('c')], A::Continue, "c", "continue", "train the chosen run for more epochs").ranked(5),
    row(&[Char('b')], A::Baseline, "b", "baseline", "compare all runs with the chosen one").ranked(5),
    row(&[Char('v')], A::Compare, "v", "", "compare the chosen run with the baseline: speed-up, accuracy, what differs"),
    row(&[Char('i')], A::Details, "i", "details", "details of the chosen run, with its mpirun line"),
    row(&[Char('w')], A::Lesson, "w", "lesson", "the lesson of the chosen step: why you need it"),
    row(&[Char('e')], A::Edit, "e", "", "your own trainer: edit it; saving builds and runs it"),
    row(&[Char('E')], A::Exercise, "E", "", "your own trainer: result of your last build"),
    row(&[Char('d')], A::Diff, "d", "", "what the chosen step changes in the program"),
    row(&[Char('+'), Char('=')], A::MoreRanks, "+ -", "np", "more or fewer ranks").ranked(5),
    row(&[Char('-'), Char('_')], A::FewerRanks, "", "", ""),
    row(&[Code(K::Tab)], A::NextPane, "Tab", "pane", "next pane; Shift-Tab the one before").ranked(1),
    row(&[Code(K::BackTab)], A::PreviousPane, "", "", ""),
    row(&[Char('z')], A::Zoom, "z", "zoom", "zoom the pane, or show all"),
    row(&[Char('m')], A::Mouse, "m", "", "release the mouse to select text, or take it again"),
    row(&[Char('T')], A::Theme, "T", "", "the next theme: dark, light, high contrast, colour-blind, mono"),
    row(&[Char(':'), Ctrl('p')], A::Palette, ":", "", "all commands, found by their words"),
    row(&[Char('C')], A::Collectives, "C", "", "collectives: play an allreduce message by message; time and bandwidth by size"),
    row(&[Char('B')], A::Benchmark, "B", "", "benchmark: set up how fast a model is trained (`hvd-lab bench`)"),
    row(&[Char('I')], A::Photos, "I", "", "images: set up a training on photos (`hvd-lab nvcnn`)"),
    row(&[Char('U')], A::Simulate, "U", "", "up to how many GPUs? simulate what more of them would give (`hvd-lab simulate`)"),
    row(&[Char('F')], A::Faults, "F", "", "faults: freeze, slow or end a rank on purpose, and see how it is found"),
    row(&[Char('Q')], A::Queue, "Q", "", "queue: who has which GPU of a shared machine, and who waits (`hvd-lab queue`)"),
    row(&[Char('#')], A::Rank, "#", "", "a rank by its number or its host: its log, and its device"),
    row(&[Char('P')], A::Projector, "P", "", "for a projector: large step and speed-up, or the panes again"),
    row(&[Code(K::F(2))], A::Tour, "F2", "", "the tour of the screen"),
    row(&[Code(K::F(5))], A::ResetBorders, "F5", "", "reset pane sizes"),
    row(&[Char('?'), Code(K::F(1))], A::Help, "?", "help", "this help").ranked(0),
    row(ESCAPE, A::Back, "Esc", "", "dismiss a notice, leave the zoom").ranked(0),
    row(&[Char('q'), Ctrl('c')], A::Quit, "q", "quit", "quit; a run can continue in the background").ranked(0),
];

/// A place with its rows, as the application's commands.
fn keys<C: Copy>(scope: Scope, rows: &[Binding<C>]) -> Vec<Key>
where
    Command: From<C>,
{
    rows.iter().map(|row| Key { scope, binding: row.wrapped() }).collect()
}

/// All that works without a window. The focused pane comes before all panes: its keys win.
static TABLE: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let panes = Pane::ALL.map(|pane| keys(Scope::Pane(pane), &features::keys(pane))).concat();
    [
        keys(Scope::Replay, replay::keys::KEYS),
        panes,
        keys(Scope::Panes, PANES),
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
        let of = |title: &str, scope: Scope, bindings: Vec<Binding<Command>>| {
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
        let collectives = collectives::keys::PLAYER.iter().map(Binding::wrapped).collect();
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
                (Command::App(A::ToggleStep(step)), entry((step.number() % 10).to_string(), text))
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
    let moves =
        matches!(keys::Command::movement(key.binding.command), Some(Move::Up | Move::Down | Move::PageUp | Move::PageDown));
    !key.binding.help.is_empty() && !moves && !matches!(key.binding.command, Command::App(A::Back | A::Palette))
}

pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| COMMANDS.iter().map(|(_, entry)| entry.clone()).collect());
    &ENTRIES
}

/// What an entry of the palette does, and the pane that it does it in.
pub fn of_entry(number: usize) -> Option<(Command, Option<Pane>)> {
    COMMANDS.get(number).map(|(command, entry)| (*command, entry.pane))
}
