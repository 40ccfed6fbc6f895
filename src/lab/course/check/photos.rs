//! The five changes of nvcnn's training on photos, each by the evidence of a run.

use super::terms::{self as told, Noun};
use super::verdict::{Finding, Objection, Outcome, Shown, failed, unclear};
use crate::course::photos::PhotoEvidence;
use crate::domain::event::{BroadcastReport, DigestMoment};
use crate::domain::history::{Attempt, Process};
use crate::domain::model::ModelSpec;
use crate::domain::pipeline::PipelineReport;

type Find = fn(&Ranks) -> Finding;

/// Of AlexNet's 8 layers, weights and a bias each.
const TENSORS: usize = 16;

/// nvcnn's rate for AlexNet.
const RATE: f64 = 0.03;

/// Steps of each kind that are compared: with fewer, one disturbed step decides.
const LEAST_STEPS: usize = 3;

/// Half of the photos are mirrored if their number is off by no more standard deviations than this.
const DEVIATIONS: f64 = 4.0;

/// What a run of the program shows of each change, in their order.
pub fn check_photos(evidence: &PhotoEvidence) -> Vec<Shown> {
    let changes: [Find; 5] = [model, decoder, flip, broadcast, inside_the_loop];
    let shown = |(index, find): (usize, Find)| {
        let (outcome, evidence) = judge(evidence, find);
        Shown { number: index + 1, outcome, evidence }
    };
    changes.into_iter().enumerate().map(shown).collect()
}

fn judge(evidence: &PhotoEvidence, find: Find) -> (Outcome, String) {
    let Some(attempt) = evidence.attempt() else { return (Outcome::CannotTell, told::NOTHING_YET.into()) };
    let ranks = Ranks { evidence, attempt };
    if evidence.np < 2 {
        return (Outcome::CannotTell, words::ONE_RANK.into());
    }
    match find(&ranks) {
        Ok(sentence) => match ranks.not_finished() {
            None => (Outcome::Passed, sentence),
            Some(rank) => (Outcome::CannotTell, told::so_far(&sentence, &name(rank))),
        },
        Err(Objection::Failed(sentence)) => (Outcome::Failed, sentence),
        Err(Objection::Unclear(sentence)) => (Outcome::CannotTell, sentence),
    }
}

fn name(rank: usize) -> String {
    told::name(Noun::Rank, rank)
}

struct Ranks<'a> {
    evidence: &'a PhotoEvidence,
    attempt: &'a Attempt,
}

impl<'a> Ranks<'a> {
    /// What `pick` finds in each rank; unclear, naming who lacks it, if one has none.
    fn all<T>(&self, what: &str, pick: impl Fn(&'a Process) -> Option<T>) -> Result<Vec<T>, Objection> {
        let of = |rank: usize| match self.attempt.processes.get(&rank).and_then(&pick) {
            Some(found) => Ok(found),
            None => unclear(told::not_reported(&name(rank), what)),
        };
        (0..self.evidence.np).map(of).collect()
    }

    fn not_finished(&self) -> Option<usize> {
        (0..self.evidence.np).find(|rank| !self.attempt.processes.get(rank).is_some_and(|process| process.has_finished))
    }

    fn digests(&self, moment: DigestMoment, what: &str) -> Result<Vec<&'a str>, Objection> {
        self.all(what, |process| process.digests_of(moment).last().copied())
    }
}

/// Change 1: AlexNet with its layers, its rate, and a loss that falls.
fn model(ranks: &Ranks) -> Finding {
    if let Some(fatal) = ranks.attempt.fatal.iter().find(|fatal| fatal.cause.contains(words::UNKNOWN_MODEL)) {
        return failed(words::unknown_model(&fatal.cause));
    }
    let configs = ranks.all(told::PLAN, |process| process.config.as_ref())?;
    let (alexnet, input) = (ModelSpec::ALEXNET, ranks.evidence.spec.input());
    let wanted = alexnet.parameters_at(input).unwrap_or(0);
    for config in &configs {
        if config.gradient_tensors != TENSORS {
            return failed(words::other_tensors(config.gradient_tensors, TENSORS));
        }
        if config.parameters as u64 != wanted {
            return failed(words::other_parameters(config.parameters, wanted, input));
        }
        if config.base_lr != RATE {
            return failed(words::other_rate(config.base_lr, RATE));
        }
    }
    let losses = ranks.all(words::TWO_STEPS, |process| {
        let losses: Vec<f64> = process.steps.iter().map(|step| step.loss).collect();
        (losses.len() > 1).then_some(losses)
    })?;
    for (rank, losses) in losses.iter().enumerate() {
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        if last.is_nan() || last >= first {
            return failed(words::does_not_learn(rank, first, last));
        }
    }
    Ok(words::trained(ranks.evidence.np, TENSORS, wanted, &losses[0]))
}

