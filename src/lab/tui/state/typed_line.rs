//! A line that is typed at the foot of the screen: one window for a search, a filter, a name, a file or a rank.

use std::any::Any;
use std::fmt::Debug;

use super::{About, Outcome, State, View, Window};
use crate::runs::RunId;
use crate::tui::actions::{Action, BACKSPACE, Binding, Code, Command, Ctrl, ENTER, K, Move, On, Text, Typing, row};
use crate::tui::widgets::Prompt;

/// The purpose of a line, which gives the keys their meaning.
pub trait Purpose: Any + Clone + Debug {
    /// The most characters that the line takes.
    const LONGEST: usize;

    /// The words beside the line, without the text and its error.
    fn prompt(&self, state: &State, text: &str) -> Prompt;

    /// Follows the text while it is typed, or says what is wrong with it.
    fn typed(&mut self, _state: &mut State, _text: &str) -> Result<Vec<Action>, String> {
        Ok(Vec::new())
    }

    /// Enter: the line closes, or stays and says why the text will not do.
    fn accept(&mut self, _state: &mut State, _text: &str) -> Result<Vec<Action>, String> {
        Ok(Vec::new())
    }

    /// Esc: takes back what typing has changed.
    fn cancel(&mut self, _state: &mut State) -> Vec<Action> {
        Vec::new()
    }

    /// Ctrl-R: reads the text as a regular expression or as it stands. False where there is no such choice.
    fn toggle_regex(&mut self) -> bool {
        false
    }

    /// The run that the line is about.
    fn run(&self) -> Option<RunId> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct TypedLine<P> {
    pub purpose: P,
    pub text: String,
    /// Characters behind the caret.
    pub behind: usize,
    /// Why the text will not do.
    pub error: Option<String>,
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "apply", ""),
    row(&[Code(K::Esc), Ctrl('c')], Command::Back, "Esc", "cancel", "").ranked(0),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Ctrl('u')], Command::Type(Typing::Clear), "Ctrl-U", "clear", ""),
    row(&[Ctrl('w')], Command::Type(Typing::EraseWord), "", "", ""),
    row(&[Code(K::Delete)], Command::Type(Typing::Delete), "", "", ""),
    row(&[Code(K::Left)], Command::Type(Typing::Go(Move::Left)), "", "", ""),
    row(&[Code(K::Right)], Command::Type(Typing::Go(Move::Right)), "", "", ""),
    row(&[Code(K::Home), Ctrl('a')], Command::Type(Typing::Go(Move::First)), "", "", ""),
    row(&[Code(K::End), Ctrl('e')], Command::Type(Typing::Go(Move::Last)), "", "", ""),
    row(&[Ctrl('r')], Command::Regex, "", "", ""),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

/// What Enter and Esc do, for [`Prompt::keys`].
pub fn ends(enter: &str, escape: &str) -> Vec<(On, String)> {
    vec![(Code(K::Enter), format!("Enter {enter}")), (Code(K::Esc), format!("Esc {escape}"))]
}

impl<P: Purpose> TypedLine<P> {
    pub fn new(purpose: P, text: impl Into<String>) -> TypedLine<P> {
        TypedLine { purpose, text: text.into(), behind: 0, error: None }
    }
}

impl<P: Purpose> Window for TypedLine<P> {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, run: self.purpose.run(), ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let words = self.purpose.prompt(state, &self.text);
        Some(View::Line(Prompt { text: self.text.clone(), behind: self.behind, error: self.error.clone(), ..words }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let followed = match command {
            Command::Back => return Outcome::Close(self.purpose.cancel(state)),
            Command::Accept => match self.purpose.accept(state, &self.text) {
                Ok(actions) => return Outcome::Close(actions),
                refused => refused,
            },
            Command::Regex if !self.purpose.toggle_regex() => return Outcome::STAY,
            command => {
                if let Command::Type(typing) = command {
                    typing.before(&mut self.text, &mut self.behind, P::LONGEST);
                }
                self.purpose.typed(state, &self.text)
            }
        };
        self.error = followed.as_ref().err().cloned();
        Outcome::Stay(followed.unwrap_or_default())
    }
}
