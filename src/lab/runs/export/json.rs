//! A report as one JSON object, with everything that is known of each run.

use serde_json::json;

use super::report::Report;

pub fn write(report: &Report) -> String {
    let runs: Vec<_> = report.runs.iter().map(|(row, run)| json!({ "comparison": row, "run": run })).collect();
    let mut whole = json!({ "baseline": report.baseline.id, "runs": runs });
    if !report.published.is_empty() {
        whole["published"] = json!(report.published);
    }
    format!("{whole:#}\n")
}
