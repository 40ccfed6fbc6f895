//! The commands that keys, clicks and the palette give: one list of words for all panes and windows.
//!
//! The window in front gives a word its meaning, else the focused pane or the application.

use crate::domain::step::Step;
use crate::runs::recording::PlayerOrder;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    // In many places.
    Move(Move),
    /// Scroll the lines of the window in front.
    Scroll(Move),
    Type(Typing),
    Accept,
    /// Closes what is in front: a window, a search, a filter, the zoom.
    Back,
    Stop,
    Continue,
    /// The one that others are compared with.
    Baseline,
    /// The chosen run beside the baseline, or the learner's program on one rank and on two.
    Compare,
    Lesson,
    /// What the step changes in the program, or how the learner's differs from the solution.
    Diff,
    /// The learner's program in the editor.
    Edit,
    Copy,
    Sort,
    /// Words that a row has to have.
    Filter,
    /// Keeps the chosen run in the chart, or lets it go.
    Pin,
    Hint,
    /// What the chosen step changes: before and after, one after the other.
    Guided,
    /// The last runs that took turns.
    Results,
    Run,
    StartRun,

    // Whichever pane has the focus.
    ToggleStep(Step),
    /// What the row of `app::features` with this name opens or does: nothing else knows the word.
    App(&'static str),
    Details,
    Help,
    Quit,
    /// Back to the shell, until it continues the job.
    Suspend,
    /// An order to the player of a recording.
    Player(PlayerOrder),

    // Steps and settings.
    /// The step on or off.
    Switch,
    /// All steps on; where they are, all off.
    AllSteps,
    /// All steps but one, in turn.
    Ablation,

    // The log.
    /// Type a search or a filter.
    Prompt(Prompt),
    NextMatch,
    PreviousMatch,
    Wrap,
    /// Sideways, where lines are cut.
    Leftwards,
    Rightwards,
    Times,
    /// Begin or end to mark lines.
    Mark,
    Save,
    /// Text as it stands, or a regular expression.
    Regex,

    // The chart.
    /// A logarithmic scale, or a linear one.
    LogScale,
    /// By epoch, step or time.
    Along,
    ZoomIn,
    ZoomOut,
    CursorLeft,
    CursorRight,
    /// All of it again, without a cursor.
    Fit,

    // The devices.
    /// What the graphs show beside the load.
    Beside,

    // The runs.
    Reverse,
    /// Rows of what others published.
    Published,
    Name,
    Note,
    Delete,
    Undo,
    Export,
    /// Set up a benchmark or a training on photos as the chosen run was.
    Again,
    /// The run that is going is left running, or stopped first.
    Leave,
    StopAndLeave,

    // Lessons and the learner's program.
    /// The run that shows what goes wrong without the step, or the one with it.
    RunBefore,
    RunAfter,
    /// Show or hide the same lines in PyTorch and in Rust.
    Fold,
    /// A step back to its TODO, or all of it; then which of the two.
    Reset,
    Step,
    Whole,
    /// All exercises.
    Tracks,
    /// The learner's own against the solution, or what the step changes.
    Mine,
    /// One column or two.
    Columns,

    // Other windows.
    /// Only what has some words.
    Search,
    Make,
    /// The table or the chart.
    Turn,
    /// Messages: play them or pause, and step through them.
    Play,
    Forwards,
    Backwards,
    RoundForwards,
    RoundBackwards,
    Start,
    End,
    Faster,
    Slower,
    NextMethod,
    PreviousMethod,
    /// The form of the next run of collectives.
    Measure,
}

impl Command {
    /// The command of a row on [`On::Text`](super::keys::On::Text), with the character that was typed.
    pub fn typed(self, c: char) -> Command {
        if let Command::Type(Typing::Insert(_)) = self { Command::Type(Typing::Insert(c)) } else { self }
    }

