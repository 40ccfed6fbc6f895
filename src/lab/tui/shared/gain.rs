//! What a run gained over another, as header, table, comparison and projector say it.
//!
//! Where two runs cannot be compared there is a reason instead.

use std::cmp::Reverse;

use super::state::{Shared, kind_of};
use super::watched::Watched;
use crate::domain::job::Resources;
use crate::domain::run::RunState;
use crate::domain::speedup::{Comparison, Figures};
use crate::domain::step::StepSet;
use crate::domain::units;
use crate::runs::{Difference, RunId, RunSummary, busy_host, differences, gained_so_far, no_efficiency};

/// Runs on as many ranks that are looked at for one that differs in a single setting.
const NEIGHBOURS: usize = 64;

/// The two runs that answer what the shown one is about.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The run with fewer ranks; of two with as many, the one that is not shown.
    pub before: &'a RunSummary,
    pub after: &'a RunSummary,
}

impl<'a> Pair<'a> {
    pub fn runs(self) -> [&'a RunSummary; 2] {
        [self.before, self.after]
    }

    pub fn has_other_ranks(self) -> bool {
        self.before.figures.np != self.after.figures.np
    }

    /// What was asked for differently, where the ranks are as many: `without step 4`, `seed 2 instead of 1`.
    pub fn difference(self) -> String {
        let found = settings_apart(self.before, self.after);
        let one = match &found[..] {
            [] => return "with the same settings".to_owned(),
            [one] => one,
            all => return format!("with {} other settings", all.len()),
        };
        let of = |text: &str| text.parse::<StepSet>().ok().filter(|_| one.setting == "steps");
        let Some((before, after)) = of(&one.baseline).zip(of(&one.run)) else {
            return format!("{} {} instead of {}", one.label(), one.run, one.baseline);
        };
        let only = |of: StepSet, other: StepSet| of.iter().filter(|step| !other.contains(*step)).collect::<StepSet>();
        let named =
            |word: &str, steps: StepSet| format!("{word} step{} {steps}", if steps.iter().nth(1).is_some() { "s" } else { "" });
        let (lost, won) = (only(before, after), only(after, before));
        match (lost.is_empty(), won.is_empty()) {
            (false, true) => named("without", lost),
            (true, false) => named("with", won),
            _ => format!("steps {after} instead of {before}"),
        }
    }
}

/// Settings in which two runs differ, without where they ran and on which versions.
fn settings_apart(before: &RunSummary, after: &RunSummary) -> Vec<Difference> {
    let both = before.record.as_ref().zip(after.record.as_ref());
    let mut found = both.map_or_else(Vec::new, |(before, after)| differences(before, after));
    found.retain(|one| !["host", "versions"].contains(&one.setting.as_str()));
    found
}

/// What it trained on: accuracies of other images are another matter.
fn images(run: &RunSummary) -> Option<&str> {
    run.record.as_ref().map(|record| &*record.data_label)
}

/// The same settings and images, on any number of ranks.
fn is_same_but_np(run: &RunSummary, other: &RunSummary) -> bool {
    let (Some(run), Some(other)) = (&run.record, &other.record) else { return false };
    run.request.spec.workload == other.request.spec.workload
        && run.data_label == other.data_label
        && run.request.program == other.request.program
        && Resources { np: 0, ..run.request.spec.resources.clone() }
            == Resources { np: 0, ..other.request.spec.resources.clone() }
}

/// A run against the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    pub run: RunId,
    pub baseline: RunId,
    pub np: usize,
    /// How many times faster it is.
    pub speedup: f64,
    /// What the speed-up would be if more ranks cost nothing.
    pub ideal: f64,
    /// Or why there is none.
    pub efficiency: Result<f64, &'static str>,
    /// It is still training.
    pub so_far: bool,
    /// The part of the cores that other programs used while one of both trained, where that is worth a word.
    pub disturbed: Option<f64>,
}

impl Gain {
    /// `1.82x`
    pub fn times(&self) -> String {
        format!("{:.2}x", self.speedup)
    }

    /// `2x`, `1.5x`: the speed-up that is ideal.
    pub fn of(&self) -> String {
        if self.ideal.fract() == 0.0 { format!("{:.0}x", self.ideal) } else { format!("{:.1}x", self.ideal) }
    }

    /// `on 2 ranks`
    pub fn on(&self) -> String {
        format!("on {}", units::counted(self.np, "rank"))
    }

    /// `96 % efficiency`, or why there is none.
    pub fn efficiency_in_words(&self) -> String {
        match self.efficiency {
            Ok(part) => format!("{} efficiency", units::percent(part)),
            Err(reason) => format!("efficiency –, {reason}"),
        }
    }
}

