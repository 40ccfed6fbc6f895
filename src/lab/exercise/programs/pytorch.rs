//! The ten steps in plain PyTorch, by the learner's own torchrun: the inspector says what the ranks did.

use std::collections::BTreeMap;

use super::super::language::Language;
use super::super::program::{self, Program, Solutions};
use crate::course::{self, Verdict, concluded, failed, numbered, unclear};
use crate::domain::command::CommandSpec;
use crate::domain::event::{Event, InspectorReport, StateAction};
use crate::domain::job::{Resources, RunSpec, Workload};
use crate::domain::step::Step;
use crate::inspect::{Finding, Inspection, Outcome, Topic};
use crate::runs::{RunFolder, RunRecord, StoreError};

/// Another rate than the program has by itself, so that one typed in shows, and so long a warm-up that it shows too.
pub(in crate::exercise) const BASE_LR: f64 = 0.012;
pub(in crate::exercise) const FLAGS: [&str; 6] = ["--epochs", "3", "--batch-size", "32", "--warmup-epochs", "2"];

const NO_UPDATE: &str = "no update was seen";

pub static TEN_STEPS_IN_PYTORCH: Program = Program {
    track: program::PYTORCH,
    title_of_all: "plain PyTorch, ten steps",
    lesson: Some(21),
    language: Language::Python,
    file: "fashion_mnist_ddp.py",
    mark: "Step",
    noun: "step",
    count: Step::ALL.len(),
    title: |number| Step::from_number(number).map_or("", Step::title),
    exercise: include_str!("../../../../lessons/fashion_mnist_ddp.py"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/fashion_mnist_ddp.py")),
    job: |_, _| RunSpec { resources: Resources::ranks(2), workload: Workload::Command(words()) },
    check,
    compared: None,
};

/// Its words are known once the program is: torchrun on two ranks, and the flags of the program.
fn words() -> CommandSpec {
    CommandSpec { argv: Vec::new(), directory: String::new(), patterns: Vec::new(), tensorboard: None, inspect: true }
}

fn check(folder: &RunFolder, _: &RunRecord) -> Result<Vec<Verdict>, StoreError> {
    let (mut inspection, mut seen) = (Inspection::default(), Seen::default());
    for line in folder.events() {
        inspection.take(&line);
        if let Event::Inspected(report) = &line.event {
            seen.take(line.process, report);
        }
    }
    let findings = inspection.findings(true);
    Ok(numbered(Step::ALL.map(|step| concluded(judge(step, &findings, &seen), None))))
}

/// What the findings of the inspector leave to the exercise, which knows the flags of its run.
#[derive(Debug, Default)]
struct Seen {
    /// Rates of the first group by the number of the update, of any rank.
    rates: BTreeMap<usize, f64>,
    optimizer: String,
    /// Ranks that a state was sent to before their first update, and ranks that made an update.
    given: usize,
    trained: usize,
}

impl Seen {
    fn take(&mut self, process: usize, report: &InspectorReport) {
        match report {
            InspectorReport::Update(update) => {
                self.trained += usize::from(update.update == 0);
                self.rates.extend(update.rates.first().filter(|_| process == 0).map(|rate| (update.update, *rate)));
                self.optimizer.clone_from(&update.optimizer);
            }
            InspectorReport::Collective(call) if call.updates == 0 && call.name.starts_with("broadcast") => self.given += 1,
            InspectorReport::State(state) if state.action == StateAction::BroadcastOptimizer => self.given += 1,
            _ => {}
        }
    }
}

fn judge(step: Step, findings: &[Finding], seen: &Seen) -> course::Finding {
    match step {
        Step::Broadcast => {
            let weights = of_topic(Topic::Weights, findings)?;
            if seen.given == 0 || seen.given < seen.trained {
                return failed(
                    "no rank was given the state that the root begins from: DistributedDataParallel sends weights alone, and a run that \
                     goes on from a checkpoint has an optimizer and an epoch too",
                );
            }
            Ok(weights)
        }
        Step::ScaleLearningRate => scaled(seen),
        Step::Warmup => warmed(seen),
        Step::NovoGrad => large_batches(seen),
        step => match Topic::ALL.into_iter().find(|topic| topic.step() == Some(step)) {
            Some(topic) => of_topic(topic, findings),
            None => unclear("nothing was seen of it"),
        },
    }
}

/// What the findings on a topic show.
fn of_topic(topic: Topic, findings: &[Finding]) -> course::Finding {
    let told = |finding: &Finding| {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let line = finding.place.as_ref().map(|place| format!(" ({}:{})", name(&place.file), place.line)).unwrap_or_default();
        let remedy = if finding.remedy.is_empty() { String::new() } else { format!(": {}", finding.remedy) };
        format!("{}{line}{remedy}", finding.seen.trim_end_matches('.'))
    };
    // The worst one counts.
    match findings.iter().filter(|finding| finding.topic == topic).min_by_key(|finding| finding.outcome) {
        Some(finding) if finding.is_objection() => failed(told(finding)),
        Some(finding) if finding.outcome == Outcome::Ok => Ok(told(finding)),
        Some(finding) => unclear(told(finding)),
        None => unclear("the inspector saw nothing of it"),
    }
}

/// Rates are compared to this part.
fn is_about(rate: f64, wanted: f64) -> bool {
    (rate - wanted).abs() < wanted * 0.02
}

fn scaled(seen: &Seen) -> course::Finding {
    let Some(most) = seen.rates.values().copied().reduce(f64::max) else { return unclear(NO_UPDATE) };
    let (base, wanted) = (BASE_LR, BASE_LR * 2.0);
    if is_about(most, wanted) {
        return Ok(format!("the rate reached {most}, the {base} of a single rank times 2"));
    }
    let how = if is_about(most, base) { "which is that of a single rank" } else { "which comes from no rule of the exercise" };
    failed(format!("the rate was {most} at most, {how}: two ranks take {wanted}, {base} times the number of ranks"))
}

fn warmed(seen: &Seen) -> course::Finding {
    let (Some(first), Some(most)) = (seen.rates.values().next(), seen.rates.values().copied().reduce(f64::max)) else {
        return unclear(NO_UPDATE);
    };
    if *first > most * 0.75 {
        return failed(format!("the first update had the rate {first} already, and the highest was {most}"));
    }
    if !seen.rates.values().any(|rate| *rate > first * 1.02 && *rate < most * 0.98) {
        return failed(format!("the rate went from {first} to {most} in one leap: let it climb batch by batch"));
    }
    Ok(format!("the rate climbed from {first} to {most}"))
}

fn large_batches(seen: &Seen) -> course::Finding {
    match seen.optimizer.as_str() {
        "" => unclear(NO_UPDATE),
        "SGD" => failed("the updates were made by SGD"),
        other => Ok(format!("the updates were made by {other}")),
    }
}
