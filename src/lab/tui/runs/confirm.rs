//! Questions about a run: stop it, move it to the trash, train it for longer, or leave it running.

use super::windows::{ConfirmDelete, ConfirmStop, Continue, Quit};
use crossterm::event::KeyCode as K;

use super::keys::Command;
use super::state::Runs;
use crate::columns::cut;
use crate::domain::units;
use crate::runs::RunId;
use crate::tui::actions::action::Action;
use crate::tui::actions::change::Change;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, Move, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{Question, View, Window};

static STOP: &[Binding<Command>] = &[
    row(&[Code(K::Enter), Char('y'), Char('x')], Command::Accept, "y", "stop it", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "let it run", "").ranked(0),
];

impl Window for ConfirmStop {
    type Feature = Runs;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![STOP]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        STOP
    }

    fn view(&self, _: &Runs, _: &Shared, _: u16) -> Option<View> {
        let text = [format!("Stop run {}?", self.run), "The lab keeps its measurements and its checkpoints.".into()];
        Some(Question::view("Stop", text))
    }

    fn update(self, _: &mut Runs, shared: &mut Shared, command: Command) -> Vec<Action> {
        if command != Command::Accept {
            return Vec::new();
        }
        shared.inform(format!("stopping run {} …", self.run));
        vec![Effect::Stop(self.run).into()]
    }

    fn run(&self) -> Option<RunId> {
        Some(self.run)
    }
}

static DELETE: &[Binding<Command>] = &[
    row(&[Char('y'), Code(K::Enter)], Command::Accept, "y", "delete it", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "keep it", "").ranked(0),
];

impl Window for ConfirmDelete {
    type Feature = Runs;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![DELETE]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        DELETE
    }

    fn view(&self, _: &Runs, shared: &Shared, _: u16) -> Option<View> {
        let name = shared.summary(self.run).and_then(|run| run.record.as_ref()?.name.as_deref());
        let name = name.map_or(String::new(), |name| format!(", {}", cut(name, 40)));
        let text = [format!("Delete run {}{name}?", self.run), "It goes to the trash: u brings it back.".into()];
        Some(Question::view("Delete", text))
    }

    fn update(self, _: &mut Runs, _: &mut Shared, command: Command) -> Vec<Action> {
        if command == Command::Accept { vec![Effect::Change(Change::Delete(self.run)).into()] } else { Vec::new() }
    }

    fn run(&self) -> Option<RunId> {
        Some(self.run)
    }
}

static CONTINUE: &[Binding<Command>] = &[
    row(&[Code(K::Right), Code(K::Up), Char('+'), Char('=')], Command::Move(Move::Up), "← →", "epochs", ""),
    row(&[Code(K::Left), Code(K::Down), Char('-'), Char('_')], Command::Move(Move::Down), "", "", ""),
    row(&[Code(K::Enter), Char('c'), Char('y')], Command::Accept, "Enter", "continue", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "not now", "").ranked(0),
];

impl Window for Continue {
    type Feature = Runs;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![CONTINUE]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        CONTINUE
    }

    fn view(&self, _: &Runs, _: &Shared, _: u16) -> Option<View> {
        let epochs = units::counted(self.more, "more epoch");
        let text = match self.more {
            0 => [format!("Do the test of run {}?", self.run), format!("It has trained all its {} epochs.", self.done)],
            _ => [
                format!("Train run {} for {epochs}?", self.run),
                format!("From its last checkpoint, to {} epochs in total.", self.done + self.more),
            ],
        };
        Some(Question::view("Continue", text))
    }

    fn update(self, runs: &mut Runs, shared: &mut Shared, command: Command) -> Vec<Action> {
        let Continue { run, done, more } = self;
        match command {
            Command::Back => Vec::new(),
            Command::Accept => {
                shared.starting.run = true;
                vec![Effect::Continue { run, epochs: done + more }.into()]
            }
            command => {
                let up = command == Command::Move(Move::Up);
                let more = if up { (more + 1).min(999) } else { more.saturating_sub(1).max(1) };
                runs.window = Some(Continue { run, done, more }.into());
                Vec::new()
            }
        }
    }

    fn run(&self) -> Option<RunId> {
        Some(self.run)
    }
}

static QUIT: &[Binding<Command>] = &[
    row(&[Char('l'), Code(K::Enter), Ctrl('c')], Command::Leave, "l", "leave it running", ""),
    row(&[Char('s'), Char('x')], Command::StopAndLeave, "s", "stop it", ""),
    row(&[Code(K::Esc), Char('n'), Char('q')], Command::Back, "Esc", "stay", "").ranked(0),
];

impl Window for Quit {
    type Feature = Runs;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![QUIT]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        QUIT
    }

    fn view(&self, _: &Runs, _: &Shared, _: u16) -> Option<View> {
        let text = [
            format!("Run {} is still running.", self.going),
            "It can continue in the background: the next start shows it again.".into(),
        ];
        Some(Question::view("Quit", text))
    }

    fn update(self, _: &mut Runs, _: &mut Shared, command: Command) -> Vec<Action> {
        match command {
            Command::Leave => vec![Action::Leave],
            Command::StopAndLeave => vec![Action::Leave, Effect::Stop(self.going).into()],
            _ => Vec::new(),
        }
    }
}
