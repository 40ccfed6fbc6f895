//! The five changes of nvcnn's training on photos, each by the evidence of a run.

use super::verdict::{Finding, Objection, Outcome, Verdict, concluded, failed, unclear};
use super::{numbered, terms};
use crate::course::evidence::PhotoEvidence;
use crate::domain::event::{BroadcastReport, DigestMoment};
use crate::domain::history::{Attempt, Process};
use crate::domain::model::ModelSpec;
use crate::domain::pipeline::PipelineReport;
use crate::domain::units;

type Find = fn(&Ranks) -> Finding;

/// Tensors of AlexNet: weights and a bias for each of its 8 layers.
const TENSORS: usize = 16;

/// nvcnn's rate for AlexNet.
const RATE: f64 = 0.03;

/// Steps of each kind that are compared: with fewer, one disturbed step decides.
const LEAST_STEPS: usize = 3;

/// Half of the photos are mirrored if their number is off by no more standard deviations than this.
const DEVIATIONS: f64 = 4.0;

/// Named where a rank has not reported it.
const PIPELINE: &str = "what its image pipeline did";

/// What a run of the program shows of each change, in their order.
pub fn check_photos(evidence: &PhotoEvidence) -> Vec<Verdict> {
    let changes: [Find; 5] = [model, decoder, flip, broadcast, inside_the_loop];
    numbered(changes.map(|find| judge(evidence, find)))
}

fn judge(evidence: &PhotoEvidence, find: Find) -> (Outcome, String) {
    let Some(attempt) = evidence.history.attempts.last() else { return (Outcome::CannotTell, terms::NOTHING_YET.into()) };
    if evidence.spec.resources.np < 2 {
        return (Outcome::CannotTell, "one rank has nobody to share its weights with: run with np 2 or more".into());
    }
    let ranks = Ranks { evidence, attempt };
    concluded(find(&ranks), ranks.not_finished().map(name))
}

fn name(rank: usize) -> String {
    format!("rank {rank}")
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
            None => unclear(terms::not_reported(&name(rank), what)),
        };
        (0..self.evidence.spec.resources.np).map(of).collect()
    }

    fn not_finished(&self) -> Option<usize> {
        (0..self.evidence.spec.resources.np)
            .find(|rank| !self.attempt.processes.get(rank).is_some_and(|process| process.has_finished))
    }

    fn digests(&self, moment: DigestMoment, what: &str) -> Result<Vec<&'a str>, Objection> {
        self.all(what, |process| process.digests_of(moment).last().copied())
    }
}

/// Change 1: AlexNet with its layers, its rate, and a loss that falls.
fn model(ranks: &Ranks) -> Finding {
    if let Some(fatal) = ranks.attempt.fatal.iter().find(|fatal| fatal.cause.contains("Invalid model type")) {
        return failed(format!(
            "the program ended with `{cause}`: write the model down, and add its name to those that it knows",
            cause = fatal.cause
        ));
    }
    let configs = ranks.all(terms::PLAN, |process| process.config.as_ref())?;
    let (alexnet, input) = (ModelSpec::ALEXNET, ranks.evidence.spec.workload.input());
    let wanted = alexnet.parameters_at(input).unwrap_or(0) as usize;
    for config in &configs {
        if config.gradient_tensors != TENSORS {
            return failed(format!(
                "the model has {tensors} tensors of weights and biases, and AlexNet's 8 layers have {TENSORS}: 5 \
                 convolutions and 3 dense layers, of which the last one is added for you",
                tensors = config.gradient_tensors
            ));
        }
        if config.parameters != wanted {
            let (parameters, wanted) = (units::count(config.parameters), units::count(wanted));
            return failed(format!(
                "the model learns {parameters} numbers, and AlexNet learns {wanted} from images of {}x{} pixels: compare each \
                 layer's outputs, window and stride",
                input.height, input.width
            ));
        }
        if config.base_lr != RATE {
            return failed(format!("it trains AlexNet with a rate of {rate}, and nvcnn's is {RATE}", rate = config.base_lr));
        }
    }
    let losses = ranks.all("two steps or more", |process| {
        let losses: Vec<f64> = process.steps.iter().map(|step| step.loss).collect();
        (losses.len() > 1).then_some(losses)
    })?;
    for (rank, losses) in losses.iter().enumerate() {
        let (first, last) = (losses[0], losses[losses.len() - 1]);
        if last.is_nan() || last >= first {
            return failed(format!(
                "the loss of rank {rank} was {first:.2} at first and {last:.2} in the end: it does not learn"
            ));
        }
    }
    Ok(format!(
        "all {} ranks trained AlexNet: {TENSORS} tensors, {} numbers, and a loss of {:.2} that fell to {:.2} in {}",
        ranks.evidence.spec.resources.np,
        units::count(wanted),
        losses[0][0],
        losses[0][losses[0].len() - 1],
        units::counted(losses[0].len(), "step"),
    ))
}

