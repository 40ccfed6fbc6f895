//! Where a job of Slurm is: what `scontrol show job --oneliner` says, or another of Slurm's programs where that one knows nothing.

use std::time::Duration;

use super::table::TABLE;
use crate::process::probe_command;
use crate::runs::batch_job::{BatchJob, said};

/// What Slurm says of a job.
pub(super) enum Answer {
    Seen(Seen),
    Forgotten,
    /// The controller is busy or down, or its answer is not understood.
    Silent(String),
}

/// Slurm's own number for a job whose output could not be opened, in the place of a signal.
const NO_OUTPUT: i32 = 53;

/// A job as Slurm sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub state: State,
    /// How often Slurm has started it again.
    pub restarts: usize,
    /// As a shell would report it.
    pub exit_code: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In the queue, in words.
    Waiting(String),
    /// On these nodes.
    Going(String),
    /// Its processes are being ended.
    Ending,
    /// Its ranks came to their own end.
    Over,
    /// Slurm ended it, in words; some it starts again.
    Ended { words: String, may_return: bool },
}

/// Ask Slurm about a job.
pub(super) fn of_job(job: &BatchJob, patience: Duration) -> Answer {
    let number = job.number.to_string();
    let why = match job.ask("scontrol", &["show", "job", "--oneliner", &number], patience) {
        Ok(answer) => match parse(job.number, &answer.stdout) {
            Some(seen) => return Answer::Seen(seen),
            None if is_unknown(&answer) => return past(job, patience).map_or(Answer::Forgotten, Answer::Seen),
            None => said(&answer),
        },
        Err(error) => format!("scontrol: {error}"),
    };
    // Not every machine that may submit has all of Slurm's programs, and accounting may know what the controller does not say.
    let known = in_queue(job, patience).or_else(|| past(job, patience).map(Answer::Seen));
    known.unwrap_or(Answer::Silent(why))
}

fn is_unknown(answer: &probe_command::Answer) -> bool {
    answer.stderr.contains("nvalid job id")
}

/// What squeue says of it, as scontrol would: `RUNNING|None|n1|2026-11-24T18:00:00`.
fn in_queue(job: &BatchJob, patience: Duration) -> Option<Answer> {
    let of = format!("--jobs={}", job.number);
    let answer = job.ask("squeue", &["--noheader", "--states=all", "--format=%T|%r|%N|%S", &of], patience).ok()?;
    if is_unknown(&answer) {
        return Some(past(job, patience).map_or(Answer::Forgotten, Answer::Seen));
    }
    let line = answer.stdout.lines().find(|line| line.matches('|').count() == 3)?;
    let names = ["JobState", "Reason", "NodeList", "StartTime"];
    let fields: String = names.iter().zip(line.split('|')).map(|(name, value)| format!(" {name}={}", value.trim())).collect();
    parse(job.number, &format!("JobId={}{fields}", job.number)).map(Answer::Seen)
}

/// What Slurm's accounting remembers of it, where there is one: `CANCELLED by 1000|0:15`.
fn past(job: &BatchJob, patience: Duration) -> Option<Seen> {
    let of = format!("--jobs={}", job.number);
    let words = ["--allocations", "--noheader", "--parsable2", "--format=State,ExitCode", &of];
    let answer = job.ask("sacct", &words, patience).ok().filter(|answer| answer.status.success())?;
    let (state, code) = answer.stdout.lines().rev().find_map(|line| line.split_once('|'))?;
    parse(job.number, &format!("JobId={} JobState={} ExitCode={code}", job.number, state.split_whitespace().next()?))
}

