//! The help with all keys, and the palette with all commands.
//!
//! Both list what the key tables hold.

use ratatui::text::{Line, Span};

use super::palette::found;
use super::state::{Entry, Section};
use crate::columns::wrap;
use crate::tui::actions::{
    Action, BACKSPACE, Binding, Char, Code, Command, Ctrl, ENTER, K, Move, PAGES, Pane, Text, Typing, row,
};
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::list::{List, ListRow};

const INTRO: &str = "Train one model on several ranks, and see what each of the ten steps is for: press r to run, change a step \
                     or a setting, press r again, and compare. All runs stay in the table; b chooses which one the others are \
                     compared with. A run goes on when the screen is closed.";
const INTRO_OF_REPLAY: &str = "This is a recording of runs that were made before: Space, < > and + - move through it, Tab and the arrow \
                               keys look at its panes, v compares its runs. Nothing starts here; in your own lab r does.";
/// Columns of a key, and of what stands around it.
const KEY: usize = 10;

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
        Some(Page::view("Help", columns, 78, |width| self.lines(state, width)))
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

impl Keys {
    /// All keys, and how a first session goes; a search keeps the rows that contain its words.
    fn lines(&self, state: &State, width: usize) -> Vec<Line<'static>> {
        let (theme, is_replay) = (state.shared.theme, state.shared.replay.is_some());
        let searched = self.typing || !self.words.is_empty();
        let mut lines: Vec<Line> = if searched {
            let typed = format!("{}{}", self.words, if self.typing { "_" } else { "" });
            vec![Line::from(vec![Span::styled("/ ", theme.key()), Span::styled(typed, theme.strong())])]
        } else {
            wrap(if is_replay { INTRO_OF_REPLAY } else { INTRO }, width).into_iter().map(Line::raw).collect()
        };
        let words = self.words.to_lowercase();
        let mut sections: Vec<&Section> = state.help.sections.iter().collect();
        if is_replay {
            // What is played comes first.
            sections.sort_by_key(|section| !section.of_replay);
        }
        for section in sections {
            let title = &section.title;
            let rows = section.keys.iter().filter(|row| {
                let all = format!("{} {} {} {title}", row.key, row.label, row.help).to_lowercase();
                // A recording is neither started nor stopped: keys that would are not named.
                !(is_replay && row.command.starts_or_stops()) && words.split_whitespace().all(|word| all.contains(word))
            });
            let mut rows = rows.peekable();
            if rows.peek().is_some() {
                lines.extend([Line::raw(""), Line::styled(title.clone(), theme.strong())]);
            }
            lines.extend(rows.flat_map(|row| {
                let help = wrap(row.help, width.saturating_sub(KEY).max(KEY)).into_iter().enumerate();
                help.map(|(line, text)| {
                    let key = if line == 0 { row.key } else { "" };
                    Line::from(vec![Span::styled(format!("  {key:<7} "), theme.key()), Span::raw(text)])
                })
            }));
        }
        if searched && lines.len() == 1 {
            lines.push(Line::styled("no matching key: Esc shows all", theme.warn()));
        }
        lines
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
        Some(View::List(List { typed: self.typed.clone(), count, rows, chosen: self.chosen }))
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
