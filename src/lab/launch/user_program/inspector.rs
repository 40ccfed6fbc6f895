//! The inspector's Python half in a run of the user's own program: its files, how a rank comes to it, and why it may see nothing.

use std::path::{Path, PathBuf};

use crate::domain::command::CommandSpec;
use crate::domain::job::RunSpec;

/// Name and text of the files of `python/hvd_lab/_inspect`, written by build.rs.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/inspector.rs"));

/// Tells `sitecustomize.py` that this run is inspected.
pub(super) const VARIABLE: &str = "HVD_LAB_INSPECT";

/// Python runs it before the program where it finds it first on its path.
const FIRST: &str = "_inspect/sitecustomize.py";

/// Where a file belongs in the folder that comes first on PYTHONPATH.
pub(super) fn place(name: &str) -> PathBuf {
    if name == FIRST { PathBuf::from("sitecustomize.py") } else { Path::new("hvd_lab").join(name) }
}

/// The words with `folder` first in each PYTHONPATH that they set themselves, as `env PYTHONPATH=src torchrun ...` does.
pub(super) fn with_path(argv: Vec<String>, folder: &Path) -> Vec<String> {
    let with_folder = |word: String| match word.strip_prefix("PYTHONPATH=") {
        Some("") => format!("PYTHONPATH={}", folder.display()),
        Some(before) => format!("PYTHONPATH={}:{before}", folder.display()),
        None => word,
    };
    argv.into_iter().map(with_folder).collect()
}

/// What is to be said when the run starts: where the words alone say that the inspector cannot look.
pub(super) fn doubts(run: &RunSpec, spec: &CommandSpec, folder: &Path) -> Vec<String> {
    if !spec.inspect {
        return Vec::new();
    }
    let flag = spec.flag_against_inspector().map(|flag| {
        let why = if flag == 'S' {
            "does not import the module site, which starts it"
        } else {
            "ignores PYTHONPATH, by which Python finds it"
        };
        format!("the inspector cannot look: `python -{flag}` {why}. Leave out -{flag}")
    });
    let split = folder.display().to_string().contains(':').then(|| {
        format!(
            "the inspector cannot look: Python's path ends at the `:` in {}. Set HVD_LAB_HOME to a folder without one",
            folder.display()
        )
    });
    let own = spec.launcher_words();
    let container = own.as_ref().and_then(|own| own.container).map(|container| {
        format!(
            "the inspector may not be able to look into {container}: start `hvd-lab inspect -- ...` inside of the container instead"
        )
    });
    let is_spread = run.resources.names_hosts() || own.is_some_and(|own| own.names_hosts());
    let hosts = is_spread.then(|| {
        format!(
            "ranks on other hosts are inspected only if they get PYTHONPATH and {VARIABLE} from the launcher, and see {} there",
            folder.display()
        )
    });
    [flag, split, container, hosts].into_iter().flatten().collect()
}

/// Why no rank of a launch that ended well may have reported anything.
pub(super) const SAW_NOTHING: &str = "the inspector saw nothing: no rank has imported PyTorch or Horovod where it looks. It cannot look where \
     Python is started with -I, -E or -S, where the program or a container replaces PYTHONPATH, and on hosts that do not see the run's folder";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::{Resources, Workload};

    fn said(line: &str, resources: Resources) -> String {
        let spec = CommandSpec { inspect: true, ..CommandSpec::sample(line) };
        let run = RunSpec { resources, workload: Workload::Command(spec.clone()) };
        doubts(&run, &spec, Path::new("/runs/7/python")).join("\n")
    }

    #[test]
    fn what_hides_ranks_from_the_inspector_is_said() {
        let here = || Resources::ranks(2);
        assert_eq!(said("torchrun --nproc_per_node 2 t.py", here()), "");
        assert_eq!(said("mpirun -H localhost:2 python t.py", here()) + &said("torchrun --nnodes 1 t.py", here()), "");
        assert!(said("mpirun -np 2 python -I t.py", here()).contains("cannot look: `python -I`"));
        assert!(said("mpirun -np 2 python -S t.py", here()).contains("`python -S` does not import the module site"));
        assert!(said("docker run img torchrun t.py", here()).contains("into docker"));
        for line in ["mpirun -H a:1,b:1 python t.py", "torchrun --nnodes 2 t.py", "srun -N2 torchrun t.py"] {
            assert!(said(line, here()).contains("see /runs/7/python there"), "{line}");
        }
        let spread = Resources { hosts: Some("a,b".into()), ..here() };
        assert!(said("python t.py", spread).contains("ranks on other hosts"));
        assert_eq!(
            doubts(
                &RunSpec { resources: here(), workload: Workload::Command(CommandSpec::sample("python -I t")) },
                &CommandSpec::sample("python -I t"),
                Path::new("/")
            ),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_path_of_the_words_comes_behind_the_inspector() {
        let argv = ["env", "PYTHONPATH=src:lib", "mpirun", "-x", "PYTHONPATH=", "python", "t.py"].map(String::from).to_vec();
        let made = with_path(argv, Path::new("/f")).join(" ");
        assert_eq!(made, "env PYTHONPATH=/f:src:lib mpirun -x PYTHONPATH=/f python t.py");
    }

    #[test]
    fn python_runs_the_inspector_first() {
        assert_eq!(place(FIRST), Path::new("sitecustomize.py"));
        assert_eq!(place("_inspect/hooks.py"), Path::new("hvd_lab/_inspect/hooks.py"));
    }
}
