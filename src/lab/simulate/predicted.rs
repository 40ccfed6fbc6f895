//! What another number of ranks would do on the machine on which one and two were measured.
//!
//! Never uses a run on more than two ranks: such runs only stand beside what is predicted.

use serde::Serialize;

use super::normal::largest_of;
use super::own::Own;
use super::scaling::MAX_RANKS;
use crate::domain::collective::{Algorithm, Shape};

/// What ranks that share a core lose by taking turns on it, as a part of their compute time: the caches are another rank's each
/// time. No run on one or two ranks can tell. Eight runs of three models on two cores lost 3 to 13 % (BENCHMARKS.md).
const TURNS: f64 = 0.05;

/// So many ranks on this host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    pub ranks: usize,
    pub step_s: f64,
    pub images_per_s: f64,
    /// 1 of one rank.
    pub efficiency: f64,
    /// Two standard errors of the rates behind it, all that was extrapolated beyond two ranks, and what taking turns costs.
    pub error: f64,
    /// Ranks on the fullest core, or GPU: above 1 with more ranks than there are.
    pub ranks_per_device: usize,
    pub compute_s: f64,
    pub communication_s: f64,
    pub waiting_s: f64,
    /// What a run on as many ranks has measured, if one was named.
    pub measured: Option<f64>,
}

impl Own {
    /// So many ranks, from 1 to [`MAX_RANKS`], on the host of the runs.
    ///
    /// Ranks that share a core share its time: their compute time grows with the ranks on the fullest core, and so does that of
    /// their messages. Taking turns costs them a little more ([`Own::turns`]). The system moves a rank to another core now and
    /// then only, so three ranks on two cores are no faster than four: the two that share a core are waited for.
    pub fn predict(&self, ranks: usize) -> Predicted {
        let ranks = ranks.clamp(1, MAX_RANKS);
        let parts = self.parts(ranks);
        let step_s = parts.iter().sum::<f64>();
        let [compute_s, communication_s, waiting_s] = parts;
        let [_, communication_of_two_s, waiting_of_two_s] = self.parts(2);
        let efficiency = self.one.step_s() / step_s;
        let measured = self.known().find(|sample| sample.ranks == ranks);
        let of_two = self.two.as_ref().map_or(0.0, |two| two.uncertainty);
        let noise = if ranks == 1 { 0.0 } else { 2.0 * self.one.uncertainty.hypot(of_two) };
        let known_s = if self.two.is_some() { communication_of_two_s + waiting_of_two_s } else { 0.0 };
        let extrapolated = (communication_s + waiting_s - known_s).max(0.0) / step_s;
        Predicted {
            ranks,
            step_s,
            images_per_s: (ranks * self.one.batch) as f64 / step_s,
            efficiency,
            error: efficiency * (noise + extrapolated + self.turns(ranks)),
            ranks_per_device: ranks.div_ceil(self.one.devices),
            compute_s,
            communication_s,
            waiting_s,
            measured: measured.map(|sample| sample.images_per_s / (self.one.images_per_s * ranks as f64)),
        }
    }

    /// All runs on different numbers of ranks: those that are used, and those that are only compared.
    pub fn known(&self) -> impl Iterator<Item = &super::own::Sample> {
        [Some(&self.one), self.two.as_ref()].into_iter().flatten().chain(&self.held_out)
    }

    /// Seconds of compute, of messages and of waiting for the slowest, in a step.
    fn parts(&self, ranks: usize) -> [f64; 3] {
        let one_s = self.one.step_s();
        if ranks <= 1 {
            return [one_s, 0.0, 0.0];
        }
        let share = |ranks: usize| ranks.div_ceil(self.one.devices) as f64;
        // What each further rank that computes at the same time costs the others: caches and memory are shared too.
        let crowding = self.two.as_ref().map_or(0.0, |two| two.compute_s / (one_s * share(2)) - 1.0);
        let beside = if self.one.devices == 1 { 1 } else { ranks.min(self.one.devices) - 1 };
        let compute_s = one_s * share(ranks) * (1.0 + crowding * beside as f64).max(0.5) * (1.0 + self.turns(ranks));
        let waiting = |ranks: usize, compute_s: f64| self.one.jitter * largest_of(ranks) * compute_s;
        let Some(two) = &self.two else {
            return [compute_s, self.ring(ranks) * share(ranks), waiting(ranks, compute_s)];
        };
        // What two ranks waited for each other is their messages, and otherwise the slower of them.
        let messages_of_two_s = match &self.fit {
            Some(_) => self.ring(2).min(two.exposed_s),
            None => (two.exposed_s - waiting(2, two.compute_s)).max(0.0),
        };
        let messages_s = messages_of_two_s * self.ring(ranks) / self.ring(2) * share(ranks) / share(2);
        // While a rank waits, another may use its core: that time does not grow with the ranks on it.
        let waiting_s = (two.exposed_s - messages_of_two_s) * largest_of(ranks) / largest_of(2);
        [compute_s, messages_s, waiting_s]
    }

