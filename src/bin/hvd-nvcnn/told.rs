//! What the program says beside nvcnn's own lines.

use hvd_lab::comm::Communicator;
use hvd_lab::domain::event::ConfigReport;
use hvd_lab::domain::nvcnn::{NvcnnSpec, Schedule};
use hvd_lab::domain::step::StepSet;
use hvd_lab::trainer::evaluate::TopMetrics;
use hvd_lab::trainer::model::Model;
use hvd_lab::trainer::optimizer::Optimizer;
use hvd_lab::trainer::pipeline::PipelineReport;
use hvd_lab::trainer::report::Reporter;

use crate::failure::{Failure, gathered};
use crate::feed::Feed;

/// Images that were left out and are named at the end.
const MOST_NAMED: usize = 20;

/// Those of the ten steps that nvcnn takes: it neither warms up (9) nor uses an optimizer for large batches (10), and only some
/// models' own rates grow with the ranks (8).
pub fn steps() -> StepSet {
    StepSet::first(7)
}

/// What this rank is going to do. `images` is `None` of synthetic ones.
pub fn config(
    spec: &NvcnnSpec,
    schedule: Schedule,
    images: Option<usize>,
    ranks: usize,
    first_step: usize,
    (model, optimizer): (&dyn Model, &dyn Optimizer),
) -> ConfigReport {
    ConfigReport {
        steps: steps(),
        seed: spec.seed,
        epochs: schedule.epochs(),
        resume_epoch: first_step / schedule.steps_per_epoch,
        local_batch_size: spec.batch_size,
        global_batch_size: spec.batch_size * ranks,
        steps_per_epoch: schedule.steps_per_epoch,
        validation_steps: 0,
        train_images: images.unwrap_or(schedule.steps * spec.batch_size * ranks),
        optimizer: optimizer.name().to_owned(),
        model: model.name(),
        precision: spec.precision.to_string(),
        parameters: model.params().len(),
        gradient_tensors: model.params().segments.len(),
        data: spec.data_dir.clone().unwrap_or_else(|| "synthetic".into()),
        base_lr: spec.rate(ranks),
        warmup_epochs: 0.0,
        // Nothing is stopped early.
        target_accuracy: f64::from(f32::MAX),
    }
}

/// The mean over all ranks at the end of an epoch.
pub fn epoch(number: usize, mean: &TopMetrics, images_per_sec: f64) -> String {
    let TopMetrics { loss, top_1, top_5, .. } = mean;
    let (top_1, top_5) = (100.0 * top_1, 100.0 * top_5);
    format!(
        "# epoch {number}: loss {loss:.3} without the L2 penalty, top-1 {top_1:.1} %, top-5 {top_5:.1} % over all ranks, {images_per_sec:.1} images/s"
    )
}

/// What the image pipeline of a rank spent its time on, and who waited for whom.
pub fn pipeline(rank: usize, report: &PipelineReport) -> String {
    format!("# pipeline of rank {rank}: {report}")
}

/// How many images were left out, and which.
///
/// # Collective
/// Every rank calls it.
pub fn left_out(comm: &dyn Communicator, report: &Reporter, feed: &Feed) -> Result<(), Failure> {
    let all = gathered(comm, &feed.left_out())?;
    if all.is_empty() || !comm.topology().is_root() {
        return Ok(());
    }
    let named = all.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let what = if all.len() == 1 { "bad image or file was" } else { "bad images or files were" };
    report.warning(&format!("{} {what} left out: {named}{more}", all.len()));
    Ok(())
}
