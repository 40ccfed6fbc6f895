//! Verdicts over what launchers and ranks really say.

use super::*;
use crate::domain::event::{EpochReport, Event, EventLine, TopologyReport};

const OPEN_MPI_SIGNAL: &str = "\
--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 17651 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------";
const OPEN_MPI_CODE: &str = "\
--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-17652@1,1]
   Exit code:    3
--------------------------------------------------------------------------";
const OPEN_MPI_LEFT: &str = "\
--------------------------------------------------------------------------
prterun has exited due to process rank 1 with PID 17785 on node vm exiting
improperly. There are three reasons this could occur:

--------------------------------------------------------------------------";
const OPEN_MPI_4_CODE: &str = "  Process name: [[4242,1],1]\n  Exit code:    3";
const OPEN_MPI_NO_PROGRAM: &str = "\
--------------------------------------------------------------------------
prterun was unable to launch the specified application as it could not
access an executable:

   Executable: /nonexist
   Node: vm
--------------------------------------------------------------------------";
const OPEN_MPI_LOST: &str = "\
--------------------------------------------------------------------------
PRTE has lost communication with a remote daemon.

  HNP daemon   : [prterun-one-1961@0,0] on node one
  Remote daemon: [prterun-one-1961@0,1] on node two

This is usually due to either a failure of the TCP network
--------------------------------------------------------------------------";
const OPEN_MPI_NO_DAEMON: &str = "\
------------------------------------------------------------
A daemon failed to report back after being spawned. This could
be due to several factors, including inability to find the
back to prterun:

  Local host:    one
  Remote host:   two
  Daemon exit status: 0
------------------------------------------------------------";
const MPICH_SIGNAL: &str = "\
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 71 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)";

/// Two ranks with pids 70 and 71 that have reported, and these words of the launcher.
fn observations(launcher: &str) -> Observations {
    let mut observations = before_any_reports(launcher);
    for (process, pid) in [(0, 70), (1, 71)] {
        tell(&mut observations, process, Event::Topology(TopologyReport { pid, ..TopologyReport::sample() }));
    }
    observations
}

fn before_any_reports(launcher: &str) -> Observations {
    let (tails, launcher_name) = ([(1, ["one", "two"].map(String::from).into())].into(), "mpirun");
    Observations { tails, launcher: launcher.lines().map(String::from).collect(), launcher_name, ..Observations::default() }
}

fn tell(observations: &mut Observations, process: usize, event: Event) {
    observations.history.take(&EventLine { time_s: 1.0, process, event });
}

fn epoch_ends(observations: &mut Observations, epoch: usize) {
    tell(observations, 0, Event::Epoch(EpochReport { epoch, ..EpochReport::sample() }));
}

fn finish(observations: &mut Observations, process: usize) {
    tell(observations, process, Event::Finished { epochs: 1, training_seconds: 1.0, total_seconds: 1.0, peak_rss_bytes: None });
}

fn fail(observations: &mut Observations, process: usize, during: &str, cause: &str) {
    tell(observations, process, Event::Fatal { during: during.into(), cause: cause.into() });
}

fn code(code: i32) -> Option<ExitStatus> {
    Some(ExitStatus::from_raw(code << 8))
}

fn failed(observations: &Observations, exit: Option<ExitStatus>) -> (Option<usize>, String) {
    let verdict = judge(observations, exit, false, None);
    assert_eq!(verdict.state, RunState::Failed);
    assert!(!verdict.message.is_empty() && !verdict.message.contains('\n'));
    (verdict.failed_process, verdict.message)
}

#[test]
fn a_run_is_finished_only_when_every_rank_says_so() {
    let mut run = observations("");
    epoch_ends(&mut run, 3);
    finish(&mut run, 0);
    assert_eq!(failed(&run, code(0)).0, Some(1));
    finish(&mut run, 1);
    let verdict = judge(&run, code(0), false, None);
    assert_eq!((verdict.state, verdict.message.as_str()), (RunState::Finished, "trained 3 epochs"));
    assert_eq!(failed(&run, code(1)), (None, "every rank finished, but mpirun ended with exit code 1".into()));
    assert_eq!(failed(&Observations::default(), code(0)).0, None);
}

