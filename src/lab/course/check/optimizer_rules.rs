//! Computes the updates that the library reported again, by the rule of their optimizer.
//!
//! The rules are written a second time, from their publications, so that an error in an optimizer of the library shows.

use super::group::Group;
use super::numbers::digits;
use super::verdict::{Objection, failed};
use crate::domain::event::{CheckpointAction, UpdateReport};
use crate::domain::history::{Observed, Process};

/// The first update of SGD, computed again: the momentum is still zero there.
pub fn sgd(group: &Group, watched: &[&Observed]) -> Result<(), Objection> {
    let wd = group.spec.workload.wd;
    if anybody_goes_on(group) {
        return Ok(());
    }
    for (process, own) in watched.iter().enumerate() {
        let Some(first) = own.update(0).filter(|first| first.optimizer == "sgd") else { continue };
        let places = first.before.iter().zip(&first.after).zip(&first.applied);
        let is_by_rule = |((before, after), g): ((&f32, &f32), &f32)| {
            let (before, after, g) = (f64::from(*before), f64::from(*after), f64::from(*g));
            // Weight decay is for kernels only.
            let by = |wd: f64| before - first.lr * (g + wd * before);
            let rounding = 4.0 * f64::from(f32::EPSILON) * (before.abs() + (first.lr * g).abs());
            [0.0, wd].into_iter().any(|wd| (after - by(wd)).abs() <= rounding)
        };
        if !places.into_iter().all(is_by_rule) {
            return failed(format!(
                "the weights of {who} after the first update are not the weights before it minus {} times the \
                 gradients: let the optimizer alone change them",
                digits(first.lr),
                who = group.name(process)
            ));
        }
    }
    Ok(())
}

/// Whether the state of an optimizer comes from a checkpoint, or may do so: that of every rank, for the root broadcasts its own.
fn anybody_goes_on(group: &Group) -> bool {
    let has_loaded = |process: &Process| process.checkpoints.iter().any(|file| file.action == CheckpointAction::Loaded);
    let goes_on = |process: &Process| process.config.as_ref().is_none_or(|config| config.resume_epoch > 0);
    group.attempt.processes.values().any(|process| goes_on(process) || has_loaded(process))
}

/// NovoGrad's constants, as its authors have them.
const BETA_1: f64 = 0.95;

const BETA_2: f64 = 0.98;

const EPS: f64 = 1e-8;

/// The first updates of NovoGrad, computed again. Its second moment comes from the lengths that were told, and its momentum from how
/// far the update before has moved the weights, so that nothing has to be believed that the optimizer says of itself.
pub fn novograd(group: &Group, watched: &[&Observed]) -> Result<(), Objection> {
    if anybody_goes_on(group) {
        return Ok(());
    }
    for (process, own) in watched.iter().enumerate() {
        let mut second: Vec<f64> = Vec::new();
        let mut before: Option<&UpdateReport> = None;
        for (number, update) in own.updates.iter().map(|update| &update.report).enumerate() {
            let has_all = [&update.applied, &update.after, &update.norms].iter().all(|all| all.len() == update.before.len());
            // What came before a later one was not told; and where the weights changed in between, as by a broadcast, the momentum may
            // have changed with them.
            let is_next = before.is_none_or(|before| before.after == update.before);
            if update.update != number || !has_all || !is_next || update.lr <= 0.0 {
                break;
            }
            let squares = update.norms.iter().map(|norm| f64::from(*norm).powi(2));
            second = if second.len() == update.norms.len() {
                second.iter().zip(squares).map(|(old, new)| moment(*old, new)).collect()
            } else {
                squares.collect()
            };
            let moves = moves(group.spec.workload.wd, update, before, &second);
            if let Some(how) = astray(update, &moves) {
                return failed(format!(
                    "the optimizer of {} calls itself NovoGrad and does not follow its rule: in update {}, {how}. Use the \
                     NovoGrad of the library",
                    group.name(process),
                    number + 1
                ));
            }
            before = Some(update);
        }
    }
    Ok(())
}

/// The second moment of a tensor after a gradient of this squared length.
fn moment(old: f64, new: f64) -> f64 {
    if old == 0.0 { new } else { BETA_2 * old + (1.0 - BETA_2) * new }
}

/// How far one weight should have moved, and how exactly that is known.
struct Move {
    by: f64,
    rounding: f64,
}

/// NovoGrad's move of each sampled weight.
fn moves(wd: f64, update: &UpdateReport, before: Option<&UpdateReport>, second: &[f64]) -> Vec<Move> {
    let of = |place: usize| {
        let number = |of: &[f32]| of.get(place).copied().map_or(0.0, f64::from);
        let (weight, gradient) = (number(&update.before), number(&update.applied));
        let momentum = before.map_or(0.0, |before| (number(&before.before) - number(&before.after)) / before.lr);
        let direction = BETA_1 * momentum + gradient / (second[place].sqrt() + EPS);
        // Of two weights before, of this one before and after, and of the direction. Weight decay is for kernels only: with it or
        // without is the same here.
        let longest = before.map_or(1.0, |before| 1.0 + update.lr / before.lr);
        let weights = 4.0 * f64::from(f32::EPSILON) * longest * (weight.abs() + (update.lr * direction).abs());
        Move { by: -update.lr * direction, rounding: weights + update.lr * (1e-4 * direction.abs() + wd.abs() * weight.abs()) }
    };
    (0..update.before.len()).map(of).collect()
}

/// How an update differs from its rule, in words; `None` if it does not.
fn astray(update: &UpdateReport, moves: &[Move]) -> Option<String> {
    let made: Vec<f64> =
        update.after.iter().zip(&update.before).map(|(after, before)| f64::from(*after) - f64::from(*before)).collect();
    let is = |wanted: &dyn Fn(usize) -> f64, scale: f64| {
        made.iter()
            .zip(moves)
            .enumerate()
            .all(|(place, (made, rule))| (made - wanted(place)).abs() <= rule.rounding * scale.max(1.0))
    };
    if is(&|place| moves[place].by, 1.0) {
        return None;
    }
    let by_gradient = |place: usize| -update.lr * f64::from(update.applied[place]);
    if is(&by_gradient, 1.0) {
        return Some("the weights moved by the rate times the gradient, as SGD moves them".into());
    }
    let times = made.iter().zip(moves).map(|(made, rule)| made * rule.by).sum::<f64>()
        / moves.iter().map(|rule| rule.by * rule.by).sum::<f64>();
    if times.is_finite() && is(&|place| times * moves[place].by, times.abs()) {
        return Some(format!("the weights moved {times:.3} times as far as by the rule"));
    }
    let apart = |place: &usize| (made[*place] - moves[*place].by).abs() - moves[*place].rounding;
    let worst = (0..made.len()).max_by(|one, other| apart(one).total_cmp(&apart(other)))?;
    let (made, rule) = (digits(made[worst]), digits(moves[worst].by));
    Some(format!("a weight moved by {made}, and by the rule it moves by {rule}"))
}
