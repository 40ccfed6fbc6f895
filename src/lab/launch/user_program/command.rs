//! The command line of a program that is started without the lab's launcher, and what such programs find in their environment.

use std::env;
use std::path::{Path, PathBuf};

use super::inspector;
use super::tags::{RankTags, TORCHRUN_PREFIX, TORCHRUN_TEMPLATE};
use crate::domain::command::CommandSpec;
use crate::domain::job::RunSpec;
use crate::domain::launcher::{LauncherWords, OwnLauncher, hidden_launcher};
use crate::host::files;
use crate::launch::output::Tags;
use crate::launch::setup::Setup;
use crate::launch::{Flavour, LaunchError};

/// The folder of the run's that Python finds `hvd_lab.log` in.
const PYTHON_FOLDER: &str = "python";
/// Bars that are cut off where a terminal would end lose their figures.
const COLUMNS: &str = "200";
/// The module, for programs that do not bring one.
const LOG_MODULE: &str = include_str!("../../../../python/hvd_lab/_log.py");

/// The words as the user gave them, with those that make their launcher say which rank printed a line, and what is to be said of
/// that.
///
/// # Errors
/// [`LaunchError::Spec`] for a path that is not UTF-8 text.
pub(in crate::launch) fn words(spec: &CommandSpec, setup: &Setup) -> Result<(Vec<String>, Vec<String>), LaunchError> {
    let mut argv = spec.argv.clone();
    argv[0] = LaunchError::text(&setup.program)?;
    let mut notes = Vec::new();
    let Some(own) = spec.launcher_words() else { return Ok((argv, notes)) };
    let given = |flags: &[&str]| own.has(flags);
    let is_set = |name: &str| variable(&own, name).is_some();
    // Into files, or in a form that is not for people.
    let is_elsewhere = given(&["--xml", "--output-directory", "--output-filename"]);
    let output = own.value(&["--output"]);
    let words: &[&str] = match own.launcher {
        OwnLauncher::Torchrun if is_set("PET_TEE") || is_set("PET_REDIRECTS") => &[],
        OwnLauncher::Torchrun if !given(&["--tee", "-t", "--redirects", "-r"]) => &["--tee", "3"],
        OwnLauncher::Srun if !given(&["-l", "--label"]) => &["--label"],
        // Which MPI is in a container cannot be found out without starting it.
        OwnLauncher::Mpirun if own.container.is_some() || is_elsewhere => &[],
        OwnLauncher::Mpirun => match (setup.flavour, output) {
            (Flavour::OpenMpi5 | Flavour::OpenMpi4, _) if given(&["--tag-output"]) => &[],
            (Flavour::OpenMpi5, None) => &["--output", "tag"],
            // A second --output would count for nothing.
            (Flavour::OpenMpi5, Some(given)) if !["tag", "xml", "="].iter().any(|word| given.contains(word)) => &["--tag-output"],
            (Flavour::OpenMpi4, _) => &["--tag-output"],
            (Flavour::Mpich, _) if !given(&["--prepend-rank", "-l"]) => &["-prepend-rank"],
            _ => &[],
        },
        _ => &[],
    };
    if !words.is_empty() {
        argv.splice(own.start..own.start, words.iter().map(|word| (*word).to_owned()));
        notes.push(format!("`{}` is added, so that each line says which rank printed it", words.join(" ")));
    }
    let open_mpi = own.start_of(OwnLauncher::Mpirun).filter(|_| setup.flavour != Flavour::Mpich && own.container.is_none());
    if let Some(start) = open_mpi
        && setup.machine.is_root
        && !spec.argv.iter().any(|word| word == "--allow-run-as-root")
    {
        argv.insert(start, "--allow-run-as-root".into());
        notes.push("you are root: --allow-run-as-root is added, since Open MPI would refuse otherwise".to_owned());
    }
    Ok((argv, notes))
}

/// A variable that the launcher is going to have: from the words in front of it, or from the lab's own environment.
fn variable(own: &LauncherWords, name: &str) -> Option<String> {
    own.variable(name).map(str::to_owned).or_else(|| env::var(name).ok()).filter(|value| !value.is_empty())
}