#[test]
fn the_first_to_be_killed_is_named_by_every_launcher() {
    for words in [OPEN_MPI_SIGNAL, MPICH_SIGNAL] {
        let (process, message) = failed(&observations(words), code(137));
        assert_eq!(process, Some(1), "{words}");
        assert!(message.starts_with("rank 1 was ended by signal 9 (SIGKILL)"), "{message}");
    }
    let mut run = observations(OPEN_MPI_SIGNAL);
    tell(&mut run, 1, Event::Step { epoch: 1, batch: 6, lr: 0.1, loss: 1.0 });
    assert!(failed(&run, code(137)).1.starts_with("rank 1 was ended in epoch 2 after batch 7 by signal 9"));
    assert_eq!(judge(&run, code(137), false, None).last_lines, ["one", "two"]);
}

#[test]
fn the_complaints_of_the_survivors_do_not_hide_who_was_killed() {
    let mut run = observations(OPEN_MPI_SIGNAL);
    fail(&mut run, 0, "allreduce", "a peer is gone");
    assert_eq!(failed(&run, code(137)).0, Some(1));
    let mut run = observations(OPEN_MPI_SIGNAL);
    fail(&mut run, 1, "epoch 2", "the loss is not a number");
    let wanted = (Some(1), "rank 1 failed during epoch 2: the loss is not a number".into());
    assert_eq!(failed(&run, code(134)), wanted);
    // Both were ended for what they said: whichever spoke first, the one that the launcher saw first is told in its own words.
    for order in [[0, 1], [1, 0]] {
        let mut run = observations(OPEN_MPI_SIGNAL);
        for process in order {
            let cause = if process == 1 { "the loss is not a number" } else { "the loss of rank 0 is no better" };
            fail(&mut run, process, "epoch 2", cause);
        }
        assert_eq!(failed(&run, code(137)), wanted, "{order:?}");
        assert_eq!(judge(&run, code(137), false, None).lost, None, "it would say so again");
    }
}

#[test]
fn a_host_that_is_gone_is_named_with_its_ranks_whatever_the_others_say() {
    for words in [OPEN_MPI_LOST, OPEN_MPI_NO_DAEMON] {
        let mut run = before_any_reports(words);
        for (process, host) in [(0, "one"), (1, "two.example.org"), (2, "two.example.org")] {
            let report = TopologyReport { host: host.into(), ..TopologyReport::sample() };
            tell(&mut run, process, Event::Topology(report));
        }
        fail(&mut run, 0, "allreduce", "a peer is gone");
        // mpirun itself ends well then.
        let wanted = "host two died or was cut off, and ranks 1, 2 with it";
        assert_eq!(failed(&run, code(0)), (Some(1), wanted.into()));
    }
    let (process, message) = failed(&before_any_reports(OPEN_MPI_NO_DAEMON), code(1));
    assert_eq!(process, None);
    assert!(message.starts_with("host two could not begin") && message.contains("doctor -H two"), "{message}");
}

#[test]
fn one_that_leaves_quietly_is_named_and_mpirun_does_not_lecture() {
    for run in [observations(OPEN_MPI_LEFT), before_any_reports(OPEN_MPI_LEFT)] {
        let verdict = judge(&run, code(1), false, None);
        let wanted = "rank 1 left by itself, without an error, before its program was over. Look for an exit that only some \
                      ranks reach";
        assert_eq!((verdict.failed_process, verdict.message.as_str()), (Some(1), wanted));
        assert_eq!(verdict.last_lines, ["one", "two"], "its own");
    }
    let mut run = observations(OPEN_MPI_LEFT);
    run.tails.clear();
    assert_eq!(judge(&run, code(1), false, None).last_lines, [""; 0]);
}

#[test]
fn an_exit_code_comes_with_the_last_words() {
    for words in [OPEN_MPI_CODE, OPEN_MPI_4_CODE] {
        assert_eq!(failed(&observations(words), code(3)), (Some(1), "rank 1 ended with exit code 3: two".into()));
    }
}

