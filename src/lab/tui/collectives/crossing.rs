//! Where one method becomes faster than another, and how one says it.

use crate::domain::measured::Measured;
use crate::domain::units;

/// From this size on another method is the fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    pub bytes: f64,
    pub before: String,
    pub after: String,
}

/// MPI's own choice, and what it was forced to, are what the others are held against.
pub fn is_reference(method: &str) -> bool {
    method == "mpi" || method.starts_with("mpi-") || method == "nccl"
}

/// The fastest of the lab's own methods at each size, by the median, which one interruption does not change.
fn fastest(measured: &Measured) -> Vec<(u64, &str)> {
    let at = |bytes: u64| {
        let own = measured.methods().into_iter().filter(|method| !is_reference(method));
        let times = own.filter_map(|method| Some((method, measured.row(method, bytes)?.report.median_s)));
        times.filter(|(_, time)| *time > 0.0).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(method, _)| method)
    };
    measured.sizes().into_iter().filter_map(|bytes| Some((bytes, at(bytes)?))).collect()
}

/// Where another method becomes the fastest: the curves cross between two sizes.
pub fn crossings(measured: &Measured) -> Vec<Crossing> {
    let sizes = fastest(measured);
    let changes = sizes.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    changes.map(|pair| crossing(measured, (pair[0].0, pair[1].0), pair[0].1, pair[1].1)).collect()
}

/// Between two sizes, where both curves are straight on scales of logarithms.
fn crossing(measured: &Measured, (low, high): (u64, u64), before: &str, after: &str) -> Crossing {
    // How much longer the second takes, as a logarithm: it falls through 0.
    let lead = |bytes: u64| {
        let time = |method: &str| measured.row(method, bytes).map(|row| row.report.median_s.ln());
        Some(time(after)? - time(before)?)
    };
    let part = lead(low).zip(lead(high)).map(|(first, last)| first / (first - last)).filter(|part| part.is_finite());
    let (low, high) = ((low.max(1) as f64).ln(), (high.max(1) as f64).ln());
    let bytes = (low + part.unwrap_or(0.5).clamp(0.0, 1.0) * (high - low)).exp();
    Crossing { bytes, before: before.to_owned(), after: after.to_owned() }
}

/// `Below 32 KiB recursive-doubling is the fastest, above it ring.`
pub fn sentence(measured: &Measured) -> Option<String> {
    let size = |bytes: f64| units::bytes(bytes.round() as u64);
    if measured.methods().into_iter().filter(|method| !is_reference(method)).count() < 2 {
        return None;
    }
    Some(match &crossings(measured)[..] {
        [] => format!("{} is the fastest at every size.", fastest(measured).last()?.1),
        [one] => format!("Below {} {} is the fastest, above it {}.", size(one.bytes), one.before, one.after),
        [Crossing { bytes, before, after }, rest @ ..] if rest.len() < 3 => {
            let then: Vec<String> = rest.iter().map(|next| format!("from {} on {}", size(next.bytes), next.after)).collect();
            format!("The fastest: below {} {before}, above it {after}, {}.", size(*bytes), then.join(", "))
        }
        many => format!(
            "The fastest method changes {} times between the sizes: the times are close, or the machine was busy.",
            many.len()
        ),
    })
}
