//! The screen: one owner of state, fed by one channel, drawn only when something changed.
//!
//! `update` does no I/O: keys, signals and results come in as messages, requests go out as effects.
//!
//! ```text
//!  terminal ── keys ──┐                       ┌── effects ──> runner ──> launch, runs, telemetry
//!  signals ───────────┼──> message ──> update ┤                 │
//!  runner ── results ─┘        (state)        └── view ──> terminal
//!      ^───────────────────────────────────────────────────────-┘
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

mod actions;
mod app;
mod chart;
mod collectives;
pub mod config;
mod devices;
mod exercise;
mod faults;
mod forms;
mod help;
mod inspection;
mod io;
mod lesson;
mod log;
mod message;
mod next_run;
mod notices;
mod preferences;
mod queue;
mod replay;
mod runs;
mod series;
mod shared;
mod simulate;
mod state;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod widgets;
mod window;

use self::io::editor;
pub use self::io::replay_runner::Replay;
use self::io::replay_runner::ReplayRunner;
use self::io::runner::Runner;
pub use self::io::terminal::needs_ascii;
use self::io::terminal::{self, Screen};
use actions::effect::{Effect, TerminalOrder};
use app::session::{self, Keeper};
use app::update::update;
use app::{start, view, windows};
use collectives::stage::Stage;
use message::Message;
use state::State;
use widgets::looks::Background;
use widgets::theme::Theme;

use crate::runs::RunStore;
use crate::{host, launch};

/// Frames are at least this far apart, unless a key was pressed: about 30 a second.
const FRAME: Duration = Duration::from_millis(33);
/// As far apart are frames with nothing new but the figures of the devices, while no run is going: drawing them is most of what an idle
/// screen costs.
const IDLE_FRAME: Duration = Duration::from_secs(2);
/// The time between two steps of messages that are played.
const BEAT: Duration = Duration::from_millis(50);
/// Keys that wait for the screen.
const KEYS_WAITING: usize = 64;
/// Messages that wait for the screen, some with hundreds of events. Senders wait when there are more, so memory stays bounded.
const WAITING: usize = 16;

#[derive(Debug, Default)]
pub struct Options {
    /// Only ASCII on the screen, whatever terminal and configuration say.
    pub ascii: bool,
    /// A folder of lessons that replace those of the program.
    pub lessons: Option<PathBuf>,
    /// Show the tour, although it was shown before.
    pub tour: bool,
    /// Play recordings instead of running anything.
    pub replay: Option<Replay>,
}

/// Where runs come from.
enum Source {
    Home(RunStore),
    Recording(ReplayRunner),
}

/// Does what the screen asks for.
enum EffectRunner {
    Lab(Runner),
    Replay(ReplayRunner),
}

impl EffectRunner {
    /// The runner of a lab, which has programs to edit: a recording has none.
    fn lab(&self) -> anyhow::Result<&Runner> {
        match self {
            EffectRunner::Lab(runner) => Ok(runner),
            EffectRunner::Replay(_) => anyhow::bail!("a recording is played: the program is not part of it"),
        }
    }

    fn perform(&mut self, effect: Effect) {
        match self {
            EffectRunner::Lab(runner) => runner.perform(effect),
            EffectRunner::Replay(runner) => runner.perform(effect),
        }
    }
}

