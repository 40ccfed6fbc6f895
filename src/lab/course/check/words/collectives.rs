//! What a run of collectives shows, in words.

use crate::domain::collective::CollectivesSpec;
use crate::domain::measured::MeasuredRow;
use crate::domain::units;

/// What is claimed.
pub const EVERY_SUM: &str = "every sum is right";
pub const SMALL_AND_LARGE: &str = "small and large buffers";
pub const RING_AND_SERVER: &str = "ring against parameter server";

pub const NO_MESSAGE: &str = "no message of it is in the log";
pub const NOT_CHECKED: &str = "no row of this run was checked";
pub const NO_SIZE: &str = "no row has a size above 0";
pub const ONE_RANK: &str = "one rank sends nothing: measure with two or more";
pub const ONE_METHOD: &str = "compare at least two methods at two sizes";
pub const NOT_MEASURED: &str = "no row was measured";
pub const ONE_MISSING: &str = "one of the two has no row yet";
pub const OTHER_SIZES: &str = "the two were not measured at the same size yet";
pub const NOT_IN_THE_WAY: &str = "a server is in the way from three ranks on, if it serves more than its own";

pub fn log_is_schedule(method: &str) -> String {
    format!("{method}: the log is the schedule")
}

pub fn what_each_sends(method: &str) -> String {
    format!("{method}: what each rank sends")
}

pub fn too_many_ranks(ranks: usize) -> String {
    format!("{} ranks are too many to compare with the schedule", units::count(ranks))
}

pub fn wrong_numbers(wrong: u64, method: &str, bytes: u64) -> String {
    let bytes = units::bytes(bytes);
    match wrong {
        1 => format!("1 number of {method} at {bytes} was wrong"),
        wrong => format!("{wrong} numbers of {method} at {bytes} were wrong"),
    }
}

pub fn all_right(rows: usize) -> String {
    match rows {
        1 => "1 row, and no number in it was wrong".into(),
        rows => format!("{rows} rows, and no number in them was wrong"),
    }
}

pub fn as_planned(messages: usize, rounds: usize) -> String {
    let (messages, rounds) = (units::counted(messages, "message"), units::counted(rounds, "round"));
    format!("{messages} in {rounds}, each as planned")
}

/// Messages and numbers that a rank sent by the log, and by the algorithm.
pub fn sent_otherwise(rank: usize, found: (usize, usize), due: (usize, usize)) -> String {
    let words = |(messages, elements): (usize, usize)| {
        format!("{} and {}", units::counted(messages, "message"), units::bytes(4 * elements as u64))
    };
    format!("rank {rank} sent {} by the log, and the algorithm sends {}", words(found), words(due))
}

/// What these of all ranks sent: messages, and numbers of a buffer of `buffer` bytes.
pub fn sent(of: &[usize], all: usize, (messages, elements): (usize, usize), buffer: f64) -> String {
    let who = match of {
        of if of.len() == all => "each rank".to_owned(),
        [one] => format!("rank {one}"),
        many => format!("{} ranks", many.len()),
    };
    let (messages, bytes) = (units::counted(messages, "message"), units::count(4 * elements));
    format!("{who} sent {messages} and {bytes} bytes ({:.2} of the buffer)", 4.0 * elements as f64 / buffer)
}

pub fn list(sentences: &[String]) -> String {
    sentences.join("; ")
}

/// The fastest at a size, and the next.
pub fn fastest(row: &MeasuredRow, next: Option<&MeasuredRow>) -> String {
    let next = next.map(|next| format!(", {} next with {}", next.report.method, units::short_time(next.report.median_s)));
    let (bytes, time) = (units::bytes(row.report.bytes), units::short_time(row.report.median_s));
    format!("at {bytes} {} is fastest ({time}{})", row.report.method, next.unwrap_or_default())
}

/// The server against the ring, at a buffer of `bytes`.
pub fn server_took(spec: &CollectivesSpec, ranks: usize, bytes: u64, ratio: f64) -> String {
    let (servers, bytes) = (units::counted(spec.shape.servers, "server"), units::bytes(bytes));
    let link = spec.link().map(|link| format!(", {link}")).unwrap_or_default();
    format!("at {bytes} on {ranks} ranks {servers} took {ratio:.2} times the time of the ring{link}")
}

pub fn server_not_slower(said: &str) -> String {
    format!("{said}: try larger buffers, or a slow link, where the bytes are what costs")
}
