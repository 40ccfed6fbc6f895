//! From a run's settings to the exact argument vector and environment of `mpirun`.
//!
//! Never runs anything and reads nothing: the same settings and setup always give the same line.

use std::path::Path;

use super::setup::Setup;
use super::{Flavour, LaunchError, Ranks, presets};
use crate::domain::run::RunSpec;

/// Ranks per logical core above which a request is taken for a slip of the finger.
const SENSIBLE_RANKS_PER_CORE: usize = 4;

/// What is started for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The launcher first.
    pub argv: Vec<String>,
    /// Set beside the variables that are there already.
    pub env: Vec<(String, String)>,
    /// What is done beyond the ordinary, and why, one sentence each.
    pub notes: Vec<String>,
}

impl CommandLine {
    /// As it may be pasted into a shell.
    pub fn to_shell(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        env.chain(self.argv.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The command line of a run. `data` is a folder with the four files, or `generated`.
///
/// `force` lets more ranks through than the machine has room for.
///
/// # Errors
/// [`LaunchError::Spec`] where the settings cannot run or ask for more than is there.
pub fn command_line(
    spec: &RunSpec,
    preset: &str,
    setup: &Setup,
    data: &str,
    log_dir: &Path,
    force: bool,
) -> Result<CommandLine, LaunchError> {
    if let Some(problem) = spec.problem() {
        return Err(LaunchError::Spec(problem));
    }
    let oversubscribe = placement(spec, preset, setup, force)?;
    let mut notes = Vec::new();
    let mut argv = vec![setup.mpirun.display().to_string()];
    let env = vec![("CUDA_DEVICE_ORDER".to_owned(), "PCI_BUS_ID".to_owned())];
    let is_spread = spec.hosts.is_some() || spec.hostfile.is_some() || setup.machine.in_allocation;
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    match setup.flavour {
        Flavour::OpenMpi4 | Flavour::OpenMpi5 => {
            let is_4 = setup.flavour == Flavour::OpenMpi4;
            if setup.machine.is_root {
                add(&["--allow-run-as-root"]);
                notes.push("Open MPI refuses to run as root unless told --allow-run-as-root".to_owned());
            }
            if oversubscribe {
                add(if is_4 { &["--oversubscribe"] } else { &["--map-by", ":OVERSUBSCRIBE"] });
                notes.push(oversubscribed(spec, setup));
            }
            add(&["--bind-to", "none"]);
            add(if is_4 { &["--tag-output"] } else { &["--output", "tag"] });
            // Ranks that wait would otherwise spin on the core that the others need.
            add(&["--mca", "mpi_yield_when_idle", "1"]);
            if !is_spread {
                // On one host memory is all it takes; looking for networks would cost a second at every start.
                add(&["--mca", "pml", "ob1", "--mca", "btl", if is_4 { "self,vader" } else { "self,sm" }]);
            }
            if let Some(hosts) = &spec.hosts {
                add(&["-H", hosts]);
            }
            if let Some(hostfile) = &spec.hostfile {
                add(&["--hostfile", hostfile]);
            }
            if is_spread {
                for name in env.iter().map(|(name, _)| name).chain(&setup.machine.forwarded) {
                    add(&["-x", name]);
                }
            }
        }
        Flavour::Mpich => {
            // Hydra neither counts slots nor minds root, and hands on the whole environment.
            add(&["-prepend-rank", "-bind-to", "none"]);
            if oversubscribe {
                notes.push(oversubscribed(spec, setup));
            }
            if let Some(hosts) = &spec.hosts {
                add(&["-hosts", hosts]);
            }
            if let Some(hostfile) = &spec.hostfile {
                add(&["-f", hostfile]);
            }
        }
    }
    add(&["-np", &spec.np.to_string()]);
    argv.push(setup.hvd_train.display().to_string());
    argv.extend(trainer_flags(spec, data, log_dir));
    Ok(CommandLine { argv, env, notes })
}

fn oversubscribed(spec: &RunSpec, setup: &Setup) -> String {
    let cores = setup.machine.physical_cores;
    format!("np {} is more than the {cores} physical cores here: ranks share cores, so speed-up ends there", spec.np)
}

/// Whether more ranks than slots are to be started.
fn placement(spec: &RunSpec, preset: &str, setup: &Setup, force: bool) -> Result<bool, LaunchError> {
    let (np, machine) = (spec.np, &setup.machine);
    let refuse = |message: String| if force { Ok(true) } else { Err(LaunchError::Spec(message)) };
    if let Some(hosts) = &spec.hosts {
        let slots = slots(hosts)?;
        return match np > slots {
            true => refuse(format!(
                "np {np} is more than the {slots} slots of `{hosts}`: write host:slots for each host, or add --force"
            )),
            false => Ok(false),
        };
    }
    if spec.hostfile.is_some() || machine.in_allocation {
        return Ok(force);
    }
    let follows = presets().into_iter().find(|known| known.name == preset).map(|known| known.ranks);
    if follows == Some(Ranks::Gpus) && np > machine.gpus {
        let advice = match machine.gpus {
            0 => "no GPU was found here: use the preset cpu, or add --force to train on the CPU".to_owned(),
            gpus => format!("np {np} is more than the {gpus} GPUs here: use --np {gpus}, or add --force to share them"),
        };
        return refuse(advice);
    }
    let most = SENSIBLE_RANKS_PER_CORE * machine.cores;
    if np > most {
        return refuse(format!(
            "np {np} is more than {SENSIBLE_RANKS_PER_CORE} ranks on each of the {} cores here: use --np {} for the best \
             speed, or add --force",
            machine.cores, machine.cores
        ));
    }
    Ok(np > machine.physical_cores)
}

/// Slots of `host:slots,...`; a host without a number has one.
fn slots(hosts: &str) -> Result<usize, LaunchError> {
    hosts.split(',').try_fold(0, |sum, host| {
        let (name, slots) = host.trim().rsplit_once(':').unwrap_or((host.trim(), "1"));
        match (name.is_empty() || name.starts_with('-'), slots.parse::<usize>()) {
            (false, Ok(slots @ 1..=100_000)) => Ok(sum + slots),
            _ => Err(LaunchError::Spec(format!("`{host}` in the hosts `{hosts}` is no host: write host:slots,host:slots"))),
        }
    })
}

/// The flags of hvd-train.
fn trainer_flags(spec: &RunSpec, data: &str, log_dir: &Path) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |name: &str, value: String| flags.extend([format!("--{name}"), value]);
    add("steps", spec.steps.to_string());
    add("epochs", spec.epochs.to_string());
    add("batch-size", spec.batch_size.to_string());
    add("base-lr", spec.base_lr.to_string());
    add("momentum", spec.momentum.to_string());
    add("wd", spec.wd.to_string());
    add("target-accuracy", spec.target_accuracy.to_string());
    add("patience", spec.patience.to_string());
    add("warmup-epochs", spec.warmup_epochs.to_string());
    add("model", spec.model.to_string());
    add("data-dir", data.to_owned());
    if let Some(images) = spec.train_images {
        add("train-images", images.to_string());
    }
    if let Some(images) = spec.validation_images {
        add("validation-images", images.to_string());
    }
    add("seed", spec.seed.to_string());
    add("log-dir", log_dir.display().to_string());
    if spec.checkpointing {
        flags.push("--use-checkpointing".into());
    }
    flags.push("--events".into());
    flags.extend(spec.trainer_flags.iter().cloned());
    flags
}

#[cfg(test)]
#[path = "mpirun_tests.rs"]
mod tests;
