//! The line that a program of your own is typed into, as at a shell: it runs with the inspector in its ranks.
//!
//! What only a shell understands is handed to one; words alone are started as they are.

use crate::domain::command::{CommandSpec, sets_variable};
use crate::domain::job::{Job, Resources, Workload};
use crate::tui::actions::{Action, Ctrl, Effect};
use crate::tui::shared::Shared;
use crate::tui::shared::run_form::busy;
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::Prompt;

/// Opens it as it was left, or with the words of the last such run.
pub fn open(state: &mut State) -> Vec<Action> {
    let line = state.forms.program.clone().or_else(|| last(&state.shared)).unwrap_or_default();
    state.windows.show(TypedLine::new(OwnProgram, line));
    Vec::new()
}

fn last(shared: &Shared) -> Option<String> {
    let mut programs = shared.runs.iter().rev().filter_map(|run| run.record.as_ref()?.request.spec.command());
    match &programs.next()?.argv[..] {
        [shell, flag, line] if [shell, flag] == SHELL => Some(line.clone()),
        words => shlex::try_join(words.iter().map(String::as_str)).ok(),
    }
}

const SHELL: [&str; 2] = ["sh", "-c"];
/// A word with one of these is not what it says.
const OF_A_SHELL: [char; 13] = ['$', '`', '*', '?', '|', '&', ';', '<', '>', '(', ')', '~', '#'];

/// The words of a line.
///
/// # Errors
/// A quote that is open.
fn words(line: &str) -> Result<Vec<String>, String> {
    let words = shlex::split(line).ok_or("a quote is open, or a backslash is the last letter")?;
    let needs_shell = |word: &String| word == "cd" || sets_variable(word);
    if line.contains(OF_A_SHELL) || words.first().is_some_and(needs_shell) {
        return Ok(SHELL.into_iter().chain([line]).map(str::to_owned).collect());
    }
    Ok(words)
}

#[derive(Clone, Debug)]
struct OwnProgram;

impl Purpose for OwnProgram {
    const LONGEST: usize = 20_000;

    fn prompt(&self, state: &State, text: &str) -> Prompt {
        let mut keys = ends("start", "cancel");
        let hint = match busy(&state.shared) {
            Some(busy) => busy,
            None if text.is_empty() => "such as torchrun --nproc_per_node 2 train.py".to_owned(),
            None => "judged as by `hvd-lab inspect`".to_owned(),
        };
        if !text.is_empty() {
            keys.push((Ctrl('u'), "Ctrl-U clear".to_owned()));
        }
        Prompt { label: "Inspect".into(), keys, hint, ..Prompt::default() }
    }

    fn accept(&mut self, state: &mut State, text: &str) -> Result<Vec<Action>, String> {
        if text.chars().count() >= Self::LONGEST {
            return Err("the line is too long, and may have been cut: put it into a script".into());
        }
        let argv = words(text)?;
        state.forms.program = Some(text.to_owned()).filter(|_| !argv.is_empty());
        if argv.is_empty() {
            return Ok(Vec::new());
        }
        let program = CommandSpec { argv, directory: String::new(), patterns: Vec::new(), tensorboard: None, inspect: true };
        if let Some(problem) = program.problem() {
            return Err(problem);
        }
        if state.shared.is_starting() {
            return Err("a run is starting already: wait until it appears".into());
        }
        let spec = Job { resources: Resources::ranks(1), workload: Workload::Command(program) };
        let start = Effect::StartOther(Box::new(spec));
        if let Some(busy) = busy(&state.shared) {
            return Ok(vec![Action::AskAnyway(busy.trim_end_matches('.').to_owned(), Box::new(start))]);
        }
        state.shared.starting.run = true;
        Ok(vec![start.into()])
    }
}
