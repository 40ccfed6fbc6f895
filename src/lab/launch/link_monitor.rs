//! The cables of ranks that have networks of their own (`rank_networks`): one that lets less through than it should is found by its queue.
//!
//! It counts the bytes that wait at the end of a cable, and those that get through.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::rank_networks;
use crate::domain::units;
use crate::process::ProcessHandle;
use crate::process::probe_command::{LAUNCHER_PATIENCE, ask};

/// Bits a second that a slow cable lets through; never more than a tenth of what it did.
const SLOW_BITS: u64 = 2_000_000;
/// Between two looks at all cables.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks that are kept: four seconds, and one before them to count from.
const KEPT: usize = 21;
/// The part of the looks in which something waits for a rank whose cable is slow.
const BUSY: f64 = 0.6;
/// While something waits, a cable that is well lets through what it was made for: this part of that is far from it.
const PART: f64 = 0.25;

/// The launcher's network, where all cables end.
#[derive(Clone)]
pub(super) struct Hub {
    launcher: ProcessHandle,
    /// Bits a second that each link was made for.
    pub bits: u64,
}

impl Hub {
    /// The network of this launcher, whose cables were made for `bits` bits a second; `None` if it has ended.
    pub fn of(launcher: u32, bits: u64) -> Option<Hub> {
        Some(Hub { launcher: ProcessHandle::open(launcher)?, bits })
    }

    /// What a cable lets through while it is made slow.
    pub fn slow_bits(&self) -> u64 {
        SLOW_BITS.min(self.bits / 10)
    }

    /// So many bits a second get through to a rank from now on.
    ///
    /// # Errors
    /// Why that cannot be, as a sentence.
    pub fn set(&self, process: usize, bits: u64) -> Result<(), String> {
        if !self.launcher.is_alive() {
            return Err("the launcher has ended, and the network with it".into());
        }
        let mut change = rank_networks::let_through(self.launcher.pid, process, bits);
        let answer = ask(&mut change, LAUNCHER_PATIENCE).map_err(|error| error.to_string())?;
        if answer.status.success() {
            Ok(())
        } else {
            Err(format!("the network cannot be changed: {}", answer.stderr.lines().last().unwrap_or("it said nothing")))
        }
    }
}

/// Watches all cables of a run.
pub(super) struct LinkMonitor {
    hub: Hub,
    watch: Option<Watch>,
    queues: Queues,
}

impl LinkMonitor {
    pub fn new(hub: Hub) -> LinkMonitor {
        LinkMonitor { watch: None, queues: Queues::new(hub.bits), hub }
    }

    /// What there is to say by now, and of which rank. To be called about once a second, while there are ranks.
    pub fn look(&mut self) -> Option<(usize, String)> {
        if self.watch.is_none() {
            // Without it the run is as well as before.
            self.watch = Watch::start(&self.hub).ok();
        }
        let looks: Vec<Look> = self.watch.iter().flat_map(|watch| watch.looks.try_iter()).collect();
        looks.into_iter().filter_map(|look| self.queues.seen(look)).last()
    }

    /// Whatever was seen so far is over: what comes now is something new.
    pub fn forget(&mut self) {
        // Also what was seen and not yet taken.
        self.watch.iter().for_each(|watch| watch.looks.try_iter().for_each(drop));
        self.queues = Queues::new(self.hub.bits);
    }
}

/// One `tc` that stays in the launcher's network, and is asked again and again: starting one each time would cost the ranks more.
struct Watch {
    /// The thread that asks ends with it.
    child: Child,
    looks: Receiver<Look>,
}