    /// The command of a row of movements, for the key of it that points this way.
    pub fn towards(self, way: Option<Move>) -> Command {
        match (self, way) {
            (Command::Move(_), Some(way)) => Command::Move(way),
            (Command::Scroll(_), Some(way)) => Command::Scroll(way),
            (command, _) => command,
        }
    }

    /// Whether a recording refuses it: a recording cannot be started, stopped or continued, and has no trainer of the learner.
    pub fn starts_or_stops(self) -> bool {
        use Command as C;
        matches!(self, C::Run | C::StartRun | C::Stop | C::Continue | C::Guided | C::Ablation | C::Again | C::Make | C::Measure)
            || matches!(self, C::RunBefore | C::RunAfter | C::Edit | C::Mine | C::Reset)
            || matches!(self, C::App("exercise" | "benchmark" | "photos" | "program" | "faults"))
    }
}

/// What is typed below the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    Search,
    /// Only lines with the text.
    Filter,
    /// Only lines without it.
    InverseFilter,
}

/// Movements that most places know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Places of one page in a table.
const PAGE: usize = 10;

impl Move {
    /// The place after a movement in a list of `len`, which ends at both ends.
    pub fn within(self, place: usize, len: usize) -> usize {
        self.by_pages(place, len, PAGE)
    }

    /// As [`Move::within`], with pages of `page` places.
    pub fn by_pages(self, place: usize, len: usize, page: usize) -> usize {
        let last = len.saturating_sub(1);
        match self {
            Move::Up | Move::Left => place.saturating_sub(1),
            Move::Down | Move::Right => (place + 1).min(last),
            Move::PageUp => place.saturating_sub(page),
            Move::PageDown => (place + page).min(last),
            Move::First => 0,
            Move::Last => last,
        }
    }
}

/// The value `by` places after another in a list without an end.
pub fn cycle<T: Copy + PartialEq>(all: &[T], from: T, by: usize) -> T {
    let place = all.iter().position(|value| *value == from).unwrap_or(0);
    all.get((place + by) % all.len().max(1)).copied().unwrap_or(from)
}

/// One key into a line that is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Insert(char),
    /// The character before the caret.
    Erase,
    /// The one behind it.
    Delete,
    /// The word before it.
    EraseWord,
    Clear,
    /// Moves the caret.
    Go(Move),
}

impl Typing {
    /// At the end of the line, which takes at most `longest` characters.
    pub fn into(self, text: &mut String, longest: usize) {
        self.before(text, &mut 0, longest);
    }

    /// Where the caret stands in the text, in bytes, if `behind` characters stand behind it.
    pub fn caret(text: &str, behind: usize) -> usize {
        text.char_indices().rev().take(behind).last().map_or(text.len(), |(at, _)| at)
    }

    /// The same where `behind` characters stand behind the caret.
    pub fn before(self, text: &mut String, behind: &mut usize, longest: usize) {
        let mut end = text.split_off(Typing::caret(text, *behind));
        match self {
            Typing::Insert(c) if text.chars().count() + *behind < longest && !c.is_control() => text.push(c),
            Typing::Insert(_) | Typing::Go(Move::Up | Move::Down | Move::PageUp | Move::PageDown) => {}
            Typing::Erase => _ = text.pop(),
            Typing::Delete => drop(end.drain(..Typing::caret(&end, (*behind).saturating_sub(1)))),
            Typing::EraseWord => {
                let word = text.trim_end().rsplit(char::is_whitespace).next().map_or(0, str::len);
                text.truncate(text.trim_end().len() - word);
            }
            Typing::Clear => (*text, end) = Default::default(),
            Typing::Go(Move::Left) => end.insert_str(0, text.pop().map(String::from).as_deref().unwrap_or_default()),
            Typing::Go(Move::Right) => text.extend(end.drain(..Typing::caret(&end, (*behind).saturating_sub(1)))),
            Typing::Go(Move::First) => end = std::mem::take(text) + &end,
            Typing::Go(Move::Last) => text.push_str(&std::mem::take(&mut end)),
        }
        *behind = end.chars().count();
        text.push_str(&end);
    }
}
