//! Which MPI launcher this is: Open MPI 4, Open MPI 5 or MPICH, from what `mpirun --version` says.

use std::fmt;

/// Families of launchers, by the flags that they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flavour {
    OpenMpi4,
    OpenMpi5,
    /// MPICH and those that share its Hydra launcher: Intel MPI, MVAPICH.
    Mpich,
}

impl Flavour {
    /// `None` where the text names no launcher that is known.
    pub fn from_version_text(text: &str) -> Option<Flavour> {
        // PRRTE is Open MPI 5's launcher by its own name, with version numbers of its own.
        if text.contains("PRRTE") {
            return Some(Flavour::OpenMpi5);
        }
        if text.contains("Open MPI") || text.contains("OpenRTE") {
            let major = text.split_whitespace().find_map(|word| word.split_once('.')?.0.parse::<usize>().ok())?;
            return Some(if major >= 5 { Flavour::OpenMpi5 } else { Flavour::OpenMpi4 });
        }
        let hydra = ["HYDRA", "Hydra", "MPICH", "Intel(R) MPI", "MVAPICH"];
        hydra.iter().any(|name| text.contains(name)).then_some(Flavour::Mpich)
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flavour::OpenMpi4 => "Open MPI 4",
            Flavour::OpenMpi5 => "Open MPI 5",
            Flavour::Mpich => "MPICH",
        })
    }
}

/// The one line of the version text that says the version.
pub(super) fn version_line(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let hydra = lines().find_map(|line| Some(format!("MPICH Hydra {}", line.strip_prefix("Version:")?.trim())));
    hydra.or_else(|| lines().next().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYDRA: &str = "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: Thu Apr  7 \
                         12:34:45 CDT 2022\n    Process Manager:                         pmi\n";

    #[test]
    fn launchers_are_told_apart_by_their_own_words() {
        let report = "\n\nReport bugs to http://www.open-mpi.org/community/help/\n";
        for (text, flavour) in [
            (format!("mpirun (Open MPI) 5.0.11{report}"), Some(Flavour::OpenMpi5)),
            (format!("mpirun (Open MPI) 4.1.4{report}"), Some(Flavour::OpenMpi4)),
            (format!("mpirun (Open MPI) 6.1.0a1{report}"), Some(Flavour::OpenMpi5)),
            ("mpirun.real (OpenRTE) 2.1.1".into(), Some(Flavour::OpenMpi4)),
            ("prterun (PRRTE) 3.0.8".into(), Some(Flavour::OpenMpi5)),
            (HYDRA.into(), Some(Flavour::Mpich)),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307".into(), Some(Flavour::Mpich)),
            ("srun: slurm 23.02".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(Flavour::from_version_text(&text), flavour, "{text}");
        }
    }

    #[test]
    fn the_version_is_one_line() {
        assert_eq!(version_line("mpirun (Open MPI) 5.0.11\n\nReport bugs"), "mpirun (Open MPI) 5.0.11");
        assert_eq!(version_line(HYDRA), "MPICH Hydra 4.0.2");
    }
}
