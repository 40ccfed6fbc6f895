//! `hvd-lab setup`: the libraries of an installed lab.
//!
//! Never fetches anything itself: the set-up of the checkout is installed with the lab, and does it.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::output::{Usage, say};
use crate::host::installation::Installation;

const EXAMPLES: &str = "\
Examples:
  hvd-lab setup                       fetch what is missing (about 600 MB)
  hvd-lab setup --download wheels     only download, on a machine with a network ...
  hvd-lab setup --from wheels         ... for one without
  hvd-lab setup --from /opt/hvd-lab/lib/hvd-lab    copy what another lab has set up

HVD_LAB_CUDA=1 or 0 decides about CUDA, where the NVIDIA driver of this machine is not to.";

/// Fetch the libraries that a run needs, for a lab that was installed by pip or from a tarball.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Use no network: take the downloaded wheels in DIR, or copy what another lab has set up.
    #[arg(long, value_name = "DIR", conflicts_with = "download")]
    from: Option<PathBuf>,
    /// Only download the wheels into DIR, for machines without a network.
    #[arg(long, value_name = "DIR")]
    download: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Some(installation) = Installation::here() else {
        let text = "this lab was built in a checkout: `make setup` there does its set-up";
        return Err(Usage(text.into()).into());
    };
    let mut command = installation.set_up();
    let given = [("--from", &args.from), ("--download", &args.download)];
    for (flag, folder) in given.into_iter().filter_map(|(flag, folder)| Some((flag, folder.as_ref()?))) {
        command.arg(flag).arg(folder);
    }
    Ok(if started(command)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Before what needs the trainer: where its libraries are not there yet and somebody can be asked, ask and fetch them.
///
/// # Errors
/// Python cannot be started.
pub fn offer() -> anyhow::Result<()> {
    let Some(installation) = Installation::here().filter(|installation| !installation.is_set_up()) else { return Ok(()) };
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        let mut command = installation.set_up();
        command.arg("--ask");
        if !started(command)? {
            say(
                "until then recorded runs, lessons and predictions work, and runs do not; `hvd-lab setup` fetches the libraries later",
            );
        }
    }
    Ok(())
}

/// Whether it has succeeded.
fn started(mut command: Command) -> anyhow::Result<bool> {
    let status = command.status().map_err(|error| {
        let python = command.get_program().display();
        anyhow::anyhow!("the set-up needs Python 3.8 or newer, and {python} does not start: {error}")
    })?;
    Ok(status.success())
}
