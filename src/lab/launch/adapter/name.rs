//! What the name of a number says: `val_acc`, `Average loss`, `learning rate`, `samples/sec`.

use std::sync::LazyLock;

use regex::Regex;

/// What a number is. `Aside` says nothing by itself, `Other` is the name of something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::launch) enum Name {
    Loss,
    Accuracy,
    /// Of the first guess, which most print in per cent.
    Top,
    Epoch,
    Step,
    LearningRate,
    Rate,
    Aside,
    Other,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::launch) enum Scope {
    Training,
    Validation,
}

const VALIDATION: &str = " val valid validation validate validating eval evaluation evaluating evaluate test testing dev ";
/// Parts of a name that leave it what it is, such as `avg_loss`.
const PARTS: &str = " lm total global running current curr cur last final average avg mean reduced smooth smoothed optimizer sparse \
    categorical binary set ips throughput metrics ";
/// Words that may stand beside a name.
const ASIDE: &str = " with of in at for to the is on and after over completed speed starting start begin beginning finished \
    end done results result metrics phase split subset stage loop sanity check summary s sec secs seconds ms it min learning rank \
    error sent token root ";

/// `images/sec`, `train_samples_per_second`, `RunningAvgSamplesPerSec`
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static RATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\w+[_./]|running|curr|avg)*(?:images?|imgs?|samples?|examples?)(?:_?per_?|/)s(?:ec(?:ond)?s?)?$").unwrap()
});

/// Whether a list of words has this one.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    let is_whole = |at: usize| list[..at].ends_with(' ') && list[at + word.len()..].starts_with(' ');
    !word.is_empty() && list.match_indices(word).any(|(at, _)| is_whole(at))
}

/// What a word says that a figure is of.
pub(in crate::launch) fn scope_of(word: &str) -> Option<Scope> {
    match word {
        "train" | "training" => Some(Scope::Training),
        word => is_in(VALIDATION, word).then_some(Scope::Validation),
    }
}

/// Whether a word, in small letters, leaves a name what it is.
pub(super) fn is_aside(word: &str) -> bool {
    scope_of(word).is_some() || is_in(ASIDE, word) || is_in(PARTS, word)
}

/// What the words before a number say, with those in parentheses behind them, and of what. `None` where it says nothing, or has a word that is not known.
pub(super) fn name(words: &[&str], behind: &[&str]) -> Option<(Name, Option<Scope>)> {
    // `loss on 4 GPUs`
    if words.last().is_some_and(|word| is_in(" on in of at for after over with per ", &word.to_lowercase())) {
        return None;
    }
    let (mut name, mut scope, mut before) = (Name::Aside, None, String::new());
    for word in words {
        let word = word.to_lowercase();
        let (own, of) = if word == "rate" && before == "learning" { (Name::LearningRate, None) } else { meaning(&word) };
        (name, scope, before) = (both(name, own), scope.or(of), word);
    }
    let behind = behind.iter().map(|word| word.to_lowercase()).collect::<Vec<_>>();
    scope = scope.or(behind.iter().find_map(|word| scope_of(word)));
    // `Throughput (images/sec): 900`
    if name == Name::Aside && behind.iter().any(|word| meaning(word).0 == Name::Rate) {
        return Some((Name::Rate, scope));
    }
    let is_known = name != Name::Aside && name != Name::Other && behind.iter().all(|word| is_aside(word));
    is_known.then_some((name, scope))
}

/// What a word in small letters says.
pub(in crate::launch) fn meaning(word: &str) -> (Name, Option<Scope>) {
    let scope = word.split(['_', '.', '/', '-']).find_map(scope_of);
    if RATE.is_match(word) {
        return (Name::Rate, scope);
    }
    if is_in(ASIDE, word) {
        return (Name::Aside, None);
    }
    let whole = word.replace("top-1", "top1").replace("learning_rate", "lr").replace("learning-rate", "lr");
    let parts = whole.split(['_', '-', '.', '/']).filter(|part| !part.is_empty());
    let own = |part| match part {
        "loss" => Name::Loss,
        "acc" | "accuracy" => Name::Accuracy,
        "acc1" | "acc@1" | "prec1" | "prec@1" | "top1" | "top@1" => Name::Top,
        "epoch" => Name::Epoch,
        "step" | "iter" | "iteration" | "batch" => Name::Step,
        "lr" => Name::LearningRate,
        part if scope_of(part).is_some() || is_in(PARTS, part) => Name::Aside,
        _ => Name::Other,
    };
    let name = parts.clone().map(own).fold(Name::Aside, |name, part| match (name, part) {
        // `loss_epoch`
        (figure @ (Name::Loss | Name::Accuracy | Name::Top), Name::Epoch | Name::Step) => figure,
        (name, part) => both(name, part),
    });
    (name, scope)
}

/// Two parts of a name.
fn both(name: Name, next: Name) -> Name {
    match (name, next) {
        (name, Name::Aside) => name,
        (Name::Aside, next) => next,
        // `epoch loss`, `accuracy/top1`
        (Name::Epoch | Name::Step, Name::Loss | Name::Accuracy | Name::Top) => next,
        (Name::Accuracy | Name::Top, Name::Accuracy | Name::Top) => Name::Top,
        _ => Name::Other,
    }
}
