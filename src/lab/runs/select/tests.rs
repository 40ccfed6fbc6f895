//! Filters and orders over rows made by hand.

use super::super::tests::{record, status};
use super::super::{RunId, RunRecord, RunRequest, Tally};
use super::*;
use crate::domain::event::Metrics;
use crate::domain::run::RunState;
use crate::domain::speedup::Figures;

fn run(id: u32, np: usize, state: RunState, name: Option<&str>, rate: Option<f64>) -> RunSummary {
    let figures = Figures { np, images_per_sec: rate, seconds_to_target: None };
    let of = record(np);
    RunSummary {
        id: RunId(id),
        record: Some(RunRecord { request: RunRequest { name: name.map(String::from), ..of.request.clone() }, ..of }),
        status: status(state),
        elsewhere: None,
        tally: Tally { figures, test: rate.map(|rate| Metrics { loss: 1.0, accuracy: 1.0 / rate }), ..Tally::default() },
    }
}

fn runs() -> Vec<RunSummary> {
    let mut damaged = run(4, 2, RunState::Failed, None, None);
    damaged.record = None;
    vec![
        run(1, 1, RunState::Finished, Some("Serial"), Some(900.0)),
        run(2, 2, RunState::Finished, Some("two ranks"), Some(1800.0)),
        run(3, 16, RunState::Failed, None, None),
        damaged,
        run(12, 2, RunState::Stopped, Some("run 2 again"), Some(1500.0)),
    ]
}

fn found(words: &str) -> Vec<u32> {
    select(&runs(), &Filter::new(words), SortKey::Number, true).into_iter().map(|run| run.id.0).collect()
}

fn sorted(key: SortKey, reverse: bool) -> Vec<u32> {
    select(&runs(), &Filter::default(), key, reverse).into_iter().map(|run| run.id.0).collect()
}

#[test]
fn all_words_have_to_fit() {
    assert_eq!(found(""), [1, 2, 3, 4, 12]);
    assert_eq!(found("failed"), [3, 4]);
    assert_eq!(found("SERIAL"), [1]);
    assert_eq!(found("finished ranks"), [2]);
    assert_eq!(found("!failed"), [1, 2, 12]);
    assert_eq!(found("fashion !state:finished"), [3, 12]);
    assert_eq!(found("nowhere"), [0; 0]);
}

#[test]
fn a_field_narrows_a_word_and_numbers_are_whole() {
    assert_eq!(found("np:1"), [1]);
    assert_eq!(found("NP:2"), [2, 12]);
    assert_eq!(found("run:2"), [2]);
    assert_eq!(found("name:2"), [12]);
    assert_eq!(found("2"), [2, 12], "its number, or a word of its name");
    assert_eq!(found("steps:1-10 !np:16"), [1, 2, 12]);
    assert_eq!(found("model:wrn-10"), [1, 2, 3, 12]);
    assert_eq!(found("precision:FP32"), [1, 2, 3, 12]);
    assert_eq!((found("fp32"), found("precision:bf16")), (vec![], vec![]), "without its field the word would fit nearly all");
    assert_eq!(found("colour:2"), [0; 0], "no such field: a word like any other");
}

#[test]
fn orders_begin_with_the_best_and_end_with_what_is_not_known() {
    assert_eq!(sorted(SortKey::Number, false), [12, 4, 3, 2, 1]);
    assert_eq!(sorted(SortKey::Rate, false), [2, 12, 1, 4, 3]);
    assert_eq!(sorted(SortKey::Rate, true), [1, 12, 2, 4, 3]);
    assert_eq!(sorted(SortKey::Accuracy, false), [1, 12, 2, 4, 3]);
    assert_eq!(sorted(SortKey::Name, false), [12, 1, 2, 4, 3]);
    assert_eq!(sorted(SortKey::Np, false), [1, 12, 4, 2, 3]);
    assert_eq!(sorted(SortKey::State, false), [4, 3, 2, 1, 12]);
}

#[test]
fn every_order_has_a_name_and_a_turn() {
    let mut key = SortKey::default();
    for (expected, ..) in ORDERS {
        assert_eq!((key, key.to_string().parse()), (expected, Ok(key)));
        key = key.next();
    }
    assert_eq!(key, SortKey::default());
    assert!("speed".parse::<SortKey>().unwrap_err().contains("img/s"));
}
