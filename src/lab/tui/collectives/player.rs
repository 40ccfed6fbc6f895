//! Where in a log the player is, and how fast it plays.
//!
//! Never reads a clock: it is told the time while it plays.

use super::log::Log;

/// At first the whole log takes so long.
const WHOLE_S: f64 = 15.0;
/// Of a schedule each round.
const ROUND_S: f64 = 1.5;
const SPEEDS: std::ops::RangeInclusive<i32> = -6..=10;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Player {
    /// The moment in the log, in its seconds.
    pub moment_s: f64,
    /// Messages that have arrived by then; of those that arrive at one moment, some may still be to come.
    pub arrived: usize,
    pub is_playing: bool,
    /// Doublings of the speed at first.
    speed: i32,
    /// When it was told the time last.
    told_s: Option<f64>,
}

impl Player {
    /// Seconds of the log in one second.
    pub fn rate(&self, log: &Log) -> f64 {
        let whole_s = if log.is_measured { WHOLE_S } else { ROUND_S * log.rounds as f64 };
        (log.end_s / whole_s).max(1e-9) * 2_f64.powi(self.speed)
    }

    /// How much faster than at first.
    pub fn speed(&self) -> f64 {
        2_f64.powi(self.speed)
    }

    pub fn change_speed(&mut self, by: i32) {
        self.speed = (self.speed + by).clamp(*SPEEDS.start(), *SPEEDS.end());
    }

    /// Plays, from the start where it has come to the end; or pauses.
    pub fn turn(&mut self, log: &Log) {
        let plays = !self.is_playing && !log.messages.is_empty();
        self.pause();
        if plays && self.is_at_end(log) {
            self.go_to(log, 0);
        }
        self.is_playing = plays;
    }

    pub fn is_at_end(&self, log: &Log) -> bool {
        self.arrived >= log.messages.len()
    }

    pub fn pause(&mut self) {
        self.is_playing = false;
        self.told_s = None;
    }

    /// It is so late now.
    pub fn tell(&mut self, log: &Log, now_s: f64) {
        let passed_s = self.told_s.map_or(0.0, |told_s| (now_s - told_s).clamp(0.0, 1.0));
        self.told_s = Some(now_s);
        self.moment_s = (self.moment_s + passed_s * self.rate(log)).min(log.end_s);
        self.arrived = log.arrived_at(self.moment_s).max(self.arrived);
        if self.is_at_end(log) {
            self.pause();
        }
    }

    /// Right after so many messages have arrived.
    pub fn go_to(&mut self, log: &Log, arrived: usize) {
        self.pause();
        self.arrived = arrived.min(log.messages.len());
        self.moment_s = log.moment_s(self.arrived);
    }

    /// Until all messages of a round have arrived, or back to before any of one has.
    pub fn step_round(&mut self, log: &Log, forwards: bool) {
        let round = log.round(self.arrived);
        let to = match forwards {
            true => log.messages.iter().rposition(|message| message.round <= round).map_or(0, |last| last + 1),
            false => {
                let first = |round: usize| log.messages.iter().position(|message| message.round >= round).unwrap_or(0);
                let here = first(round);
                if here < self.arrived { here } else { first(round.saturating_sub(1)) }
            }
        };
        self.go_to(log, to);
    }
}
