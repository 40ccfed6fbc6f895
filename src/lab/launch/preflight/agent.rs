//! The program that starts a command on another host: ssh, or the one that the launcher is set to use instead.

use std::path::Path;
use std::process::Command;

use crate::launch::hosts::Host;
use crate::launch::parameters::in_files;
use crate::launch::{Flavour, setup};

/// Variables, then parameters, that name the agent or words for it, in the order in which the launcher looks.
type Names = (&'static [&'static str], &'static [&'static str]);

const AGENT_5: Names =
    (&["PRTE_MCA_plm_ssh_agent", "PRTE_MCA_prte_ssh_agent"], &["plm_ssh_agent", "prte_plm_ssh_agent", "prte_ssh_agent"]);
const ARGS_5: Names = (&["PRTE_MCA_plm_ssh_args"], &["plm_ssh_args", "prte_plm_ssh_args"]);
const AGENT_4: Names = (&["OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_rsh_agent"], &["plm_rsh_agent", "orte_rsh_agent"]);
const ARGS_4: Names = (&["OMPI_MCA_plm_rsh_args"], &["plm_rsh_args"]);
/// Neither version hears these.
const MIXED_AGENT: Names = (&["OMPI_MCA_plm_ssh_agent", "PRTE_MCA_plm_rsh_agent"], &[]);
const MIXED_ARGS: Names = (&["OMPI_MCA_plm_ssh_args", "PRTE_MCA_plm_rsh_args"], &[]);
const MPICH: Names = (&["HYDRA_LAUNCHER_EXEC"], &[]);

/// The value that the user has set for one of these names, as this launcher would find it.
fn given((variables, names): Names, flavour: Flavour) -> Option<String> {
    let set = variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let in_files = || in_files(flavour).into_iter().find(|parameter| names.contains(&parameter.name.as_str()));
    set.or_else(|| Some(in_files()?.value))
}

/// `ssh`, or a program that is called as it is: with a host, then a command for the host's shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agent {
    /// The program first.
    pub(super) words: Vec<String>,
    /// Words that the launcher is set to add.
    pub(super) args: Vec<String>,
}

impl Agent {
    /// As the launcher will find it.
    ///
    /// # Errors
    /// None of the programs is there: cause and remedy.
    pub fn find(flavour: Flavour) -> Result<Agent, (String, String)> {
        let of_4 = |names: Names| given(names, Flavour::OpenMpi4);
        let (names, agent, args) = match flavour {
            // The names of other versions are translated for version 5: see Agent::variables.
            Flavour::OpenMpi5 => (
                AGENT_5,
                given(AGENT_5, flavour).or_else(|| of_4(AGENT_4)).or_else(|| given(MIXED_AGENT, flavour)),
                given(ARGS_5, flavour).or_else(|| of_4(ARGS_4)).or_else(|| given(MIXED_ARGS, flavour)),
            ),
            Flavour::OpenMpi4 => (AGENT_4, of_4(AGENT_4), of_4(ARGS_4)),
            Flavour::Mpich => (MPICH, given(MPICH, flavour), None),
        };
        let args = args.iter().flat_map(|args| args.split_whitespace()).map(str::to_owned).collect();
        let usual = if flavour == Flavour::Mpich { "ssh" } else { "ssh : rsh" };
        let choices = agent.as_deref().unwrap_or(usual);
        // `ssh : rsh` is the first of them that is there.
        let words = choices.split(':').map(|words| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let there = words.into_iter().find(|words| words.first().is_some_and(|program| setup::is_program_at(program)));
        there.map(|words| Agent { words, args }).ok_or_else(|| {
            let variable = names.0[0];
            let remedy =
                format!("install ssh (Debian: openssh-client), or point {variable} at what starts commands on other hosts");
            (format!("there is no `{choices}` on this host to reach it by"), remedy)
        })
    }

    /// Variables that make the launcher reach hosts as the look before the start does: Open MPI 5 hears no name of version 4, and
    /// loses the last word of an ssh that it is given with words.
    pub fn variables(flavour: Flavour) -> Vec<(String, String)> {
        let Some(agent) = Agent::find(flavour).ok().filter(|_| flavour == Flavour::OpenMpi5) else { return Vec::new() };
        let (known, known_args) = (given(AGENT_5, flavour), given(ARGS_5, flavour));
        let more: &[String] = if agent.is_ssh() { &agent.words[1..] } else { &[] };
        let args = [more, &agent.args].concat().join(" ");
        let program = agent.words[..agent.words.len() - more.len()].join(" ");
        let is_told = !more.is_empty() || known.is_none() && !["ssh", "rsh"].contains(&program.as_str());
        let program = is_told.then(|| (AGENT_5.0[0].to_owned(), program));
        let is_new = !args.is_empty() && known_args.as_ref() != Some(&args);
        let args = is_new.then(|| (ARGS_5.0[0].to_owned(), args));
        program.into_iter().chain(args).collect()
    }

    /// A command for the shell of another host.
    pub fn command(&self, host: &Host, line: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if self.is_ssh() {
            // The ranks are started from the background, where no password can be typed.
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