/// Change 2: every photo was decoded with the accurate transform, and what that changed.
fn decoder(ranks: &Ranks) -> Finding {
    let pipelines = ranks.all(PIPELINE, |process| process.pipeline.as_ref())?;
    let quick = pipelines.iter().enumerate().find(|(_, pipeline)| pipeline.accurate < pipeline.images);
    if let Some((rank, pipeline)) = quick {
        return failed(format!(
            "rank {rank} decoded {fast} of {images} photos with the fast transform: ask the decoder for the accurate one",
            fast = pipeline.images - pipeline.accurate,
            images = pipeline.images
        ));
    }
    let images: u64 = pipelines.iter().map(|pipeline| pipeline.images).fold(0, u64::saturating_add);
    let Some(both) = ranks.attempt.processes.values().find_map(|process| process.transforms.as_ref()) else {
        return unclear("no rank has compared the two transforms");
    };
    Ok(format!(
        "all {images} photos were decoded with the accurate transform. On {} of them it takes {:.0} us an image and the fast one \
         {:.0} us ({:+.0} %), and {:.1} % of the values differ, by at most {} of 255",
        both.images,
        both.accurate_us,
        both.fast_us,
        100.0 * (both.accurate_us / both.fast_us.max(1e-9) - 1.0),
        100.0 * both.differing,
        both.largest,
    ))
}

/// Change 3: about half of the photos were mirrored.
fn flip(ranks: &Ranks) -> Finding {
    let pipelines = ranks.all(PIPELINE, |process| process.pipeline.as_ref())?;
    let sum = |pick: fn(&PipelineReport) -> u64| pipelines.iter().map(|pipeline| pick(pipeline)).fold(0, u64::saturating_add);
    let (mirrored, images) = (sum(|pipeline| pipeline.mirrored), sum(|pipeline| pipeline.images));
    let part = mirrored as f64 / images.max(1) as f64;
    let off = DEVIATIONS * (0.25 / images.max(1) as f64).sqrt();
    let in_words = format!("{mirrored} of {images} photos were mirrored ({:.0} %)", 100.0 * part);
    match mirrored {
        _ if images == 0 => unclear("no photo was prepared"),
        0 => failed(format!("none of {images} photos was mirrored: give each a chance of a half")),
        all if all >= images => {
            failed(format!("all {images} photos were mirrored, so the model still sees one side only: a half"))
        }
        _ if (part - 0.5).abs() > off => failed(format!("{in_words}: half of them should be")),
        _ => Ok(in_words),
    }
}

