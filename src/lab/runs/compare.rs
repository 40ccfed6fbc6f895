//! Runs side by side: what they gained over a baseline, and what was asked for differently.
//!
//! Never reads a file: summaries in, rows out. Never compares what cannot be compared: the reason stands there instead.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::comparable::{gained, no_efficiency};
use super::{RunId, RunRecord, RunSummary, Source};
use crate::domain::benchmark::NumberFormat;
use crate::domain::job::RunSpec;
use crate::domain::speedup::Comparison;
use crate::domain::step::{Step, StepSet};
use crate::domain::units;

/// One run against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub id: RunId,
    pub is_baseline: bool,
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Why there are no ratios.
    pub not_comparable: Option<&'static str>,
    /// Why there is a speed-up, and no scaling efficiency.
    #[serde(skip)]
    pub no_efficiency: Option<&'static str>,
    /// What the run cost: its training time, times GPUs, or ranks on the CPU.
    pub device_seconds: Option<f64>,
    pub differences: Vec<Difference>,
}

/// One setting in which two runs differ, both values as they are printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub setting: String,
    pub baseline: String,
    pub run: String,
}

impl Row {
    pub fn new(run: &RunSummary, baseline: &RunSummary) -> Row {
        let gained = gained(run, baseline);
        Row {
            id: run.id,
            is_baseline: run.id == baseline.id,
            comparison: gained.unwrap_or_default(),
            not_comparable: gained.err(),
            no_efficiency: gained.ok().and_then(|gained| no_efficiency(run, baseline, &gained)),
            device_seconds: run.device_seconds(),
            differences: match (&baseline.record, &run.record) {
                (Some(baseline), Some(run)) => differences(baseline, run),
                _ => Vec::new(),
            },
        }
    }
}

/// Runs compared with one of them, and what others published where that is wanted.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    pub baseline: &'a RunSummary,
    pub runs: Vec<(Row, &'a RunSummary)>,
    pub published: &'a [Source],
}

impl<'a> Report<'a> {
    pub fn new(runs: impl IntoIterator<Item = &'a RunSummary>, baseline: &'a RunSummary, published: &'a [Source]) -> Report<'a> {
        Report { baseline, runs: runs.into_iter().map(|run| (Row::new(run, baseline), run)).collect(), published }
    }
}

/// In what two runs differ: steps and settings in alphabetical order, then images, host and the versions of the code.
pub fn differences(baseline: &RunRecord, run: &RunRecord) -> Vec<Difference> {
    let mut found = settings(&baseline.request.spec, &run.request.spec);
    let mut also = |setting: &str, baseline: String, run: String| {
        if baseline != run {
            found.push(Difference { setting: setting.into(), baseline, run });
        }
    };
    if baseline.training().is_some() && run.training().is_some() {
        also("images", baseline.data_label.clone(), run.data_label.clone());
    }
    // Which code was run: a learner's own program, and below, the versions of what it is built on.
    let program = |of: &RunRecord| of.request.program.as_ref().map_or("hvd-train".to_owned(), |path| path.display().to_string());
    also("program", program(baseline), program(run));
    also("host", baseline.host.clone(), run.host.clone());
    // Only those that the other has not.
    let versions = |of: &RunRecord, other: &RunRecord| {
        let own: Vec<&str> = of.versions.iter().filter(|one| !other.versions.contains(one)).map(String::as_str).collect();
        own.join(", ")
    };
    let (before, after) = (versions(baseline, run), versions(run, baseline));
    // A run reports its libraries at its end: one that is running, or failed early, has reported only some of them.
    if !before.is_empty() && !after.is_empty() {
        also("versions", before, after);
    }
    found
}

/// The settings in which two runs differ, in alphabetical order.
fn settings(baseline: &RunSpec, run: &RunSpec) -> Vec<Difference> {
    let kinds = [baseline, run].map(|spec| spec.workload.kind());
    // Over the serialised form, so that a new setting needs no line here. Runs of two kinds share their resources only.
    let table = |spec: &RunSpec| {
        if kinds[0] == kinds[1] { serde_json::to_value(spec) } else { serde_json::to_value(&spec.resources) }
    };
    let (Ok(Value::Object(before)), Ok(Value::Object(after))) = (table(baseline), table(run)) else {
        return Vec::new();
    };
    // A setting that is left out where it is empty may stand in one of them only.
    let mut names: Vec<&String> = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).collect();
    names.sort();
    let value = |all: &serde_json::Map<String, Value>, name: &str| plain(name, all.get(name).unwrap_or(&Value::Null));
    let differing = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let mut found: Vec<Difference> = differing
        .map(|name| Difference { setting: name.clone(), baseline: value(&before, name), run: value(&after, name) })
        .collect();
    if kinds[0] != kinds[1] {
        let [baseline, run] = kinds.map(str::to_owned);
        found.push(Difference { setting: "workload".into(), baseline, run });
    }
    found
}

