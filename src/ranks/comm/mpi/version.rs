//! Which MPI library this is. Needs no mpirun and no initialisation.

use ::mpi::environment;

/// The MPI library in one line, such as `Open MPI v5.0.11, ...`.
pub fn library_version() -> String {
    let text = environment::library_version().unwrap_or_default();
    // MPICH answers with a page; its first line names it.
    text.trim_matches(['\0', '\n', ' ']).lines().next().unwrap_or("unknown").trim().to_owned()
}

/// Version of the MPI standard that the library implements, such as `3.1`.
pub fn standard_version() -> String {
    let (version, subversion) = environment::version();
    format!("{version}.{subversion}")
}
