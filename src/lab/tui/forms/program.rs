//! The line that a program of your own is typed into, as at a shell: it runs with the inspector in its ranks.
//!
//! Never hands the line to a shell: what only a shell understands is refused by the program, or by the launcher.

use crate::domain::command::CommandSpec;
use crate::domain::job::{Job, Resources, Workload};
use crate::tui::actions::{Action, Effect};
use crate::tui::shared::Shared;
use crate::tui::shared::run_form::busy;
use crate::tui::state::State;
use crate::tui::state::typed_line::{Purpose, TypedLine, ends};
use crate::tui::widgets::Prompt;

/// Opens it with the words of the last such run.
pub fn open(state: &mut State) -> Vec<Action> {
    let last = last(&state.shared).unwrap_or_default();
    state.windows.show(TypedLine::new(OwnProgram, last));
    Vec::new()
}

fn last(shared: &Shared) -> Option<String> {
    let mut programs = shared.runs.iter().rev().filter_map(|run| run.record.as_ref()?.spec.command());
    shlex::try_join(programs.next()?.argv.iter().map(String::as_str)).ok()
}

#[derive(Clone, Debug)]
struct OwnProgram;

impl Purpose for OwnProgram {
    const LONGEST: usize = 4096;

    fn prompt(&self, state: &State, text: &str) -> Prompt {
        let hint = match busy(&state.shared) {
            Some(busy) => busy,
            None if text.is_empty() => "such as torchrun --nproc_per_node 2 train.py".to_owned(),
            None => "judged as by `hvd-lab inspect`".to_owned(),
        };
        Prompt { label: "Inspect".into(), keys: ends("start", "cancel"), hint, ..Prompt::default() }
    }

    fn accept(&mut self, State { shared, .. }: &mut State, text: &str) -> Result<Vec<Action>, String> {
        let argv = shlex::split(text).ok_or("a quote is open, or a backslash is the last letter")?;
        if argv.is_empty() {
            return Ok(Vec::new());
        }
        if shared.is_starting() {
            return Err("a run is starting already: wait until it appears".into());
        }
        let program = CommandSpec { argv, directory: String::new(), patterns: Vec::new(), tensorboard: None, inspect: true };
        shared.starting.run = true;
        let spec = Job { resources: Resources::ranks(1), workload: Workload::Command(program) };
        Ok(vec![Effect::StartOther(Box::new(spec)).into()])
    }
}
