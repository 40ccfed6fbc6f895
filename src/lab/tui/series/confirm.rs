//! Whether to start runs that take turns: before and after a step, or all steps but one.

use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, Effect, K, row};

use super::turns;
use super::update::is_going;
use crate::course::{Purpose, Series};
use crate::domain::units;
use crate::tui::state::{About, Outcome, State, View, Window};

/// Start these runs, one after the other?
#[derive(Clone, Debug)]
pub struct ConfirmSeries {
    series: Box<Series>,
    /// How many seconds all of it takes, as far as that can be told.
    takes_s: Option<f64>,
}

/// The two runs of the lesson of the step under the cursor.
pub fn guided(state: &mut State) -> Vec<Action> {
    let shared = &mut state.shared;
    let lesson = shared.course.lessons.of_step(shared.step);
    match lesson.and_then(|lesson| Series::guided(lesson, &shared.spec, &shared.preset)) {
        Some(series) => ask(state, series),
        None => {
            let step = shared.step.number();
            shared.refuse(format!("the lesson of step {step} has no two runs: r runs with the current settings"))
        }
    }
}

/// All steps but one, in turn.
pub fn ablation(state: &mut State) -> Vec<Action> {
    if state.shared.spec.resources.np == 1 {
        return state
            .shared
            .refuse("an ablation needs 2 ranks or more: with one rank, steps 2 to 9 have no effect. + adds a rank");
    }
    let series = Series::ablation(&state.shared.spec, &state.shared.preset);
    ask(state, series)
}

/// Several runs take their time: they are asked about first.
fn ask(state: &mut State, series: Series) -> Vec<Action> {
    let State { series: own, shared, windows, .. } = state;
    match series.turns.iter().find_map(|turn| turn.spec.problem()) {
        Some(problem) => shared.error(format!("cannot start: {problem}")),
        None if is_going(own, shared) => return turns::show(state),
        None => {
            // Once, not for every frame: all runs are looked at.
            let takes_s = series.estimate(&shared.runs);
            windows.show(ConfirmSeries { series: Box::new(series), takes_s });
        }
    }
    Vec::new()
}

fn begin(state: &mut State, series: Series) -> Vec<Action> {
    let mut actions = Vec::new();
    if !is_going(&state.series, &state.shared) {
        (state.series.series, state.series.results) = (Some(series.clone()), None);
        actions.push(Effect::BeginSeries(Box::new(series)).into());
    }
    turns::show(state);
    actions
}

pub static KEYS: &[Binding] = &[
    row(&[Char('y')], Command::Accept, "y", "run them", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "not now", "").ranked(0),
];

impl Window for ConfirmSeries {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, ..About::default() }
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        let (series, first) = (&self.series, &self.series.turns.first()?.spec);
        let (title, which) = match series.purpose {
            Purpose::Guided(step) => {
                let mut turns = series.turns.iter().map(|turn| turn.spec.workload.steps.in_words());
                let [before, after] = [(); 2].map(|()| turns.next().unwrap_or_default());
                let which = format!("2 runs: without step {step} ({before}), then with it ({after}).");
                ("Before and after", which)
            }
            Purpose::Ablation => ("Ablation", "12 runs, one after the other: all steps, all but one, none.".to_owned()),
        };
        let images = first.workload.train_images.map_or("all".to_owned(), units::count);
        let epochs = units::counted(first.workload.epochs, "epoch");
        let time = match self.takes_s {
            Some(seconds) => format!("Together about {}, at the speed of your last such run.", units::clock(seconds)),
            None => "The lab cannot say how long they take before a first run.".to_owned(),
        };
        let text = vec![
            which,
            format!("{}, {epochs} of {images} images each.", units::counted(first.resources.np, "rank")),
            time,
            "They run in turn while the lab is open, and wait while it is closed.".to_owned(),
        ];
        Some(View::Question { title, text })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Accept => Outcome::Close(begin(state, (*self.series).clone())),
            _ => Outcome::CLOSE,
        }
    }
}
