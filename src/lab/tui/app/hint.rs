//! What to do next, from what has been done: the end of the second line on top.
//!
//! Keys stand between backticks. It says one thing at a time, and only keys that do something now.

use crate::course::Series;
use crate::domain::run::RunState;
use crate::runs::RunSummary;
use crate::tui::actions::Command;
use crate::tui::inspection;
use crate::tui::preferences::Tried;
use crate::tui::shared::{Shared, is_of_collectives, is_of_own, repeatable};
use crate::tui::state::State;

/// A key was followed.
pub fn note(tried: &mut Tried, command: Command) {
    match command {
        Command::Compare => tried.compared = true,
        Command::ToggleStep(_) | Command::Switch | Command::AllSteps => tried.switched = true,
        Command::Lesson => tried.read = true,
        _ => {}
    }
}

/// What to do next, the keys before the colon and what for behind it. `None` while the tour or the first reading says it.
pub fn hint(state: &State) -> Option<String> {
    let shared = &state.shared;
    if let Some(playing) = &shared.replay {
        let at_end = playing.position.played_s >= playing.position.duration_s;
        return Some(match (at_end, playing.position.paused) {
            (true, _) => "`{`: from the start".to_owned(),
            (false, true) => "`Space`: goes on".to_owned(),
            (false, false) => "`Space`: pauses".to_owned(),
        });
    }
    if state.help.tour.is_some() || !shared.listed {
        return None;
    }
    if let Some(wrong) = inspection::worst(shared).filter(|_| !is_trouble(shared)) {
        return Some(format!("`J`: {wrong}"));
    }
    let going = shared.going();
    if going.is_some() || shared.is_starting() {
        return Some(match going {
            _ if !state.hints.read && !shared.summary_on_screen().is_some_and(is_of_own) => {
                format!("`w`: why step {} is needed", shared.step.number())
            }
            Some(run) => format!("`P`: shows run {run} large"),
            None => ALL_KEYS.to_owned(),
        });
    }
    let np = shared.spec.resources.np;
    let Some(last) = shared.runs.last() else {
        return Some(match np {
            1 => "`r`: trains on one rank".to_owned(),
            _ => format!("`r`: trains on {np} ranks with these steps"),
        });
    };
    if is_trouble(shared) {
        return Some("`i`: why it failed".to_owned());
    }
    if let Some(own) = of_own(shared, last) {
        return Some(own);
    }
    let repeat = to_repeat(shared, last);
    let measured =
        || shared.runs.iter().filter(|run| run.figures.images_per_sec.is_some() && run.status.state == RunState::Finished);
    let with = |of: fn(usize) -> bool| measured().any(|run| of(run.figures.np));
    Some(match () {
        () if measured().next().is_none() && is_of_collectives(last) => "`C`: what the ranks sent; `r` trains".to_owned(),
        () if measured().next().is_none() => "`r`: starts another run".to_owned(),
        () if !with(|np| np > 1) && np == 1 => "`+`, then `r`: how much faster 2 ranks are".to_owned(),
        () if !with(|np| np > 1) => format!("`r`: how much faster {np} ranks are"),
        () if !with(|np| np == 1) && np > 1 => "`-` until np is 1, then `r`: for the speed-up".to_owned(),
        () if !with(|np| np == 1) => "`r` on one rank: for the speed-up".to_owned(),
        () if repeat.is_some() => repeat.unwrap_or_default(),
        () if !state.hints.compared && can_compare(shared) => "`v`: why, and what differs".to_owned(),
        () if !state.hints.read => format!("`w`: why step {} is needed", shared.step.number()),
        () if same_steps(measured()) && !state.hints.switched => "`4`, then `r`: leaves out the broadcast".to_owned(),
        () if same_steps(measured()) => "`r`: what these steps change".to_owned(),
        () if !shared.runs.iter().any(is_before_and_after) => {
            format!("`g` in Steps: without and with step {}", shared.step.number())
        }
        () if !shared.runs.iter().any(is_of_collectives) => "`C`: how an allreduce works".to_owned(),
        () => ALL_KEYS.to_owned(),
    })
}

