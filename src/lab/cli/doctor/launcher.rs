//! MPI: the library in the trainer, the launcher, whether the two belong together, and whether one starts the other.
//!
//! Never starts more than one rank.

use super::check::{Check, Weight};
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
    let fits = agreement.weight != Weight::Bad;
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
    let (Some(inside), Some(outside)) = (version(library), version(launcher)) else {
        let doubt = format!("{found}; it cannot be told whether it belongs to the library");
        return Check::warn("mpirun", doubt, "if ranks call themselves rank 0 of 1, it does not");
    };
    if inside == outside {
        return Check::ok("mpirun", found);
    }
    let differ = format!("{found}, but hvd-train is built with {}", short(library));
    let ((family, numbers), (other_family, other_numbers)) = (inside, outside);
    let is_other_generation = family == OPEN_MPI && numbers[0] != other_numbers[0];
    let is_strange = family != other_family || is_other_generation;
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

const OPEN_MPI: &str = "Open MPI";
/// Words of libraries and launchers, each with the family that they belong to; the first one that is found counts.
const FAMILIES: [(&str, &str); 6] = [
    ("Intel", "Intel"),
    (OPEN_MPI, OPEN_MPI),
    ("OpenRTE", OPEN_MPI),
    ("MPICH", "MPICH"),
    ("MVAPICH", "MPICH"),
    ("HYDRA", "MPICH"),
];

/// The family and the numbers, two at least, in the words of a library (`Open MPI v5.0.11, package: ...`) or of a launcher
/// (`mpirun (Open MPI) 5.0.11`).
fn version(text: &str) -> Option<(&'static str, Vec<u32>)> {
    let (_, family) = FAMILIES.into_iter().find(|(word, _)| text.contains(word))?;
    let numbers = text.split_whitespace().find_map(|word| {
        let parts = word.trim_start_matches('v').trim_end_matches(',').split('.');
        let number = |part: &str| part[..part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len())].parse().ok();
        parts.map(number).collect::<Option<Vec<u32>>>().filter(|numbers| numbers.len() >= 2)
    })?;
    Some((family, numbers))
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

    const LIBRARY: &str = "Open MPI v5.0.11, package: Open MPI root@host Distribution, ident: 5.0.11, repo rev: v5.0.11";

    #[test]
    fn library_and_launcher_agree_by_family_and_version() {
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr 7\n";
        for (library, launcher, state) in [
            (LIBRARY, "mpirun (Open MPI) 5.0.11", Weight::Good),
            (LIBRARY, "mpirun (Open MPI) 5.0.8", Weight::Doubt),
            (LIBRARY, "mpirun (Open MPI) 5.1.0rc1", Weight::Doubt),
            (LIBRARY, "mpirun (Open MPI) 4.1.8", Weight::Bad),
            (LIBRARY, "MPICH Hydra 4.0.2", Weight::Bad),
            (LIBRARY, "prterun (PRRTE) 3.0.8", Weight::Doubt),
            (mpich, "MPICH Hydra 4.0.2", Weight::Good),
            (mpich, "MPICH Hydra 4.2.0", Weight::Doubt),
            (mpich, "mpirun (Open MPI) 5.0.11", Weight::Bad),
            ("", "mpirun (Open MPI) 5.0.11", Weight::Doubt),
        ] {
            let check = agreement(library, launcher, "/opt/mpirun");
            assert_eq!(check.weight, state, "{library} and {launcher}: {check:?}");
            assert_eq!(check.remedy.is_empty(), state == Weight::Good, "{check:?}");
            assert!(check.found.starts_with(launcher) && check.found.contains("/opt/mpirun"), "{check:?}");
        }
        assert_eq!((short(LIBRARY), short(mpich)), ("Open MPI v5.0.11".into(), "MPICH Version: 4.0.2".into()));
    }
}