/// What the ranks and the launcher of Open MPI 5 print when rank 1 calls MPI_Abort; in a communicator of its own it is rank 0.
fn aborted(communicator: &str, launcher: &str) -> Observations {
    let mut run = observations(launcher);
    run.work = Work::Program;
    run.tails = [(0, ["step 1".to_owned()].into()), (1, ["bad layer".to_owned()].into())].into();
    for line in ["-----", communicator, "  Proc: [[16551,1],1]", "  Errorcode: 3", "", "NOTE: invoking MPI_ABORT causes", "-----"]
    {
        let is_of_abort = run.aborts.read(1, line);
        assert_eq!(is_of_abort, run.aborts != Default::default(), "{line}");
    }
    run
}

#[test]
fn the_rank_that_called_mpi_abort_is_named_and_no_other() {
    const OPEN_MPI_ABORT: &str = "\
prterun has exited due to process rank 1 with PID 0 on node vm calling
\"abort\". This may have caused other processes in the application to be
terminated by signals sent by prterun (as reported here).";
    let wanted = (Some(1), "rank 1 called MPI_Abort with error code 3: bad layer".to_owned());
    for communicator in [
        "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
        "MPI_ABORT was invoked on rank 0 in communicator MPI COMM 3",
    ] {
        for launcher in ["", OPEN_MPI_ABORT] {
            assert_eq!(failed(&aborted(communicator, launcher), code(3)), wanted, "{communicator}");
        }
    }
    // Open MPI 4 lets the launcher say it. MPICH ends the others by a signal, and names one of those.
    let four = "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 3.";
    let mut run = Observations { work: Work::Program, ..observations(four) };
    assert_eq!(failed(&run, code(3)).1, "rank 1 called MPI_Abort with error code 3: two");
    run = Observations { work: Work::Program, ..observations(&MPICH_SIGNAL.replace("PID 71", "PID 70")) };
    run.aborts.read(1, "Abort(3) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 3) - process 1");
    assert_eq!(failed(&run, code(3)).1, "rank 1 called MPI_Abort with error code 3: two");
}

#[test]
fn nobody_is_blamed_whom_nothing_names() {
    let mut run = Observations { work: Work::Program, ..observations("") };
    run.tails = [(0, ["step 1".to_owned()].into()), (1, ["step 1".to_owned()].into())].into();
    let (process, message) = failed(&run, code(3));
    assert_eq!(process, None);
    assert!(message.starts_with("the program ended with exit code 3, and nothing says which rank failed first"), "{message}");
    // Two that abort at once: either may have been first.
    for rank in [0, 1] {
        run.aborts.read(rank, &format!("application called MPI_Abort(MPI_COMM_WORLD, 3) - process {rank}"));
    }
    assert_eq!(failed(&run, code(3)).0, None);
    // What only one of several has printed may be what a survivor complains of; one that runs alone is the one.
    run = Observations { work: Work::Program, ..observations("") };
    assert!(failed(&run, code(3)).1.contains("nothing says which rank failed first"));
    run = Observations { work: Work::Program, ..before_any_reports("") };
    assert_eq!(failed(&run, code(3)), (None, "the program ended with exit code 3: two".into()));
    run = Observations { work: Work::Program, ..observations("") };
    run.is_alone = true;
    assert_eq!(failed(&run, code(3)).0, Some(0));
}

/// What torchrun of PyTorch 2.11 prints when rank 1 ends so: the others are ended by it.
fn torchrun(exit_code: i32) -> String {
    format!(
        "E1126 06:52:44.187000 27811 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: {exit_code}) local_rank: \
         1 (pid: 27816) of binary: /usr/bin/python3\nTraceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in \
         <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n\
         =======\ntrain.py FAILED\n-------\nFailures:\n[1]:\n  time      : 2026-11-26_06:52:44\n  host      : vm\n  rank      : 0 \
         (local_rank: 0)\n  exitcode  : -15 (pid: 27815)\n  error_file: <N/A>\n  traceback : Signal 15 (SIGTERM) received by PID \
         27815\n-------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2026-11-26_06:52:44\n  host      : vm\n  \
         rank      : 1 (local_rank: 1)\n  exitcode  : {exit_code} (pid: 27816)\n  error_file: <N/A>\n  traceback : To enable \
         traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n======="
    )
}

