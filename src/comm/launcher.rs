//! What the launcher (mpirun, srun) says about this process in its environment.

/// Index of this process as it was launched: what mpirun says, whether MPI is initialised or not. 0 without mpirun.
///
/// With step 1 off, every process takes itself for rank 0. This index still tells them apart in the log.
pub fn launched_index() -> usize {
    // Set by Open MPI, by any PMIx launcher (srun is one), and by MPICH's hydra, in this order.
    first_number(["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"], |name| std::env::var(name).ok()).unwrap_or(0)
}

fn first_number<const N: usize>(names: [&str; N], lookup: impl Fn(&str) -> Option<String>) -> Option<usize> {
    names.into_iter().find_map(|name| lookup(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launched_index_is_the_first_number_that_a_launcher_gives() {
        let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];
        let environment = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        };
        assert_eq!(first_number(names, environment(&[])), None);
        assert_eq!(first_number(names, environment(&[("PMI_RANK", "3")])), Some(3));
        assert_eq!(first_number(names, environment(&[("PMI_RANK", "3"), ("OMPI_COMM_WORLD_RANK", "2")])), Some(2));
        assert_eq!(first_number(names, environment(&[("PMIX_RANK", "x"), ("PMI_RANK", "1")])), Some(1));
    }
}
