//! What one run cannot show, and a finished run of the same program on one rank can.

use super::data::DIVIDE_STEPS;
use super::finding::{Finding, Outcome, Topic};
use super::inspection::{Inspection, known};
use super::rate::samples_of;
use crate::domain::event::{EndedReport, InspectedUpdate, Place};

/// Steps of an epoch from which on equal numbers are no chance.
const FEWEST_STEPS: usize = 4;
/// Updates of a training whose warm-up is looked at, and the part of the highest rate that a warm-up begins below.
const FEWEST_UPDATES: usize = 16;
const RAMP: f64 = 0.67;
/// The shares of a training from which on, and up to which, a warm-up takes all of it or a part.
const WHOLE: f64 = 0.98;
const PART: f64 = 0.75;

impl Inspection {
    /// Rate of the first optimizer's first update, and samples of an update, on the first rank.
    pub fn first_rate(&self) -> Option<(f64, usize)> {
        // A Keras run reports its updates from number 1 on, because the first one comes before Horovod's broadcast.
        let (rank, first) = self.of_all::<InspectedUpdate>().find(|(_, update)| update.index == 0 && update.update < 2)?;
        Some((*first.rates.first()?, samples_of(self, rank).unwrap_or(0)))
    }

    /// The rate against that of a finished run of the same program on one rank; `None` where one of them has made no update.
    pub fn rate_against(&self, alone: &Inspection) -> Option<Finding> {
        let ((_, samples), (_, of_single)) = (self.first_rate()?, alone.first_rate()?);
        let size = self.size();
        if size < 2 || alone.size() > 1 || samples == 0 || of_single == 0 {
            return None;
        }
        // A program may divide the batch by the number of ranks: then the global batch has stayed, and so should the rate.
        // A rank may have a smaller share than the others. One that was sent its batches has fetched none.
        let of_all: Option<usize> = self.ranks.keys().map(|rank| samples_of(self, *rank)).sum();
        let batch = of_all.unwrap_or(samples * size) as f64 / of_single as f64;
        let factor = self.highest_rate()? / alone.highest_rate()?;
        let said = format!("a global batch {batch:.2}x as large as on one rank is trained with {factor:.2}x the rate");
        let is_scaled = factor > 1.0 + (batch - 1.0) * 0.1 || batch < 1.5;
        if is_scaled && factor < batch * 1.1 {
            return Some(self.climbs_longer(alone).unwrap_or_else(|| Finding::new(Topic::Rate, Outcome::Ok, said)));
        }
        let place = self.rate_computed_at().or_else(|| self.told_at("rate set")).or_else(|| self.optimizer_place());
        let cost = "the larger batch makes fewer updates an epoch, so the model learns less in the same number of epochs";
        let remedy = "multiply the rate by the number of ranks, or by its square root for Adam, and warm it up";
        let too_much = ("updates may get too large, and the training may diverge", "scale the rate by no more than the batch");
        let (cost, remedy) = if is_scaled { too_much } else { (cost, remedy) };
        Some(Topic::Rate.look(said, place, cost, remedy))
    }

    /// The line of the formula whose value the optimizer was made with, if no schedule goes beyond it.
    fn rate_computed_at(&self) -> Option<Place> {
        let report = self.told("rate computed")?;
        let made_with: f64 = report.settings.first()?.parse().ok()?;
        known(&report.place).filter(|_| self.highest_rate().is_some_and(|highest| highest <= made_with * 1.01))
    }

    /// A warm-up that takes the whole training, and on one rank a part of it; or that takes more steps the more ranks there are.
    fn climbs_longer(&self, alone: &Inspection) -> Option<Finding> {
        let warmup = |seen: &Inspection| {
            let end = seen.of_rank::<EndedReport>(seen.first_rank()?).next()?;
            let first = seen.first_rate()?.0;
            (end.updates >= FEWEST_UPDATES && first < end.highest_rate * RAMP).then_some((end.highest_at, end.updates))
        };
        let ((at, all), (at_alone, all_alone)) = (warmup(self)?, warmup(alone)?);
        let share = |at: usize, all: usize| (at as f64 + 2.0) / all as f64;
        let is_whole = share(at, all) >= WHOLE && share(at_alone, all_alone) <= PART;
        // A warm-up of some epochs takes fewer steps on more ranks, one of some steps as many.
        let is_of_all =
            at_alone >= FEWEST_STEPS && (at + 1).abs_diff((at_alone + 1) * self.size()) <= self.size() && all < all_alone;
        let until = if is_whole { "the last".to_owned() } else { format!("update {at}") };
        (is_whole || is_of_all).then(|| {
            // The line that gives the schedule its steps, or else the one that makes it.
            let place = self.told_at("planned steps").or_else(|| self.told_at("schedule made"));
            Topic::Rate.look(
                format!(
                    "the rate climbs until {until} of {all} updates, and on one rank until update {at_alone} of {all_alone}: does the warm-up count the steps of all ranks?"
                ),
                place.or_else(|| self.told_at("rate set")).or_else(|| self.optimizer_place()),
                "the warm-up takes so many times as many epochs, and less of the training has the full rate",
                "count the steps that one rank makes: len(loader) of the loader with the sampler, times the epochs of the warm-up",
            )
        })
    }

    /// The highest rate of all updates, rather than of those that were looked at.
    pub(super) fn highest_of_all(&self) -> Option<f64> {
        self.of_rank::<EndedReport>(self.first_rank()?).map(|end| end.highest_rate).find(|rate| *rate > 0.0)
    }

    /// The steps of an epoch beside those of that run, where nothing else says what an epoch goes over.
    pub fn steps_against(&self, alone: &Inspection) -> Option<Finding> {
        let first =
            |seen: &Inspection| seen.passes(true).into_values().next().and_then(|ranks| ranks.into_values().next().cloned());
        let (own, single) = (first(self)?, first(alone)?);
        let is_unknown = own.replicas.is_none() && own.dataset.is_none() && own.is_whole;
        let is_alike = (own.batches, own.batch_size, own.samples) == (single.batches, single.batch_size, single.samples);
        if self.size() < 2 || alone.size() > 1 || !is_unknown || !is_alike || own.batches < FEWEST_STEPS {
            return None;
        }
        Some(Topic::Data.look(
            format!("an epoch takes {} steps on each of {} ranks, as many as on one rank", own.batches, self.size()),
            known(&own.place),
            "unless the batches of a rank are smaller, the ranks together go over more samples, and no epoch is faster",
            DIVIDE_STEPS,
        ))
    }

    /// Of the first optimizer on the first rank: behind its warm-up, if there is one.
    fn highest_rate(&self) -> Option<f64> {
        let rates = self.first_updates(self.first_rank()?).filter_map(|update| update.rates.first().copied());
        let highest = || rates.filter(|rate| rate.is_finite()).max_by(f64::total_cmp).filter(|rate| *rate > 0.0);
        self.highest_of_all().or_else(highest)
    }
}
