//! The window of the collectives: over all panes, with the keys of what it shows.

use super::draw;
use super::keys::{CHART, Command, HELP, PLAYER};
use super::show::Show;
use super::state::Collectives;
use super::update::stage;
use super::windows::Stage;
use crate::runs::RunId;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::Binding;
use crate::tui::shared::state::Shared;
use crate::tui::window::{FRAME, Page, View, Window};

/// Rows of the screen's header and footer, and of the frame.
const AROUND: u16 = 3 + 2;

impl Window for Stage {
    type Feature = Collectives;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![PLAYER, CHART]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        if self.show == Show::Messages { PLAYER } else { CHART }
    }

    fn view(&self, own: &Collectives, shared: &Shared, columns: u16) -> Option<View> {
        let (width, height) = (columns.saturating_sub(FRAME), shared.size.1.saturating_sub(AROUND));
        let lines = draw::lines(own, shared, self.show, width.into(), height.into());
        Some(View::Page(Page { title: draw::title(own, self.show), columns, lines }))
    }

    fn update(self, own: &mut Collectives, shared: &mut Shared, command: Command) -> Vec<Action> {
        let action = match command {
            Command::Stop => Some(Action::Stop),
            Command::Help => Some(Action::Keys(HELP)),
            _ => None,
        };
        stage(self, own, shared, command);
        action.into_iter().collect()
    }

    fn run(&self) -> Option<RunId> {
        self.run
    }
}
