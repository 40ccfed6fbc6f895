//! The learner's ring: runs the program for several numbers of ranks, and judges the schedules that it gives.
//!
//! What it prints is a plan, not evidence of a run: every message of it is checked against the algorithm.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::interpreter::interpreter;
use crate::domain::collective::{Algorithm, Naming, Schedule, Shape, judge_in};
use crate::domain::event::MARKER;
use crate::domain::units;
use crate::launch::execute_once;
use crate::process::probe_command::{NoAnswer, ask};

/// A ring is worked out in milliseconds; a loop without an end is told apart from it soon.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ranks, and numbers for each: chunks of equal size first, then such as do not come out even, and fewer numbers than ranks.
const CASES: [(usize, usize); 12] =
    [(2, 8), (4, 16), (3, 12), (1, 4), (5, 20), (6, 24), (7, 28), (8, 32), (3, 7), (4, 2), (8, 33), (2, 0)];
/// Lines of the program's own that are shown, the last ones.
const SHOWN: usize = 8;

/// The verdict on the learner's ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ring {
    /// It is a ring, in all cases. The schedule of four ranks is there to be run.
    Right(Box<Schedule>),
    /// Why not, in one sentence, and what the program printed for people.
    Wrong { why: String, printed: Vec<String> },
}

impl Ring {
    /// The verdict in lines for the learner.
    pub fn in_words(&self) -> String {
        match self {
            Ring::Wrong { why, printed } => {
                let printed: String = printed.iter().map(|line| format!("    | {line}\n")).collect();
                format!("{printed}not yet: {why}\n")
            }
            Ring::Right(schedule) => format!(
                "right: it is a ring for 1 to 8 ranks. With 4 ranks: {} rounds, {} messages from each rank.\n",
                schedule.rounds.len(),
                schedule.messages_from(0)
            ),
        }
    }

    /// The outcome as progress keeps it.
    pub fn outcome(&self) -> Result<(), String> {
        if let Ring::Wrong { why, .. } = self { Err(why.clone()) } else { Ok(()) }
    }
}

/// Run the program and judge what it plans.
///
/// # Errors
/// Python cannot be started.
pub fn attempt(program: &Path) -> Result<Ring, String> {
    let python = interpreter();
    let cases = CASES.map(|(ranks, elements)| format!("{ranks}x{elements}"));
    // -B: nothing is left beside the program.
    let mut command = Command::new(&python);
    command.arg("-B").arg(program).args(cases).envs([("PYTHONUNBUFFERED", "1"), ("PYTHONIOENCODING", "utf-8")]);
    let answer = match ask(&mut command, PATIENCE) {
        Ok(answer) => answer,
        Err(why @ NoAnswer::NotStarted(_)) => {
            return Err(format!("{}: {why}: install Python 3.8 or newer, or set HVD_LAB_PYTHON", python.display()));
        }
        Err(why) => {
            let why = match why {
                NoAnswer::Late { .. } => {
                    format!("your program did not finish within {} s: is there a loop without an end?", PATIENCE.as_secs())
                }
                _ => "your program printed more than 64 KiB, or was lost: print less".to_owned(),
            };
            return Ok(Ring::Wrong { why, printed: Vec::new() });
        }
    };
    let (plans, printed): (Vec<&str>, Vec<&str>) = answer.stdout.lines().partition(|line| line.starts_with(MARKER));
    let printed: Vec<String> = printed.iter().skip(printed.len().saturating_sub(SHOWN)).map(|line| (*line).to_owned()).collect();
    if !answer.status.success() {
        return Ok(Ring::Wrong { why: error_in_words(&answer.stderr, program), printed });
    }
    Ok(match judge_all(&plans) {
        Ok(schedule) => Ring::Right(Box::new(schedule)),
        Err(why) => Ring::Wrong { why, printed },
    })
}

/// The schedule of four ranks, if all of them are rings.
fn judge_all(plans: &[&str]) -> Result<Schedule, String> {
    if plans.len() != CASES.len() {
        return Err(format!(
            "your program gave {} for {} cases: leave its last lines as they are, and end your own lines with a new line",
            units::counted(plans.len(), "schedule"),
            CASES.len()
        ));
    }
    let mut shown = None;
    for ((ranks, elements), plan) in CASES.into_iter().zip(plans) {
        let of =
            |fault: String| format!("with {} and {}, {fault}", units::counted(ranks, "rank"), units::counted(elements, "number"));
        let schedule = Schedule::read_plan(ranks, elements, plan.trim_start_matches(MARKER)).map_err(of)?;
        let shape = Shape { servers: 1, ranks_per_host: 1 };
        judge_in(&schedule, &Algorithm::Ring.schedule(ranks, elements, shape), Naming::Chunks { elements, ranks })
            .map_err(|fault| of(fault.to_string()))?;
        if ranks == 4 && shown.is_none() {
            shown = Some(schedule);
        }
    }
    shown.ok_or_else(|| "there is no case with four ranks".into())
}

