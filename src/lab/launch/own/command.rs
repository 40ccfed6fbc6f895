//! The command line of a program that is started without the lab's launcher, and what such programs find in their environment.

use std::env;
use std::path::{Path, PathBuf};

use super::tags::{RankTags, TORCHRUN_PREFIX, TORCHRUN_TEMPLATE};
use crate::domain::command::CommandSpec;
use crate::domain::launcher::OwnLauncher;
use crate::host::files;
use crate::launch::output::Tags;
use crate::launch::setup::Setup;
use crate::launch::{Flavour, LaunchError};

/// The folder of the run's that Python finds `hvd_lab.log` in.
const PYTHON_FOLDER: &str = "python";
/// Bars that are cut off where a terminal would end lose their figures.
const COLUMNS: &str = "200";
/// The module, where the program has none of its own.
const LOG_MODULE: &str = include_str!("../../../../python/hvd_lab/_log.py");

/// The words as the user gave them, with those that make their launcher say which rank printed a line, and what is to be said of
/// that.
///
/// # Errors
/// [`LaunchError::NotText`].
pub(in crate::launch) fn words(spec: &CommandSpec, setup: &Setup) -> Result<(Vec<String>, Vec<String>), LaunchError> {
    let mut argv = spec.argv.clone();
    argv[0] = LaunchError::text(&setup.program)?;
    let mut notes = Vec::new();
    let Some(own) = spec.launcher_words() else { return Ok((argv, notes)) };
    let given = |flags: &[&str]| own.has(flags);
    let words: &[&str] = match own.launcher {
        OwnLauncher::Torchrun if !given(&["--tee", "-t", "--redirects", "-r"]) => &["--tee", "3"],
        OwnLauncher::Srun if !given(&["-l", "--label"]) => &["--label"],
        OwnLauncher::Mpirun => match setup.flavour {
            Flavour::OpenMpi5 if !given(&["--output", "--tag-output", "-tag-output"]) => &["--output", "tag"],
            Flavour::OpenMpi4 if !given(&["--tag-output", "-tag-output"]) => &["--tag-output"],
            Flavour::Mpich if !given(&["-prepend-rank", "-l"]) => &["-prepend-rank"],
            _ => &[],
        },
        _ => &[],
    };
    if !words.is_empty() {
        argv.splice(own.start..own.start, words.iter().map(|word| (*word).to_owned()));
        notes.push(format!("`{}` is added, so that each line says which rank printed it", words.join(" ")));
    }
    let is_open_mpi = own.launcher == OwnLauncher::Mpirun && setup.flavour != Flavour::Mpich;
    if is_open_mpi && setup.machine.is_root && !given(&["--allow-run-as-root"]) {
        argv.insert(own.start, "--allow-run-as-root".into());
        notes.push("you are root: --allow-run-as-root is added, since Open MPI would refuse otherwise".to_owned());
    }
    Ok((argv, notes))
}

/// How the lines of a program say which rank printed them. `is_alone`: it is started without a launcher.
pub(in crate::launch) fn tags(spec: &CommandSpec, is_alone: bool, flavour: Flavour) -> Tags {
    let Some(own) = spec.launcher_words() else { return if is_alone { Tags::No } else { Tags::Of(flavour) } };
    let role = own.value(&["--role"]);
    let template = env::var(TORCHRUN_PREFIX).ok();
    match RankTags::of(own.launcher, own.np, role, template.as_deref()) {
        Some(tags) => Tags::By(tags),
        None if own.launcher == OwnLauncher::Mpirun => Tags::Of(flavour),
        None => Tags::No,
    }
}

