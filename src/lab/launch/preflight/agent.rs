//! What starts a command on another host: ssh, or what the launcher was told to use in its place.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::hosts::Host;
use crate::host::read;
use crate::launch::{Flavour, setup};

/// Where Open MPI takes its agent from, in the order in which it looks.
const OPEN_MPI_5: [&str; 4] =
    ["PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_ssh_agent", "OMPI_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent"];
const OPEN_MPI_4: [&str; 2] = ["OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_rsh_agent"];
const MPICH: [&str; 1] = ["HYDRA_LAUNCHER_EXEC"];
/// And words for it. What Open MPI 4 calls `OMPI_MCA_plm_rsh_args`, Open MPI 5 does not hear.
const ARGS_5: &str = "PRTE_MCA_plm_ssh_args";
const ARGS_4: &str = "OMPI_MCA_plm_rsh_args";
/// A file of settings is a few lines.
const MOST_BYTES: u64 = 64 << 10;

/// `ssh`, or a program that is called as it is: with a host, then a command for the host's shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agent {
    /// The program first.
    words: Vec<String>,
    /// What the launcher was told to add.
    args: Vec<String>,
}

impl Agent {
    /// As the launcher will find it.
    ///
    /// # Errors
    /// None of the programs is there: cause and remedy.
    pub fn find(flavour: Flavour) -> Result<Agent, (String, String)> {
        let from_env = |name: &&str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let args = match flavour {
            Flavour::OpenMpi5 => from_env(&ARGS_5).or_else(|| from_files(&["plm_ssh_args"])),
            Flavour::OpenMpi4 => from_env(&ARGS_4).or_else(|| from_files(&["plm_rsh_args"])),
            Flavour::Mpich => None,
        };
        let args = args.iter().flat_map(|args| args.split_whitespace()).map(str::to_owned).collect();
        let given = match flavour {
            Flavour::OpenMpi5 => OPEN_MPI_5.iter().find_map(from_env).or_else(|| from_files(&["plm_ssh_agent", "plm_rsh_agent"])),
            Flavour::OpenMpi4 => OPEN_MPI_4.iter().find_map(from_env).or_else(|| from_files(&["plm_rsh_agent"])),
            Flavour::Mpich => MPICH.iter().find_map(from_env),
        };
        let usual = if flavour == Flavour::Mpich { "ssh" } else { "ssh : rsh" };
        let choices = given.as_deref().unwrap_or(usual);
        // `ssh : rsh` is the first of them that is there.
        let words = choices.split(':').map(|words| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let there = words.into_iter().find(|words| words.first().is_some_and(|program| setup::is_program_at(program)));
        there.map(|words| Agent { words, args }).ok_or_else(|| {
            let variable = match flavour {
                Flavour::OpenMpi5 => OPEN_MPI_5[0],
                Flavour::OpenMpi4 => OPEN_MPI_4[0],
                Flavour::Mpich => MPICH[0],
            };
            let remedy =
                format!("install ssh (Debian: openssh-client), or point {variable} at what starts commands on other hosts");
            (format!("there is no `{choices}` on this host to reach it by"), remedy)
        })
    }

    /// A command for the shell of another host.
    pub fn command(&self, host: &Host, line: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.is_ssh() {
            // The ranks are started from the background, where nobody can type a password.
            command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=8"]);
        }
        command.args(&self.args).arg(&host.name);
        // Behind the host, as mpirun says it.
        if let Some(port) = host.port {
            command.args(["-p", &port.to_string()]);
        }
        command.arg(line);
        command
    }

    pub fn is_ssh(&self) -> bool {
        self.name() == "ssh"
    }

    /// The program without its folder.
    pub fn name(&self) -> &str {
        Path::new(&self.words[0]).file_name().and_then(|name| name.to_str()).unwrap_or(&self.words[0])
    }
}

/// The setting in a user's own files for Open MPI.
fn from_files(names: &[&str]) -> Option<String> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let files = [".prte/mca-params.conf", ".openmpi/mca-params.conf"].map(|file| home.join(file));
    let texts: Vec<String> = files.iter().filter_map(|file| read::small_text(file, MOST_BYTES).ok()).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once('='));
    let found = lines.filter(|(name, value)| names.contains(&name.trim()) && !value.trim().is_empty());
    found.map(|(_, value)| value.trim().trim_matches('"').to_owned()).next()
}

#[cfg(test)]
impl Agent {
    pub fn of(program: &str) -> Agent {
        Agent { words: vec![program.to_owned()], args: Vec::new() }
    }
}
