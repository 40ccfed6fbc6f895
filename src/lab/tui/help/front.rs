//! The help with all keys, and the palette with all commands.
//!
//! Never a list of its own: what is in no key table is not here.

use super::windows::{Keys, Palette};
use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::palette::found;
use super::state::Help;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, Move, Typing, row};
use crate::tui::actions::pane::Pane;
use crate::tui::shared::state::Shared;
use crate::tui::widgets::list::{List, Row};
use crate::tui::window::{Page, View, Window};

/// Longer than any words that find something.
const MOST: usize = 40;

static HELP: &[Binding<Command>] = &[
    row(&[Char('/')], Command::Search, "/", "search", ""),
    row(&[Code(K::Esc), Char('?'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

static SEARCH: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "keep", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "show all", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Keys {
    type Feature = Help;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![HELP, SEARCH]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        if self.typing { SEARCH } else { HELP }
    }

    fn view(&self, help: &Help, shared: &Shared, columns: u16) -> Option<View> {
        Some(Page::view("Help", columns, 78, |width| lines(help, shared, &self.words, self.typing, width)))
    }

    fn update(mut self, help: &mut Help, _: &mut Shared, command: Command) -> Vec<Action> {
        match (self.typing, command) {
            (false, Command::Back) => return Vec::new(),
            (false, Command::Search) => self.typing = true,
            (false, _) => {}
            (true, command) => {
                self.scroll = 0;
                match command {
                    Command::Type(typing) => typing.into(&mut self.words, MOST),
                    command => {
                        self.typing = false;
                        if command == Command::Back {
                            self.words.clear();
                        }
                    }
                }
            }
        }
        help.window = Some(self.into());
        Vec::new()
    }

    fn scroll(&self) -> Option<usize> {
        // What is typed may be a space.
        (!self.typing).then_some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

static PALETTE: &[Binding<Command>] = &[
    row(ENTER, Command::Accept, "Enter", "run it", ""),
    row(&[Code(K::Up), Ctrl('p')], Command::Move(Move::Up), "↑↓", "choose", ""),
    row(&[Code(K::Down), Ctrl('n')], Command::Move(Move::Down), "", "", ""),
    row(&[Code(K::PageUp)], Command::Move(Move::PageUp), "", "", ""),
    row(&[Code(K::PageDown)], Command::Move(Move::PageDown), "", "", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Palette {
    type Feature = Help;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![PALETTE]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        PALETTE
    }

    fn view(&self, help: &Help, _: &Shared, _: u16) -> Option<View> {
        let entries = found(help.commands, &self.typed, &help.recent).into_iter().map(|number| &help.commands[number]);
        let rows: Vec<Row> = entries
            .map(|entry| Row { key: entry.key.clone(), text: entry.text.clone(), place: entry.pane.map_or("", Pane::title) })
            .collect();
        let count = match rows.len() {
            0 => "No matching command".to_owned(),
            1 => "1 command".to_owned(),
            many => format!("{many} commands, ↑↓ chooses, Enter runs it"),
        };
        Some(View::List(List { title: "Commands", typed: self.typed.clone(), count, rows, chosen: self.chosen }))
    }

    fn update(mut self, help: &mut Help, _: &mut Shared, command: Command) -> Vec<Action> {
        let entries = found(help.commands, &self.typed, &help.recent);
        match command {
            Command::Back => return Vec::new(),
            Command::Accept => {
                if let Some(number) = entries.get(self.chosen) {
                    help.used(*number);
                    return vec![Action::Press(*number)];
                }
            }
            Command::Move(by) => self.chosen = by.within(self.chosen, entries.len()),
            Command::Type(typing) => {
                typing.into(&mut self.typed, MOST);
                self.chosen = 0;
            }
            Command::Search => {}
        }
        help.window = Some(self.into());
        Vec::new()
    }

    fn choose(&mut self, row: usize) {
        self.chosen = row;
    }
}
