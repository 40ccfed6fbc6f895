//! The errors that processes print before they end: which of them came first, and which only follow from the end of another one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Lines that a process may print after an error that ends it; one that prints more has survived it.
const LAST_WORDS: usize = 10;
/// The same where the lines of all processes and of their launcher come as those of one.
const LAST_WORDS_OF_ALL: usize = 60;

/// The end of a traceback, or an error that is printed without one.
const ERROR: &str = r"^(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Interrupt|Exit)(?::|$)|[\w./-]+: error: \S|terminate called after throwing|thread '.*' .*panicked at|Fatal Python error|\*\*\* (?:SIG|Process received signal)|CUDA error|.*Assertion `.*' failed)";
/// An error that a process has since another one is gone, or since it was asked to end.
const CONSEQUENCE: &str = r"(?i)connection (?:was )?(?:reset|closed|refused|aborted|lost)|broken ?pipe|by (?:remote )?peer|time[d-]? ?out|watchdog|remote process|socket (?:is )?closed|ncclRemoteError|communicator was aborted|HorovodInternalError|has been shut ?down|^KeyboardInterrupt|^SystemExit|Rendezvous\w*Error|TCPStore|^EOFError|(?:read|write) error \[|Dist(?:Network|Backend|Store)Error|one (?:or more )?of the ranks|other (?:ranks|processes)|heartbeat|peer is gone";
/// What wrappers and launchers say behind the words of the program that has failed.
const AFTERWORD: &str = r"^(?:ERROR conda\.cli\.main_run|g?make(?:\[\d+\])?: \*\*\*|error: Recipe |srun: |slurmstepd: |wandb: |Command exited with non-zero status|Command terminated by signal|[\d.:]+user [\d.:]+system|\d+inputs\+|nohup: |[-=*_]{4,}$|\[W\d{3,}|\[?rank\d+\]?:\[W)|\[launch\.py:\d+:\w+\]|destroy_process_group\(\) was not called|leaked semaphore|subprocess\.CalledProcessError: |^\s*warnings\.warn\(";

/// Errors of launchers and wrappers, which only report the exit code of a process.
const OF_LAUNCHERS: [&str; 3] = ["ChildFailedError", "CalledProcessError", "SignalException"];

static EXPRESSIONS: LazyLock<Option<[Regex; 4]>> = LazyLock::new(|| {
    let of = |expression| Regex::new(expression).ok();
    // PyTorch puts the rank in front of each line of a traceback once its processes know each other.
    Some([of(ERROR)?, of(CONSEQUENCE)?, of(AFTERWORD)?, of(r"^\[rank(\d+)\]: ?")?])
});

/// What a process printed of the error that ends it.
#[derive(Clone, Debug, Default)]
struct Printed {
    is_in_traceback: bool,
    /// The traceback is of something that Python itself says is ignored.
    is_ignored: bool,
    error: Option<PrintedError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PrintedError {
    pub text: String,
    /// It only follows from the end of another process.
    pub is_consequence: bool,
    /// Its place among the lines of all.
    order: u64,
    lines_since: usize,
}

/// The errors of the processes of a launch; those of `None` are of some process.
#[derive(Clone, Debug, Default)]
pub struct PrintedErrors {
    by: BTreeMap<Option<usize>, Printed>,
    lines: u64,
}

impl PrintedErrors {
    /// Read a line. Where lines have no tags, all come from process 0.
    pub fn read(&mut self, process: usize, is_untagged: bool, text: &str) {
        let Some([error, consequence, afterword, ranked]) = EXPRESSIONS.as_ref() else { return };
        self.lines += 1;
        let rank = ranked.captures(text);
        let body = rank.as_ref().map_or(text, |found| &text[found.get(0).map_or(0, |tag| tag.end())..]);
        let process = if is_untagged { rank.and_then(|found| found[1].parse().ok()) } else { Some(process) };
        let of = self.by.entry(process).or_default();
        if body.starts_with("Exception ignored in") {
            of.is_ignored = true;
        } else if body.trim_start_matches([' ', '+', '|']).starts_with("Traceback (most recent call last)") {
            of.is_in_traceback = true;
        } else if body.trim().is_empty() || of.is_in_traceback && body.starts_with([' ', '\t', '|', '+']) {
            // Inside of it.
        } else if of.is_in_traceback && of.is_ignored {
            (of.is_in_traceback, of.is_ignored) = (false, false);
        } else if std::mem::take(&mut of.is_in_traceback) || error.is_match(body) {
            if OF_LAUNCHERS.iter().any(|name| body.contains(name)) {
                return;
            }
            let is_consequence = consequence.is_match(body);
            let before = of.error.take().filter(|before| before.is_consequence <= is_consequence);
            of.error = Some(match before {
                // What follows a real error in the same process is no news.
                Some(before) if is_consequence => before,
                Some(before) => PrintedError { text: body.trim().to_owned(), lines_since: 0, ..before },
                None => PrintedError { text: body.trim().to_owned(), is_consequence, order: self.lines, lines_since: 0 },
            });
        } else if let Some(last) = &mut of.error
            && !afterword.is_match(body)
        {
            last.lines_since += 1;
            let most = if process.is_none() { LAST_WORDS_OF_ALL } else { LAST_WORDS };
            of.error = of.error.take().filter(|last| last.lines_since <= most);
        }
    }

