//! Histories of made-up events: attempts, continued runs, other numbers of processes, bounded memory.

use super::*;
use crate::domain::event::{ConfigReport, TopologyReport};

fn history(keep: Keep, events: &[EventLine]) -> History {
    let mut history = History::new(keep);
    events.iter().for_each(|line| history.take(line));
    history
}

fn line(time_s: f64, process: usize, event: Event) -> EventLine {
    EventLine { time_s, process, event }
}

/// A process introduces itself, and goes on from this epoch half a second later.
fn begins(time_s: f64, process: usize, resume_epoch: usize) -> [EventLine; 2] {
    [
        line(time_s, process, Event::Topology(TopologyReport::sample())),
        line(time_s + 0.5, process, Event::Config(ConfigReport { resume_epoch, ..ConfigReport::sample() })),
    ]
}

fn epoch(time_s: f64, process: usize, epoch: usize, cumulative_seconds: f64) -> EventLine {
    line(time_s, process, Event::Epoch(EpochReport { epoch, cumulative_seconds, ..EpochReport::sample() }))
}

fn step(time_s: f64, process: usize, batch: usize) -> EventLine {
    line(time_s, process, Event::Step { epoch: 0, batch, lr: 0.1, loss: 1.0 })
}

/// Epochs of a process with their seconds.
fn epochs(history: &History, process: usize) -> Vec<(usize, f64)> {
    history.epochs(process).map(|report| (report.epoch, report.cumulative_seconds)).collect()
}

/// Two processes train three epochs of 10 s, and 1 s to start.
fn first_attempt() -> Vec<EventLine> {
    let starts = (0..2).flat_map(|process| begins(100.0, process, 0));
    let trained = (1..=3).flat_map(|number| {
        let end = 10.0 * number as f64;
        (0..2).map(move |process| epoch(101.0 + end, process, number, end))
    });
    starts.chain(trained).collect()
}

