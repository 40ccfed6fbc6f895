//! `hvd-lab completions` and `hvd-lab man`: made from the command line's own description.
//!
//! Never installs anything: they print.

use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, print};

/// Print what a shell completes: `hvd-lab completions bash > ~/.local/share/bash-completion/completions/hvd-lab`
#[derive(Debug, clap::Args)]
pub struct Args {
    shell: Known,
}

/// The shells that there is a word for in the help.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

pub fn completions(args: Args) -> anyhow::Result<ExitCode> {
    let shell = match args.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(), "hvd-lab", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Without the verbs that are not for people: the generator would offer them.
fn shown() -> Command {
    let all = Cli::command();
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new("hvd-lab")
        .args(all.get_arguments().cloned())
        .subcommands(verbs)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
}

/// One page for all: the verbs follow the program, each with its flags.
pub fn man() -> anyhow::Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let man = clap_mangen::Man::new(verb.clone());
        page.extend(format!(".SH \"HVD-LAB {}\"\n", verb.get_name().to_uppercase()).into_bytes());
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    print(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
