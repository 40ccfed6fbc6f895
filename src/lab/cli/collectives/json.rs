//! What the verbs of collectives print with `--json`.

use serde_json::{Value, json};

use crate::domain::collective::{Algorithm, CollectivesSpec, Fit, Refused, Schedule, Shape, Terms};
use crate::domain::measured::{Measured, MeasuredRow, MessageLog};
use crate::runs::{RunId, row_json};

/// The table of a run, with predictions or the reason why there is none. Seconds and bytes a second.
pub fn table(id: RunId, spec: &CollectivesSpec, measured: &Measured) -> Value {
    let rows: Vec<Value> = measured.rows.iter().map(|one| row(one, measured.ranks)).collect();
    let busbw: Value = measured.mean_busbw().into_iter().map(|(method, busbw)| (method.to_owned(), json!(busbw))).collect();
    json!({
        "run": id,
        "np": measured.ranks,
        "settings": spec,
        "link": spec.link(),
        "rows": rows,
        "avg_busbw": busbw,
        "median_error": measured.median_error(),
        "fit": fit(measured.fit()),
    })
}

fn row(row: &MeasuredRow, np: usize) -> Value {
    let mut value = row_json(row, np);
    // The verbs call an algorithm what is a method in the events.
    let method = value.as_object_mut().and_then(|fields| fields.remove("method"));
    value["algorithm"] = json!(method);
    value
}

/// The reason, where there is one.
pub fn refusal<T>(outcome: Result<T, Refused>) -> Option<String> {
    outcome.err().map(|refused| refused.to_string())
}

pub fn fit(fit: Result<Fit, Refused>) -> Value {
    match fit {
        Ok(Fit { alpha_s, beta_s, gamma_s }) => {
            json!({ "alpha_s": alpha_s, "beta_s_per_byte": beta_s, "gamma_s_per_byte": gamma_s })
        }
        Err(refused) => json!({ "refused": refused.to_string() }),
    }
}

/// Messages and bytes, one after the other.
pub fn terms(terms: &Terms) -> Value {
    let bytes = |numbers: f64| numbers * 4.0;
    json!({
        "messages": terms.messages + terms.local_messages,
        "bytes_sent": bytes(terms.sent + terms.local_sent),
        "bytes_added": bytes(terms.added),
    })
}

pub fn schedule(algorithm: Algorithm, schedule: &Schedule, shape: Shape) -> Value {
    let message = |message: &crate::domain::collective::Message| {
        json!({
            "from": message.from,
            "to": message.to,
            "start": message.range.start,
            "end": message.range.end,
            "bytes": 4 * message.range.len(),
            "operation": message.operation,
        })
    };
    let rounds: Vec<Vec<Value>> = schedule.rounds.iter().map(|round| round.iter().map(message).collect()).collect();
    let rank = |rank| json!({ "rank": rank, "messages": schedule.messages_from(rank), "bytes": schedule.bytes_from(rank) });
    json!({
        "schedule": true,
        "algorithm": algorithm.name(),
        "np": schedule.ranks,
        "elements": schedule.elements,
        "servers": shape.servers,
        "ranks_per_host": shape.ranks_per_host,
        "rounds": rounds,
        "ranks": (0..schedule.ranks).map(rank).collect::<Vec<_>>(),
        "terms": terms(&schedule.terms(None)),
        "formula": algorithm.formula_in_words(),
    })
}

/// One object, or an array of several.
pub fn one_or_all(mut all: Vec<Value>) -> Value {
    if all.len() == 1 { all.remove(0) } else { Value::Array(all) }
}

pub fn log(id: RunId, log: &MessageLog) -> Value {
    json!({
        "run": id,
        "schedule": false,
        "algorithm": log.method,
        "elements": log.elements,
        "messages": log.messages,
    })
}