/// The words of a reason that is too long, without what stands in parentheses.
pub fn shortened(reason: &str) -> &str {
    reason.split(" (").next().unwrap_or(reason)
}

impl Shared {
    /// The figures of a run; its images per second so far where it has ended no epoch yet.
    pub fn figures(&self, run: &RunSummary) -> Figures {
        let so_far = || self.as_it_goes(run).and_then(|watched| watched.curves.rate_so_far());
        Figures { images_per_sec: run.figures.images_per_sec.or_else(so_far), ..run.figures }
    }

    /// The run on the screen, if it is this one and still going: it knows more than its row in the list.
    fn as_it_goes(&self, run: &RunSummary) -> Option<&Watched> {
        self.watched.as_ref().filter(|watched| watched.id == run.id && watched.is_going())
    }

    /// Images per second as a table shows them.
    pub fn shown_rate(&self, run: &RunSummary) -> Option<String> {
        let so_far = || self.figures(run).images_per_sec.map(units::rate);
        let rate = run.shown_rate().or_else(so_far)?;
        // The star of a run whose machine others use as well.
        let is_shared = !rate.ends_with('*') && self.shared_machine(run).is_some();
        Some(if is_shared { rate + "*" } else { rate })
    }

    /// The figures so far are more than the first moments: an epoch has ended, or enough steps were timed.
    pub fn is_fair(&self, run: &RunSummary) -> bool {
        run.figures.images_per_sec.is_some() || self.as_it_goes(run).is_none_or(|watched| watched.curves.is_rate_fair())
    }