/// That ranks will not be seen as processes, where the words alone say so.
pub(super) fn unseen(spec: &CommandSpec) -> Option<String> {
    let program = spec.argv.first()?.rsplit('/').next()?;
    let own = spec.launcher_words();
    if let Some(launcher) = own.as_ref().map_or_else(|| hidden_launcher(&spec.argv), |own| own.hidden) {
        return Some(format!(
            "`{program}` is given a line with {launcher} in it: the lab does not see inside of that, so lines and figures of several ranks \
             may be mixed. Write {launcher} itself behind --, such as `hvd-lab run -- {launcher} ...`"
        ));
    }
    let (own, container) = own.and_then(|own| Some((own.launcher.name(), own.container?)))?;
    Some(format!(
        "{container} starts {own} in a container: its lines are read, and its processes are not seen. For ranks with their devices, start \
         `hvd-lab run -- {own} ...` inside of the container"
    ))
}

/// How the lines of a program say which rank printed them.
pub(in crate::launch) fn tags(spec: &CommandSpec, run: &RunSpec, flavour: Flavour) -> Tags {
    let Some(own) = spec.launcher_words() else { return if run.starts_alone() { Tags::No } else { Tags::Of(flavour) } };
    let role = own.value(&["--role"]).map(str::to_owned).or_else(|| variable(&own, "PET_ROLE"));
    let template = variable(&own, TORCHRUN_PREFIX);
    let np = run.knows_np().then_some(run.resources.np);
    match RankTags::new(own.launcher, np, role.as_deref(), template.as_deref()) {
        Some(tags) => Tags::By(if own.outer.is_some() { tags.inside_another() } else { tags }),
        None if own.launcher == OwnLauncher::Mpirun => Tags::Of(flavour),
        None => Tags::No,
    }
}

