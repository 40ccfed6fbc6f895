//! Steps 3, 4 and 6 in words.

use super::super::numbers::apart;
use super::{short, some};

pub const EQUAL_LOSSES: &str = "all ranks had the same loss in the first step: equal gradients of equal batches prove no average";
pub const EQUAL_DRAWN: &str = "all ranks drew the same weights, so that they start alike proves no broadcast";

/// The digests are those of `who` and of the root.
pub fn other_gradients(who: &str, root: &str, [own, of_root]: [&str; 2], strangers: &str) -> String {
    let (own, of_root) = (short(own), short(of_root));
    format!(
        "{who} applied other gradients in the first step than {root} ({own}, not {of_root}): average them over all ranks before the \
         update{strangers}"
    )
}

/// `part` is what to look at first.
pub fn drifted_for_another_reason(who: &str, epoch: usize, part: &str) -> String {
    format!("{who} drifted away by the end of epoch {epoch}: fix {part} first")
}

pub fn drifted(who: &str, root: &str, epoch: usize) -> String {
    format!(
        "{who} held other weights than {root} at the end of epoch {epoch}, after an equal start and equal first gradients: average the \
         gradients of every step"
    )
}

pub fn same_gradients(np: usize, digest: &str) -> String {
    format!("all {np} ranks applied the same gradients in the first step, the mean of their own ({})", short(digest))
}

pub fn loaded_after_broadcast(who: &str, root: &str) -> String {
    format!(
        "{who} started from other weights than {root}, which loaded a checkpoint after the broadcast: load it first, then broadcast"
    )
}

/// The digests are those of `who` and of the root.
pub fn other_weights(who: &str, root: &str, [own, of_root]: [&str; 2], strangers: &str) -> String {
    let (own, of_root) = (short(own), short(of_root));
    format!(
        "{who} started from other weights than {root} ({own}, not {of_root}): broadcast the root's after they are drawn and before \
         training{strangers}"
    )
}

/// `whose` weights they are, if a rank drew them.
pub fn not_of_root(whose: Option<&str>) -> String {
    let whose = whose.map_or("of none of them".to_owned(), |who| format!("those of {who}"));
    format!("all ranks started from the same weights, but {whose}, not of rank 0: broadcast from rank 0")
}

pub fn drifted_later(digest: &str, who: &str, epoch: usize, part: &str) -> String {
    let digest = short(digest);
    format!("all ranks started from the same weights ({digest}), but {who} drifted away by the end of epoch {epoch}: see {part}")
}

pub fn same_weights(np: usize, digest: &str, epoch: usize) -> String {
    format!("all {np} ranks started from rank 0's weights ({}) and were still equal after epoch {epoch}", short(digest))
}

/// The accuracies are those of the ranks that judged alone.
pub fn judged_alone(who: &str, epoch: usize, accuracies: &[f64], strangers: &str) -> String {
    let its = if accuracies.len() == 1 { "its" } else { "their" };
    let shown: Vec<String> = accuracies.iter().take(4).map(|accuracy| format!("{accuracy:.4}")).collect();
    let shown = shown.join(", ");
    format!("{who} judged epoch {epoch} by {its} own validation accuracy ({shown}): average the metrics on every rank{strangers}")
}

#[derive(Clone, Copy)]
pub enum Metric {
    Loss,
    Accuracy,
}

impl Metric {
    fn name(self) -> &'static str {
        match self {
            Metric::Loss => "loss",
            Metric::Accuracy => "accuracy",
        }
    }
}

/// What was taken for the mean over the ranks, as far as that shows.
pub enum NotMean {
    Sum,
    /// On every rank that of one, by its name.
    OfOne(String),
    Own,
    OfTraining,
    Unknown,
}

pub fn not_the_mean(who: &str, epoch: usize, metric: Metric, (found, wanted): (f64, f64), cause: NotMean) -> String {
    let cause = match cause {
        NotMean::Sum => " but the sum: divide by the number of ranks".to_owned(),
        NotMean::OfOne(whose) => format!(" but {whose}'s own, on every rank: average instead of a broadcast"),
        NotMean::Own => " but its own: average every metric".to_owned(),
        NotMean::OfTraining => {
            " but the mean over the training images: average what was measured on the validation images".to_owned()
        }
        NotMean::Unknown => String::new(),
    };
    let ([found, wanted], name) = (apart(found, wanted), metric.name());
    format!("{who} judged epoch {epoch} by a validation {name} of {found}, which is not the mean over the ranks, {wanted}{cause}")
}

/// The accuracies are those of the ranks.
pub fn judged_by_mean(epoch: usize, mean: f64, accuracies: &[f64]) -> String {
    let np = accuracies.len();
    let some = some(accuracies.iter().map(|accuracy| format!("{accuracy:.4}")), np);
    format!("all {np} ranks judged epoch {epoch} by the mean accuracy {mean:.4} (of {some})")
}
