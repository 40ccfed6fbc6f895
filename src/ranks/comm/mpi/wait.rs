//! Waiting for MPI without burning the core that another rank needs.
//!
//! Never blocks inside MPI, which spins while it waits: a waiting rank would take a core from one that computes.

use std::time::{Duration, Instant};

/// Tests before the first look at the clock. A message between two processes that are awake takes a few.
const TESTS: usize = 200;
/// Sleeps grow with the time that was waited so far, so that sleeping too long adds at most a twentieth to a wait.
const SHARE: u32 = 20;
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

/// Returns when `is_over`. It tests at once, then spins with yields for as long as `spin`, then tests between sleeps.
///
/// `spin` is for what is sure to come soon: data moves at full speed while ranks are awake. Before each sleep, `meanwhile`
/// gets the time waited so far; its error ends the wait.
///
/// # Errors
/// What `meanwhile` says.
pub(super) fn until<E>(
    spin: Duration,
    mut is_over: impl FnMut() -> bool,
    mut meanwhile: impl FnMut(Duration) -> Result<(), E>,
) -> Result<(), E> {
    if (0..TESTS).any(|_| is_over()) {
        return Ok(());
    }
    let start = Instant::now();
    while !is_over() {
        let waited = start.elapsed();
        if waited < spin {
            std::thread::yield_now();
        } else {
            meanwhile(waited)?;
            std::thread::sleep((waited / SHARE).clamp(SHORTEST, LONGEST));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_what_it_waits_for() {
        let mut tests = 0;
        until(
            Duration::ZERO,
            || {
                tests += 1;
                tests == 3
            },
            |_| Err("asleep"),
        )
        .unwrap();
        assert_eq!(tests, 3, "what comes at once costs no sleep");
        let start = Instant::now();
        until(Duration::ZERO, || start.elapsed() > Duration::from_millis(5), |_| Ok::<_, ()>(())).unwrap();
    }

    #[test]
    fn meanwhile_can_end_a_wait() {
        let mut told = Duration::ZERO;
        let ended = until(
            Duration::ZERO,
            || false,
            |waited| {
                told = waited;
                if waited > Duration::from_millis(3) { Err("enough") } else { Ok(()) }
            },
        );
        assert!(ended == Err("enough") && told > Duration::from_millis(3));
    }
}