/// Runs among which a repetition is looked for.
const RECENT: usize = 16;

/// Where all was seen.
const ALL_KEYS: &str = "`?`: all keys";

/// The run on the screen failed: that is said before anything else.
pub fn is_trouble(shared: &Shared) -> bool {
    shared.summary_on_screen().is_some_and(|run| shared.run_state(run) == RunState::Failed)
}

/// The comparison that the key opens has an answer: of the run on the screen, or of the one that stands in for the baseline.
fn can_compare(shared: &Shared) -> bool {
    let Some((run, baseline)) = shared.summary_on_screen().zip(shared.baseline()) else { return false };
    if run.id == baseline.id { shared.best_gain().is_some() } else { shared.gain(run).is_ok() }
}

/// How to repeat the run of the answer that shared its machine, which may be the other one. `None` where no key does it.
fn to_repeat(shared: &Shared, last: &RunSummary) -> Option<String> {
    let shown = shared.summary_on_screen().filter(|run| run.id == last.id)?;
    // Two runs on as many ranks answer by their accuracy, which a busy machine leaves as it is.
    let both = match shared.pair() {
        Some(pair) if pair.has_other_ranks() => pair.runs(),
        Some(_) => return None,
        None => [shown; 2],
    };
    let run = both.into_iter().find(|run| shared.shared_machine(run).is_some())?;
    let wanted = repeatable(run)?;
    // On a machine that stays busy a second try would not be the last.
    let tries = shared.runs.iter().rev().take(RECENT).filter(|other| repeatable(other).as_ref() == Some(&wanted));
    if tries.count() > 1 {
        return None;
    }
    // The run is named beside the key: what stands behind the colon goes first where there is no room.
    Some(match wanted == shared.spec {
        true => format!("`r` repeats run {}: with the machine to itself", run.id),
        false => format!("`a` in Runs on run {}, then `r` repeats it: with the machine to itself", run.id),
    })
}

fn same_steps<'a>(runs: impl Iterator<Item = &'a RunSummary>) -> bool {
    let mut steps = runs.filter_map(|run| Some(run.record.as_ref()?.training()?.steps));
    steps.next().is_none_or(|first| steps.all(|other| other == first))
}

/// The run of a learner's own program: what the inspector found in it, or how it looks into one.
fn of_own(shared: &Shared, run: &RunSummary) -> Option<String> {
    let is_inspected = run.record.as_ref()?.request.spec.command()?.inspect;
    let is_seen = || shared.watched.as_ref().is_none_or(|watched| watched.id != run.id || watched.is_inspected());
    Some(match is_inspected {
        false => "`O`: starts it again, and judges its ten steps".to_owned(),
        true if is_seen() => "`J`: which of the ten steps it does right".to_owned(),
        true => "`i`: why no rank of it was inspected".to_owned(),
    })
}

