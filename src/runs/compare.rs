//! Runs side by side: what they gained over a baseline, and what was asked for differently.
//!
//! Never reads a file: summaries in, rows out.

use serde::Serialize;
use serde_json::Value;

use super::{RunId, RunSummary};
use crate::domain::run::RunSpec;
use crate::domain::speedup::{self, Comparison};

/// One run against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub id: RunId,
    pub is_baseline: bool,
    #[serde(flatten)]
    pub comparison: Comparison,
    pub differences: Vec<Difference>,
}

/// One setting in which two runs differ, both values as they are printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub setting: String,
    pub baseline: String,
    pub run: String,
}

/// Compare each run with `baseline`.
pub fn table(runs: &[RunSummary], baseline: &RunSummary) -> Vec<Row> {
    runs.iter()
        .map(|run| Row {
            id: run.id,
            is_baseline: run.id == baseline.id,
            comparison: speedup::compare(&run.figures, &baseline.figures),
            differences: match (&baseline.record, &run.record) {
                (Some(baseline), Some(run)) => {
                    let mut found = differences(&baseline.spec, &run.spec);
                    if baseline.data_label != run.data_label {
                        let difference =
                            |a: &str, b: &str| Difference { setting: "images".into(), baseline: a.to_owned(), run: b.to_owned() };
                        found.push(difference(&baseline.data_label, &run.data_label));
                    }
                    found
                }
                _ => Vec::new(),
            },
        })
        .collect()
}

/// The settings in which two runs differ, in alphabetical order.
pub fn differences(baseline: &RunSpec, run: &RunSpec) -> Vec<Difference> {
    // Over the serialised form, so that a new setting needs no line here.
    let (Ok(Value::Object(before)), Ok(Value::Object(after))) = (serde_json::to_value(baseline), serde_json::to_value(run))
    else {
        return Vec::new();
    };
    let mut found: Vec<Difference> = after
        .iter()
        .filter(|(setting, value)| before.get(*setting) != Some(value))
        .map(|(setting, value)| Difference {
            setting: setting.clone(),
            baseline: before.get(setting).map(|value| plain(setting, value)).unwrap_or_default(),
            run: plain(setting, value),
        })
        .collect();
    found.sort_by(|a, b| a.setting.cmp(&b.setting));
    found
}

fn plain(setting: &str, value: &Value) -> String {
    match value {
        Value::Null if setting.ends_with("_images") => "all".into(),
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_named() {
        let baseline = RunSpec::sample();
        let run = RunSpec { np: 4, train_images: None, hosts: Some("a:4".into()), ..baseline.clone() };
        let found: Vec<_> = differences(&baseline, &run)
            .into_iter()
            .map(|one| format!("{} {} -> {}", one.setting, one.baseline, one.run))
            .collect();
        assert_eq!(found, ["hosts none -> a:4", "np 2 -> 4", "train_images 12000 -> all"]);
        assert_eq!(differences(&run, &run), []);
    }
}
