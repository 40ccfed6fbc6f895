//! For how long the ranks of a job have not got on, and when that is too long.
//!
//! Never ends a rank: it says when.

use std::time::Duration;

use tokio::time::Instant;

use crate::host::starved::Starved;
use crate::runs::process;

/// For any rank of a program that someone is working on to report anything, before it is taken for stuck. More than the
/// ranks themselves wait for each other, for they can say more.
pub(super) const PATIENCE: Duration = Duration::from_secs(16);

/// Time in which a process of the job wanted a core and got none does not count: on a machine that others keep busy, a rank
/// that is merely slow is not stuck.
pub(super) struct Silence {
    /// `None` where silence may last for ever.
    patience: Option<Duration>,
    since: Instant,
    starved: Starved,
    /// For how long processes were starved so far, and up to the moment since when there is silence.
    so_far: Duration,
    before: Duration,
}

impl Silence {
    pub(super) fn new(patience: Option<Duration>) -> Silence {
        let starved = Starved::since_now(&[]);
        Silence { patience, since: Instant::now(), starved, so_far: Duration::ZERO, before: Duration::ZERO }
    }

    /// A rank has got on.
    pub(super) fn is_broken(&mut self) {
        (self.since, self.before) = (Instant::now(), self.so_far);
    }

    /// To be called about once a second: who was starved since the last time?
    pub(super) fn look(&mut self) {
        if self.patience.is_some() {
            self.so_far = self.starved.look(&process::of_session(std::process::id()));
        }
    }

    /// When the silence has lasted too long, as far as is known now.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        self.patience.map(|patience| self.since + patience + self.starved())
    }

    fn starved(&self) -> Duration {
        self.so_far - self.before
    }

    /// `no rank got on for 16 s`.
    pub(super) fn in_words(&self) -> String {
        let seconds = self.patience.unwrap_or_default().as_secs();
        match self.starved().as_secs() {
            0 => format!("no rank got on for {seconds} s"),
            starved => format!("no rank got on for {seconds} s, and {starved} s more in which other programs had the cores"),
        }
    }
}