/// Shows the screen until the user leaves it.
///
/// # Errors
/// The terminal refused, or no thread could be started: it is restored in any case. A folder of lessons that was named and
/// cannot be used.
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    if !terminal::is_there() {
        anyhow::bail!("no terminal here. Use `hvd-lab run`, `hvd-lab runs` or `hvd-lab --help` instead.");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no event loop")?;
    let done = runtime.block_on(show(options));
    // Threads that wait for a key or a file must not delay the end.
    runtime.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

/// Columns and rows of the terminal, where there is one.
pub fn size() -> Option<(usize, usize)> {
    io::size::size().map(|(columns, rows)| (columns.into(), rows.into()))
}

async fn show(options: Options) -> anyhow::Result<()> {
    // Before the terminal is taken: a signal from here on leads out through the same door as a key.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut quit = signal(SignalKind::quit())?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut stop = signal(SignalKind::from_raw(nix::libc::SIGTSTP))?;
    let mut continued = signal(SignalKind::from_raw(nix::libc::SIGCONT))?;
    let mut theme = Theme::new(options.ascii, std::env::var_os("NO_COLOR").as_deref());
    theme.background = std::env::var("COLORFGBG").map_or(Background::Unknown, |value| Background::from_variable(&value));
    let mut state = start::initial_state(theme, options.lessons.as_deref())?;
    let (sender, mut messages) = mpsc::channel(WAITING);
    let source = match options.replay {
        // The first frame already says that it is a replay.
        Some(replay) => Source::Recording(ReplayRunner::start(sender.clone(), replay, &mut state.shared)?),
        // An error is printed before the screen takes the terminal.
        None => Source::Home(RunStore::open_default()?),
    };
    // A replay is not remembered, so the tour would come again each time.
    state.help.toured |= state.shared.replay.is_some();
    let session = RunStore::default_home().ok().filter(|_| state.shared.replay.is_none()).map(|home| session::path(&home));
    let mut keeper = Keeper::start(session.as_deref());
    session::settle(&mut state, session.as_deref(), options.tour, terminal::needs_ascii());
    if state.shared.replay.is_none() {
        state.shared.now_s = host::now_s();
        if launch::is_being_built() {
            state.shared.inform("the trainer is still being built: a run started now waits for it");
        }
    }
    let mut screen =
        Screen::enter(state.preferences.mouse, state.preferences.config.title).context("the terminal cannot be used")?;
    update(&mut state, terminal::size());
    // If the terminal is gone already, the screen ends at once, as below.
    state.done = screen.draw(view::title(&state), |frame| view::draw(frame, &state)).is_err();
    if state.shared.theme.colour && state.shared.theme.background == Background::Unknown {
        // The reply comes among the keys, whenever the terminal gets to it. A terminal that is gone already is found below.
        let _ = screen.ask_background();
    }
    // Everything that may be slow starts after the first frame.
    // Keys have their own channel, so that they overtake the messages of a run.
    let (pressed, mut keys) = mpsc::channel(KEYS_WAITING);
    std::thread::Builder::new().name("keys".into()).spawn(move || terminal::read_keys(pressed)).context("no thread for keys")?;
    let mut effect_runner = match source {
        Source::Home(store) => EffectRunner::Lab(Runner::start(sender, store)),
        Source::Recording(runner) => EffectRunner::Replay(runner),
    };
    for effect in start::first_effects(&state) {
        effect_runner.perform(effect);
    }
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The editor, while it has the terminal. Messages are still handled, and a save is built.
    let mut editing = None;
    let (mut changed, mut drawn, mut next_frame) = (false, Instant::now(), Instant::now());
    keeper.look(&state);
    // However it ends, even by a terminal that fails, the last requests are carried out and changes are kept.
    let ended: anyhow::Result<()> = async {
        while !state.done {
            // We check before each message: while messages pour in the timer would come too late.
            if changed && Instant::now() >= next_frame {
                if screen.draw(view::title(&state), |frame| view::draw(frame, &state)).is_err() {
                    // The terminal is gone. Runs continue.
                    break;
                }
                changed = false;
                drawn = Instant::now();
            }
            let asks = windows::about(&state).and_then(|about| about.each_second);
            let news_left = state.shared.notice_left_s().map(Duration::from_secs_f64);
            let message = tokio::select! {
                biased;
                _ = terminate.recv() => Message::Leave,
                _ = hang_up.recv() => Message::Leave,
                // In the editor, Ctrl-C is meant for the editor.
                _ = interrupt.recv() => if editing.is_some() { continue } else { Message::Leave },
                _ = quit.recv() => Message::Leave,
                _ = stop.recv() => Message::Suspend,
                _ = continued.recv() => {
                    if editing.is_none() {
                        screen.resume()?;
                    }
                    terminal::size()
                }
                ended = editor::end(&mut editing) => {
                    editing = None;
                    screen.resume()?;
                    update(&mut state, terminal::size());
                    Message::Edited(ended.err().map(|error| error.to_string()))
                }
                _ = resized.recv() => terminal::size(),
                () = sleep_until(next_frame), if changed => continue,
                Some(key) = keys.recv() => key,
                Some(message) = messages.recv() => message,
                // One wake-up for each piece of news, however long the screen is idle.
                () = sleep(news_left.unwrap_or_default()), if news_left.is_some() => Message::NoticeIsOld,
                _ = beat.tick(), if state.collectives.player.is_playing && state.windows.has::<Stage>() => Message::Beat(host::now_s()),
                _ = second.tick(), if state.shared.shows_time() || asks.is_some() => Message::Tick(host::now_s()),
            };
            let due = match message {
                Message::Key(_) | Message::Paste(_) | Message::Resize(..) => Instant::now(),
                Message::Telemetry(_) if state.shared.hardware.is_some() && !state.shared.shows_time() => drawn + IDLE_FRAME,
                _ => drawn + FRAME,
            };
            next_frame = if changed { next_frame.min(due) } else { due };
            changed = true;
            // A notice that comes with it has the time of this clock. A recording has its own.
            if state.shared.replay.is_none() {
                state.shared.now_s = host::now_s();
            }
            let is_input = matches!(message, Message::Key(_) | Message::Mouse(_) | Message::Paste(_));
            let effects = update(&mut state, message);
            if is_input {
                keeper.look(&state);
            }
            perform(effects, &mut state, &mut screen, &mut editing, &mut effect_runner)?;
        }
        Ok(())
    }
    .await;
    drop(screen);
    keeper.look(&state);
    keeper.finish();
    if let EffectRunner::Lab(runner) = effect_runner {
        runner.finish().await;
    }
    ended.or_else(|error| if terminal::is_gone(&error) { Ok(()) } else { Err(error) })
}

/// Performs effects: those of the terminal here, all others by the runner.
fn perform(
    effects: Vec<Effect>,
    state: &mut State,
    screen: &mut Screen,
    editing: &mut Option<JoinHandle<std::io::Result<()>>>,
    effect_runner: &mut EffectRunner,
) -> anyhow::Result<()> {
    let mut effects = VecDeque::from(effects);
    // What an update asks for after an effect is for the runner, which answers by message: so this ends.
    while let Some(effect) = effects.pop_front() {
        let Effect::Terminal(order) = effect else {
            effect_runner.perform(effect);
            continue;
        };
        let copied = || Message::Done("copied to the terminal's clipboard (OSC 52), if it allows it".into());
        // The command of an editor that gets the terminal, and what the screen hears of the order.
        let answered = match order {
            // The terminal is the editor's.
            TerminalOrder::Edit | TerminalOrder::OpenProgram { .. } if editing.is_some() => Ok((None, None)),
            TerminalOrder::Copy(text) => screen.copy(&text).map(|()| (None, Some(copied()))).context("not copied"),
            TerminalOrder::Announce(text) => Ok(screen.announce(&text, &state.preferences.config).map(|()| (None, None))?),
            TerminalOrder::CaptureMouse(capture) => Ok(screen.capture_mouse(capture).map(|()| (None, None))?),
            TerminalOrder::Edit => effect_runner.lab().and_then(Runner::editor),
            TerminalOrder::OpenProgram { file, line } => effect_runner.lab().and_then(|_| editor::at_line(file, line)),
            TerminalOrder::Suspend => screen.suspend().map(|()| (None, None)).context("not suspended"),
        };
        let (editor, message) = answered.unwrap_or_else(|error| (None, Some(Message::Failed(format!("{error:#}")))));
        effects.extend(message.into_iter().flat_map(|message| update(state, message)));
        if let Some(words) = editor {
            screen.release();
            *editing = Some(tokio::task::spawn_blocking(move || editor::run(&words)));
        }
    }
    Ok(())
}
