//! What was renamed, noted or deleted is taken back, the last first, and the screen says what.

use crossterm::event::KeyCode;

use crate::runs::{RunId, RunStore};
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::io::change::apply;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text};

/// A screen over a store of three runs.
struct Desk {
    _home: tempfile::TempDir,
    store: RunStore,
    state: State,
}

impl Desk {
    fn new() -> Desk {
        let home = tempfile::tempdir().unwrap();
        let store = RunStore::open(home.path()).unwrap();
        for number in 1..=3 {
            let run = samples::finished(number, 2, 900.0);
            store.create(run.record.unwrap(), &run.status).unwrap();
        }
        let mut state = samples::never_used();
        update(&mut state, Message::Resize(120, 40));
        state.focus = Pane::Runs;
        let mut desk = Desk { _home: home, store, state };
        desk.list();
        desk
    }

    fn list(&mut self) {
        samples::say(&mut self.state, Message::Runs(self.store.list()));
    }

    /// Types, does what is asked for, and returns what is said.
    fn type_text(&mut self, keys: &str) -> String {
        for c in keys.chars() {
            let effects = press(&mut self.state, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
            for effect in effects {
                if let Effect::Change(change) = effect {
                    let message =
                        apply(&self.store, change).map_or_else(|error| Message::Failed(error.to_string()), Message::Changed);
                    update(&mut self.state, message);
                    self.list();
                }
            }
        }
        self.state.shared.notice.as_ref().map_or(String::new(), |notice| notice.text.clone())
    }

    fn name(&self, run: u32) -> Option<String> {
        self.store.record(RunId(run)).unwrap().request.name
    }
}

#[test]
fn names_and_notes_are_taken_back_one_by_one() {
    let mut desk = Desk::new();
    let first = desk.name(3);
    assert_eq!(first, None, "the sample has no name");
    assert_eq!(desk.type_text("Rone\n"), "run 3 is named “one”; u undoes it");
    desk.type_text("R");
    press(&mut desk.state, KeyCode::Backspace);
    desk.type_text("!\n");
    assert_eq!(desk.name(3).as_deref(), Some("on!"));
    assert!(desk.type_text("Nwhy not\n").contains("u undoes it"));
    assert_eq!(desk.type_text("u"), "undone: run 3 has no note again");
    assert_eq!(desk.type_text("u"), "undone: run 3 is named “one” again");
    assert!(text(&desk.state, 120, 40).contains("undone: run 3 is named “one” again"));
    assert_eq!((desk.type_text("u").as_str(), desk.name(3)), ("undone: run 3 has no name again", None));
}

#[test]
fn a_deletion_between_two_names_is_taken_back_in_its_turn() {
    let mut desk = Desk::new();
    desk.type_text("Rlast\njDy");
    assert_eq!(desk.store.ids(), [RunId(1), RunId(3)]);
    desk.type_text("Rother\n");
    let named = desk.state.shared.watched.as_ref().unwrap().id.0;
    assert_ne!(named, 2);
    assert!(desk.type_text("u").starts_with(&format!("undone: run {named} ")));
    assert_eq!(desk.type_text("u"), "undone: run 2 is back");
    assert_eq!((desk.store.ids().len(), desk.state.shared.watched.as_ref().unwrap().id), (3, RunId(2)));
    assert_eq!(desk.type_text("u"), "undone: run 3 has no name again");
    assert_eq!(desk.name(3), None);
}

#[test]
fn what_changed_nothing_is_nothing_to_undo_and_what_fails_says_so() {
    let mut desk = Desk::new();
    desk.type_text("Rname\n");
    assert_eq!(desk.type_text("R\n"), "run 3 is named “name”", "the same name again");
    assert_eq!(desk.type_text("u"), "undone: run 3 has no name again");
    assert!(desk.type_text("u").contains("trash"), "nothing was deleted: {:?}", desk.state.shared.notice);
    assert!(desk.state.shared.notice.as_ref().unwrap().is_error);
    // Deleted by another lab, and there again as long as the trash is not emptied.
    desk.store.delete(RunId(1)).unwrap();
    assert_eq!(desk.type_text("u"), "undone: run 1, deleted last, is back");
}