    /// What this process printed last of an error.
    pub(super) fn of(&self, process: Option<usize>) -> Option<&PrintedError> {
        self.by.get(&process)?.error.as_ref()
    }

    /// The first that does not follow from the end of another process; and whose, where that is known.
    pub(super) fn first(&self) -> Option<(Option<usize>, &PrintedError)> {
        let all = self.by.iter().filter_map(|(process, of)| Some((*process, of.error.as_ref()?)));
        all.filter(|(_, error)| !error.is_consequence).min_by_key(|(_, error)| error.order)
    }
}

/// The last of these lines that the program itself may have printed; the very last where there is none.
pub(super) fn last_words<'a>(lines: impl DoubleEndedIterator<Item = &'a String> + Clone) -> Option<&'a str> {
    let said = || lines.clone().rev().filter(|line| !line.trim().is_empty());
    let is_own = |line: &&String| EXPRESSIONS.as_ref().is_none_or(|[_, _, afterword, _]| !afterword.is_match(line));
    said().find(is_own).or_else(|| said().next()).map(|line| line.trim())
}

/// At most 300 characters.
pub(super) fn shortened(text: &str) -> String {
    text.char_indices().nth(300).map_or(text.to_owned(), |(end, _)| format!("{}...", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(is_untagged: bool, lines: &[(usize, &str)]) -> Option<(Option<usize>, String)> {
        let mut errors = PrintedErrors::default();
        lines.iter().for_each(|(process, text)| text.lines().for_each(|line| errors.read(*process, is_untagged, line)));
        errors.first().map(|(process, error)| (process, error.text.clone()))
    }

    const LOST: &str =
        "Traceback (most recent call last):\n  File \"t.py\", line 1\nRuntimeError: Connection closed by peer [127.0.0.1]:1";

    #[test]
    fn the_first_real_error_is_found_and_what_follows_from_it_is_not() {
        let bad = "Traceback (most recent call last):\n  File \"t.py\", line 2, in <module>\n    f()\nValueError: bad layer";
        let wanted = |process: usize| Some((Some(process), "ValueError: bad layer".to_owned()));
        let chained = format!(
            "{}\n\nDuring handling of the above exception, another exception occurred:\n\n{bad}",
            bad.replace("bad layer", "x")
        );
        let ranked: String = bad.lines().map(|line| format!("[rank1]: {line}\n")).collect();
        let many = "step 1\n".repeat(20);
        for (name, lines, found) in [
            ("a survivor's comes later", vec![(1, bad), (0, LOST)], wanted(1)),
            ("a survivor's comes first in the output", vec![(0, LOST), (1, bad)], wanted(1)),
            ("two real ones: the earlier", vec![(1, bad), (0, "ZeroDivisionError: division by zero")], wanted(1)),
            ("the last of a chain", vec![(1, &*chained)], wanted(1)),
            ("behind its own rank", vec![(1, &*ranked)], wanted(1)),
            ("the end of the same process is no news", vec![(1, bad), (1, LOST)], wanted(1)),
            ("one that was survived", vec![(1, bad), (1, &*many)], None),
            ("only survivors", vec![(0, LOST), (1, LOST)], None),
            ("ignored by Python", vec![(0, &*format!("Exception ignored in: <f>\n{bad}"))], None),
            ("no error at all", vec![(0, "epoch 1 loss 0.5"), (1, "Error rate: 0.5")], None),
            ("asked to end", vec![(0, "Traceback (most recent call last):\nKeyboardInterrupt")], None),
            (
                "a watchdog",
                vec![(0, "terminate called after throwing an instance of 'c10::DistBackendError'"), (1, bad)],
                wanted(1),
            ),
        ] {
            assert_eq!(first(false, &lines), found, "{name}");
        }
        // Where nothing tags the lines, only such a prefix says whose they are.
        assert_eq!(first(true, &[(0, &*ranked)]), wanted(1));
        assert_eq!(first(true, &[(0, bad)]), Some((None, "ValueError: bad layer".into())));
    }

    #[test]
    fn what_wrappers_say_at_the_end_is_nobodys_last_word() {
        for afterword in [
            "ERROR conda.cli.main_run:execute(125): `conda run python t.py` failed. (See above for error)",
            "[2026-01-01 10:00:00,123] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 70",
            "make: *** [Makefile:2: train] Error 1",
            "srun: Terminating StepId=4.0",
            "wandb: Find logs at: ./wandb/run-1/logs",
            "Command exited with non-zero status 1",
            "0.01user 0.00system 0:00.02elapsed 95%CPU (0avgtext+0avgdata 9216maxresident)k",
            "[rank0]:[W1126 10:00:00.0 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called",
            "",
        ] {
            let lines = ["bad layer".to_owned(), afterword.to_owned()];
            assert_eq!(last_words(lines.iter()), Some("bad layer"), "{afterword}");
        }
        assert_eq!(last_words(["srun: x".to_owned()].iter()), Some("srun: x"));
    }
}