impl Watch {
    fn start(hub: &Hub) -> std::io::Result<Watch> {
        let mut command = rank_networks::tc(hub.launcher.pid, &["-statistics", "-json", "-force", "-batch", "-"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (sender, looks) = channel();
        if let Some((questions, answers)) = pipes {
            std::thread::spawn(move || ask_on(questions, BufReader::new(answers), &sender));
        }
        Ok(Watch { child, looks })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended with the ranks.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks `tc` until it ends, or the receiver is dropped.
fn ask_on(mut questions: ChildStdin, mut answers: BufReader<ChildStdout>, looks: &Sender<Look>) {
    let mut line = String::new();
    loop {
        line.clear();
        let asked = questions.write_all(b"qdisc show\n").and_then(|()| answers.read_line(&mut line));
        let look = asked.is_ok_and(|bytes| bytes > 0).then(|| Look::of(&line));
        if look.is_none_or(|look| looks.send(look).is_err()) {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What was seen at once at the ends of all cables.
struct Look {
    at: Instant,
    /// By rank: the bytes that were sent to it so far, and those that wait.
    ends: BTreeMap<usize, (u64, u64)>,
}

impl Look {
    /// A line of `tc -s -j qdisc show`.
    fn of(line: &str) -> Look {
        #[derive(Deserialize)]
        struct Row {
            dev: String,
            bytes: u64,
            backlog: u64,
        }
        let rows: Vec<Row> = serde_json::from_str(line).unwrap_or_default();
        let end = |row: Row| Some((row.dev.strip_prefix(rank_networks::HUB)?.parse().ok()?, (row.bytes, row.backlog)));
        Look { at: Instant::now(), ends: rows.into_iter().filter_map(end).collect() }
    }
}

/// The last looks at all cables.
struct Queues {
    bits: u64,
    looks: VecDeque<Look>,
    told: Option<usize>,
}

/// What the last looks say of one cable.
struct Flow {
    process: usize,
    /// In what part of the looks something waits, and how much of it at most.
    busy: f64,
    most: u64,
    /// Bits a second that got through.
    rate: f64,
}

impl Queues {
    fn new(bits: u64) -> Queues {
        Queues { bits, looks: VecDeque::new(), told: None }
    }

    fn seen(&mut self, look: Look) -> Option<(usize, String)> {
        if self.looks.len() == KEPT {
            self.looks.pop_front();
        }
        self.looks.push_back(look);
        let flows = self.flows();
        let bits = self.bits as f64;
        // A queue alone says nothing: on a slow link that is well something waits too, but it moves.
        let slow = flows.iter().find(|flow| flow.busy >= BUSY && flow.rate < PART * flow.busy * bits);
        let Some(slow) = slow else {
            let is_over = |told: &mut usize| flows.iter().any(|flow| flow.process == *told && flow.busy < 1.0 - BUSY);
            self.told.take_if(is_over);
            return None;
        };
        let others = flows.iter().filter(|flow| flow.process != slow.process).map(|flow| flow.busy);
        // If all of them are alike, it is none of them.
        if self.told.is_some() || others.fold(0.0, f64::max) > slow.busy / 2.0 {
            return None;
        }
        self.told = Some(slow.process);
        let rate = units::bits_per_second((slow.rate / 1e5).round() as u64 * 100_000);
        let words = format!(
            "the network of rank {} is slow: in the last {} s up to {} waited in front of it, {rate} of {} got through on average, \
             and the others' queues were empty or short",
            slow.process,
            (LOOK_EVERY * (KEPT as u32 - 1)).as_secs(),
            units::bytes(slow.most),
            units::bits_per_second(self.bits)
        );
        Some((slow.process, words))
    }

    /// None before there are enough looks.
    fn flows(&self) -> Vec<Flow> {
        let (Some(first), Some(last)) = (self.looks.front().filter(|_| self.looks.len() == KEPT), self.looks.back()) else {
            return Vec::new();
        };
        let elapsed = last.at.duration_since(first.at).as_secs_f64();
        let flow = |(process, (sent, _)): (&usize, &(u64, u64))| {
            let waiting = || self.looks.iter().skip(1).filter_map(|look| look.ends.get(process)).map(|(_, waiting)| *waiting);
            let (sent_before, _) = first.ends.get(process)?;
            Some(Flow {
                process: *process,
                busy: waiting().filter(|bytes| *bytes > 0).count() as f64 / (KEPT - 1) as f64,
                most: waiting().max().unwrap_or_default(),
                rate: sent.saturating_sub(*sent_before) as f64 * 8.0 / elapsed.max(f64::EPSILON),
            })
        };
        last.ends.iter().filter_map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: u64 = 1_000_000_000;

    /// Looks at two cables, five a second: for each look the bytes sent since the one before, and those that wait.
    fn told(bits: u64, looks: impl IntoIterator<Item = [(u64, u64); 2]>) -> Vec<(usize, String)> {
        let (mut queues, mut sent, mut at) = (Queues::new(bits), [0, 0], Instant::now());
        let mut see = |ends: [(u64, u64); 2]| {
            at += LOOK_EVERY;
            let ends = [0, 1].map(|process: usize| {
                sent[process] += ends[process].0;
                (process, (sent[process], ends[process].1))
            });
            queues.seen(Look { at, ends: ends.into() })
        };
        looks.into_iter().filter_map(&mut see).collect()
    }

    #[test]
    fn a_line_of_tc_is_read() {
        let line = r#"[{"kind":"noqueue","handle":"0:","dev":"hub","root":true,"bytes":0,"backlog":0,"qlen":0},
            {"kind":"tbf","dev":"hub12","options":{"rate":125000000},"bytes":700,"drops":0,"backlog":41,"qlen":1}]"#;
        let look = Look::of(line);
        assert_eq!(look.ends.len(), 1);
        assert_eq!(look.ends.get(&12), Some(&(700, 41)));
        assert!(Look::of("tc: no").ends.is_empty());
    }

    /// The figures are those of wrn-10-1 on two ranks.
    #[test]
    fn a_cable_whose_queue_hardly_moves_is_told_once_and_one_that_is_well_never() {
        let well = [(660_000, 0), (660_000, 0)];
        let slow = [(166_000, 0), (125_000, 90_000)];
        assert_eq!(told(GBIT, [well; 100]), []);
        // Now and then the queue is empty: the ranks compute.
        let in_turns = |look| if look % 7 == 0 { [(2_000, 0), (125_000, 0)] } else { slow };
        let said = told(GBIT, (0..150).map(|look| if (30..100).contains(&look) { in_turns(look) } else { well }));
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0].0, 1);
        assert!(said[0].1.contains("rank 1 is slow: in the last 4 s up to 88 KiB waited in front of it, "), "{said:?}");
        let twice = (0..200).map(|look| if (30..80).contains(&look) || look > 120 { slow } else { well });
        assert_eq!(told(GBIT, twice).len(), 2);
    }

    #[test]
    fn a_link_that_is_slow_for_all_ranks_is_as_it_was_asked_for() {
        let ten = 10_000_000;
        // Both queues are full, and move as fast as the link.
        assert_eq!(told(ten, [[(250_000, 90_000), (250_000, 90_000)]; 100]), []);
        // One rank gets more than the other, as a server does.
        assert_eq!(told(ten, [[(20_000, 0), (250_000, 90_000)]; 100]), []);
        // The host has no time for any of them.
        assert_eq!(told(ten, [[(20_000, 90_000), (20_000, 90_000)]; 100]), []);
    }
}
