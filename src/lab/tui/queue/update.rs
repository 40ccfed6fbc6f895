//! Opens the queue, and takes what was read of it.

use super::keys::Command;
use super::state::Queue;
use super::windows::{Shown, Window};
use crate::launch::SharedMachine;
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;

pub fn open(queue: &mut Queue) -> Vec<Action> {
    queue.window = Some(Shown { machine: None, scroll: 0 }.into());
    look_again(queue)
}

/// Once a second, while it is open.
pub fn look_again(queue: &Queue) -> Vec<Action> {
    if queue.window.is_some() { vec![Effect::ReadQueue.into()] } else { Vec::new() }
}

pub fn receive(queue: &mut Queue, machine: Option<Box<SharedMachine>>) {
    if let Some(Window::Shown(shown)) = &mut queue.window {
        shown.machine = Some(machine);
    }
}

pub fn shown(command: Command) -> Vec<Action> {
    match command {
        // It was taken out already.
        Command::Back => Vec::new(),
    }
}