/// Change 4: all ranks began from the root's weights, by one broadcast before the first step.
fn broadcast(ranks: &Ranks) -> Finding {
    let start = ranks.digests(DigestMoment::StartParameters, "the weights that it begins with")?;
    let drawn = ranks.digests(DigestMoment::InitialParameters, terms::WEIGHTS_DRAWN)?;
    let broadcasts = ranks.all("its broadcasts", |process| Some(&process.broadcasts))?;
    let first = |rank: usize| broadcasts[rank].first().filter(|(steps, _)| *steps == 0).map(|(_, report)| report);
    if let Some(rank) = (1..start.len()).find(|rank| start[*rank] != start[0]) {
        let late = broadcasts[rank].iter().any(|(_, report)| report.changed > 0.0);
        return failed(if late {
            format!(
                "rank {rank} had weights of its own when the loop began, and took rank 0's later: a step was taken from different \
                 weights, so call sync() before the loop"
            )
        } else {
            format!("rank {rank} trained from other weights than rank 0, and kept them: call sync() on all ranks before the loop")
        });
    }
    if start[0] != drawn[0] {
        return failed("all ranks began from the same weights, but not from rank 0's: broadcast from the root");
    }
    let before = broadcasts.iter().map(|all| all.iter().filter(|(steps, _)| *steps == 0).count()).max().unwrap_or(0);
    // The first step in the loop may have one too.
    let inside = broadcasts.iter().any(|all| all.iter().any(|(steps, _)| *steps > 0));
    if before > 1 + usize::from(inside) {
        return failed(format!("sync() was called {before} times before the first step was done: once is enough"));
    }
    let Some(report) = first(1) else {
        return unclear("all ranks began from the same weights, and no broadcast was reported");
    };
    let end = ranks.digests(DigestMoment::EpochParameters, "the weights that it ends with")?;
    if let Some(rank) = (1..end.len()).find(|rank| end[*rank] != end[0]) {
        return failed(format!("rank {rank} ended with other weights than rank 0, after an equal start"));
    }
    let steps = ranks.all(terms::A_STEP, |process| Some(process.steps.len()))?[0];
    Ok(format!(
        "one broadcast of {} before the first step gave rank 1 the weights of rank 0 (it changed {:.0} % of them), \
         and after {} all ranks were still equal",
        units::bytes(report.bytes),
        100.0 * report.changed,
        units::counted(steps, "step")
    ))
}

/// Change 5: what a broadcast costs inside the loop, and that it changes nothing there.
fn inside_the_loop(ranks: &Ranks) -> Finding {
    let processes = ranks.all(terms::A_STEP, |process| (!process.steps.is_empty()).then_some(process))?;
    for (rank, process) in processes.iter().enumerate() {
        let changing = |(steps, report): &&(usize, BroadcastReport)| *steps > 0 && report.changed > 0.0;
        if let Some((steps, report)) = process.broadcasts.iter().find(changing) {
            return failed(format!(
                "the broadcast after step {steps} changed {:.0} % of the weights of rank {rank}: the ranks were \
                 not equal, so begin with one before the loop",
                100.0 * report.changed
            ));
        }
    }
    // All ranks wait for each other in every step, so rank 0's times are those of all.
    let inside: Vec<&(usize, BroadcastReport)> = processes[0].broadcasts.iter().filter(|(steps, _)| *steps > 0).collect();
    let Some((_, report)) = inside.first() else {
        return failed("no broadcast was made inside the loop: call sync() in every second step, to see what it costs");
    };
    let took = |at: usize| processes[0].steps[at].time_s - processes[0].steps[at - 1].time_s;
    let has_one = |at: &usize| inside.iter().any(|(steps, _)| steps == at);
    let (with, without): (Vec<usize>, Vec<usize>) = (1..processes[0].steps.len()).partition(has_one);
    if without.len() < LEAST_STEPS {
        return failed("a broadcast was made in every step: leave it out of every second one, to have steps to compare with");
    }
    if with.len() < LEAST_STEPS {
        return failed(format!("only {} had a broadcast: call sync() in every second step", units::counted(with.len(), "step")));
    }
    let median = |steps: &[usize]| {
        let mut seconds: Vec<f64> = steps.iter().map(|at| took(*at)).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let mean_s = inside.iter().map(|(_, report)| report.seconds).sum::<f64>() / inside.len() as f64;
    Ok(format!(
        "a broadcast of {bytes} in {steps} took {mean_s:.3} s in the mean. A step took {with_s:.3} s with it and \
         {without_s:.3} s without it (medians), and not one of the weights that were looked at changed: that is \
         why it stands before the loop",
        bytes = units::bytes(report.bytes),
        steps = units::counted(with.len(), "step"),
        with_s = median(&with),
        without_s = median(&without)
    ))
}