/// The job of this number in what Slurm says, on one line or on several. A state that this does not know is taken for one that lasts.
pub(super) fn parse(number: u32, text: &str) -> Option<Seen> {
    // Of an array or a job of several parts there are others beside it.
    let mut words = text.split_whitespace().skip_while(|word| word.strip_prefix("JobId=") != Some(&number.to_string()));
    let ours: Vec<&str> = words.next().into_iter().chain(words.take_while(|word| !word.starts_with("JobId="))).collect();
    let field = |name: &str| {
        let mut fields = ours.iter().filter_map(|word| word.split_once('='));
        let (_, value) = fields.find(|(key, _)| *key == name)?;
        Some(value).filter(|value| !["", "(null)", "None", "Unknown", "N/A"].contains(value))
    };
    let ended = |words: &str| State::Ended { words: format!("job {number} {words}"), may_return: false };
    let put_off = |words: &str| State::Ended { words: format!("job {number} {words}"), may_return: true };
    // `1:0` where it left with 1, `0:9` where a signal ended it.
    let code = field("ExitCode").map(|code| code.split_once(':').unwrap_or((code, "0")));
    let [code, signal] = code.map_or([None; 2], |(code, signal)| [code, signal].map(|part| part.parse::<i32>().ok()));
    let exit_code = if code == Some(0) { signal.map(|signal| if signal > 0 { 128 + signal } else { 0 }) } else { code };
    let flags = field("JobState")?;
    let has = |names: &[&str]| flags.split([',', '+']).any(|flag| names.contains(&flag));
    let state = match flags.split([',', '+']).next()? {
        _ if has(&["COMPLETING", "STAGE_OUT", "SIGNALING"]) => State::Ending,
        _ if has(&["REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "PENDING", "CONFIGURING"]) => {
            let reason = field("Reason").map(|reason| format!(" ({})", explained(reason))).unwrap_or_default();
            let start =
                field("StartTime").map(|time| format!(", expected to start at {}", time.replace('T', " "))).unwrap_or_default();
            State::Waiting(format!("waiting in Slurm's queue as job {number}{reason}{start}"))
        }
        "SUSPENDED" | "STOPPED" => State::Waiting(format!("Slurm has suspended job {number}, and lets it go on later")),
        "FAILED" if signal == Some(NO_OUTPUT) => ended(
            "could not write its output on its node: HVD_LAB_HOME must be a folder on a disk that all nodes share, and that you may write to",
        ),
        "FAILED" if exit_code.is_none_or(|code| code == 0) => {
            let why = field("Reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
            ended(&format!("failed in Slurm before its ranks could start{why}: those who look after the cluster can see why"))
        }
        "COMPLETED" | "FAILED" => State::Over,
        "CANCELLED" => ended("was cancelled in Slurm, and not by the lab"),
        "TIMEOUT" => {
            let limit = field("TimeLimit").map(|limit| format!(" of {limit}")).unwrap_or_default();
            ended(&format!("was ended by Slurm: its time limit{limit} was over"))
        }
        "DEADLINE" => ended("was ended by Slurm: its deadline was over, which SBATCH_DEADLINE sets"),
        "NODE_FAIL" | "BOOT_FAIL" => put_off("was ended by Slurm: one of its nodes failed"),
        "LAUNCH_FAILED" | "RECONFIG_FAIL" => ended("could not be started by Slurm: one of its nodes was not set up for it"),
        "OUT_OF_MEMORY" => ended(
            "was ended by Slurm: it used more memory than it had asked for. SBATCH_MEM_PER_NODE=16G asks for more, for instance",
        ),
        "PREEMPTED" | "REVOKED" => put_off("was ended by Slurm in favour of another job"),
        _ => State::Going(field("NodeList").unwrap_or("its nodes").to_owned()),
    };
    Some(Seen { state, restarts: field("Restarts").and_then(|count| count.parse().ok()).unwrap_or(0), exit_code })
}

/// One of Slurm's reasons in words; as it is if the table does not have it.
fn explained(reason: &str) -> String {
    let row = TABLE.reason.iter().find(|row| row.fits(reason));
    row.map_or_else(|| reason.replace('_', " "), |row| format!("{reason}: {}", row.help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(rest: &str) -> State {
        parse(7, &format!("JobId=7 JobName=hvd-lab-1 UserId=ada(1000) {rest}")).unwrap().state
    }

    #[test]
    fn each_state_has_its_words() {
        assert_eq!(
            seen("JobState=PENDING Reason=Priority StartTime=2026-11-24T18:00:00"),
            State::Waiting("waiting in Slurm's queue as job 7 (Priority: other jobs are before it), expected to start at 2026-11-24 18:00:00".into())
        );
        assert_eq!(
            seen("JobState=PENDING Reason=None StartTime=Unknown"),
            State::Waiting("waiting in Slurm's queue as job 7".into())
        );
        let reasons = [
            ("QOSMaxWallDurationPerJobLimit", "never starts"),
            ("QOSMaxJobsPerUserLimit", "your other jobs"),
            ("AssocGrpCPUMinutesLimit", "used up"),
            ("ReqNodeNotAvail,_UnavailableNodes:n1", "sinfo -R"),
            ("launch_failed_requeued_held", "holds it"),
            ("QOSJobLimit", "your other jobs"),
            ("Moon_is_full", "(Moon is full)"),
        ];
        for (reason, words) in reasons {
            let State::Waiting(said) = seen(&format!("JobState=PENDING Reason={reason}")) else { panic!("{reason}") };
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(seen("JobState=WOBBLING NodeList=n1"), State::Going("n1".into()));
        assert_eq!(seen("JobState=COMPLETED,COMPLETING"), State::Ending);
        assert_eq!(seen("JobState=RUNNING NodeList=n[1-2]"), State::Going("n[1-2]".into()));
        assert_eq!(seen("JobState=FAILED ExitCode=1:0"), State::Over);
        for (state, words) in [
            ("TIMEOUT TimeLimit=00:30:00", "time limit of 00:30:00"),
            ("CANCELLED", "cancelled"),
            ("NODE_FAIL", "nodes"),
            ("FAILED ExitCode=0:53", "all nodes share"),
            ("FAILED ExitCode=0:0 Reason=JobLaunchFailure", "(JobLaunchFailure)"),
        ] {
            let State::Ended { words: said, .. } = seen(&format!("JobState={state}")) else { panic!("{state}") };
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(parse(7, "slurm_load_jobs error: Invalid job id specified"), None);
        let code = |text: &str| parse(7, &format!("JobId=7 JobState=COMPLETED ExitCode={text}")).unwrap().exit_code;
        assert_eq!(
            [code("0:0"), code("3:0"), code("0:9"), code("3"), code("(null)")],
            [Some(0), Some(3), Some(137), Some(3), None]
        );
        let again = parse(7, "JobId=3 JobState=FAILED\nJobId=7\n  JobState=RUNNING Restarts=2\n  ExitCode=3:0 JobId=8").unwrap();
        assert_eq!((again.restarts, again.exit_code), (2, Some(3)));
    }
}