fn is_before_and_after(run: &RunSummary) -> bool {
    run.record.as_ref().and_then(|record| record.request.name.as_deref()).is_some_and(Series::is_of_a_pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::step::{Step, StepSet};
    use crate::runs::RunId;
    use crate::tui::message::Message;
    use crate::tui::shared::Watched;
    use crate::tui::testing::samples;
    use crate::tui::tests::{press, text, type_text};
    use crossterm::event::KeyCode;

    fn next(state: &State) -> String {
        hint(state).unwrap_or_default()
    }

    /// Another run in the list, and on the screen.
    fn add(state: &mut State, run: RunSummary) {
        state.shared.watched = Some(Watched::new(run.id));
        state.shared.runs.push(run);
    }

    #[test]
    fn it_follows_the_learner_from_the_first_run_to_before_and_after() {
        let mut state = samples::never_used();
        assert_eq!(next(&state), "`r`: trains on 2 ranks with these steps");
        add(&mut state, samples::finished(1, 2, 900.0));
        assert_eq!(next(&state), "`-` until np is 1, then `r`: for the speed-up");
        type_text(&mut state, "-");
        assert_eq!(next(&state), "`r` on one rank: for the speed-up");
        add(&mut state, samples::finished(2, 1, 500.0));
        assert_eq!(next(&state), "`v`: why, and what differs");
        assert!(
            text(&state, 80, 24).lines().nth(1).unwrap().contains(" next: v why, and what differs "),
            "{}",
            text(&state, 80, 24)
        );
        type_text(&mut state, "v");
        press(&mut state, KeyCode::Esc);
        assert_eq!(next(&state), "`w`: why step 1 is needed");
        type_text(&mut state, "w");
        press(&mut state, KeyCode::Esc);
        assert_eq!(next(&state), "`4`, then `r`: leaves out the broadcast");
        type_text(&mut state, "4");
        assert_eq!(next(&state), "`r`: what these steps change");
        let mut other = samples::finished(3, 2, 900.0);
        other.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().steps =
            StepSet::ALL.without(Step::Broadcast);
        add(&mut state, other);
        assert_eq!(next(&state), "`g` in Steps: without and with step 4");
        state.shared.runs.last_mut().unwrap().record.as_mut().unwrap().request.name = Some("step 4 after".into());
        assert_eq!(next(&state), "`C`: how an allreduce works");
        state.shared.runs.insert(0, crate::tui::collectives::tests::samples::summary(9, 2));
        assert_eq!(next(&state), "`?`: all keys", "all was seen");
        state.shared.runs.last_mut().unwrap().status.state = RunState::Failed;
        assert_eq!(next(&state), "`i`: why it failed");
    }

    #[test]
    fn only_runs_with_one_rank_ask_for_more() {
        let mut state = samples::never_used();
        add(&mut state, samples::finished(1, 1, 500.0));
        assert_eq!(next(&state), "`r`: how much faster 2 ranks are");
        type_text(&mut state, "-");
        assert_eq!(next(&state), "`+`, then `r`: how much faster 2 ranks are");
    }

    /// The key opens the comparison of the run on the screen: it is not advised where that has no answer.
    #[test]
    fn a_comparison_is_advised_only_where_it_is_not_refused() {
        let mut state = samples::compared();
        for (run, advised) in [(3, true), (1, true), (4, false)] {
            state.shared.watched = Some(Watched::new(RunId(run)));
            assert_eq!(next(&state).starts_with("`v`"), advised, "run {run}: {}", next(&state));
            if advised {
                let mut opened = state.clone();
                type_text(&mut opened, "v");
                assert!(!text(&opened, 120, 40).contains("cannot be compared"), "{}", text(&opened, 120, 40));
            }
        }
    }

    #[test]
    fn there_is_a_next_key_while_a_run_is_going_and_in_a_recording_and_behind_a_window() {
        let mut state = samples::running();
        assert_eq!(next(&state), "`w`: why step 1 is needed");
        type_text(&mut state, "w");
        assert_eq!(next(&state), "`P`: shows run 2 large");
        let replayed = crate::tui::replay::tests::replayed();
        assert_eq!(next(&replayed), "`Space`: pauses");
        let mut state = samples::never_used();
        let lines = |state: &State| text(state, 80, 24).lines().take(2).map(str::to_owned).collect::<Vec<_>>();
        let before = lines(&state);
        assert!(before[1].contains(" next: r trains on 2 ranks with these steps "), "{before:?}");
        for key in ["?", ":", "q"] {
            samples::say(&mut state, Message::Resize(80, 24));
            type_text(&mut state, key);
            assert_eq!(lines(&state), before, "{key}");
            press(&mut state, KeyCode::Esc);
        }
    }
}
