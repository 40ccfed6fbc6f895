//! For how long the ranks of a job have not got on, and when that is too long.

use std::time::Duration;

use tokio::time::Instant;

use crate::host::starved::Starved;
use crate::process;

/// For any rank of a program that someone is working on to report anything, before it is taken for stuck. More than the
/// ranks themselves wait for each other, for they can say more.
pub(super) const PATIENCE: Duration = Duration::from_secs(16);

/// After so long a user wonders.
const NOTICE: Duration = Duration::from_secs(5);

/// Time in which a process of the job wanted a core and got none does not count: on a machine that others keep busy, a rank
/// that is merely slow is not stuck.
pub(super) struct NoProgress {
    /// `None` where silence may last for ever.
    patience: Option<Duration>,
    since: Instant,
    starved: Starved,
    /// For how long processes were starved so far, and how long when the ranks last made progress.
    so_far: Duration,
    before: Duration,
    /// The user was told that the ranks make no progress.
    is_told: bool,
}

impl NoProgress {
    pub(super) fn new(patience: Option<Duration>) -> NoProgress {
        let starved = Starved::since_now(&[]);
        NoProgress { patience, since: Instant::now(), starved, so_far: Duration::ZERO, before: Duration::ZERO, is_told: false }
    }

    /// A rank made progress.
    pub(super) fn progressed(&mut self) {
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

    /// What to report now, if anything: that no rank has reported for some seconds and what follows, as the beginning of a sentence, or
    /// `None` inside if that is over.
    pub(super) fn news(&mut self) -> Option<Option<String>> {
        let patience = self.patience?;
        let is_silent = self.since.elapsed() >= NOTICE + self.starved();
        (is_silent != self.is_told).then(|| {
            self.is_told = is_silent;
            let (silent, limit) = (NOTICE.as_secs(), patience.as_secs());
            is_silent
                .then(|| format!("no rank has reported anything for {silent} s, and after {limit} s the run is ended. Last seen"))
        })
    }

    fn starved(&self) -> Duration {
        self.so_far - self.before
    }

    /// `no rank made progress for 16 s`.
    pub(super) fn in_words(&self) -> String {
        let seconds = self.patience.unwrap_or_default().as_secs();
        match self.starved().as_secs() {
            0 => format!("no rank made progress for {seconds} s"),
            starved => {
                format!("no rank made progress for {seconds} s, and {starved} s more in which other programs had the cores")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_told_once_and_so_is_its_end() {
        let ago = |time: Duration| Instant::now().checked_sub(time).unwrap();
        let mut no_progress = NoProgress::new(Some(PATIENCE));
        assert_eq!(no_progress.news(), None);
        no_progress.since = ago(NOTICE);
        let told = no_progress.news().unwrap().unwrap();
        assert!(told.contains("for 5 s, and after 16 s the run is ended"), "{told}");
        assert_eq!(no_progress.news(), None);
        no_progress.progressed();
        assert_eq!((no_progress.news(), no_progress.news()), (Some(None), None));
        // Some programs may be silent for ever.
        let mut patient = NoProgress::new(None);
        patient.since = ago(PATIENCE);
        assert_eq!(patient.news(), None);
    }
}