fn plain(setting: &str, value: &Value) -> String {
    match value {
        Value::Null if setting.ends_with("_images") => "all".into(),
        // It is left out of a record where it is the default one.
        Value::Null if setting == "precision" => NumberFormat::default().to_string(),
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Number(seconds) if setting.ends_with("_s") => units::clock(seconds.as_f64().unwrap_or_default()),
        Value::Array(words) => words.iter().map(|word| plain("", word)).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (not {})", self.label(), self.run, self.baseline)
    }
}

impl Difference {
    /// The setting in the words of the screen.
    pub fn label(&self) -> String {
        crate::domain::settings::label(self.setting.trim_end_matches("_s"))
    }

    /// Which steps went or came, each by its title; nothing for other settings.
    pub fn steps(&self) -> Vec<String> {
        let steps = |text: &str| text.parse::<StepSet>().ok().filter(|_| self.setting == "steps");
        let Some((before, after)) = steps(&self.baseline).zip(steps(&self.run)) else { return Vec::new() };
        let changed = Step::ALL.into_iter().filter(|step| before.contains(*step) != after.contains(*step));
        changed
            .map(|step| format!("{} {} {}", if after.contains(step) { "with" } else { "without" }, step.number(), step.title()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::job::TrainingJob;

    fn words(found: Vec<Difference>) -> Vec<String> {
        found.into_iter().map(|one| format!("{} {} -> {}", one.setting, one.baseline, one.run)).collect()
    }

    #[test]
    fn runs_of_two_kinds_differ_in_their_kind() {
        let training = RunSpec::from(TrainingJob::sample());
        let other = serde_json::json!({ "np": 4, "workload": "benchmark", "algorithms": ["ring"] });
        let other: RunSpec = serde_json::from_value(other).unwrap();
        assert_eq!(words(settings(&training, &other)), ["np 2 -> 4", "workload training -> benchmark"]);
    }

    #[test]
    fn only_what_differs_is_named() {
        let baseline = TrainingJob::sample();
        let flags = vec!["--precision".into(), "bf16".into()];
        let run = baseline.clone().with(|job| {
            (job.resources.np, job.resources.hosts) = (4, Some("a:4".into()));
            (job.workload.train_images, job.workload.trainer_flags) = (None, flags);
        });
        let [baseline, run] = [baseline, run].map(RunSpec::from);
        let expected = ["hosts none -> a:4", "np 2 -> 4", "train_images 12000 -> all", "trainer_flags none -> --precision bf16"];
        assert_eq!(words(settings(&baseline, &run)), expected);
        let back = settings(&run, &baseline);
        assert_eq!(words(back)[3], "trainer_flags --precision bf16 -> none", "a flag that went is a difference too");
        assert_eq!(settings(&run, &run), []);
    }

    #[test]
    fn a_precision_that_was_left_out_has_a_name() {
        let of = |precision| RunSpec::from(TrainingJob::sample().with(|job| job.workload.precision = precision));
        let found = settings(&of(NumberFormat::Fp32), &of(NumberFormat::Bf16));
        assert_eq!(words(found), ["precision fp32 -> bf16"]);
    }

    #[test]
    fn versions_that_a_run_has_not_told_yet_are_no_difference() {
        let with = |versions: &[&str]| RunRecord {
            versions: versions.iter().map(|one| (*one).to_owned()).collect(),
            ..crate::runs::tests::record(2)
        };
        let (going, over) = (with(&["hvd-lab 0.1.0"]), with(&["hvd-lab 0.1.0", "libtorch 2.11.0"]));
        assert_eq!(differences(&over, &going), []);
        let other = words(differences(&over, &with(&["hvd-lab 0.1.0", "libtorch 2.12.0"])));
        assert_eq!(other, ["versions libtorch 2.11.0 -> libtorch 2.12.0"]);
    }

    #[test]
    fn steps_are_told_by_their_titles() {
        let baseline = TrainingJob::sample();
        let steps = StepSet::ALL.without(Step::Broadcast).without(Step::Warmup);
        let fewer: RunSpec = baseline.clone().with(|job| job.workload.steps = steps).into();
        let more: RunSpec = baseline.clone().with(|job| job.resources.np = 9).into();
        let baseline = RunSpec::from(baseline);
        let found = settings(&baseline, &fewer);
        assert_eq!(found[0].steps(), ["without 4 Broadcast the weights", "without 9 Warm the rate up"]);
        let found = settings(&fewer, &baseline);
        assert_eq!(found[0].steps(), ["with 4 Broadcast the weights", "with 9 Warm the rate up"]);
        assert_eq!(settings(&baseline, &more)[0].steps(), [""; 0]);
    }
}
