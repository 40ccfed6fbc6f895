//! What all checks say in the same words: reports that are missing, lists of ranks, short digests.

/// What a process has not reported.
pub const AN_EPOCH: &str = "an epoch";
pub const A_STEP: &str = "a step";
pub const END_OF_AN_EPOCH: &str = "the end of an epoch";
pub const PLAN: &str = "what it is going to do";
pub const WEIGHTS_AT_START: &str = "the weights that it starts from";
pub const WEIGHTS_DRAWN: &str = "the weights that it drew";

/// No process has reported anything.
pub const NOTHING_YET: &str = "no rank has reported yet";
pub const ONE_RANK: &str = "one rank has nobody to differ from: run with np 2 or more";

/// Events of a rank are missing, or do not count.
pub fn lost(who: &str, events: u64) -> String {
    let what = if events == 1 { "an event".to_owned() } else { format!("{events} events") };
    format!("{what} of {who} did not arrive, so nothing can be said of this run: see its launcher log, and run it again")
}

/// Names in one list before it is cut short.
pub const NAMES: usize = 4;

/// Of `rank` or `process`.
pub fn plural(noun: &str) -> &'static str {
    if noun == "process" { "processes" } else { "ranks" }
}

/// `rank 1`, `ranks 1 and 2`, `ranks 1, 2, 3, 4 and 60 others`.
pub fn names(noun: &str, numbers: &[usize]) -> String {
    let plural = plural(noun);
    let some: Vec<String> = numbers.iter().take(NAMES).map(usize::to_string).collect();
    let left = numbers.len() - some.len();
    match (left, some.as_slice()) {
        (_, []) => "nobody".into(),
        (0, [one]) => format!("{noun} {one}"),
        (0, [some @ .., last]) => format!("{plural} {} and {last}", some.join(", ")),
        _ => format!("{plural} {} and {left} others", some.join(", ")),
    }
}

pub fn not_reported(who: &str, what: &str) -> String {
    format!("{who} has not reported {what}")
}

/// A pass up to now, of ranks that have not all finished.
pub fn so_far(sentence: &str, who: &str) -> String {
    format!("so far so good: {sentence}; but {who} has not finished")
}

/// The first digits of a digest: enough to tell two apart in a sentence.
pub fn short(digest: &str) -> &str {
    digest.get(..8).unwrap_or(digest)
}

/// `a, b, c, d, ...`: the first few of a list.
pub fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    let shown = items[..items.len().min(NAMES)].join(", ");
    if items.len() > NAMES { format!("{shown}, ...") } else { shown }
}