    /// What so many ranks lose by taking turns on cores, as a part of their compute time. Nothing is added where two ranks shared a
    /// core, and have measured it. Of cores only: nothing was measured about ranks that share a GPU.
    pub fn turns(&self, ranks: usize) -> f64 {
        let is_measured = self.two.is_some() && self.one.devices < 2;
        if ranks > self.one.devices && !self.one.is_gpu && !is_measured { TURNS } else { 0.0 }
    }

    /// Seconds of a ring of so many ranks by alpha, beta and gamma; without them a number that grows as its bytes do.
    fn ring(&self, ranks: usize) -> f64 {
        let terms = Algorithm::Ring.formula(ranks, self.one.parameters, Shape::usual(ranks)).unwrap_or_default();
        self.fit.map_or(terms.sent.max(1.0), |fit| fit.seconds(&terms).max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::Fit;
    use crate::simulate::own::Sample;

    fn own(two: Option<Sample>) -> Own {
        Own { one: Sample::of_steps(1, 0.06, 0.0), two, fit: None, held_out: vec![Sample::of_steps(4, 0.13, 0.0)] }
    }

    #[test]
    fn ranks_share_the_cores_there_are() {
        let own = own(Some(Sample::of_steps(2, 0.062, 0.0)));
        assert_eq!((own.predict(1).efficiency, own.predict(1).error), (1.0, 0.0));
        let two = own.predict(2);
        assert!((two.efficiency - 60.0 / 62.0).abs() < 1e-9 && two.measured == Some(two.efficiency), "{two:?}");
        let four = own.predict(4);
        assert!((four.efficiency - 60.0 / (124.0 * 1.05)).abs() < 1e-9 && four.ranks_per_device == 2, "{four:?}");
        assert!((four.measured.unwrap() - 60.0 / 130.0).abs() < 1e-9, "held out, and only shown");
        assert_eq!(own.predict(3).measured, None);
        assert!((own.predict(3).efficiency - four.efficiency).abs() < 1e-9, "two of three share a core, and the third waits");
    }

    #[test]
    fn messages_grow_with_the_ranks_and_widen_the_error() {
        let own = own(Some(Sample::of_steps(2, 0.072, 0.01)));
        let all: Vec<Predicted> = [2, 4, 8, 64].map(|ranks| own.predict(ranks)).to_vec();
        assert!(all.windows(2).all(|pair| pair[0].communication_s < pair[1].communication_s), "{all:?}");
        assert!(all.windows(2).all(|pair| pair[0].efficiency > pair[1].efficiency), "{all:?}");
        assert!(all[0].error < 1e-9 && all[1].error > 0.01, "{all:?}");
        assert!((all[0].efficiency - 60.0 / 72.0).abs() < 1e-9, "what was measured on two ranks is met");
    }

    #[test]
    fn what_messages_cannot_take_is_waiting() {
        let fit = Some(Fit { alpha_s: 1e-6, beta_s: 1e-9, gamma_s: 0.0 });
        let own = Own { fit, ..own(Some(Sample::of_steps(2, 0.072, 0.01))) };
        let [two, four] = [2, 4].map(|ranks| own.predict(ranks));
        assert!((two.efficiency - 60.0 / 72.0).abs() < 1e-9 && two.communication_s < 1e-3, "{two:?}");
        assert!(four.waiting_s > two.waiting_s && four.waiting_s < 2.0 * two.waiting_s, "{four:?}");
        let alone = Own { two: None, ..own };
        assert!((alone.predict(2).efficiency - 1.0).abs() < 0.01 && alone.predict(2).communication_s > 0.0);
    }
}