/// Execute the schedule over MPI; what to say of it.
///
/// # Errors
/// Why it could not be executed, or what MPI counted that was not planned.
pub fn execute(schedule: &Schedule) -> Result<String, String> {
    let Some(counted) = execute_once(schedule).map_err(|error| error.to_string())? else {
        return Ok("every sum is right; this MPI library does not count its messages".into());
    };
    for (from, counted) in counted.iter().enumerate() {
        for (to, (messages, bytes)) in counted.iter().enumerate() {
            let planned = schedule.messages().filter(|(_, sent)| (sent.from, sent.to) == (from, to) && !sent.range.is_empty());
            let due = planned.fold((0, 0), |(all, sum), (_, sent)| (all + 1, sum + 4 * sent.range.len() as u64));
            if due != (*messages, *bytes) {
                let counted = format!("{messages} messages with {bytes} bytes");
                return Err(format!(
                    "MPI counted {counted} from rank {from} to rank {to}, and {} with {} were planned",
                    due.0, due.1
                ));
            }
        }
    }
    let all: usize = counted.iter().flatten().map(|(messages, _)| messages).sum();
    let bytes: u64 = counted.iter().flatten().map(|(_, bytes)| bytes).sum();
    Ok(format!("every sum is right, and MPI counted {all} messages with {bytes} bytes: as you planned"))
}

/// The last line of Python's traceback, with the learner's line.
fn error_in_words(said: &str, program: &Path) -> String {
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    let own = format!("{name}\", line ");
    let place = lines.iter().rposition(|line| line.trim_start().starts_with("File \"") && line.contains(&own));
    let number: Option<usize> =
        place.and_then(|place| lines[place].split(&own).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    let last = lines.iter().rev().find(|line| !line.trim().is_empty()).map_or("Python ended with an error", |line| line.trim());
    let mut words = number.map_or(last.to_owned(), |line| format!("{name}:{line}: {last}"));
    if let Some(source) = place.and_then(|place| lines.get(place + 1)) {
        // Writing to a string cannot fail.
        let _ = write!(words, "\n    {}", source.trim());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exercise::{RING_SOLUTION, Track};

    fn ring() -> &'static str {
        Track::Collectives.text()
    }

    fn attempted(text: &str) -> Ring {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ring.py");
        std::fs::write(&program, text).unwrap();
        attempt(&program).unwrap()
    }

    fn why(text: &str) -> String {
        match attempted(text) {
            Ring::Wrong { why, .. } => why,
            Ring::Right(_) => panic!("it passed:\n{text}"),
        }
    }

    #[test]
    fn the_solution_is_a_ring_and_the_exercise_is_not_yet() {
        let Ring::Right(schedule) = attempted(RING_SOLUTION) else { panic!("{}", why(RING_SOLUTION)) };
        assert_eq!((schedule.ranks, schedule.rounds.len()), (4, 6));
        let said = why(ring());
        assert!(said.contains("with 2 ranks and 8 numbers, round 1: rank 0 sends chunk 0 to itself"), "{said}");
    }

    #[test]
    fn the_two_differ_in_their_open_places_only() {
        let is_open =
            |line: &&str| ["receiver = ", "index = ", "# ", "\"\"\"The ring"].iter().any(|of| line.trim_start().starts_with(of));
        let rest = |text: &'static str| text.lines().filter(|line| !is_open(line)).collect::<Vec<_>>();
        assert_eq!(rest(ring()), rest(RING_SOLUTION));
        assert_eq!((ring().matches("TODO ").count(), RING_SOLUTION.matches("TODO").count()), (2, 0));
    }

    #[test]
    fn mistakes_are_named_by_round_and_rank() {
        let change = |old: &str, new: &str| {
            assert!(RING_SOLUTION.contains(old), "{old}");
            why(&RING_SOLUTION.replacen(old, new, 1))
        };
        let cases = [
            (
                "(rank - hop) % ranks",
                "rank",
                "with 4 ranks and 16 numbers, round 2: rank 1 adds rank 0's part of chunk 0 for a second time",
            ),
            ("(rank - hop) % ranks", "(rank + hop) % ranks", "as finished, and after round 3 it lacks the parts of"),
            (
                "(rank + 1 - hop) % ranks",
                "(rank - hop) % ranks",
                "with 2 ranks and 8 numbers, round 2: rank 0 sends chunk 0 to rank 1 as finished, and after round 1 it lacks rank 1's part",
            ),
            (
                "(rank + 1 - hop) % ranks",
                "(rank + 1) % ranks",
                "round 6: rank 0 ends with a sum of chunk 2 and lacks rank 1's part of it",
            ),
            (
                "return start, start + size + (1 if index < rest else 0)",
                "return start, start + size",
                "with 3 ranks and 7 numbers",
            ),
            ("\"copy\"", "\"move\"", "`move` is not an operation"),
            ("range(ranks - 1)", "range(ranks)", "with 2 ranks"),
            ("receiver = (rank + 1) % ranks", "receiver = rank + 1", "rank 2"),
            ("receiver = (rank + 1) % ranks", "receiver = rank - 1", "receiver of a message is -1"),
            ("    return rounds", "    return 7", "8 numbers, this is not a list of rounds"),
            ("    return rounds", "    return round", "ring.py:50: TypeError"),
            ("    rounds = []", "    rounds = [", "ring.py:"),
            ("    rounds = []", "    while True: pass", "did not finish"),
            ("print(\"@hvd\"", "print(\"hvd\"", "0 schedules for 12 cases"),
        ];
        let wrong = cases.iter().map(|(old, new, expected)| (change(old, new), expected));
        let wrong: Vec<_> = wrong.filter(|(said, expected)| !said.contains(**expected)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
