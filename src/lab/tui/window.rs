//! Windows in front of the panes: each is one type with its keys, what they do, and what it shows.
//!
//! Never which window is in front: each feature holds its own, and only one is open at a time.

use ratatui::text::Line;

use super::actions::action::Action;
use super::actions::keys::{Binding, Command};
use super::shared::state::Shared;
use super::widgets::list::List;
use super::widgets::prompt::Prompt;
use crate::runs::RunId;

/// A window that is open.
pub trait Window: Sized {
    /// The state of the feature that it belongs to.
    type Feature;
    type Command: Command;

    /// All its tables, whatever it is doing: for the test that no key means two things.
    #[allow(dead_code)]
    fn tables() -> Vec<&'static [Binding<Self::Command>]>;

    /// The table in force.
    fn keys(&self) -> &'static [Binding<Self::Command>];

    /// What it shows in so many columns.
    fn view(&self, feature: &Self::Feature, shared: &Shared, columns: u16) -> Option<View>;

    /// It was taken out of its feature, and stays open only where it is put back.
    fn update(self, feature: &mut Self::Feature, shared: &mut Shared, command: Self::Command) -> Vec<Action>;

    /// The first line that is shown, where its lines can be scrolled.
    fn scroll(&self) -> Option<usize> {
        None
    }

    fn scroll_to(&mut self, _line: usize) {}

    /// A row of its list is chosen by the mouse.
    fn choose(&mut self, _row: usize) {}

    /// The run that it is about.
    fn run(&self) -> Option<RunId> {
        None
    }
}

/// What a window shows.
#[derive(Debug)]
pub enum View {
    Page(Page),
    Question(Question),
    List(List),
    /// A line at the foot of the screen.
    Line(Prompt),
    /// It is typed where the value stands.
    InPlace,
}

/// More lines than may fit.
#[derive(Debug)]
pub struct Page {
    pub title: String,
    /// Columns with its frame.
    pub columns: u16,
    pub lines: Vec<Line<'static>>,
}

/// The columns that a frame and its padding take.
pub const FRAME: u16 = 4;

impl Page {
    /// `lines` are made for what is left of `columns`, of which it takes at most so many.
    pub fn view(title: impl Into<String>, columns: u16, most: u16, lines: impl FnOnce(usize) -> Vec<Line<'static>>) -> View {
        let columns = columns.saturating_sub(FRAME).min(most);
        View::Page(Page { title: title.into(), columns, lines: lines(usize::from(columns.saturating_sub(FRAME))) })
    }
}

/// Some lines, and the keys that answer.
#[derive(Debug)]
pub struct Question {
    pub title: &'static str,
    pub text: Vec<String>,
}

impl Question {
    pub fn view(title: &'static str, text: impl Into<Vec<String>>) -> View {
        View::Question(Question { title, text: text.into() })
    }
}

/// A feature that opens windows.
pub trait Opens: Sized {
    type Window: Window<Feature = Self>;

    fn window(&self) -> &Option<Self::Window>;
    fn window_mut(&mut self) -> &mut Option<Self::Window>;
}

/// The windows of a feature, each with what it remembers. A new one is an entry here, and a file that implements
/// [`Window`] for it.
macro_rules! windows {
    ($($(#[$meta:meta])* $window:ident { $($(#[$of:meta])* $field:ident: $type:ty),* $(,)? })+) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $window {
            $($(#[$of])* pub $field: $type,)*
        }

        impl From<$window> for Window {
            fn from(window: $window) -> Window {
                Window::$window(window)
            }
        })+

        /// The window of this feature that is open.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Window {
            $($window($window),)+
        }

        $crate::tui::window::dispatch!($($window),+);
    };
}

/// A feature's windows as one, each by its own keys, view and update.
macro_rules! dispatch {
    ($first:ident $(, $window:ident)*) => {
        impl $crate::tui::window::Window for Window {
            type Feature = <$first as $crate::tui::window::Window>::Feature;
            type Command = <$first as $crate::tui::window::Window>::Command;

            fn tables() -> Vec<&'static [$crate::tui::actions::keys::Binding<Self::Command>]> {
                [$first::tables() $(, $window::tables())*].concat()
            }

            fn keys(&self) -> &'static [$crate::tui::actions::keys::Binding<Self::Command>] {
                match self { Window::$first(window) => window.keys(), $(Window::$window(window) => window.keys(),)* }
            }

            fn view(
                &self,
                feature: &Self::Feature,
                shared: &$crate::tui::shared::state::Shared,
                columns: u16,
            ) -> Option<$crate::tui::window::View> {
                match self {
                    Window::$first(window) => window.view(feature, shared, columns),
                    $(Window::$window(window) => window.view(feature, shared, columns),)*
                }
            }

            fn update(
                self,
                feature: &mut Self::Feature,
                shared: &mut $crate::tui::shared::state::Shared,
                command: Self::Command,
            ) -> Vec<$crate::tui::actions::action::Action> {
                match self {
                    Window::$first(window) => window.update(feature, shared, command),
                    $(Window::$window(window) => window.update(feature, shared, command),)*
                }
            }

            fn scroll(&self) -> Option<usize> {
                match self { Window::$first(window) => window.scroll(), $(Window::$window(window) => window.scroll(),)* }
            }

            fn scroll_to(&mut self, line: usize) {
                match self {
                    Window::$first(window) => window.scroll_to(line),
                    $(Window::$window(window) => window.scroll_to(line),)*
                }
            }

            fn choose(&mut self, row: usize) {
                match self { Window::$first(window) => window.choose(row), $(Window::$window(window) => window.choose(row),)* }
            }

            fn run(&self) -> Option<$crate::runs::RunId> {
                match self { Window::$first(window) => window.run(), $(Window::$window(window) => window.run(),)* }
            }
        }
    };
}

/// A feature's state that holds its window in `window`.
macro_rules! opens {
    ($feature:ty, $window:ty) => {
        impl $crate::tui::window::Opens for $feature {
            type Window = $window;

            fn window(&self) -> &Option<$window> {
                &self.window
            }

            fn window_mut(&mut self) -> &mut Option<$window> {
                &mut self.window
            }
        }
    };
}

pub(crate) use {dispatch, opens, windows};
