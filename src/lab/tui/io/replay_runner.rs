//! Does what `update` asks for while a recording is played: from the recording alone.
//!
//! It starts no run, asks no device, and writes only the log that the user saves.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::course::{Evidence, Judged, Reading, check_all};
use crate::host::signals::HeldSignals;
use crate::runs::recording::{Player, PlayerOrder, Recording, Unpacked};
use crate::runs::{RunFolder, RunId, RunRecord, measured};
use crate::tui::actions::Effect;
use crate::tui::io::followed::Followed;
use crate::tui::message::Message;
use crate::tui::shared::{Curves, Playing, Shared};

/// Steps of the player are so far apart: smooth to the eye.
const STEP: Duration = Duration::from_millis(50);

/// What is played, and how fast.
#[derive(Debug)]
pub struct Replay {
    /// The last one is played; those before it are over, and stand in the table.
    recordings: Vec<Recording>,
    speed: f64,
    /// Dropped behind the recordings: what they have unpacked is gone when a signal ends the program.
    held: HeldSignals,
}

impl Replay {
    /// Recordings as `open` finds them. Until the screen listens for signals they wait: none may end the program before what
    /// is unpacked here has somebody to remove it.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open<E>(open: impl FnOnce() -> Result<Vec<Recording>, E>, speed: f64) -> Result<Replay, E> {
        let held = HeldSignals::hold();
        Ok(Replay { recordings: open()?, speed, held })
    }
}

#[derive(Debug)]
enum Order {
    Player(PlayerOrder),
    /// Tell the table of runs again.
    List,
}

pub struct ReplayRunner {
    messages: mpsc::Sender<Message>,
    player: Sender<Order>,
    played: RunId,
    runs: Vec<(RunRecord, RunFolder)>,
    followed: Followed,
    /// Goes with this, which the screen drops on every way out; the threads that play may be left behind.
    _unpacked: Vec<Unpacked>,
}

impl ReplayRunner {
    /// Starts to play, and says so in the state.
    ///
    /// # Errors
    /// A recording without anything to play; no thread.
    pub fn start(messages: mpsc::Sender<Message>, replay: Replay, shared: &mut Shared) -> anyhow::Result<ReplayRunner> {
        let mut players = Vec::new();
        // The screen listens by now.
        drop(replay.held);
        let mut unpacked = Vec::new();
        for mut recording in with_numbers_of_their_own(replay.recordings) {
            unpacked.extend(recording.unpacked.take());
            players.push(Player::open(recording, replay.speed)?);
        }
        let runs = players.iter().map(|player| (player.recording.record.clone(), player.recording.folder.clone())).collect();
        let Some(player) = players.pop() else { anyhow::bail!("nothing to play") };
        let record = &player.recording.record;
        let played = record.id;
        shared.replay = Some(Playing { run: played, hardware: player.hardware.clone(), position: player.position() });
        if let Some(job) = record.training_job() {
            (shared.spec, shared.preset, shared.touched) = (job, record.request.preset.clone(), true);
        }
        shared.data = Some(record.data_label.clone());
        let (orders, inbox) = channel();
        let told = messages.clone();
        std::thread::Builder::new().name("player".into()).spawn(move || {
            for player in &mut players {
                player.order(PlayerOrder::ToEnd);
                player.step(0.0);
            }
            play(player, players, &inbox, &told);
        })?;
        let followed = Followed::new(messages.clone());
        Ok(ReplayRunner { messages, player: orders, played, runs, followed, _unpacked: unpacked })
    }

    pub fn perform(&mut self, effect: Effect) {
        let message = match effect {
            Effect::Player(order) => return self.order(Order::Player(order)),
            Effect::ListRuns => return self.order(Order::List),
            Effect::Watch(run) => return self.watch(run),
            Effect::Log(run, order) => return self.followed.order(run, order),
            Effect::ReadCurves(run) => {
                self.find(run).map(|(_, folder)| Message::Curves(run, Box::new(Curves::from_events(folder.events()))))
            }
            Effect::ReadCollectives(run) => self
                .find(run)
                .map(|(record, folder)| Message::Collectives(run, Box::new(measured(folder, record).unwrap_or_default()))),
            Effect::Judge(run) => self.find(run).map(|(record, folder)| judged(record, folder)),
            // A prediction is judged as usual, but not kept.
            Effect::WatchRanks(_) | Effect::LocateData(_) | Effect::Predict { .. } => None,
            Effect::ReadProgress | Effect::ReadLanguage | Effect::ReadSeries | Effect::ReadResults(_) => None,
            _ => Some(Message::Failed("this is a recording: it can be watched, not changed. q leaves it".into())),
        };
        if let Some(message) = message {
            // A screen that is busy for so long has other worries.
            let _ = self.messages.try_send(message);
        }
    }

    fn find(&self, run: RunId) -> Option<&(RunRecord, RunFolder)> {
        self.runs.iter().find(|(record, _)| record.id == run)
    }

    fn order(&self, order: Order) {
        // If the player is gone, it has reported why.
        let _ = self.player.send(order);
    }

    fn watch(&mut self, run: RunId) {
        let Some((_, folder)) = self.find(run).cloned() else { return self.followed.stop() };
        self.followed.watch(run, folder, run == self.played);
        if run == self.played {
            self.order(Order::Player(PlayerOrder::Again));
        }
    }
}

/// Two recordings may have the number of the same run of two labs.
fn with_numbers_of_their_own(mut recordings: Vec<Recording>) -> Vec<Recording> {
    let mut taken: Vec<RunId> = Vec::new();
    for id in recordings.iter_mut().map(|recording| &mut recording.record.id) {
        if taken.contains(id) {
            let highest = taken.iter().map(|other| other.0).max().unwrap_or(0);
            // The highest may be the last number there is.
            let free = (highest.saturating_add(1)..=u32::MAX).chain(1..).map(RunId).find(|id| !taken.contains(id));
            *id = free.unwrap_or(*id);
        }
        taken.push(*id);
    }
    recordings
}

fn judged(record: &RunRecord, folder: &RunFolder) -> Message {
    // A recording of anything but a training has no steps to judge.
    let evidence = Evidence::of(folder, record).ok().filter(|_| record.has_steps());
    let verdicts = evidence.map(|evidence| check_all(&evidence)).unwrap_or_default();
    Message::Judged(Box::new(Judged { record: record.clone(), verdicts, first: Vec::new(), reading: Reading::default() }))
}

fn play(mut player: Player, over: Vec<Player>, inbox: &Receiver<Order>, messages: &mpsc::Sender<Message>) {
    let clock = Instant::now();
    let table = |player: &Player| Message::Runs(over.iter().chain([player]).map(Player::summary).collect());
    if messages.blocking_send(table(&player)).is_err() {
        return;
    }
    loop {
        let order = match player.is_still() {
            true => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => inbox.recv_timeout(STEP),
        };
        let message = match order {
            Ok(Order::List) => table(&player),
            Err(RecvTimeoutError::Disconnected) => return,
            order => {
                // The clock stands still while nothing is played: up to the order first.
                let mut played = player.step(clock.elapsed().as_secs_f64());
                if let Ok(Order::Player(order)) = order {
                    player.order(order);
                    let next = player.step(clock.elapsed().as_secs_f64());
                    played.rewound |= next.rewound;
                    if next.rewound {
                        played.updates.clear();
                    }
                    played.updates.extend(next.updates);
                }
                Message::Replay(player.position(), Box::new(played))
            }
        };
        if messages.blocking_send(message).is_err() {
            return;
        }
    }
}
