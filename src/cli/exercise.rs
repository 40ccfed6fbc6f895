//! `hvd-lab exercise`: the learner's own trainer.
//!
//! Never draws a screen.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use super::lessons;
use crate::domain::step::Step;
use crate::exercise::{self, Diff, Role, Row};

const EXAMPLES: &str = "\
Examples:
  hvd-lab exercise diff --step 4          exactly what step 4 changes in the trainer
  hvd-lab exercise diff --step 4 | less";

/// Complete the trainer yourself, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// What a step changes.
    Diff {
        /// The step, 1 to 10.
        #[arg(long, value_name = "N", value_parser = lessons::step)]
        step: Step,
        /// Before and after beside each other, from 108 columns on.
        #[arg(long)]
        side_by_side: bool,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Diff { step, side_by_side } => {
            super::print(&text(&exercise::rows(&Diff::of_step(step), columns(), side_by_side)))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Of the terminal; a pipe has no width, and gets lines as they are.
fn columns() -> usize {
    match io::stdout().is_terminal() {
        true => crate::tui::columns().unwrap_or(80),
        false => 160,
    }
}

/// With colours where standard output is a terminal that wants them.
fn text(rows: &[Row]) -> String {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let piece = |piece: &exercise::Piece| match (coloured, code(piece.role)) {
        (true, Some(code)) => format!("\x1b[{code}m{}\x1b[0m", piece.text),
        _ => piece.text.clone(),
    };
    rows.iter().map(|row| row.iter().map(piece).collect::<String>().trim_end().to_owned() + "\n").collect()
}

/// Orange goes, blue comes, and what changed in a line is underlined.
fn code(role: Role) -> Option<&'static str> {
    match role {
        Role::Same => None,
        Role::Sign => Some("2"),
        Role::Removed => Some("38;5;166"),
        Role::RemovedWord => Some("1;4;38;5;166"),
        Role::Added => Some("38;5;32"),
        Role::AddedWord => Some("1;4;38;5;32"),
    }
}
