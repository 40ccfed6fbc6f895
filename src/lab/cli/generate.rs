//! `hvd-lab completions` and `hvd-lab man`: made from the command line's own description.

use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use super::output::print_exact;

const EXAMPLES: &str = "\
Examples:
  hvd-lab completions bash > ~/.local/share/bash-completion/completions/hvd-lab
  hvd-lab completions zsh > ~/.zfunc/_hvd-lab    that folder in fpath
  hvd-lab completions fish > ~/.config/fish/completions/hvd-lab.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  hvd-lab man > hvd-lab.1    for `man ./hvd-lab.1`, or a folder in MANPATH";

/// Print the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct Man {}

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

pub fn completions(args: Args, all: &Command) -> anyhow::Result<ExitCode> {
    let shell: Shell = args.shell.parse().map_err(anyhow::Error::msg)?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(all), "hvd-lab", &mut text);
    print_exact(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// Without the verbs that are not for people: the generator would offer them.
fn shown(all: &Command) -> Command {
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new("hvd-lab")
        .args(all.get_arguments().cloned())
        .subcommands(verbs)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
}

/// What variables of the environment are for: a name, two spaces and the first line of its text.
const ENVIRONMENT: &str = "\
HVD_LAB_HOME  Where runs, progress, images and the configuration are kept [default: hvd-lab in the user's data folder]
HVD_LAB_GROUP  One of your groups, by name or number, that may read and write what the lab keeps: new folders belong to it (mode 2770), and new
files can be written by it (660). Without it only you can read them (700 and 600), whatever the umask. Files that you ask for by
name (--out, --export), and those that your own programs make, are made with your umask. Your copy in the folder of a class can be read
by all who may enter that folder
HVD_LAB_DATA  A folder with the four files of Fashion-MNIST or MNIST, or of images in the same format
HVD_TRAIN  The trainer to run [default: hvd-train beside hvd-lab]
HVD_MEASURE  The program that benchmarks training, trains on photos and measures collectives [default: hvd-measure beside hvd-lab]
HVD_LAB_MPIRUN  The mpirun to start runs with [default: the one in PATH]
HVD_LAB_OFFLINE  Set to anything: nothing is downloaded
HVD_LAB_DATA_URL  A mirror of Fashion-MNIST, with MNIST in its folder mnist
HVD_LAB_LESSONS  A folder with your own lessons
HVD_LAB_CONFIG  The configuration of the screen
HVD_LAB_CLASS  A folder in which learners share their progress
NO_COLOR  Set to anything: no colours on the screen
";

/// One page for all: the verbs follow the program, each with its flags and examples.
pub fn man(all: &Command) -> anyhow::Result<ExitCode> {
    let mut command = all.clone();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    // There is one page: what the generator takes for pages of their own are chapters of it.
    let pages = String::from_utf8_lossy(&page).replace("\nhvd\\-lab\\-", "\nhvd\\-lab ").replace("(1)\n", "\n");
    let mut page = pages.into_bytes();
    for verb in command.get_subcommands() {
        chapter(&mut page, verb, "hvd-lab")?;
    }
    page.extend_from_slice(b".SH ENVIRONMENT\n");
    for line in ENVIRONMENT.lines() {
        let variable = line.split_once("  ").map(|(name, text)| format!(".TP\n{name}\n{text}\n"));
        page.extend(variable.unwrap_or(format!("{line}\n")).into_bytes());
    }
    page.extend_from_slice(b".SH \"EXIT STATUS\"\n0 done; 1 a run or a check failed; 2 bad input\n");
    print_exact(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

fn chapter(page: &mut Vec<u8>, verb: &Command, above: &str) -> std::io::Result<()> {
    if verb.is_hide_set() {
        return Ok(());
    }
    let name = format!("{above} {}", verb.get_name());
    page.extend(format!(".SH \"{}\"\n", name.to_uppercase()).into_bytes());
    let man = clap_mangen::Man::new(verb.clone());
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    man.render_extra_section(page)?;
    verb.get_subcommands().try_for_each(|verb| chapter(page, verb, &name))
}
