//! Where a job of Slurm is, read from a line of `scontrol show job --oneliner`.

/// A job as Slurm sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub state: State,
    /// How often Slurm has started it again.
    pub restarts: usize,
    /// The first part of its exit code.
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
    /// Slurm ended it, in words.
    Ended(String),
}

/// A state that this does not know is taken for one that lasts.
pub(super) fn parse(number: u32, line: &str) -> Option<Seen> {
    let field = |name: &str| {
        let mut words = line.split_whitespace().filter_map(|word| word.split_once('='));
        words
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .filter(|value| !["", "(null)", "None", "Unknown", "N/A"].contains(value))
    };
    let ended = |words: &str| State::Ended(format!("job {number} {words}"));
    let state = match field("JobState")? {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "CONFIGURING" | "RESV_DEL_HOLD" => {
            let reason = field("Reason").map(|reason| format!(" ({})", explained(reason))).unwrap_or_default();
            let start =
                field("StartTime").map(|time| format!(", expected to start at {}", time.replace('T', " "))).unwrap_or_default();
            State::Waiting(format!("waiting in Slurm's queue as job {number}{reason}{start}"))
        }
        "COMPLETING" | "STAGE_OUT" | "SIGNALING" => State::Ending,
        "COMPLETED" | "FAILED" => State::Over,
        "CANCELLED" => ended("was cancelled in Slurm, and not by the lab"),
        "TIMEOUT" | "DEADLINE" => {
            let limit = field("TimeLimit").map(|limit| format!(" of {limit}")).unwrap_or_default();
            ended(&format!("was ended by Slurm: its time limit{limit} was over"))
        }
        "NODE_FAIL" | "BOOT_FAIL" => ended("was ended by Slurm: one of its nodes failed"),
        "OUT_OF_MEMORY" => ended("was ended by Slurm: it used more memory than it had asked for"),
        "PREEMPTED" | "REVOKED" => ended("was ended by Slurm in favour of another job"),
        _ => State::Going(field("NodeList").unwrap_or("its nodes").to_owned()),
    };
    let exit_code = field("ExitCode").and_then(|code| code.split(':').next()?.parse().ok());
    Some(Seen { state, restarts: field("Restarts").and_then(|count| count.parse().ok()).unwrap_or(0), exit_code })
}

/// Slurm's most common reasons in words, the others as they are.
fn explained(reason: &str) -> String {
    let words = match reason {
        "Resources" => "not enough is free yet",
        "Priority" => "other jobs are before it",
        "PartitionTimeLimit" => "its partition does not allow so much time",
        "PartitionNodeLimit" => "its partition does not have so many nodes",
        "JobHeldUser" | "JobHeldAdmin" => "it is held: `scontrol release` lets it go",
        "BeginTime" => "it was put back, and waits a while",
        _ => return reason.to_owned(),
    };
    format!("{reason}: {words}")
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
        assert_eq!(seen("JobState=RUNNING NodeList=n[1-2]"), State::Going("n[1-2]".into()));
        assert_eq!(seen("JobState=FAILED ExitCode=1:0"), State::Over);
        for (state, words) in
            [("TIMEOUT TimeLimit=00:30:00", "time limit of 00:30:00"), ("CANCELLED", "cancelled"), ("NODE_FAIL", "nodes")]
        {
            let State::Ended(said) = seen(&format!("JobState={state}")) else { panic!("{state}") };
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(parse(7, "slurm_load_jobs error: Invalid job id specified"), None);
        let again = parse(7, "JobState=RUNNING Restarts=2 ExitCode=3:0").unwrap();
        assert_eq!((again.restarts, again.exit_code), (2, Some(3)));
    }
}
