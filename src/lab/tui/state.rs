//! Everything the screen knows, and the windows in front of it: a stack of boxes.
//!
//! `app::features` says which keys open the windows.

pub mod form;
pub mod typed_line;

use std::any::Any;
use std::fmt::Debug;

use super::actions::{Action, Binding, Char, Code, Command, Ctrl, Effect, K, Pane, row};
use super::chart::state::Chart;
use super::collectives::state::Collectives;
use super::devices::state::Devices;
use super::exercise::state::Exercise;
use super::forms::state::Forms;
use super::help::state::Help;
use super::lesson::state::Lesson;
use super::log::state::Log;
use super::next_run::fields::NextRun;
use super::preferences::{Dragged, Preferences, Tried};
use super::runs::state::Runs;
use super::series::state::SeriesView;
use super::shared::state::Shared;
use super::simulate::fields::Machine;
use super::widgets::theme::Theme;
use crate::launch::Preset;
use crate::runs::RunId;

pub use super::window::{FRAME, Page, View};

/// One owner, changed by `update` only, drawn by `view`.
#[derive(Clone, Debug)]
pub struct State {
    pub shared: Shared,
    pub windows: Windows,
    pub next_run: NextRun,
    pub log: Log,
    pub chart: Chart,
    pub devices: Devices,
    pub runs: Runs,
    pub lesson: Lesson,
    pub series: SeriesView,
    pub exercise: Exercise,
    pub collectives: Collectives,
    pub forms: Forms,
    /// The machine that was simulated last.
    pub simulated: Option<Machine>,
    pub help: Help,
    pub preferences: Preferences,
    /// What the learner has done so far, for the hint at what to do next.
    pub hints: Tried,
    pub focus: Pane,
    /// Which pane has the place that several take in turn on a small screen.
    pub slot: Pane,
    pub zoom: bool,
    /// The lecture view: one run, large enough for the last row.
    pub projector: bool,
    /// What the pressed button holds.
    pub dragged: Option<Dragged>,
    pub done: bool,
}

impl State {
    pub fn new(theme: Theme, presets: Vec<Preset>, preset: Preset) -> State {
        State {
            shared: Shared::new(theme, presets, preset),
            windows: Windows::default(),
            next_run: NextRun::default(),
            log: Log::default(),
            chart: Chart::default(),
            devices: Devices::default(),
            runs: Runs::default(),
            lesson: Lesson::default(),
            series: SeriesView::default(),
            exercise: Exercise::default(),
            collectives: Collectives::default(),
            forms: Forms::default(),
            simulated: None,
            help: Help::default(),
            preferences: Preferences::default(),
            hints: Tried::default(),
            focus: Pane::Steps,
            slot: Pane::Chart,
            zoom: false,
            projector: false,
            dragged: None,
            done: false,
        }
    }
}

pub static CLOSE: &[Binding] =
    &[row(&[Code(K::Esc), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0)];

/// What a window is like now.
#[derive(Debug, Default)]
pub struct About {
    /// The keys that it knows: dispatch, footer and help read them here.
    pub keys: &'static [Binding],
    /// Whether the keys of pages scroll its lines.
    pub scrolls: bool,
    /// The run that it is about: it closes when the run is gone.
    pub run: Option<RunId>,
    /// What it asks for once a second while it is in front.
    pub each_second: Option<Effect>,
}

/// A window in front of the panes: its keys, what they do, and what it shows.
pub trait Window: Any + Debug + Boxed {
    /// What it is like now. A window of lines alone scrolls, and its keys close it.
    fn about(&self, _state: &State) -> About {
        About { keys: CLOSE, scrolls: true, ..About::default() }
    }

    /// What it shows when `columns` are available.
    fn view(&self, state: &State, columns: u16) -> Option<View>;

    /// Follows one of its keys. It is not among the open windows meanwhile.
    fn press(&mut self, _state: &mut State, _command: Command) -> Outcome {
        Outcome::CLOSE
    }

    /// Whether a key would do nothing now; `None` where the same is true of the panes.
    fn is_idle(&self, _state: &State, _command: Command) -> Option<bool> {
        None
    }

    /// A row of its list is chosen by the mouse.
    fn choose(&mut self, _row: usize) {}
}

/// What becomes of a window after a key, and what it asks for.
#[derive(Debug)]
pub enum Outcome {
    /// It stays open, below what it opened.
    Stay(Vec<Action>),
    /// It stays open, and shows its lines from the first.
    Top(Vec<Action>),
    Close(Vec<Action>),
}

impl Outcome {
    pub const STAY: Outcome = Outcome::Stay(Vec::new());
    pub const TOP: Outcome = Outcome::Top(Vec::new());
    pub const CLOSE: Outcome = Outcome::Close(Vec::new());
}

/// Copies itself into another box, so that a state can be copied.
pub trait Boxed {
    fn boxed(&self) -> Box<dyn Window>;
}

impl<W: Window + Clone> Boxed for W {
    fn boxed(&self) -> Box<dyn Window> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Window> {
    fn clone(&self) -> Box<dyn Window> {
        (**self).boxed()
    }
}

/// Opens a window that is always the same at first.
pub fn open<W: Window + Default>(state: &mut State) -> Vec<Action> {
    state.windows.show(W::default());
    Vec::new()
}

/// A window, and the first of its lines that is shown.
#[derive(Clone, Debug)]
pub struct OpenWindow {
    pub window: Box<dyn Window>,
    pub scroll: usize,
}

/// The open windows, the one in front last.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<OpenWindow>);

impl Windows {
    /// Opens it in the place of all that are open.
    pub fn show(&mut self, window: impl Window) {
        self.0.clear();
        self.show_over(window);
    }

    /// Opens it in front of the others, which come back when it is closed.
    pub fn show_over(&mut self, window: impl Window) {
        self.0.push(OpenWindow { window: Box::new(window), scroll: 0 });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn front(&self) -> Option<&dyn Window> {
        Some(self.0.last()?.window.as_ref())
    }

    pub fn front_mut(&mut self) -> Option<&mut Box<dyn Window>> {
        Some(&mut self.0.last_mut()?.window)
    }

    /// The first line that is shown of the one in front, where it scrolls.
    pub fn scroll(&self) -> Option<usize> {
        Some(self.0.last()?.scroll)
    }

    /// The one in front, where it is of this kind.
    pub fn get<W: Window>(&self) -> Option<&W> {
        (self.front()? as &dyn Any).downcast_ref()
    }

    pub fn get_mut<W: Window>(&mut self) -> Option<&mut W> {
        (self.front_mut()?.as_mut() as &mut dyn Any).downcast_mut()
    }

    /// One of this kind is open, in front or behind another.
    pub fn has<W: Window>(&self) -> bool {
        self.0.iter().any(|open| (open.window.as_ref() as &dyn Any).is::<W>())
    }

    /// Closes those that do not fit.
    pub fn retain(&mut self, fits: impl Fn(&dyn Window) -> bool) {
        self.0.retain(|open| fits(open.window.as_ref()));
    }

    /// Takes the one in front away, with its place for [`Windows::put_back`].
    pub fn take(&mut self) -> Option<(usize, OpenWindow)> {
        let window = self.0.pop()?;
        Some((self.0.len(), window))
    }

    /// What it has opened meanwhile is in front of it.
    pub fn put_back(&mut self, place: usize, window: OpenWindow) {
        self.0.insert(place.min(self.0.len()), window);
    }
}
