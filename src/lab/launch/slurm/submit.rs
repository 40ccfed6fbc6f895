//! Hands the script of a run to sbatch, and reads what sbatch answers: the number of the job, or why there is none.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::table::TABLE;
use super::{ASKED, NEWS, SCRIPT, tell};
use crate::domain::event::SOCKET_VARIABLE;
use crate::domain::printable;
use crate::host::access;
use crate::process;
use crate::process::probe_command::Answer;
use crate::runs::batch_job::{BatchJob, said, without_others};

/// For a controller that is busy or just being started again, and for an sbatch that does not end.
const PATIENCE: Duration = Duration::from_secs(60);
/// For squeue to find the job by its name.
const NAME_PATIENCE: Duration = Duration::from_secs(20);
/// The same once the user wants the end of the run.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// What the lab itself has to say of each job, behind `SBATCH_`. All other variables of sbatch are wishes.
const OF_THE_LAB: &str = "ARRAY_INX ERROR EXPORT GET_USER_ENV INPUT JOB_NAME NO_REQUEUE OPEN_MODE OUTPUT REQUEUE WAIT WRAP";
/// Other ways to ask for GPUs, which count where the run asks for none.
const GPUS: [&str; 4] = ["SBATCH_GPUS", "SBATCH_GPUS_PER_NODE", "SBATCH_GPUS_PER_TASK", "SBATCH_GRES"];

/// What no cluster is behind. Its own words for that name no cause that a learner knows.
const ALONE: [&str; 6] = [
    NOT_STARTED,
    "resolve_ctls",
    "establish a configuration source",
    "process configuration file",
    "slurm_load_conf",
    "slurm.conf",
];
/// What may pass, and after which the job may be there all the same.
const PASSING: [&str; 8] = [
    "Unable to contact slurm controller",
    "imed out",
    "onnection refused",
    "onnection reset",
    "onnect failure",
    "temporarily unable",
    "Zero Bytes",
    "backup controller",
];

/// Whether Slurm's controller is only away for a while.
pub(super) fn is_passing(words: &str) -> bool {
    PASSING.iter().any(|passing| words.contains(passing))
}

/// The error is a sentence about why there is no job. `is_asked` says that the user wants the end of the run.
pub(super) fn submit(folder: &Path, is_asked: &AtomicBool) -> io::Result<Result<BatchJob, String>> {
    let script = std::fs::read_to_string(folder.join(SCRIPT))?;
    let asked: Vec<&str> = script.lines().filter_map(|line| line.strip_prefix(ASKED)).collect();
    let is_asked = || is_asked.load(Ordering::Relaxed);
    let begin = Instant::now();
    let mut pause = Duration::from_secs(1);
    loop {
        let answer = sbatch(folder, &asked, &is_asked);
        let refusal = match &answer {
            Ok(answer) => match number(answer, || by_name(&asked)).filter(|job| answer.status.success() || is_all(answer, job)) {
                Some(job) => return Ok(Ok(job)),
                None => said(answer),
            },
            Err(why) => why.clone(),
        };
        // Without an answer that is understood, the job may exist all the same.
        let is_passing = is_passing(&refusal);
        if (is_passing || !refusal.contains(REFUSED) && !refusal.contains(NOT_STARTED))
            && let Some(job) = by_name(&asked)
        {
            return Ok(Ok(job));
        }
        if !is_passing || is_asked() || begin.elapsed() >= PATIENCE {
            return Ok(Err(sentence(&refusal)));
        }
        tell(NEWS, &format!("sbatch is tried again, for Slurm does not answer: {refusal}"))?;
        let waits = Instant::now();
        while waits.elapsed() < pause && !is_asked() {
            std::thread::sleep(Duration::from_millis(50));
        }
        pause *= 2;
    }
}

const NOT_STARTED: &str = "sbatch does not start";
const REFUSED: &str = "submission failed";