#[test]
fn a_rank_is_blamed_where_its_launcher_names_it_and_no_other() {
    let killed = "was ended by signal 9 (SIGKILL)";
    let torch_log = "failed (exitcode: -9) local_rank: 0 (pid: 71) of binary: python3";
    let horovodrun = "Process 0 exit with status code 143.\nProcess 1 exit with status code 3.\nRuntimeError: Horovod detected that one \
                      or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so \
                      was:\nProcess name: 1\nExit code: 3";
    let intel = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 1 PID 4711 RUNNING AT n1\n=   KILLED BY SIGNAL: 9 \
                 (Killed)";
    let step = "slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED AT 2026-01-01T10:00:00 ***";
    let deepspeed = "[launch.py:321:sigkill_handler] Killing subprocess 70\n[launch.py:325:sigkill_handler] ['python', '-u', 't.py', \
                     '--local_rank=1'] exits with return code = -9";
    let oom = "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.";
    for (words, process, wanted) in [
        (torchrun(3).as_str(), Some(1), "rank 1 ended with exit code 3: two"),
        (&torchrun(-9), Some(1), killed),
        (torch_log, Some(1), killed),
        (&torch_log.replace("71", "4711"), None, "one of the ranks was ended by signal 9"),
        ("srun: error: node-1: task 1: Exited with exit code 3", Some(1), "rank 1 ended with exit code 3: two"),
        (&format!("srun: error: n1: task 1: Segmentation fault (core dumped)\n{step}"), Some(1), "signal 11 (SIGSEGV)"),
        (
            "srun: error: n1: tasks 0-2: Exited with exit code 1",
            None,
            "one of the ranks ended with exit code 1, and nothing says",
        ),
        ("srun: error: n1: task 1: Out Of Memory", Some(1), "signal 9 (SIGKILL): Slurm says that memory ran out"),
        (&format!("{oom}\nsrun: error: n1: task 1: Killed"), Some(1), "Slurm says that memory ran out"),
        (oom, None, "one of the ranks was ended by signal 9 (SIGKILL): Slurm says that memory ran out, and nothing says which"),
        ("Process 1 exit with status code 3.", Some(1), "rank 1 ended with exit code 3: two"),
        ("Process 1 exit with status code 137.", Some(1), "exit code 137, as after signal 9 (SIGKILL)"),
        (horovodrun, Some(1), "rank 1 ended with exit code 3: two"),
        (intel, Some(1), killed),
        (&MPICH_SIGNAL.replace("71", "4711"), None, "one of the ranks was ended by signal 9"),
        // The command that it shows is the one of its last rank, whichever failed.
        (deepspeed, None, "one of the ranks was ended by signal 9"),
        ("SignalException: Process 7 got signal: 15", None, "torchrun was asked to end by signal 15 (SIGTERM)"),
        ("srun: error: n1: task 99999999999999999999: Killed", None, "one of the ranks was ended by signal 9"),
        ("\u{feff}=\r\nRoot Cause (first observed failure): rank : : exitcode", None, "nothing says which rank failed first"),
    ] {
        let run = Observations { work: Work::Program, launcher_name: "torchrun", ..observations(words) };
        let (blamed, said) = failed(&run, code(1));
        assert!(blamed == process && said.contains(wanted), "{words}: {blamed:?} {said}");
        assert!(process.is_some() || !said.contains("two"), "the last words of one that nobody names: {said}");
    }
}

#[test]
fn what_all_ranks_print_as_one_is_no_rank_s_last_word() {
    let mut run = Observations { work: Work::Program, is_untagged: true, ..observations("") };
    run.tails.clear();
    for line in torchrun(1).lines().chain(["RuntimeError: Connection reset by peer"]) {
        run.remember(0, line.to_owned());
    }
    assert_eq!(failed(&run, code(1)), (Some(1), "rank 1 ended with exit code 1".into()));
    run = Observations { work: Work::Program, launcher: Default::default(), ..run };
    run.remember(0, "the last of rank 0, or of another".into());
    let (process, said) = failed(&run, code(1));
    assert!(process.is_none() && !said.contains("the last of process"), "{said}");
}