/// Change 2: every photo was decoded with the accurate transform, and what that changed.
fn decoder(ranks: &Ranks) -> Finding {
    let pipelines = ranks.all(words::PIPELINE, |process| process.pipeline.as_ref())?;
    let quick = pipelines.iter().enumerate().find(|(_, pipeline)| pipeline.accurate < pipeline.images);
    if let Some((rank, pipeline)) = quick {
        return failed(words::fast_transform(rank, pipeline.images - pipeline.accurate, pipeline.images));
    }
    let images: u64 = pipelines.iter().map(|pipeline| pipeline.images).fold(0, u64::saturating_add);
    let Some(both) = ranks.attempt.processes.values().find_map(|process| process.transforms.as_ref()) else {
        return unclear(words::NOT_COMPARED);
    };
    Ok(words::accurate(images, both))
}

/// Change 3: about half of the photos were mirrored.
fn flip(ranks: &Ranks) -> Finding {
    let pipelines = ranks.all(words::PIPELINE, |process| process.pipeline.as_ref())?;
    let sum = |pick: fn(&PipelineReport) -> u64| pipelines.iter().map(|pipeline| pick(pipeline)).fold(0, u64::saturating_add);
    let (mirrored, images) = (sum(|pipeline| pipeline.mirrored), sum(|pipeline| pipeline.images));
    let part = mirrored as f64 / images.max(1) as f64;
    let off = DEVIATIONS * (0.25 / images.max(1) as f64).sqrt();
    match mirrored {
        _ if images == 0 => unclear(words::NO_PHOTO),
        0 => failed(words::none_mirrored(images)),
        all if all >= images => failed(words::all_mirrored(images)),
        _ if (part - 0.5).abs() > off => failed(words::not_half(mirrored, images)),
        _ => Ok(words::mirrored(mirrored, images)),
    }
}

/// Change 4: all ranks began from the root's weights, by one broadcast before the first step.
fn broadcast(ranks: &Ranks) -> Finding {
    let start = ranks.digests(DigestMoment::StartParameters, words::WEIGHTS_AT_START)?;
    let drawn = ranks.digests(DigestMoment::InitialParameters, told::WEIGHTS_DRAWN)?;
    let broadcasts = ranks.all(words::BROADCASTS, |process| Some(&process.broadcasts))?;
    let first = |rank: usize| broadcasts[rank].first().filter(|(steps, _)| *steps == 0).map(|(_, report)| report);
    if let Some(rank) = (1..start.len()).find(|rank| start[*rank] != start[0]) {
        let late = broadcasts[rank].iter().any(|(_, report)| report.changed > 0.0);
        return failed(match late {
            true => words::began_late(rank),
            false => words::other_weights(rank),
        });
    }
    if start[0] != drawn[0] {
        return failed(words::NOT_OF_ROOT);
    }
    let before = broadcasts.iter().map(|all| all.iter().filter(|(steps, _)| *steps == 0).count()).max().unwrap_or(0);
    // The first step in the loop may have one too.
    let inside = broadcasts.iter().any(|all| all.iter().any(|(steps, _)| *steps > 0));
    if before > 1 + usize::from(inside) {
        return failed(words::too_often(before));
    }
    let Some(report) = first(1) else {
        return unclear(words::NO_BROADCAST);
    };
    let end = ranks.digests(DigestMoment::EpochParameters, words::WEIGHTS_AT_END)?;
    if let Some(rank) = (1..end.len()).find(|rank| end[*rank] != end[0]) {
        return failed(words::ended_apart(rank));
    }
    let steps = ranks.all(told::A_STEP, |process| Some(process.steps.len()))?[0];
    Ok(words::one_broadcast(report, steps))
}

