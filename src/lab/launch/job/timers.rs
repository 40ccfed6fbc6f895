//! Moments to wait for.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

/// Every so often; what was missed is not made up for.
pub(super) fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Until this moment, or for ever.
pub(super) async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The moment that is `seconds` from now, and `seconds`; `None` beyond what the clock can hold.
pub(super) fn until(seconds: f64) -> Option<(Instant, f64)> {
    let end = Instant::now().checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
    Some((end, seconds))
}