    /// The shown run and the one that gives the honest answer to what it gained: the baseline that the user chose, a run that
    /// differs in the ranks alone, one on as many ranks that differs in one setting alone, or any whose speed can be compared.
    pub fn pair(&self) -> Option<Pair<'_>> {
        let run = self.summary_on_screen()?;
        let is_other = |other: &&RunSummary| other.id != run.id && kind_of(other) == kind_of(run) && images(other) == images(run);
        let chosen = self.baseline.and_then(|id| self.summary(id)).filter(is_other);
        let as_many = || Some(Pair { before: chosen?, after: run }).filter(|pair| !pair.has_other_ranks());
        chosen
            .and_then(|other| self.with_other_ranks(run, other))
            .or_else(as_many)
            .or_else(|| self.closest(run, is_same_but_np))
            .or_else(|| self.neighbour(run))
            .or_else(|| self.closest(run, |_, _| true))
            .or_else(|| {
                let before = self.baseline().filter(is_other)?;
                (before.figures.np == run.figures.np && self.gained(run, before).is_ok()).then_some(Pair { before, after: run })
            })
    }

    /// The best partner with other ranks: with fewer ranks before one with more, the baseline first, then the newest.
    fn closest<'a>(&'a self, run: &'a RunSummary, fits: fn(&RunSummary, &RunSummary) -> bool) -> Option<Pair<'a>> {
        let baseline = self.baseline().map(|baseline| baseline.id);
        let others = self.runs.iter().filter(|other| other.id != run.id && fits(run, other));
        let pairs = others.filter_map(|other| Some((other.id, self.with_other_ranks(run, other)?)));
        let order = |(other, pair): &(RunId, Pair)| {
            let is_more = pair.before.id == run.id;
            let partner = if is_more { pair.after } else { pair.before };
            // One that shared its machine gives no answer: its repetition does.
            (
                partner.disturbed().is_some(),
                is_more,
                Some(*other) != baseline,
                if is_more { 0 } else { pair.before.figures.np },
                Reverse(*other),
            )
        };
        pairs.min_by_key(order).map(|(_, pair)| pair)
    }

    /// Both, if their ranks differ and their speeds can be compared; a run that goes may still have none.
    fn with_other_ranks<'a>(&self, run: &'a RunSummary, other: &'a RunSummary) -> Option<Pair<'a>> {
        let (before, after) = if other.figures.np < run.figures.np { (other, run) } else { (run, other) };
        let is_measured = |of: &RunSummary| of.figures.images_per_sec.is_some() || !self.run_state(of).is_over();
        let pair = Pair { before, after };
        let fits = pair.has_other_ranks()
            && other.figures.images_per_sec.is_some()
            && is_measured(run)
            && self.gained(after, before).is_ok();
        fits.then_some(pair)
    }

    /// The newest run on as many ranks that differs in one setting alone. Of very many runs the newest are looked at.
    fn neighbour<'a>(&'a self, run: &'a RunSummary) -> Option<Pair<'a>> {
        let is_alike = |other: &&RunSummary| {
            other.id != run.id
                && other.figures.np == run.figures.np
                && kind_of(other) == kind_of(run)
                && images(other) == images(run)
                && (other.test.is_some() || other.figures.images_per_sec.is_some())
        };
        let mut others = self.runs.iter().rev().filter(is_alike).take(NEIGHBOURS);
        let before = others.find(|other| settings_apart(other, run).len() == 1)?;
        Some(Pair { before, after: run })
    }

    /// Why the speed of a run is not fair: another run or other programs use the machine as well, or did. What happened, and
    /// behind it more about that.
    pub fn shared_machine(&self, run: &RunSummary) -> Option<[String; 2]> {
        let id = run.id;
        if let Some(other) = self.beside(run) {
            return Some([format!("run {id} shares the machine"), format!(" with run {}", other.id)]);
        }
        if let Some(part) = self.as_it_goes(run).and_then(Watched::disturbed) {
            let use_them = format!(" (other programs use {} of the cores)", units::percent(part));
            return Some([format!("run {id} shares the machine"), use_them]);
        }
        let part = run.disturbed()?;
        Some([format!("run {id} shared the machine"), format!(" ({})", busy_host::others_in_words(part))])
    }

    /// Another run that trains on the same machine as this one now.
    fn beside(&self, run: &RunSummary) -> Option<&RunSummary> {
        fn host(of: &RunSummary) -> Option<&str> {
            of.record.as_ref().map(|record| &*record.host)
        }
        let trains = |of: &RunSummary| self.run_state(of) == RunState::Running;
        let is_beside = |other: &&RunSummary| other.id != run.id && trains(other) && host(other) == host(run);
        self.runs.iter().find(is_beside).filter(|_| trains(run))
    }

    /// What `run` gained over the baseline, or why that cannot be said.
    pub fn comparison(&self, run: &RunSummary) -> Result<Comparison, &'static str> {
        let baseline = self.compared_with()?;
        self.alone(run)?;
        gained_so_far((run, &self.figures(run)), (baseline, &baseline.figures))
    }

    /// By the figures so far of both.
    fn gained(&self, run: &RunSummary, baseline: &RunSummary) -> Result<Comparison, &'static str> {
        gained_so_far((run, &self.figures(run)), (baseline, &self.figures(baseline)))
    }

    fn alone(&self, run: &RunSummary) -> Result<(), &'static str> {
        if self.beside(run).is_some() { Err("another run trains on the same machine") } else { Ok(()) }
    }

    /// How much faster `run` is than the baseline, or why that cannot be said.
    pub fn gain(&self, run: &RunSummary) -> Result<Gain, &'static str> {
        self.gain_over(run, self.compared_with()?)
    }

    fn compared_with(&self) -> Result<&RunSummary, &'static str> {
        self.baseline().ok_or("no run to compare with yet")
    }

    /// The run that is the most times faster than the baseline.
    pub fn best_gain(&self) -> Option<Gain> {
        let baseline = self.baseline()?;
        let all = self.runs.iter().filter_map(|run| self.gain_over(run, baseline).ok());
        all.max_by(|a, b| a.speedup.total_cmp(&b.speedup))
    }

    /// How much faster `run` is than another with fewer ranks or as many, or why that cannot be said.
    pub fn gain_over(&self, run: &RunSummary, baseline: &RunSummary) -> Result<Gain, &'static str> {
        if run.id == baseline.id {
            return Err("it is the baseline");
        }
        self.alone(run)?;
        let gained = self.gained(run, baseline)?;
        let is_going = [run, baseline].into_iter().any(|run| !self.run_state(run).is_over());
        let Some(speedup) = gained.speedup else {
            return Err(match (is_going, self.figures(baseline).images_per_sec) {
                (_, None) => "the baseline has measured no images/s yet",
                (true, _) => "images/s appear after the first seconds",
                (false, _) => "it measured no images/s",
            });
        };
        let no_efficiency = no_efficiency(run, baseline, &gained).unwrap_or("not measured");
        Ok(Gain {
            run: run.id,
            baseline: baseline.id,
            np: run.figures.np,
            speedup,
            ideal: run.figures.np as f64 / baseline.figures.np.max(1) as f64,
            efficiency: gained.scaling_efficiency.ok_or(no_efficiency),
            so_far: is_going,
            disturbed: [run, baseline].into_iter().filter_map(RunSummary::disturbed).max_by(f64::total_cmp),
        })
    }
}