/// Python writes its lines when they are complete and as long as they are, and finds `hvd_lab.log` behind all that the user has. The
/// inspector comes before all that the user has.
pub(in crate::launch) fn environment(spec: &CommandSpec, log_dir: &Path) -> Vec<(String, String)> {
    let before = env::var("PYTHONPATH").ok().filter(|path| !path.is_empty());
    let own = Some(python_folder(log_dir).display().to_string());
    let parts = if spec.inspect { [own, before] } else { [before, own] };
    let path = parts.into_iter().flatten().collect::<Vec<_>>().join(":");
    let unbuffered = env::var("PYTHONUNBUFFERED").ok().filter(|value| !value.is_empty()).unwrap_or_else(|| "1".into());
    let columns = env::var("COLUMNS").ok().filter(|value| !value.is_empty()).unwrap_or_else(|| COLUMNS.into());
    let prefix = env::var(TORCHRUN_PREFIX).unwrap_or_else(|_| TORCHRUN_TEMPLATE.into());
    let all = [("PYTHONPATH", path), ("PYTHONUNBUFFERED", unbuffered), ("COLUMNS", columns), (TORCHRUN_PREFIX, prefix)];
    let inspect = spec.inspect.then(|| (inspector::VARIABLE, "1".to_owned()));
    all.into_iter().chain(inspect).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The words of the launcher's line, with the inspector on each path for Python that they set, if the run wants it.
pub(in crate::launch) fn with_inspector(spec: &CommandSpec, argv: Vec<String>, log_dir: &Path) -> Vec<String> {
    if spec.inspect { inspector::with_path(argv, &python_folder(log_dir)) } else { argv }
}

pub(super) fn python_folder(log_dir: &Path) -> PathBuf {
    log_dir.parent().unwrap_or(log_dir).join(PYTHON_FOLDER)
}

/// Put the module `hvd_lab` where [`environment`] says that it is, with the inspector if the run wants it.
///
/// # Errors
/// The folder of the run cannot be written.
pub(in crate::launch) fn write_module(spec: &CommandSpec, log_dir: &Path) -> Result<(), String> {
    let folder = python_folder(log_dir);
    let inspector = inspector::FILES.iter().filter(|_| spec.inspect).map(|(name, text)| (inspector::place(name), *text));
    for (name, text) in [(PathBuf::from("hvd_lab/__init__.py"), LOG_MODULE)].into_iter().chain(inspector) {
        let file = folder.join(name);
        let written =
            std::fs::create_dir_all(file.parent().unwrap_or(&folder)).and_then(|()| files::write(&file, text.as_bytes()));
        written.map_err(|error| format!("{} cannot be written ({error}): free some space there", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::{Resources, Workload};
    use crate::launch::Machine;

    fn setup(flavour: Flavour) -> Setup {
        let machine = Machine { is_root: true, ..Machine::default() };
        Setup {
            mpirun: "/mpi/mpirun".into(),
            flavour,
            mpirun_version: String::new(),
            program: "/bin/prog".into(),
            command: None,
            machine,
        }
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
            (
                "mpirun --output timestamp -np 2 ./a",
                five,
                "/bin/prog --allow-run-as-root --tag-output --output timestamp -np 2 ./a",
            ),
            ("mpirun --output tag-detailed -np 2 ./a", five, "/bin/prog --allow-run-as-root --output tag-detailed -np 2 ./a"),
            ("mpirun --output dir=x -np 2 ./a", five, "/bin/prog --allow-run-as-root --output dir=x -np 2 ./a"),
            (
                "mpirun -timestamp-output -np 2 ./a",
                four,
                "/bin/prog --allow-run-as-root --tag-output -timestamp-output -np 2 ./a",
            ),
            (
                "mpirun -np 2 torchrun --nnodes 2 --nproc_per_node 2 t.py",
                five,
                "/bin/prog --allow-run-as-root -np 2 torchrun --tee 3 --nnodes 2 --nproc_per_node 2 t.py",
            ),
            ("srun -N2 torchrun --nnodes 2 t.py", five, "/bin/prog -N2 torchrun --tee 3 --nnodes 2 t.py"),
            ("docker run img mpirun -np 2 ./a", five, "/bin/prog run img mpirun -np 2 ./a"),
            ("env PET_TEE=3 torchrun t.py", five, "/bin/prog PET_TEE=3 torchrun t.py"),
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
        let tags = |line: &str, np| {
            let command = CommandSpec::sample(line);
            let run = RunSpec {
                resources: Resources::ranks(command.own_np(&|_| None).unwrap_or(np)),
                workload: Workload::Command(command.clone()),
            };
            tags(&command, &run, Flavour::OpenMpi5)
        };
        assert!(matches!(tags("python t.py", 1), Tags::No) && matches!(tags("accelerate launch t.py", 1), Tags::No));
        assert!(matches!(tags("python t.py", 2), Tags::Of(Flavour::OpenMpi5)));
        for (line, printed) in [
            ("torchrun t.py", "[3]<stdout>:x"),
            ("env TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=<${rank}> torchrun t.py", "<3>x"),
            ("env PET_ROLE=a torchrun t.py", "[a3]:x"),
            ("srun -l -N2 torchrun --nnodes 2 --nproc_per_node 2 t.py", "1: [3]<stdout>:x"),
            ("mpirun --tag-output -np 2 torchrun --nnodes 2 --nproc_per_node 2 t.py", "[1,1]<stdout>: [3]<stdout>:x"),
            ("srun -N2 torchrun --nnodes 2 --nproc_per_node 2 t.py", "[default3]:x"),
        ] {
            let Tags::By(tags) = tags(line, 1) else { panic!("{line}") };
            assert_eq!(tags.read(printed), Some((3, "x")), "{line}");
        }
    }

    #[test]
    fn a_launcher_that_cannot_be_looked_into_is_told() {
        let told = |argv: &[&str]| {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            unseen(&CommandSpec { argv, ..CommandSpec::sample("x") }).unwrap_or_default()
        };
        assert!(told(&["bash", "-c", "torchrun t.py"]).contains("Write torchrun itself behind --"));
        assert!(told(&["srun", "-N2", "bash", "-c", "torchrun t.py"]).contains("a line with torchrun"));
        assert!(told(&["docker", "run", "img", "torchrun", "t.py"]).starts_with("docker starts torchrun in a container"));
        assert_eq!(told(&["torchrun", "t.py"]) + &told(&["bash", "-c", "python t.py"]), "");
    }
}
