//! The help with all keys, and the palette with all commands.
//!
//! Both list what the key tables hold.

use super::draw::lines;
use super::palette::found;
use super::state::Entry;
use crate::tui::actions::{
    Action, BACKSPACE, Binding, Char, Code, Command, Ctrl, ENTER, K, Move, PAGES, Pane, Text, Typing, row,
};
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::list::{List, ListRow};

/// Longer than any words that find something.
const MOST: usize = 40;

/// The keys of one place, by its title.
pub fn show_keys_of(state: &mut State, title: &str) -> Vec<Action> {
    state.windows.show(Keys { words: title.to_lowercase(), ..Keys::default() });
    Vec::new()
}

pub static HELP: &[Binding] = &[
    row(&[Char('/')], Command::Search, "/", "search", ""),
    row(&[Code(K::Esc), Char('?'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

/// All keys, or those with some words.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Only keys with these words are shown.
    pub words: String,
    /// The words are being typed.
    pub typing: bool,
}

pub static SEARCH: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "keep", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "show all", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Keys {
    fn about(&self, _: &State) -> About {
        // What is typed may be a space.
        About { keys: if self.typing { SEARCH } else { HELP }, scrolls: !self.typing, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (help, shared) = (&state.help, &state.shared);
        Some(Page::view("Help", columns, 78, |width| lines(help, shared, &self.words, self.typing, width)))
    }

    fn press(&mut self, _: &mut State, command: Command) -> Outcome {
        match (self.typing, command) {
            (false, Command::Back) => return Outcome::CLOSE,
            (false, Command::Search) => self.typing = true,
            (false, _) => {}
            (true, Command::Type(typing)) => {
                typing.into(&mut self.words, MOST);
                return Outcome::TOP;
            }
            (true, command) => {
                self.typing = false;
                if command == Command::Back {
                    self.words.clear();
                }
                return Outcome::TOP;
            }
        }
        Outcome::STAY
    }
}

/// A command is looked for by its words.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    pub typed: String,
    pub chosen: usize,
}

pub static PALETTE: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "run it", ""),
    row(&[Code(K::Up), Ctrl('p')], Command::Move(Move::Up), "↑↓", "choose", ""),
    row(&[Code(K::Down), Ctrl('n')], Command::Move(Move::Down), "", "", ""),
    row(PAGES, Command::Move(Move::PageUp), "", "", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Palette {
    fn about(&self, _: &State) -> About {
        About { keys: PALETTE, ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let help = &state.help;
        let entries = found(help.commands, &self.typed, &help.recent).into_iter().map(|number| &help.commands[number]);
        let rows: Vec<ListRow> = entries
            .map(|entry| ListRow { key: entry.key.clone(), text: entry.text.clone(), place: entry.pane.map_or("", Pane::title) })
            .collect();
        let count = match rows.len() {
            0 => "No matching command".to_owned(),
            1 => "1 command".to_owned(),
            many => format!("{many} commands, ↑↓ chooses, Enter runs it"),
        };
        Some(View::List(List { title: "Commands", typed: self.typed.clone(), count, rows, chosen: self.chosen }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let help = &mut state.help;
        let entries = found(help.commands, &self.typed, &help.recent);
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Accept => {
                if let Some(number) = entries.get(self.chosen) {
                    help.recent.retain(|other| other != number);
                    help.recent.insert(0, *number);
                    let Entry { pane, command, .. } = help.commands[*number];
                    return Outcome::Close(vec![Action::Press(pane, command)]);
                }
            }
            Command::Move(by) => self.chosen = by.within(self.chosen, entries.len()),
            Command::Type(typing) => {
                typing.into(&mut self.typed, MOST);
                self.chosen = 0;
            }
            _ => {}
        }
        Outcome::STAY
    }

    fn choose(&mut self, row: usize) {
        self.chosen = row;
    }
}