/// Python writes its lines when they are complete and as long as they are, and finds `hvd_lab.log` behind all that the user has.
pub(in crate::launch) fn environment(log_dir: &Path) -> Vec<(String, String)> {
    let folder = python_folder(log_dir);
    let before = env::var("PYTHONPATH").ok().filter(|path| !path.is_empty());
    let path = before.into_iter().chain([folder.display().to_string()]).collect::<Vec<_>>().join(":");
    let unbuffered = env::var("PYTHONUNBUFFERED").ok().filter(|value| !value.is_empty()).unwrap_or_else(|| "1".into());
    let columns = env::var("COLUMNS").ok().filter(|value| !value.is_empty()).unwrap_or_else(|| COLUMNS.into());
    let prefix = env::var(TORCHRUN_PREFIX).unwrap_or_else(|_| TORCHRUN_TEMPLATE.into());
    [("PYTHONPATH", path), ("PYTHONUNBUFFERED", unbuffered), ("COLUMNS", columns), (TORCHRUN_PREFIX, prefix)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn python_folder(log_dir: &Path) -> PathBuf {
    log_dir.parent().unwrap_or(log_dir).join(PYTHON_FOLDER)
}

/// Put the module `hvd_lab` where [`environment`] says that it is.
///
/// # Errors
/// The folder of the run cannot be written.
pub(in crate::launch) fn write_module(log_dir: &Path) -> Result<(), String> {
    let folder = python_folder(log_dir).join("hvd_lab");
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| files::write(&folder.join("__init__.py"), LOG_MODULE.as_bytes()));
    written.map_err(|error| format!("{} cannot be written ({error}): free some space there", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Machine;

    fn setup(flavour: Flavour) -> Setup {
        let machine = Machine { is_root: true, ..Machine::default() };
        Setup { mpirun: "/mpi/mpirun".into(), flavour, mpirun_version: String::new(), program: "/bin/prog".into(), machine }
    }

    #[test]
    fn launchers_are_asked_to_say_which_rank_printed_a_line() {
        let (five, four, mpich) = (Flavour::OpenMpi5, Flavour::OpenMpi4, Flavour::Mpich);
        for (line, flavour, expected) in [
            ("torchrun --nproc_per_node 2 t.py", five, "/bin/prog --tee 3 --nproc_per_node 2 t.py"),
            ("python3 -m torch.distributed.run t.py", five, "/bin/prog -m torch.distributed.run --tee 3 t.py"),
            ("torchrun -m pkg.train --tee 1", five, "/bin/prog --tee 3 -m pkg.train --tee 1"),
            ("env A=1 srun -l prog", five, "/bin/prog A=1 srun -l prog"),
            ("nohup mpirun -np 1 a : -np 1 b", five, "/bin/prog mpirun --allow-run-as-root --output tag -np 1 a : -np 1 b"),
            ("torchrun --tee=1 t.py", five, "/bin/prog --tee=1 t.py"),
            ("mpirun -np 2 ./a", five, "/bin/prog --allow-run-as-root --output tag -np 2 ./a"),
            ("mpirun --tag-output -np 2 ./a", four, "/bin/prog --allow-run-as-root --tag-output -np 2 ./a"),
            ("mpiexec -n 2 ./a", mpich, "/bin/prog -prepend-rank -n 2 ./a"),
            ("srun -n 2 ./a", five, "/bin/prog --label -n 2 ./a"),
            ("horovodrun -np 2 python t.py", five, "/bin/prog -np 2 python t.py"),
            ("python t.py", five, "/bin/prog t.py"),
        ] {
            let (made, notes) = words(&CommandSpec::sample(line), &setup(flavour)).unwrap();
            assert_eq!(made.join(" "), expected, "{line}");
            assert_eq!(notes.is_empty(), made[1..] == CommandSpec::sample(line).argv[1..], "{line}: {notes:?}");
        }
    }

    #[test]
    fn a_program_alone_has_no_tags() {
        let tags = |line: &str, is_alone| tags(&CommandSpec::sample(line), is_alone, Flavour::OpenMpi5);
        assert!(matches!(tags("python t.py", true), Tags::No) && matches!(tags("accelerate launch t.py", false), Tags::No));
        assert!(matches!(tags("python t.py", false), Tags::Of(Flavour::OpenMpi5)));
        assert!(matches!(tags("torchrun t.py", false), Tags::By(_)));
    }
}
