//! Which values an axis shows: those that were measured, without the few that would flatten all others.
//!
//! The heading says what is left out.

use super::scale::Scale;
use super::trace::View;
use crate::tui::chart::graph::Graph;

/// The axis ends on a multiple of a round number that divides it into about this many parts.
const PARTS: usize = 6;
/// The same for the loss, whose curve should fill the plot.
const LOSS_PARTS: usize = 12;
/// At most this part of all values lies below the axis, and as many above.
const OUTSIDE: f64 = 0.02;
/// Values so little outside of the rest, as a part of its span, stay.
const NEAR: f64 = 0.25;
/// The lower end of an axis is as exact as such a part of it.
const EXACT: f64 = 10.0;
/// With fewer values than this, no value is left out.
const MANY: usize = 50;

#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    pub scale: Scale,
    /// `cut above 2.5`
    pub cut: Option<String>,
}

/// An axis for these values, which may be none.
pub fn fitted(graph: Graph, log: bool, zoomed: bool, mut values: Vec<f64>) -> Fitted {
    values.retain(|value| value.is_finite() && (!log || *value > 0.0));
    let whole = |scale| Fitted { scale, cut: None };
    let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let (low, high) = ends;
    let least_top = graph.row().least_top;
    if low > high {
        return whole(match log {
            true => Scale::log(least_top / 100.0, least_top),
            false => Scale::round(0.0, least_top, PARTS),
        });
    }
    match graph {
        _ if log => whole(Scale::log(low, high)),
        _ if zoomed => whole(Scale::round(low, high, PARTS)),
        // Twice as much is twice as high.
        Graph::LearningRate | Graph::ImagesPerSec => whole(Scale::round(low.min(0.0), high.max(least_top), PARTS)),
        Graph::Accuracy => {
            let (low, high) = no_narrower(low, high, 0.05);
            whole(Scale::round(low.max(0.0), high.min(1.0), PARTS))
        }
        Graph::Loss => {
            let (least, most) = nearest(values, (low, high));
            let (least, most) = no_narrower(least, most, least_top);
            // A loss below 0 is measured, not made up by the axis.
            let least = if low >= 0.0 { least.max(0.0) } else { least };
            let scale = Scale::round(least, most, LOSS_PARTS);
            let (from, to) = scale.ends();
            let ticks = scale.ticks(LOSS_PARTS, |tick, step| graph.tick(tick, step));
            let label = |tick: Option<&(f64, String)>| tick.map_or(String::new(), |(_, label)| label.clone());
            let above = (high > to).then(|| format!("cut above {}", label(ticks.last())));
            let below = (low < from).then(|| format!("cut below {}", label(ticks.first())));
            Fitted { scale, cut: above.or(below) }
        }
    }
}

/// The ends of the axis: the outermost values, unless they are far outside of the rest.
fn nearest(mut values: Vec<f64>, (lowest, highest): (f64, f64)) -> (f64, f64) {
    let last = values.len() - 1;
    let outside = if values.len() < MANY { 0 } else { (values.len() as f64 * OUTSIDE).ceil() as usize };
    // In linear time: this is done for every frame.
    let mut place = |at: usize| *values.select_nth_unstable_by(at, f64::total_cmp).1;
    let (low, high) = (place(outside), place(last - outside));
    let near = (high - low) * NEAR;
    let from = if lowest >= low - near { lowest } else { low };
    (from, if highest <= high + near { highest } else { high })
}

/// At least so wide, around the same middle: noise should not look like a change.
fn no_narrower(low: f64, high: f64, least: f64) -> (f64, f64) {
    let missing = (least - (high - low)).max(0.0);
    (low - missing / 2.0, high + missing / 2.0)
}

/// Where the axis begins, unless a tick says so that no other one covers.
pub fn lower_bound(graph: Graph, ticks: &[(f64, String)], view: &View) -> Option<String> {
    let (low, high) = view.scale.ends();
    let places = || ticks.iter().filter_map(|(tick, _)| view.scale.place(*tick));
    let is_low = |place: f64| place.abs() < 1e-6;
    let is_covered = places().any(|place| !is_low(place) && view.row(place) == view.row(0.0));
    (is_covered || !places().any(is_low)).then(|| graph.tick(low, (high - low) / EXACT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(graph: Graph, values: Vec<f64>) -> (String, Option<String>) {
        let Fitted { scale, cut } = fitted(graph, false, false, values);
        let (from, to) = scale.ends();
        (format!("{from:.2} to {to:.2}"), cut)
    }

    #[test]
    fn a_first_value_far_above_the_rest_does_not_flatten_it() {
        let falling = (0..200).map(|step| 1.0 - f64::from(step) / 400.0);
        assert_eq!(ends(Graph::Loss, falling.clone().collect()), ("0.50 to 1.00".into(), None));
        let spiked: Vec<f64> = [40.0].into_iter().chain(falling.clone()).collect();
        assert_eq!(ends(Graph::Loss, spiked), ("0.50 to 1.00".into(), Some("cut above 1.00".into())));
        let dropped: Vec<f64> = falling.chain([-3.0]).collect();
        assert_eq!(ends(Graph::Loss, dropped).1.as_deref(), Some("cut below 0.50"));
        assert_eq!(ends(Graph::Loss, vec![40.0, 2.0, 1.0]).1, None, "of few values each counts");
    }

    #[test]
    fn accuracy_has_the_room_that_it_takes() {
        assert_eq!(ends(Graph::Accuracy, vec![0.82, 0.88, 0.91]), ("0.82 to 0.92".into(), None));
        assert_eq!(ends(Graph::Accuracy, vec![0.97, 0.9999]).0, "0.95 to 1.00");
        assert_eq!(ends(Graph::Accuracy, vec![0.7]).0, "0.67 to 0.73", "one value is no change");
        assert_eq!(ends(Graph::ImagesPerSec, vec![900.0, 1000.0]).0, "0.00 to 1000.00", "twice as fast is twice as high");
        assert_eq!(ends(Graph::Loss, Vec::new()).0, "0.00 to 0.10");
    }
}
