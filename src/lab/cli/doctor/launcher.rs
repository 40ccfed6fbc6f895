//! MPI: the library in the trainer, the launcher, whether the two belong together, and whether one starts the other.
//!
//! Never starts more than one rank.

use super::check::{Check, State};
use super::trainer::{Trainer, answer, name};
use crate::host::installation::set_up_command;
use crate::launch::{Flavour, LaunchError, Launcher, libraries};
use crate::process::Scratch;

/// Adds the checks of library, launcher and start.
pub(super) fn examine(trainer: Option<&Trainer>, checks: &mut Vec<Check>) {
    if let Some(trainer) = trainer {
        checks.push(Check::ok("MPI library", format!("{} (MPI {})", short(&trainer.info.mpi), trainer.info.mpi_standard)));
    }
    let launcher = match Launcher::detect() {
        Ok(launcher) => launcher,
        Err(error) => {
            let (cause, remedy) = match error {
                LaunchError::BadLauncher { path, cause } => (
                    format!("{} does not work as a launcher: {cause}", path.display()),
                    "point HVD_LAB_MPIRUN at the mpirun of Open MPI 4 or 5, or of MPICH".into(),
                ),
                LaunchError::NoLauncher => (
                    "not found".into(),
                    format!("run {}, install Open MPI or MPICH, or point HVD_LAB_MPIRUN at it", set_up_command()),
                ),
                LaunchError::Foreign { path, what, remedy } => (format!("{} does not start: {what}", path.display()), remedy),
                other => (other.to_string(), format!("run {}", set_up_command())),
            };
            return checks.push(Check::fail("mpirun", cause, remedy));
        }
    };
    let Some(trainer) = trainer else {
        return checks.push(Check::ok("mpirun", format!("{} ({})", launcher.version, launcher.mpirun.display())));
    };
    let agreement = agreement(&trainer.info.mpi, &launcher.version, &launcher.mpirun.display().to_string());
    let fits = agreement.state != State::Fail;
    checks.push(agreement);
    if fits {
        checks.push(start(trainer, &launcher));
    }
}

/// Whether a launcher and the library in the ranks understand each other: ranks of another family, or of another
/// generation of Open MPI, each believe that they are rank 0 of 1.
fn agreement(library: &str, launcher: &str, path: &str) -> Check {
    let found = format!("{launcher} ({path})");
    let remedy = "point HVD_LAB_MPIRUN at the mpirun of that library, or build hvd-train with the MPICC of this launcher";
    let (Some(inside), Some(outside)) = (Version::of(library), Version::of(launcher)) else {
        let doubt = format!("{found}; it cannot be told whether it belongs to the library");
        return Check::warn("mpirun", doubt, "if ranks call themselves rank 0 of 1, it does not");
    };
    if inside == outside {
        return Check::ok("mpirun", found);
    }
    let differ = format!("{found}, but hvd-train is built with {}", short(library));
    let is_other_generation = inside.family == Family::OpenMpi && inside.numbers[0] != outside.numbers[0];
    let is_strange = inside.family != outside.family || is_other_generation;
    if is_strange { Check::fail("mpirun", differ, remedy) } else { Check::warn("mpirun", differ, remedy) }
}

/// One rank that only says what it is.
fn start(trainer: &Trainer, launcher: &Launcher) -> Check {
    let mut command = libraries::command(&launcher.mpirun);
    // The same folder as a run would use. Another check reports a TMPDIR that cannot be used.
    let scratch = Scratch::new().ok();
    if let Some(folder) = &scratch {
        command.env("TMPDIR", folder.path());
    }
    if launcher.flavour != Flavour::Mpich && nix::unistd::geteuid().is_root() {
        command.arg("--allow-run-as-root");
    }
    command.args(["-np", "1"]).arg(&trainer.path).arg("--build-info");
    match answer(&mut command) {
        Ok(_) => Check::ok("start", format!("{} starts {}", name(&launcher.mpirun), name(&trainer.path))),
        Err((cause, remedy)) => Check::fail(
            "start",
            format!("{} does not start a rank: {cause}", name(&launcher.mpirun)),
            remedy.unwrap_or_else(|| "try `mpirun -np 1 hostname`; in a container it may need a bigger /dev/shm or /tmp".into()),
        ),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenMpi,
    Mpich,
    Intel,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    family: Family,
    /// Never empty.
    numbers: Vec<u32>,
}

impl Version {
    /// From the words of a library (`Open MPI v5.0.11, package: ...`) or a launcher (`mpirun (Open MPI) 5.0.11`).
    fn of(text: &str) -> Option<Version> {
        let family = match text {
            _ if text.contains("Intel") => Family::Intel,
            _ if text.contains("Open MPI") || text.contains("OpenRTE") => Family::OpenMpi,
            _ if text.contains("MPICH") || text.contains("MVAPICH") || text.contains("HYDRA") => Family::Mpich,
            _ => return None,
        };
        let numbers = text.split_whitespace().find_map(|word| {
            let word = word.trim_start_matches('v').trim_end_matches(',');
            let parts: Vec<&str> = word.split('.').collect();
            let numbers = parts.iter().map_while(|part| {
                let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
                part[..digits].parse().ok()
            });
            let numbers: Vec<u32> = numbers.collect();
            (parts.len() >= 2 && numbers.len() == parts.len()).then_some(numbers)
        })?;
        Some(Version { family, numbers })
    }
}

/// The library's words up to the first comma or line end: `Open MPI v5.0.11`.
fn short(library: &str) -> String {
    let words: Vec<&str> =
        library.lines().next().unwrap_or_default().split(',').next().unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN_MPI: &str = "Open MPI v5.0.11, package: Open MPI root@host Distribution, ident: 5.0.11, repo rev: v5.0.11";

    #[test]
    fn library_and_launcher_agree_by_family_and_version() {
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr 7\n";
        for (library, launcher, state) in [
            (OPEN_MPI, "mpirun (Open MPI) 5.0.11", State::Ok),
            (OPEN_MPI, "mpirun (Open MPI) 5.0.8", State::Warn),
            (OPEN_MPI, "mpirun (Open MPI) 5.1.0rc1", State::Warn),
            (OPEN_MPI, "mpirun (Open MPI) 4.1.8", State::Fail),
            (OPEN_MPI, "MPICH Hydra 4.0.2", State::Fail),
            (OPEN_MPI, "prterun (PRRTE) 3.0.8", State::Warn),
            (mpich, "MPICH Hydra 4.0.2", State::Ok),
            (mpich, "MPICH Hydra 4.2.0", State::Warn),
            (mpich, "mpirun (Open MPI) 5.0.11", State::Fail),
            ("", "mpirun (Open MPI) 5.0.11", State::Warn),
        ] {
            let check = agreement(library, launcher, "/opt/mpirun");
            assert_eq!(check.state, state, "{library} and {launcher}: {check:?}");
            assert_eq!(check.remedy.is_empty(), state == State::Ok, "{check:?}");
            assert!(check.found.starts_with(launcher) && check.found.contains("/opt/mpirun"), "{check:?}");
        }
        assert_eq!((short(OPEN_MPI), short(mpich)), ("Open MPI v5.0.11".into(), "MPICH Version: 4.0.2".into()));
    }
}
