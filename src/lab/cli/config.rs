//! `hvd-lab config`: where the configuration file is, what counts, a fresh one, and what is wrong in one.
//!
//! Never overwrites a file, and writes none unless asked to.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::output::{Usage, print_done, say};
use crate::host::{self, access, files};
use crate::tui::config::Config;

const EXAMPLES: &str = "\
Examples:
  hvd-lab config path                where the file is, or would be
  hvd-lab config write               a file with all keys, to edit
  hvd-lab config show                the values in use
  hvd-lab config check my.toml       what is wrong in a file, line by line";

/// The configuration of the screen: a file in TOML, none needed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print where the file is, or would be
    Path,
    /// Print all keys with the values in use
    Show,
    /// Write a file with all keys and what they are for; an existing file is not changed
    Write,
    /// Name what is wrong in the file, line by line
    Check {
        /// Another file
        file: Option<PathBuf>,
    },
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let usual = || host::config_file().ok_or_else(|| Usage("no home folder: set HVD_LAB_CONFIG to a file".into()));
    // What is wrong is said line by line.
    let read = |path: &PathBuf| {
        let (config, problems) = Config::read(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
        problems.iter().for_each(|problem| say(&format!("{}, {problem}", path.display())));
        anyhow::Ok((config, problems.is_empty()))
    };
    match args.action {
        Action::Path => print_done(&format!("{}\n", usual()?.display())),
        Action::Show => print_done(&read(&usual()?)?.0.to_toml()),
        Action::Write => {
            let path = usual()?;
            let folder = path.parent().map_or(Ok(()), access::make_folder);
            folder.with_context(|| format!("no folder for `{}`", path.display()))?;
            match files::write_new(&path, Config::default().to_toml().as_bytes()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let advice = "it was not changed. `hvd-lab config check` checks it. Move it away to get a new one";
                    Err(Usage(format!("`{}` is there already: {advice}", path.display())).into())
                }
                Err(error) => Err(error).with_context(|| format!("`{}` cannot be written", path.display())),
                Ok(()) => print_done(&format!("wrote {}\n", path.display())),
            }
        }
        Action::Check { file } => {
            let path = match file {
                Some(file) if !file.exists() => return Err(Usage(format!("there is no file `{}`", file.display())).into()),
                Some(file) => file,
                None => usual()?,
            };
            if !read(&path)?.1 {
                return Ok(ExitCode::from(2));
            }
            let there = if path.exists() { "nothing is wrong in" } else { "there is no file, and you do not need one:" };
            print_done(&format!("{there} {}\n", path.display()))
        }
    }
}
