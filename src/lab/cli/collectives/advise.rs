//! `hvd-lab collectives advise`: which algorithm should be fastest on this machine.

use std::process::ExitCode;

use super::super::output::{Usage, print_either};
use super::super::table::render;
use super::options::{ShapeFlags, buffer, from_one, newest, open, whole_numbers};
use super::{json, table};
use crate::domain::collective::{Advice, AdviceRow, Algorithm, Apart, Refused};
use crate::domain::event::Event;
use crate::domain::units;
use crate::runs::{Measurement, RunId, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab collectives advise --size 65M --np 4      the gradients of a WRN-16-10
  hvd-lab collectives advise --size 1K --np 2 --run 7
  hvd-lab collectives advise --size 65M --np 2 --json | jq -r .fastest

a, b and g are the time of a message, of a byte sent and of a byte added, as the run measured them between two ranks; n is the \
size, p the number of ranks. `formula` is the time with these put in, `predicted` follows the schedule round by round.";

/// Predict which algorithm is fastest for a size, from the measurements of a run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The buffer of each rank, such as 65M.
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    size: u64,
    /// Ranks [default: as many as the run had].
    #[arg(long, value_name = "N", value_parser = from_one)]
    np: Option<usize>,
    /// The run whose measurements count [default: the newest that measured messages between two ranks, without --link if there is one].
    #[arg(long, value_name = "ID")]
    run: Option<RunId>,
    #[command(flatten)]
    shape: ShapeFlags,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let has_link = |id| store.folder(id).events().any(|line| matches!(line.event, Event::Link(_)));
    // Links that were made slow say nothing of the machine's own.
    let of_machine = || newest(&store, |id| has_link(id) && !is_on_made_links(&store, id));
    let advice = "no run has measured messages between two ranks yet: `hvd-lab collectives run --np 2` does";
    let found = args.run.or_else(of_machine).or_else(|| newest(&store, has_link));
    let id = found.ok_or_else(|| Usage(advice.into()))?;
    let told = open(&store, Some(id))?;
    if told.measured.machine.link.is_none() {
        let advice = "measured no messages between two ranks: `hvd-lab collectives run --np 2` does";
        return Err(Usage(format!("run {id} {advice}")).into());
    }
    let np = args.np.unwrap_or(told.measured.ranks);
    if np > crate::domain::job::MAX_RANKS {
        return Err(Usage(format!("--np: {np} is more than {} ranks", crate::domain::job::MAX_RANKS)).into());
    }
    let shape = args.shape.shape(np, &Algorithm::ALL)?;
    let advice = Advice::new(&told.measured.machine, whole_numbers(args.size), np, shape);
    print_either(args.json, || as_json(&told, &advice), || text(&told, &advice))?;
    Ok(ExitCode::SUCCESS)
}

fn is_on_made_links(store: &RunStore, id: RunId) -> bool {
    store.record(id).is_ok_and(|record| record.request.spec.collectives().is_some_and(|spec| spec.link_bits.is_some()))
}

fn text(told: &Measurement, advice: &Advice) -> String {
    let size = units::bytes(advice.bytes);
    let mut text = format!("# allreduce of {size} (n) on {} (p), from what run {} measured", counted(advice.ranks), told.id);
    text += &told.spec.link().map(|link| format!(" {link}")).unwrap_or_default();
    text += "\n";
    match &advice.fit {
        Ok(fit) => text += &format!("# {}\n", table::fit_in_words(fit)),
        Err(refused) => text += &format!("# no times for {}: {refused}\n", counted(advice.ranks)),
    }
    if let Some(error) = told.measured.median_error() {
        text += &format!("# run {}'s own predictions were off by {} (median)\n", told.id, units::percent(error));
    }
    let largest = told.measured.machine.link.iter().flat_map(|link| &link.rows).map(|row| row.bytes).max();
    if let Some(largest) = largest.filter(|largest| *largest < advice.bytes && advice.fit.is_ok()) {
        let size = units::bytes(largest);
        text += &format!("# run {} sent messages of up to {size}: what is larger is predicted in proportion\n", told.id);
    }
    let seconds = |time: Result<f64, Refused>| time.map_or_else(|_| "-".to_owned(), units::short_time);
    let sent = |numbers: f64| units::bytes((4.0 * numbers) as u64);
    let cells = |row: &AdviceRow| {
        let terms = &row.terms;
        let formula = row.algorithm.formula_in_words();
        vec![
            row.algorithm.name().to_owned(),
            (terms.messages + terms.local_messages).to_string(),
            sent(terms.sent + terms.local_sent),
            sent(terms.added),
            seconds(row.formula_s),
            seconds(row.predicted_s),
            if row.has_formula { formula.to_owned() } else { format!("(by its schedule; {formula} does not fit so many ranks)") },
        ]
    };
    let heading = ["algorithm", "messages", "sent", "added", "formula", "predicted", "time"];
    text += &render(&heading, advice.rows.iter().map(cells));
    for row in &advice.rows {
        if let Some(apart) = &row.why_apart {
            text += &format!("# {}: {apart}\n", row.algorithm.name());
        }
    }
    if let Some(row) = advice.fastest() {
        let time = seconds(row.predicted_s);
        text += &format!("fastest for {size} on {}: {} ({time})\n", counted(advice.ranks), row.algorithm.name());
        for (place, lead) in advice.leads.iter().enumerate() {
            let from = units::bytes(lead.from_bytes);
            let until = advice.leads.get(place + 1).map(|next| format!(" to below {}", units::bytes(next.from_bytes)));
            text += &format!("  {} from {from}{}\n", lead.algorithm.name(), until.unwrap_or_else(|| " on".to_owned()));
        }
        text += "These are predictions. Treat a difference below 5 % as none. `hvd-lab collectives run` measures.\n";
    }
    text
}

fn counted(ranks: usize) -> String {
    units::counted(ranks, "rank")
}

fn as_json(told: &Measurement, advice: &Advice) -> serde_json::Value {
    let row = |row: &AdviceRow| {
        serde_json::json!({
            "algorithm": row.algorithm.name(),
            "formula": row.algorithm.formula_in_words(),
            "formula_fits": row.has_formula,
            "terms": json::terms(&row.terms),
            "formula_s": row.formula_s.ok(),
            "predicted_s": row.predicted_s.ok(),
            "no_prediction": json::refusal(row.predicted_s),
            "why_apart": row.why_apart.as_ref().map(Apart::to_string),
        })
    };
    let lead = |lead: &crate::domain::collective::Lead| serde_json::json!({ "from_bytes": lead.from_bytes, "algorithm": lead.algorithm.name() });
    serde_json::json!({
        "run": told.id,
        "bytes": advice.bytes,
        "np": advice.ranks,
        "link": told.spec.link(),
        "median_error": told.measured.median_error(),
        "fit": json::fit(advice.fit),
        "rows": advice.rows.iter().map(row).collect::<Vec<_>>(),
        "fastest": advice.fastest().map(|row| row.algorithm.name()),
        "leads": advice.leads.iter().map(lead).collect::<Vec<_>>(),
    })
}