#[test]
fn a_process_that_introduces_itself_again_begins_an_attempt() {
    let mut events = first_attempt();
    events.extend((0..2).rev().flat_map(|process| begins(500.0, process, 3)));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!(run.attempts.iter().map(|attempt| attempt.processes.len()).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(history(Keep::Epochs(9), &events[..5]).attempts.len(), 1);
}

#[test]
fn what_a_checkpoint_does_not_hold_is_lost_with_its_time() {
    let mut events = first_attempt();
    events.extend((0..2).flat_map(|process| begins(500.0, process, 2)));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!(epochs(&run, 0), [(1, 10.0), (2, 20.0)], "before the third epoch is trained again");
    events.push(epoch(504.0, 0, 3, 3.0));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!(epochs(&run, 0), [(1, 10.0), (2, 20.0), (3, 23.0)]);
    assert_eq!(epochs(&run, 1), [(1, 10.0), (2, 20.0)]);
    assert_eq!(run.attempts[0].processes[&0].epochs.len(), 3, "the attempt itself still knows what it did");
    assert_eq!(run.process(0).map(Process::passed_s), Some(25.0), "21 s to the checkpoint, then 4 s");
    // A third attempt, from an older checkpoint still.
    events.extend((0..2).flat_map(|process| begins(900.0, process, 1)));
    events.push(epoch(905.0, 0, 2, 5.0));
    assert_eq!(epochs(&history(Keep::Epochs(9), &events), 0), [(1, 10.0), (2, 15.0)]);
    // And one from the beginning.
    events.extend((0..2).flat_map(|process| begins(1000.0, process, 0)));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!((epochs(&run, 0), run.all_epochs().count(), run.trained().is_none()), (vec![], 0, true));
}

#[test]
fn attempts_have_as_many_processes_as_they_have() {
    // Goes on with one process after the second epoch.
    let mut events = first_attempt();
    events.extend(begins(500.0, 0, 2));
    events.push(epoch(504.0, 0, 3, 3.0));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!((epochs(&run, 0), epochs(&run, 1)), (vec![(1, 10.0), (2, 20.0), (3, 23.0)], vec![(1, 10.0), (2, 20.0)]));
    assert_eq!(run.trained().map(|attempt| attempt.processes.len()), Some(1));
    // And then with three: the third goes on from where the others were.
    events.extend((0..3).flat_map(|process| begins(900.0, process, 3)));
    events.push(epoch(905.0, 2, 4, 4.0));
    assert_eq!(epochs(&history(Keep::Epochs(9), &events), 2), [(4, 27.0)]);
}

#[test]
fn what_a_process_said_holds_until_it_says_what_it_is_going_to_do_now() {
    let mut events = first_attempt();
    events.push(line(140.0, 0, Event::EarlyStop { epoch: 3 }));
    events.push(line(141.0, 0, Event::Test { loss: 0.5, accuracy: 0.8, images: 10, seconds: 1.0 }));
    let [topology, config] = begins(500.0, 0, 3);
    events.push(topology);
    let stopped = |events: &[EventLine]| {
        let run = history(Keep::Epochs(9), events);
        run.process(0).map(|process| (process.early_stop, process.test.is_some()))
    };
    assert_eq!(stopped(&events), Some((Some(3), true)));
    events.push(config);
    assert_eq!(stopped(&events), Some((None, false)));
}

#[test]
fn only_what_is_wanted_is_kept() {
    let mut events = first_attempt();
    events.extend((0..1000).map(|batch| step(140.0, 0, batch)));
    let run = history(Keep::Epochs(2), &events);
    assert_eq!(epochs(&run, 1), [(2, 20.0), (3, 30.0)]);
    let root = run.process(0).unwrap();
    assert_eq!((root.steps.len(), root.step.map(|step| step.batch)), (0, Some(999)));
    let all = history(Keep::Everything, &events);
    assert_eq!((all.process(0).unwrap().steps.len(), all.epochs(0).count()), (1000, 3));
}

#[test]
fn warnings_are_kept_once_and_last_words_in_order() {
    let warn = |process, message: &str| line(1.0, process, Event::Warning { message: message.into() });
    let fail = |process| line(2.0, process, Event::Fatal { during: "training".into(), cause: format!("cause {process}") });
    let mut events = vec![warn(0, "same"), warn(1, "same"), fail(1), fail(0)];
    events.extend((0..100).map(|number| warn(0, &format!("warning {number}"))));
    let run = history(Keep::Everything, &events);
    let attempt = run.attempt().unwrap();
    assert_eq!((attempt.warnings.len(), attempt.warnings[0].as_str()), (WARNINGS, "same"));
    assert_eq!(attempt.fatal.iter().map(|fatal| fatal.process).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn a_clock_that_is_set_back_stops_no_run() {
    let mut events = first_attempt();
    events.push(step(90.0, 0, 0));
    assert_eq!(history(Keep::Epochs(9), &events).process(0).map(Process::passed_s), Some(31.0));
}

/// Of each process, epoch and seconds, by a trainer that does not say where the attempt began.
fn restored(time_s: f64, of: &[(usize, usize, f64)]) -> EventLine {
    restored_since(None, time_s, of)
}

fn restored_since(since: Option<usize>, time_s: f64, of: &[(usize, usize, f64)]) -> EventLine {
    let report = |epoch, cumulative_seconds| EpochReport { epoch, cumulative_seconds, ..EpochReport::sample() };
    let epoch = |&(process, epoch, seconds): &_| ProcessEpoch { process, since, report: report(epoch, seconds) };
    line(time_s, 0, Event::Restored { epochs: of.iter().map(epoch).collect() })
}

fn launched(time_s: f64) -> EventLine {
    line(time_s, 0, Event::Launched { np: 2 })
}

#[test]
fn an_epoch_that_only_the_checkpoint_holds_is_put_in_its_place() {
    // Killed after the checkpoint of the third epoch was written: neither process (or only one) came to report it.
    for lost in [2, 1] {
        let mut events = first_attempt();
        events.truncate(events.len() - lost);
        events.push(step(130.9, 0, 92));
        events.push(step(130.9, 1, 92));
        let holds = restored(500.2, &[(0, 3, 30.0), (1, 3, 30.0)]);
        let [[topology, config], other] = [begins(500.0, 0, 3), begins(500.0, 1, 3)];
        // Process 1 may be heard before process 0 has said what the checkpoint holds.
        let orders = [
            [vec![topology.clone(), holds.clone(), config.clone()], other.to_vec()].concat(),
            [other.to_vec(), vec![topology, holds, config]].concat(),
        ];
        for order in orders {
            let ends = (0..2).map(|process| epoch(511.0, process, 4, 10.0));
            let run = history(Keep::Everything, &events.iter().cloned().chain(order).chain(ends).collect::<Vec<_>>());
            for process in 0..2 {
                assert_eq!(epochs(&run, process), [(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)], "{lost} lost");
            }
            assert_eq!(run.attempts[0].processes[&0].epochs.len(), 3, "it belongs to the attempt that trained it");
            let passed_s = run.process(0).map(Process::passed_s).unwrap();
            assert!((passed_s - (30.9 + 11.0)).abs() < 0.2, "{passed_s}");
        }
    }
}

#[test]
fn an_epoch_that_the_record_holds_counts_once() {
    let mut events = first_attempt();
    let holds = restored(500.2, &[(0, 3, 29.0), (1, 3, 29.0)]);
    events.push(begins(500.0, 0, 3)[0].clone());
    events.push(holds.clone());
    events.push(begins(500.0, 0, 3)[1].clone());
    events.extend(begins(500.0, 1, 3));
    let run = history(Keep::Epochs(9), &events);
    assert_eq!((epochs(&run, 0), epochs(&run, 1).len()), (vec![(1, 10.0), (2, 20.0), (3, 30.0)], 3));
    // Of an attempt whose record is gone there is nothing to put in order.
    let alone = [vec![begins(500.0, 0, 3)[0].clone(), holds], begins(500.0, 0, 3)[1..].to_vec()].concat();
    assert_eq!(epochs(&history(Keep::Epochs(9), &alone), 0), []);
}

#[test]
fn a_restored_epoch_belongs_to_the_attempt_that_trained_it() {
    // The second attempt went on from the second epoch, trained the third anew and was killed before it said so; the third
    // attempt ended before it had loaded anything.
    let mut events = first_attempt();
    events.extend(begins(500.0, 0, 2));
    events.push(line(600.0, 0, Event::Topology(TopologyReport::sample())));
    events.push(line(700.0, 0, Event::Topology(TopologyReport::sample())));
    events.push(restored(700.1, &[(0, 3, 7.0)]));
    events.push(begins(700.0, 0, 3)[1].clone());
    let run = history(Keep::Epochs(9), &events);
    assert_eq!(epochs(&run, 0), [(1, 10.0), (2, 20.0), (3, 27.0)]);
}

#[test]
fn a_launch_begins_an_attempt_whoever_speaks_first() {
    let mut events = vec![launched(99.0)];
    events.extend(first_attempt());
    assert_eq!(history(Keep::Epochs(9), &[launched(1.0)]).attempts.len(), 0, "nobody has told anything");
    // Of the second attempt only process 1 was heard; in the third process 0 is the first.
    events.push(launched(500.0));
    events.extend(begins(501.0, 1, 2));
    events.push(launched(600.0));
    events.extend(begins(601.0, 0, 2));
    let run = history(Keep::Epochs(9), &events);
    let processes = |place: usize| run.attempts[place].processes.keys().copied().collect::<Vec<_>>();
    assert_eq!((run.attempts.len(), processes(1), processes(2)), (3, vec![1], vec![0]));
    // And of one nothing at all.
    events.extend([launched(700.0), launched(800.0)]);
    events.extend(begins(801.0, 1, 2));
    assert_eq!(
        history(Keep::Epochs(9), &events).attempts.iter().map(|of| of.processes.len()).collect::<Vec<_>>(),
        [2, 1, 1, 0, 1]
    );
}

/// What a supervisor that is killed leaves: of the second attempt, which went on from the second epoch and trained two, only the
/// beginning was written down, or not even that.
#[test]
fn epochs_of_an_attempt_that_was_hardly_heard_are_restored_with_their_time() {
    let heard: [&dyn Fn(usize) -> Vec<EventLine>; 5] = [
        &|_| Vec::new(),
        &|process| begins(500.0, process, 2)[..1].to_vec(),
        &|process| if process == 1 { begins(500.0, 1, 2).to_vec() } else { Vec::new() },
        &|process| begins(500.0, process, 2).to_vec(),
        &|process| [begins(500.0, process, 2).to_vec(), vec![epoch(510.0, process, 3, 7.0)]].concat(),
    ];
    for (case, heard) in heard.iter().enumerate() {
        let mut events = [vec![launched(99.0)], first_attempt(), vec![launched(499.0)]].concat();
        events.extend((0..2).flat_map(heard));
        events.push(launched(600.0));
        // Process 1 has even trained on before process 0 is heard.
        events.extend(begins(600.0, 1, 4));
        events.push(epoch(606.0, 1, 5, 5.0));
        events.push(begins(600.0, 0, 4)[0].clone());
        events.push(restored_since(Some(0), 600.2, &[(0, 2, 20.0), (1, 2, 20.0)]));
        events.push(restored_since(Some(2), 600.2, &[(0, 3, 7.0), (1, 3, 7.0)]));
        events.push(restored_since(Some(2), 600.2, &[(0, 4, 15.0), (1, 4, 15.0)]));
        events.push(begins(600.0, 0, 4)[1].clone());
        events.push(epoch(606.0, 0, 5, 5.0));
        let run = history(Keep::Epochs(9), &events);
        for process in 0..2 {
            let expected = [(1, 10.0), (2, 20.0), (3, 27.0), (4, 35.0), (5, 40.0)];
            assert_eq!(epochs(&run, process), expected, "case {case}, process {process}");
            let passed_s = run.process(process).map(Process::passed_s).unwrap();
            assert!((41.0..43.0).contains(&passed_s), "case {case}, process {process}: {passed_s}");
        }
        assert_eq!(run.attempts.len(), 3, "case {case}");
    }
}

/// The attempt that loaded an epoch told nobody, and wrote a checkpoint of its own: that one holds both.
#[test]
fn epochs_come_back_over_two_attempts_that_nobody_heard() {
    let mut events = [vec![launched(99.0)], first_attempt()].concat();
    events.truncate(events.len() - 2);
    events.extend([launched(200.0), launched(300.0), launched(400.0)]);
    events.push(begins(400.0, 0, 4)[0].clone());
    events.push(restored_since(Some(0), 400.1, &[(0, 3, 31.0)]));
    events.push(restored_since(Some(3), 400.1, &[(0, 4, 9.0)]));
    events.push(begins(400.0, 0, 4)[1].clone());
    assert_eq!(epochs(&history(Keep::Epochs(9), &events), 0), [(1, 10.0), (2, 20.0), (3, 31.0), (4, 40.0)]);
}

#[test]
fn a_log_of_messages_in_several_events_is_one() {
    use crate::domain::collective::{MessageReport, MessagesReport, Operation};
    let message = |round| MessageReport {
        round,
        from: 0,
        to: 1,
        start: 0,
        end: 4,
        operation: Operation::Reduce,
        began_s: 0.0,
        ended_s: 1e-6,
    };
    let part = |method: &str, part, rounds: std::ops::Range<usize>| {
        let messages = rounds.map(message).collect();
        line(1.0, 1, Event::Messages(MessagesReport { method: method.into(), elements: 8, part, messages }))
    };
    let events = [part("ring", 0, 0..2), part("ring", 1, 2..3), part("binomial", 0, 0..1), part("binomial", 0, 0..1)];
    let run = history(Keep::Everything, &events);
    let messages = &run.process(1).unwrap().messages;
    let rounds = |report: &MessagesReport| report.messages.iter().map(|message| message.round).collect::<Vec<_>>();
    assert_eq!(messages.iter().map(rounds).collect::<Vec<_>>(), [vec![0, 1, 2], vec![0], vec![0]]);
}
