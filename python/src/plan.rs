//! What `model.fit` is asked for, and whether all ranks are asked for the same: if one did more, it would wait for the others for ever.
//!
//! What Python says about other ranks does not count: each rank sends its own plan here.

use anyhow::bail;
use hvd_lab::comm::{Communicator, allgather_numbers};

/// What `model.fit` is asked for.
pub struct Plan {
    pub epochs: usize,
    pub initial_epoch: usize,
    /// Batches of an epoch, and of a validation.
    pub steps: usize,
    pub validation_steps: usize,
    pub batch_size: usize,
    pub is_verbose: bool,
    pub warmup_epochs: f64,
    /// Metrics are averaged over the ranks.
    pub averages: bool,
    /// This rank writes checkpoints.
    pub writes: bool,
    /// Something can change the rate from epoch to epoch.
    pub schedules: bool,
    /// Callbacks in which the ranks talk to each other, in their order.
    pub talking: Vec<String>,
    /// The call that chose the batch size, and its line.
    pub batched_by: String,
    /// It is trained in the exercise of the ten steps.
    pub has_steps: bool,
}

/// Callbacks in which the ranks talk to each other: the step that each belongs to, and the change of the MNIST program.
const TALKING: [(&str, Option<usize>, Option<usize>); 3] = [
    ("BroadcastGlobalVariablesCallback", Some(4), Some(4)),
    ("MetricAverageCallback", Some(6), None),
    ("StopAtAccuracy", None, None),
];

/// What the exercise calls its places, and which of them this is.
fn place(plan: &Plan, step: Option<usize>, change: Option<usize>) -> String {
    let (noun, number) = if plan.has_steps { ("step", step) } else { ("change", change) };
    number.map(|number| format!(" ({noun} {number})")).unwrap_or_default()
}

/// # Errors
/// What differs on which ranks, the place that it belongs to, and what to do.
///
/// # Collective
/// All ranks.
pub fn check(comm: &dyn Communicator, plan: &Plan, is_distributed: bool) -> anyhow::Result<()> {
    let talking = plan.talking.iter().filter_map(|name| TALKING.iter().position(|(known, ..)| known == name));
    let counts =
        [usize::from(is_distributed), plan.batch_size, plan.epochs, plan.initial_epoch, plan.steps, plan.validation_steps];
    let own: Vec<f64> = counts.into_iter().chain(talking).map(|number| number as f64).collect();
    let ranks = allgather_numbers(comm, &own)?;
    let Some(root) = ranks.first() else { return Ok(()) };
    for (rank, other) in ranks.iter().enumerate() {
        let difference = (0..counts.len()).find(|at| root.get(*at) != other.get(*at));
        let Some(at) = difference else {
            callbacks(plan, rank, &root[counts.len()..], &other[counts.len()..])?;
            continue;
        };
        let (roots, others) = (root[at], other[at]);
        let alike = "give every rank the same number, or one waits for the other for ever";
        let told = match at {
            0 => {
                let (with, without) = if roots > others { (0, rank) } else { (rank, 0) };
                format!(
                    "rank {with} averages its gradients and rank {without} does not{}: wrap the optimizer in hvd.DistributedOptimizer \
                     on every rank, outside of `if hvd.rank() == 0`",
                    place(plan, Some(3), Some(3))
                )
            }
            1 => format!(
                "rank {rank} trains with batches of {others} images and rank 0 with batches of {roots}, as {} says: give every rank the \
                 same batch_size",
                plan.batched_by
            ),
            2 => format!("rank {rank} trains {others} epochs and rank 0 trains {roots}{}: {alike}", place(plan, None, Some(2))),
            3 => format!(
                "rank {rank} begins after epoch {others} and rank 0 after epoch {roots}{}: give every rank the root's epoch with \
                 hvd.broadcast",
                place(plan, Some(7), Some(4))
            ),
            4 => format!(
                "rank {rank} trains {others} steps an epoch and rank 0 trains {roots}{}: divide by the number of all ranks, the same on \
                 each, not by that of one host",
                place(plan, Some(5), None)
            ),
            _ => format!(
                "rank {rank} validates on {others} batches and rank 0 on {roots}{}: give every rank the same validation_steps",
                place(plan, Some(5), None)
            ),
        };
        bail!(told);
    }
    Ok(())
}

/// Refuses callbacks in which the ranks talk to each other if `rank` does not have those of the root.
fn callbacks(plan: &Plan, rank: usize, root: &[f64], other: &[f64]) -> anyhow::Result<()> {
    let count = |all: &[f64], which: usize| all.iter().filter(|one| **one == which as f64).count();
    for (which, (name, step, change)) in TALKING.iter().enumerate() {
        let (roots, others) = (count(root, which), count(other, which));
        if roots == others {
            continue;
        }
        let (has, lacks) = if roots > others { (0, rank) } else { (rank, 0) };
        let how = if roots.min(others) == 0 {
            format!("and rank {lacks} has none")
        } else {
            format!("more than once, and rank {lacks} has fewer")
        };
        bail!(
            "rank {has} has {name}{} {how}. The ranks talk to each other in it: append it on every rank, outside of \
             `if hvd.rank() == 0`",
            place(plan, *step, *change)
        );
    }
    if root != other {
        let names = |all: &[f64]| all.iter().map(|which| TALKING[*which as usize].0).collect::<Vec<_>>().join(", ");
        bail!("rank {rank} has its callbacks in another order than rank 0: {}, not {}", names(other), names(root));
    }
    Ok(())
}

/// The ranks leave the loop over the epochs together.
///
/// # Errors
/// Some ranks stop after this epoch and others do not.
///
/// # Collective
/// All ranks.
pub fn check_end(comm: &dyn Communicator, plan: &Plan, epoch: usize, stops: bool) -> anyhow::Result<()> {
    if comm.topology().size.0 == 1 {
        return Ok(());
    }
    let ranks = allgather_numbers(comm, &[f64::from(u8::from(stops))])?;
    let first = |wanted: f64| ranks.iter().position(|rank| rank.first() == Some(&wanted));
    if let (Some(stopped), Some(on)) = (first(1.0), first(0.0)) {
        bail!(
            "rank {stopped} ends its training after epoch {epoch} and rank {on} goes on{}: decide it by averaged numbers, which all \
             ranks have, or let the root decide and broadcast it, as StopAtAccuracy does",
            place(plan, Some(6), None)
        );
    }
    Ok(())
}
