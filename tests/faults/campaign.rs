//! What the parts of the campaign share: how many cases, drawn from which seed, and the report at the end.
//!
//! A case that fails does not end its part: what else fails is worth knowing too.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Of the campaign that runs with the other tests: the same cases each time.
const SEED: u64 = 1;

/// Random choices of one case, the same for the same seed, part and number.
pub struct Dice(ChaCha8Rng);

impl Dice {
    pub fn of(seed: u64, part: &str, number: usize) -> Dice {
        // FNV-1a: any way to tell the parts apart does.
        let salt =
            part.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Dice(ChaCha8Rng::seed_from_u64(seed ^ salt ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }
}

/// How long the campaign is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Length {
    Times(usize),
    Minutes(f64),
}

impl Length {
    fn parse(text: &str) -> Option<Length> {
        match text.trim().strip_suffix('m') {
            Some(minutes) => minutes.parse().ok().filter(|minutes| *minutes > 0.0).map(Length::Minutes),
            None => text.trim().parse().ok().filter(|times| *times > 0).map(Length::Times),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn length() -> Length {
    let asked = variable("HVD_LAB_FAULTS");
    let parsed =
        |text: String| Length::parse(&text).unwrap_or_else(|| panic!("HVD_LAB_FAULTS is a number or `10m`, not `{text}`"));
    asked.map_or(Length::Times(1), parsed)
}

/// Drawn once, so that all parts of a campaign have the same.
fn seed() -> u64 {
    static DRAWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *DRAWN.get_or_init(|| match variable("HVD_LAB_FAULTS_SEED").as_deref() {
        None => SEED,
        Some("random") => std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 % 1_000_000_000,
        Some(text) => text.parse().unwrap_or_else(|_| panic!("HVD_LAB_FAULTS_SEED is a number or `random`, not `{text}`")),
    })
}

/// What the cases did, by kind.
#[derive(Default)]
struct Tally {
    tried: BTreeMap<String, usize>,
    failures: Vec<String>,
}

/// Try `short` cases of a part, or as many as the variables ask for; fail at the end if any did.
///
/// A case says what it tried in a few words, and panics or says what is wrong.
pub fn try_all(part: &str, short: usize, case: impl Fn(usize, &mut Dice) -> (String, Result<(), String>)) {
    let seed = seed();
    let only = variable("HVD_LAB_FAULTS_ONLY").map(|text| {
        let (part, number) = text.split_once(':').expect("HVD_LAB_FAULTS_ONLY is such as mutations:17");
        (part.to_owned(), number.parse::<usize>().expect("a number after the colon"))
    });
    let begin = Instant::now();
    let goes_on = |number: usize| match length() {
        Length::Times(times) => number < short * times,
        Length::Minutes(minutes) => begin.elapsed() < Duration::from_secs_f64(minutes * 60.0),
    };
    let numbers: Box<dyn Iterator<Item = usize>> = match only {
        Some((name, number)) if name == part => Box::new(std::iter::once(number)),
        Some(_) => return,
        None => Box::new((0..).take_while(|number| goes_on(*number))),
    };
    let mut tally = Tally::default();
    for number in numbers {
        let tried = catch_unwind(AssertUnwindSafe(|| case(number, &mut Dice::of(seed, part, number))));
        let (what, result) = tried.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            ("broke off".to_owned(), Err(said.unwrap_or_default()))
        });
        *tally.tried.entry(what.clone()).or_default() += 1;
        if let Err(why) = result {
            let again =
                format!("HVD_LAB_FAULTS_SEED={seed} HVD_LAB_FAULTS_ONLY={part}:{number} cargo test --locked --test lab faults::");
            let failure = format!("{part} {number} ({what}): {why}\n    to repeat it: {again}");
            eprintln!("{failure}");
            tally.failures.push(failure);
        }
    }
    let count: usize = tally.tried.values().sum();
    let kinds: Vec<String> = tally.tried.iter().map(|(what, count)| format!("  {count:5} {what}")).collect();
    let (failed, seconds) = (tally.failures.len(), begin.elapsed().as_secs());
    println!("{part}: {count} tried, {failed} failed, {seconds} s, seed {seed}\n{}", kinds.join("\n"));
    assert!(tally.failures.is_empty(), "{failed} of {count} {part} failed:\n{}", tally.failures.join("\n"));
}

#[test]
fn the_same_seed_gives_the_same_case_and_another_one_does_not() {
    let draw = |seed, part, number| (0..8).map(|_| Dice::of(seed, part, number).byte()).next().unwrap();
    let many = |seed, part| (0..32).map(|number| draw(seed, part, number)).collect::<Vec<_>>();
    assert_eq!(many(1, "kills"), many(1, "kills"));
    assert_ne!(many(1, "kills"), many(2, "kills"));
    assert_ne!(many(1, "kills"), many(1, "disks"));
}

#[test]
fn the_length_is_a_factor_or_minutes() {
    assert_eq!(Length::parse("5"), Some(Length::Times(5)));
    assert_eq!(Length::parse("2.5m"), Some(Length::Minutes(2.5)));
    assert_eq!((Length::parse("0"), Length::parse("-1m"), Length::parse("long")), (None, None, None));
}

#[test]
fn a_part_with_a_case_that_fails_fails_and_says_how_to_repeat_it() {
    let failed = catch_unwind(|| {
        try_all("samples", 3, |number, _| {
            assert_ne!(number, 1, "by accident");
            ("a sample".into(), if number == 2 { Err("on purpose".into()) } else { Ok(()) })
        })
    });
    if variable("HVD_LAB_FAULTS_ONLY").is_none() && length() == Length::Times(1) {
        let said = *failed.unwrap_err().downcast::<String>().unwrap();
        for word in ["2 of 3 samples failed", "by accident", "on purpose", "HVD_LAB_FAULTS_ONLY=samples:2"] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