#[test]
fn what_slurm_ends_is_not_the_fault_of_a_rank() {
    for (why, state, wanted) in [
        (
            "DUE TO TIME LIMIT",
            RunState::Stopped,
            "stopped before the program had ended: Slurm ended it, since its time limit was over",
        ),
        ("DUE TO PREEMPTION", RunState::Failed, "Slurm ended it: preemption"),
    ] {
        let words = format!("slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED AT 2026-01-01T10:00:00 {why} ***");
        let run = Observations { work: Work::Program, ..observations(&format!("{words}\nsrun: error: n1: task 0: Terminated")) };
        let verdict = judge(&run, code(1), false, None);
        assert_eq!((verdict.state, verdict.message.as_str(), verdict.failed_process), (state, wanted, None));
    }
}

#[test]
fn before_any_rank_reports_the_launchers_words_are_the_cause() {
    let run = before_any_reports(OPEN_MPI_NO_PROGRAM);
    let (process, message) = failed(&run, code(183));
    assert_eq!(process, None);
    assert!(message.contains("exit code 183") && message.contains("Executable: /nonexist"), "{message}");
    assert!(judge(&run, code(183), false, None).last_lines.contains(&"Executable: /nonexist".to_owned()));
    assert!(failed(&before_any_reports(""), code(2)).1.ends_with("before any rank reported: two"));
}

#[test]
fn a_rank_that_never_printed_leaves_the_launchers_words() {
    let run = Observations { tails: [].into(), ..observations(OPEN_MPI_SIGNAL) };
    assert!(judge(&run, code(137), false, None).last_lines[0].contains("process rank 1"));
}

#[test]
fn a_killed_launcher_and_a_vanished_rank_are_told_apart() {
    assert!(failed(&observations(""), Some(ExitStatus::from_raw(9))).1.starts_with("mpirun was ended by signal 9"));
    let run = Observations { vanished: Some(0), ..observations("") };
    assert_eq!(failed(&run, code(143)).0, Some(0));
}

#[test]
fn a_rank_that_the_lab_gave_up_was_not_killed_by_hand() {
    let run = Observations { given_up: [1].into(), ..observations(MPICH_SIGNAL) };
    let (process, message) = failed(&run, code(9));
    assert_eq!(process, Some(1));
    assert!(message.starts_with("rank 1 was stopped by a signal") && message.ends_with("the lab has ended it"), "{message}");
}

#[test]
fn what_the_user_asked_for_is_no_failure() {
    let mut run = observations(OPEN_MPI_SIGNAL);
    epoch_ends(&mut run, 1);
    let verdict = judge(&run, code(143), true, None);
    assert_eq!((verdict.state, verdict.message.as_str()), (RunState::Stopped, "stopped after 1 epoch"));
    // The ranks were being started again, and had not said where they go on.
    let again = Observations { epochs_before: 3, ..observations("") };
    assert_eq!(judge(&again, code(143), true, None).message, "stopped after 3 epochs");
    // It came too late.
    (0..2).for_each(|process| finish(&mut run, process));
    assert_eq!(judge(&run, code(0), true, None).state, RunState::Finished);
    // A run that could not be written down has failed, whatever was asked.
    assert_eq!(judge(&run, code(0), true, Some("cannot write".into())).state, RunState::Failed);
}

#[test]
fn collectives_are_counted_in_rows() {
    let mut observations = observations("");
    observations.work = Work::Collectives;
    assert_eq!(judge(&observations, None, true, None).message, "stopped after 0 rows");
    tell(&mut observations, 0, Event::Allreduce(crate::domain::collective::AllreduceReport::sample()));
    let killed = failed(&observations, code(1));
    assert!(killed.1.contains("after 1 row"), "{killed:?}");
    finish(&mut observations, 0);
    finish(&mut observations, 1);
    let verdict = judge(&observations, code(0), false, None);
    assert_eq!((verdict.state, verdict.message.as_str()), (RunState::Finished, "measured 1 row"));
}
