//! What a line at the foot of the screen is typed for, and what it says of itself.
//!
//! Never says what comes of it: `update` does.

use super::log_view::Prompt;
use super::state::State;
use crate::runs::RunId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Words that runs have to fit; what stood there before comes back with Escape.
    FilterRuns {
        before: String,
    },
    Name(RunId),
    Note(RunId),
    /// The file that the shown runs are written to.
    Export,
    /// A text that devices, ranks or processes have.
    FilterDevices,
    /// What the log is searched for or filtered by: a text, or a regular expression.
    Log {
        prompt: Prompt,
        regex: bool,
    },
}

impl Ask {
    pub fn label(&self) -> String {
        let what = match self {
            Ask::FilterRuns { .. } => "Filter",
            Ask::Name(run) => return format!("Name of run {run}"),
            Ask::Note(run) => return format!("Note on run {run}"),
            Ask::Export => "Export to",
            Ask::FilterDevices => "Filter devices",
            Ask::Log { prompt: Prompt::Search, .. } => "Search",
            Ask::Log { prompt: Prompt::Filter, .. } => "Only lines with",
            Ask::Log { prompt: Prompt::InverseFilter, .. } => "Only lines without",
        };
        let regex = if matches!(self, Ask::Log { regex: true, .. }) { " (regex)" } else { "" };
        format!("{what}{regex}")
    }

    /// What Enter and Escape do.
    pub fn answers(&self) -> [&'static str; 2] {
        match self {
            Ask::FilterDevices => ["keep", "show all"],
            Ask::Log { .. } => ["go", "leave"],
            _ => ["take over", "leave"],
        }
    }

    /// What else there is to know.
    pub fn hint(&self, state: &State) -> String {
        match self {
            Ask::FilterRuns { .. } => {
                let shown = state.runs_view.shown(&state.runs).len();
                format!("{shown} of {} fit  (np:2  failed  !name:old)", state.runs.len())
            }
            Ask::Name(_) | Ask::Note(_) => "empty takes it away".to_owned(),
            Ask::Export => ".md .csv .json .svg".to_owned(),
            Ask::FilterDevices => "GPU 3, rank 2, a pid, a name".to_owned(),
            Ask::Log { .. } => String::new(),
        }
    }

    /// Characters that it takes.
    pub fn longest(&self) -> usize {
        match self {
            // More finds nothing that is on the screen.
            Ask::FilterDevices => 40,
            Ask::Log { .. } => 200,
            _ => usize::MAX,
        }
    }
}