/// What it says, or why it says nothing. Not asked by `probe_command::ask`: the job inherits the environment of sbatch, and with it the mark
/// by which a question ends all that it has started.
fn sbatch(folder: &Path, asked: &[&str], is_asked: &dyn Fn() -> bool) -> Result<Answer, String> {
    let mut sbatch = Command::new("sbatch");
    // Its words win over its variables, and those over the script. The scratch folder of this host is not there on the others.
    sbatch.arg("--parsable").args(asked).arg(SCRIPT).current_dir(folder).env_remove("TMPDIR");
    // Its ranks print their events also on this host: the socket goes with this supervisor, and the job may outlive that.
    sbatch.env(SOCKET_VARIABLE, "");
    without_others(&mut sbatch);
    OF_THE_LAB.split(' ').for_each(|name| _ = sbatch.env_remove(format!("SBATCH_{name}")));
    if asked.iter().any(|word| word.starts_with("--gpus")) {
        GPUS.iter().for_each(|name| _ = sbatch.env_remove(name));
    }
    sbatch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Slurm starts the ranks with the umask of sbatch.
    let child = access::as_user(|| sbatch.spawn()).map_err(|error| format!("{NOT_STARTED} ({error})"))?;
    let (pid, (sender, receiver), begin) = (child.id(), channel(), Instant::now());
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    loop {
        if let Ok(output) = receiver.recv_timeout(Duration::from_millis(50)) {
            let output = output.map_err(|error| format!("the answer of sbatch was lost ({error})"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Ok(Answer { status: output.status, stdout: text(&output.stdout), stderr: text(&output.stderr) });
        }
        if begin.elapsed() >= if is_asked() { STOP_PATIENCE } else { PATIENCE } {
            process::signal(pid, nix::sys::signal::Signal::SIGKILL);
            return Err(format!("sbatch did not answer within {} s", begin.elapsed().as_secs()));
        }
    }
}

/// `17`, `17;cluster` or `Submitted batch job 17 on cluster b`, whatever else a site lets sbatch say. `known` is the number that Slurm
/// has for it, which decides where sbatch says more than that.
fn number(answer: &Answer, known: impl FnOnce() -> Option<BatchJob>) -> Option<BatchJob> {
    if let Ok(job) = answer.stdout.trim().parse() {
        return Some(of_this_cluster(job));
    }
    let text = [&answer.stdout, &answer.stderr].map(|text| printable::lines(text));
    let lines = || text.iter().flat_map(|text| text.lines().rev()).map(str::trim);
    let spoken = |line: &str| {
        let mut words = line.split_once("Submitted batch job ")?.1.split_whitespace();
        let number = words.next()?.trim_end_matches(|c: char| !c.is_ascii_digit());
        let cluster = words.skip_while(|word| *word != "cluster").nth(1).unwrap_or_default();
        format!("{number};{cluster}").parse().ok()
    };
    let mut numbers = lines().flat_map(|line| line.split(|c: char| !c.is_ascii_digit())).filter_map(|word| word.parse().ok());
    let is_said = |job: &BatchJob| numbers.any(|number: u32| number == job.number);
    let found = lines().find_map(spoken).or_else(|| known().filter(is_said));
    found.or_else(|| lines().find_map(|line| line.parse().ok())).map(of_this_cluster)
}

/// Whether sbatch printed nothing but this: a wrapper around it may fail afterwards.
fn is_all(answer: &Answer, job: &BatchJob) -> bool {
    [job.number.to_string(), format!("Submitted batch job {}", job.number)].iter().any(|words| answer.stdout.trim() == words)
}

/// Without a word of sbatch's own, the cluster that a variable sends all jobs to.
fn of_this_cluster(job: BatchJob) -> BatchJob {
    BatchJob { cluster: job.cluster.or_else(|| clusters().filter(|clusters| !clusters.contains(','))), ..job }
}

fn clusters() -> Option<String> {
    let named = |name: &&str| std::env::var(name).ok().filter(|clusters| !clusters.is_empty());
    ["SBATCH_CLUSTERS", "SLURM_CLUSTERS"].iter().find_map(named)
}

/// The job that sbatch has submitted without saying so.
fn by_name(asked: &[&str]) -> Option<BatchJob> {
    let name = asked.iter().find(|word| word.starts_with("--job-name="))?.replacen("--job-name", "--name", 1);
    let everywhere = BatchJob { number: 0, cluster: clusters() };
    let answer = everywhere.ask("squeue", &["--noheader", "--states=all", "--format=%i", &name], NAME_PATIENCE).ok()?;
    let mut cluster = everywhere.cluster.filter(|clusters| !clusters.contains(','));
    for line in answer.stdout.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("CLUSTER:") {
            cluster = Some(name.trim().to_owned());
        } else if let Ok(BatchJob { number, .. }) = line.parse() {
            return Some(BatchJob { number, cluster });
        }
    }
    None
}

fn sentence(refusal: &str) -> String {
    if ALONE.iter().any(|words| refusal.contains(words)) || refusal.contains("Unable to contact slurm controller") {
        return format!(
            "no cluster of Slurm can be reached from here: start the run on a login machine, or later if its controller is away, or leave --slurm out ({refusal})"
        );
    }
    let help = TABLE.refusal.iter().find(|row| row.fits(refusal)).map(|row| format!("{} ({refusal})", row.help));
    let unknown = || {
        format!(
            "{refusal} (--partition, --account, --nodes, --gpus-per-node and --time say what to ask for, and so do sbatch's variables, such as SBATCH_QOS)"
        )
    };
    format!("sbatch refused the job: {}", help.unwrap_or_else(unknown))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn the_number_is_found_among_what_a_site_lets_sbatch_say() {
        let rows = [
            ("17\n", "", Some("17")),
            ("17;b", "", Some("17;b")),
            ("----\n  Cluster 7 (2 partitions)\n--> 1 allocation ...OK\r\n4711\r\n", "sbatch: 3 jobs", Some("4711")),
            ("4711\nGood luck!\n", "", Some("4711")),
            ("Submitted batch job 9 on cluster b\n", "", Some("9;b")),
            ("\u{1b}[32mSubmitted batch job 9\u{1b}[0m\n4\n", "", Some("9")),
            ("", "Submitted batch job 9.", Some("9")),
            // Which of them it is, Slurm knows.
            ("Job 33 is in the queue of\n1234\nusers\n", "", Some("33")),
            ("welcome\n", "no 17", None),
            ("99999999999999", "", None),
        ];
        for (stdout, stderr, wanted) in rows {
            let answer = Answer { status: ExitStatus::from_raw(0), stdout: stdout.into(), stderr: stderr.into() };
            let found = number(&answer, || "33".parse().ok());
            assert_eq!(found.map(|job| job.to_string()).as_deref(), wanted, "{stdout} {stderr}");
        }
    }

    #[test]
    fn each_refusal_says_what_to_write_and_an_unknown_one_is_told_as_it_is() {
        let failed = "sbatch: error: Batch job submission failed: ";
        let rows = [
            ("Invalid account or account/partition combination specified", "--account"),
            ("Invalid partition name specified", "--partition"),
            ("Invalid qos specification", "SBATCH_QOS"),
            ("Memory specification can not be satisfied", "SBATCH_MEM_PER_NODE"),
            ("Requested time limit is invalid (missing or exceeds some limit)", "--time"),
            ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", "squeue --me"),
            ("Invalid generic resource (gres) specification", "--gpus-per-node"),
            ("Requested reservation is invalid", "SBATCH_RESERVATION"),
            ("Unable to contact slurm controller (connect failure)", "login machine"),
            ("the moon is full", "the moon is full"),
        ];
        for (words, wanted) in rows {
            let said = sentence(&format!("{failed}{words}"));
            assert!(said.contains(wanted) && said.contains(words), "{said}");
        }
    }
}
