//! The lines that the program prints beside nvcnn's own.

use hvd_lab::comm::Communicator;
use hvd_lab::trainer::evaluate::TopMetrics;
use hvd_lab::trainer::launch::{Failure, gathered};
use hvd_lab::trainer::report::Reporter;

use crate::feed::Feed;

/// Images that were left out and are named at the end.
const MOST_NAMED: usize = 20;

/// The mean over all ranks at the end of an epoch.
pub fn epoch(number: usize, mean: &TopMetrics, images_per_sec: f64) -> String {
    let TopMetrics { loss, top_1, top_5, .. } = mean;
    let (top_1, top_5) = (100.0 * top_1, 100.0 * top_5);
    format!(
        "# epoch {number}: loss {loss:.3} without the L2 penalty, top-1 {top_1:.1} %, top-5 {top_5:.1} % over all ranks, {images_per_sec:.1} images/s"
    )
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
