//! Which cores the launcher gives to each rank: the words of `--bind` for each launcher.

use super::Flavour;
use crate::domain::benchmark::{BenchmarkSpec, Binding};

/// The words for the launcher; `None` of a run that asks for nothing takes those of [`Binding::Share`].
pub(super) fn words(benchmark: Option<&BenchmarkSpec>, flavour: Flavour, oversubscribe: bool) -> Vec<String> {
    let (bind, threads) = benchmark.map_or((Binding::Share, 1), |spec| (spec.bind, spec.threads.unwrap_or(1)));
    let unit = match (bind, flavour) {
        (Binding::Share | Binding::Unbound, _) => None,
        (Binding::Package, Flavour::OpenMpi4 | Flavour::Mpich) => Some("socket"),
        (bind, _) => Some(bind.name()),
    };
    let words = match (unit, flavour) {
        (None, Flavour::Mpich) => "-bind-to none".to_owned(),
        (None, Flavour::OpenMpi5) if oversubscribe => "--map-by :OVERSUBSCRIBE --bind-to none".to_owned(),
        (None, _) => "--bind-to none".to_owned(),
        // As many cores as threads.
        (Some("core"), Flavour::Mpich) => format!("-bind-to core:{threads}"),
        (Some(unit), Flavour::Mpich) => format!("-bind-to {unit}"),
        (Some("core"), _) if threads > 1 => format!("--map-by slot:PE={threads} --bind-to core"),
        (Some(unit), _) if !oversubscribe => format!("--map-by {unit} --bind-to {unit}"),
        (Some(unit), Flavour::OpenMpi5) => format!("--map-by {unit}:OVERSUBSCRIBE --bind-to {unit}:overload-allowed"),
        (Some(unit), _) => format!("--map-by {unit} --bind-to {unit}:overload-allowed"),
    };
    let first = (oversubscribe && flavour == Flavour::OpenMpi4).then_some("--oversubscribe");
    first.into_iter().chain(words.split(' ')).map(String::from).collect()
}

/// Why ranks cannot be bound so, in one sentence: what a core is bound to cannot be shared.
pub(super) fn problem(benchmark: Option<&BenchmarkSpec>, np: usize, cores: usize, oversubscribe: bool) -> Option<String> {
    let spec = benchmark?;
    let threads = spec.threads.unwrap_or(1);
    if !cfg!(target_os = "linux") && !matches!(spec.bind, Binding::Share | Binding::Unbound) {
        return Some(format!("--bind {}: this system binds no rank to cores: use --bind none", spec.bind));
    }
    let of_its_own = matches!(spec.bind, Binding::Core | Binding::Hwthread);
    let is_too_much = spec.bind == Binding::Core && np.saturating_mul(threads) > cores;
    (of_its_own && (oversubscribe || is_too_much)).then(|| {
        let with = if threads > 1 { format!(" with {threads} threads each") } else { String::new() };
        format!(
            "--bind {} gives each rank cores of its own, and np {np}{with} is more than the {cores} physical cores here: lower \
                 --np, or use --bind none or numa",
            spec.bind
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(bind: Binding, threads: Option<usize>) -> BenchmarkSpec {
        BenchmarkSpec { bind, threads, ..BenchmarkSpec::sample() }
    }

    #[test]
    fn each_launcher_has_its_own_words() {
        let (four, five, mpich) = (Flavour::OpenMpi4, Flavour::OpenMpi5, Flavour::Mpich);
        for (bind, threads, flavour, expected) in [
            (Binding::Share, None, five, "--bind-to none"),
            (Binding::Unbound, None, four, "--bind-to none"),
            (Binding::Unbound, None, mpich, "-bind-to none"),
            (Binding::Core, None, five, "--map-by core --bind-to core"),
            (Binding::Core, Some(4), five, "--map-by slot:PE=4 --bind-to core"),
            (Binding::Core, Some(4), four, "--map-by slot:PE=4 --bind-to core"),
            (Binding::Core, Some(4), mpich, "-bind-to core:4"),
            (Binding::Hwthread, None, five, "--map-by hwthread --bind-to hwthread"),
            (Binding::Numa, None, five, "--map-by numa --bind-to numa"),
            (Binding::Numa, None, four, "--map-by numa --bind-to numa"),
            (Binding::Numa, None, mpich, "-bind-to numa"),
            (Binding::L3Cache, None, five, "--map-by l3cache --bind-to l3cache"),
            (Binding::Package, None, five, "--map-by package --bind-to package"),
            (Binding::Package, None, four, "--map-by socket --bind-to socket"),
            (Binding::Package, None, mpich, "-bind-to socket"),
        ] {
            assert_eq!(words(Some(&bound(bind, threads)), flavour, false).join(" "), expected, "{bind} {flavour}");
        }
    }

    #[test]
    fn more_ranks_than_cores_share_what_can_be_shared() {
        let numa = bound(Binding::Numa, None);
        let shared = |flavour| words(Some(&numa), flavour, true).join(" ");
        assert_eq!(shared(Flavour::OpenMpi5), "--map-by numa:OVERSUBSCRIBE --bind-to numa:overload-allowed");
        assert_eq!(shared(Flavour::OpenMpi4), "--oversubscribe --map-by numa --bind-to numa:overload-allowed");
        assert_eq!(words(None, Flavour::OpenMpi5, true).join(" "), "--map-by :OVERSUBSCRIBE --bind-to none");
        assert_eq!(problem(Some(&numa), 9, 2, true), None);
        let core = bound(Binding::Core, None);
        assert!(problem(Some(&core), 3, 2, true).unwrap().contains("np 3 is more than the 2 physical cores"));
        assert!(problem(Some(&bound(Binding::Core, Some(2))), 2, 2, false).unwrap().contains("2 threads each"));
        assert_eq!((problem(Some(&core), 2, 2, false), problem(None, 9, 2, true)), (None, None));
    }
}