/// Change 5: what a broadcast costs inside the loop, and that it changes nothing there.
fn inside_the_loop(ranks: &Ranks) -> Finding {
    let processes = ranks.all(told::A_STEP, |process| (!process.steps.is_empty()).then_some(process))?;
    for (rank, process) in processes.iter().enumerate() {
        let changing = |(steps, report): &&(usize, BroadcastReport)| *steps > 0 && report.changed > 0.0;
        if let Some((steps, report)) = process.broadcasts.iter().find(changing) {
            return failed(words::changed_inside(*steps, rank, report));
        }
    }
    // All ranks wait for each other in every step, so rank 0's times are those of all.
    let inside: Vec<&(usize, BroadcastReport)> = processes[0].broadcasts.iter().filter(|(steps, _)| *steps > 0).collect();
    let Some((_, report)) = inside.first() else {
        return failed(words::NONE_INSIDE);
    };
    let took = |at: usize| processes[0].steps[at].time_s - processes[0].steps[at - 1].time_s;
    let has_one = |at: &usize| inside.iter().any(|(steps, _)| steps == at);
    let (with, without): (Vec<usize>, Vec<usize>) = (1..processes[0].steps.len()).partition(has_one);
    if without.len() < LEAST_STEPS {
        return failed(words::ALL_INSIDE);
    }
    if with.len() < LEAST_STEPS {
        return failed(words::few_inside(with.len()));
    }
    let median = |steps: &[usize]| {
        let mut seconds: Vec<f64> = steps.iter().map(|at| took(*at)).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let mean_s = inside.iter().map(|(_, report)| report.seconds).sum::<f64>() / inside.len() as f64;
    Ok(words::cost_inside(report.bytes, with.len(), mean_s, (median(&with), median(&without))))
}

mod words {
    use crate::domain::event::BroadcastReport;
    use crate::domain::images::InputShape;
    use crate::domain::pipeline::TransformsReport;
    use crate::domain::units;

    /// How the program's own error begins.
    pub const UNKNOWN_MODEL: &str = "Invalid model type";
    /// What a rank has not reported.
    pub const TWO_STEPS: &str = "two steps or more";
    pub const PIPELINE: &str = "what its image pipeline did";
    pub const BROADCASTS: &str = "its broadcasts";
    pub const WEIGHTS_AT_START: &str = "the weights that it begins with";
    pub const WEIGHTS_AT_END: &str = "the weights that it ends with";
    pub const ONE_RANK: &str = "one rank has nobody to share its weights with: run with np 2 or more";
    pub const NOT_COMPARED: &str = "no rank has compared the two transforms";
    pub const NO_PHOTO: &str = "no photo was prepared";
    pub const NOT_OF_ROOT: &str = "all ranks began from the same weights, but not from rank 0's: broadcast from the root";
    pub const NO_BROADCAST: &str = "all ranks began from the same weights, and no broadcast was reported";
    pub const NONE_INSIDE: &str = "no broadcast was made inside the loop: call sync() in every second step, to see what it costs";
    pub const ALL_INSIDE: &str =
        "a broadcast was made in every step: leave it out of every second one, to have steps to compare with";

    pub fn unknown_model(cause: &str) -> String {
        format!("the program ended with `{cause}`: write the model down, and add its name to those that it knows")
    }

    pub fn other_tensors(tensors: usize, wanted: usize) -> String {
        format!(
            "the model has {tensors} tensors of weights and biases, and AlexNet's 8 layers have {wanted}: 5 convolutions and 3 dense layers, \
             of which the last one is added for you"
        )
    }

    fn count(number: u64) -> String {
        units::count(usize::try_from(number).unwrap_or(usize::MAX))
    }

    pub fn other_parameters(parameters: usize, wanted: u64, input: InputShape) -> String {
        let (parameters, wanted, InputShape { height, width, .. }) = (units::count(parameters), count(wanted), input);
        format!(
            "the model learns {parameters} numbers, and AlexNet learns {wanted} from images of {height}x{width} pixels: compare each layer's \
             outputs, window and stride"
        )
    }

    pub fn other_rate(rate: f64, wanted: f64) -> String {
        format!("it trains AlexNet with a rate of {rate}, and nvcnn's is {wanted}")
    }

    pub fn does_not_learn(rank: usize, first: f64, last: f64) -> String {
        format!("the loss of rank {rank} was {first:.2} at first and {last:.2} in the end: it does not learn")
    }

    /// Its tensors, its numbers, and the losses of rank 0.
    pub fn trained(np: usize, tensors: usize, parameters: u64, losses: &[f64]) -> String {
        let (first, last) = (losses.first().copied().unwrap_or(f64::NAN), losses.last().copied().unwrap_or(f64::NAN));
        let (parameters, steps) = (count(parameters), units::counted(losses.len(), "step"));
        format!(
            "all {np} ranks trained AlexNet: {tensors} tensors, {parameters} numbers, and a loss of {first:.2} that fell to {last:.2} in \
             {steps}"
        )
    }

    pub fn fast_transform(rank: usize, fast: u64, images: u64) -> String {
        format!("rank {rank} decoded {fast} of {images} photos with the fast transform: ask the decoder for the accurate one")
    }

    pub fn accurate(images: u64, both: &TransformsReport) -> String {
        format!(
            "all {images} photos were decoded with the accurate transform. On {} of them it takes {:.0} us an image and the fast one \
             {:.0} us ({:+.0} %), and {:.1} % of the values differ, by at most {} of 255",
            both.images,
            both.accurate_us,
            both.fast_us,
            100.0 * (both.accurate_us / both.fast_us.max(1e-9) - 1.0),
            100.0 * both.differing,
            both.largest,
        )
    }

    pub fn none_mirrored(images: u64) -> String {
        format!("none of {images} photos was mirrored: give each a chance of a half")
    }

    pub fn all_mirrored(images: u64) -> String {
        format!("all {images} photos were mirrored, so the model still sees one side only: a half")
    }

    pub fn mirrored(mirrored: u64, images: u64) -> String {
        let part = 100.0 * mirrored as f64 / images.max(1) as f64;
        format!("{mirrored} of {images} photos were mirrored ({part:.0} %)")
    }

    pub fn not_half(mirrored: u64, images: u64) -> String {
        format!("{}: half of them should be", self::mirrored(mirrored, images))
    }

    pub fn began_late(rank: usize) -> String {
        format!(
            "rank {rank} had weights of its own when the loop began, and took rank 0's later: a step was taken from different weights, so \
             call sync() before the loop"
        )
    }

    pub fn other_weights(rank: usize) -> String {
        format!("rank {rank} trained from other weights than rank 0, and kept them: call sync() on all ranks before the loop")
    }

    pub fn too_often(times: usize) -> String {
        format!("sync() was called {times} times before the first step was done: once is enough")
    }

    pub fn ended_apart(rank: usize) -> String {
        format!("rank {rank} ended with other weights than rank 0, after an equal start")
    }

    pub fn one_broadcast(report: &BroadcastReport, steps: usize) -> String {
        format!(
            "one broadcast of {} before the first step gave rank 1 the weights of rank 0 (it changed {:.0} % of them), and after {} all \
             ranks were still equal",
            units::bytes(report.bytes),
            100.0 * report.changed,
            units::counted(steps, "step"),
        )
    }

    pub fn changed_inside(steps: usize, rank: usize, report: &BroadcastReport) -> String {
        format!(
            "the broadcast after step {steps} changed {:.0} % of the weights of rank {rank}: the ranks were not equal, so begin with one \
             before the loop",
            100.0 * report.changed
        )
    }

    pub fn few_inside(steps: usize) -> String {
        format!("only {} had a broadcast: call sync() in every second step", units::counted(steps, "step"))
    }

    /// What a broadcast took in the mean of so many steps, and a step with one and without, all in seconds.
    pub fn cost_inside(bytes: u64, steps: usize, mean_s: f64, (with_s, without_s): (f64, f64)) -> String {
        let (bytes, steps) = (units::bytes(bytes), units::counted(steps, "step"));
        format!(
            "a broadcast of {bytes} in {steps} took {mean_s:.3} s in the mean. A step took {with_s:.3} s with it and {without_s:.3} s without \
             it (medians), and not one of the weights that were looked at changed: that is why it stands before the loop"
        )
    }
}
