//! Which values an axis shows: those that were measured, without the few that would flatten all others.
//!
//! The heading says what is left out.

use crate::tui::chart::graph::Graph;
use crate::tui::widgets::axis::Axis;

/// At most this part of all values lies above the axis.
const OUTSIDE: f64 = 0.02;
/// Values so little outside of the rest, as a part of its span, stay.
const NEAR: f64 = 0.25;
/// With fewer values than this, no value is left out.
const MANY: usize = 50;

/// An axis of so many cells for these values, which may be none, and what it leaves out: `cut above 2.5`.
pub fn fitted(graph: Graph, log: bool, zoomed: bool, mut values: Vec<f64>, cells: u16) -> (Axis, Option<String>) {
    values.retain(|value| value.is_finite() && (!log || *value > 0.0));
    let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let (low, high) = ends;
    let least_top = graph.row().least_top;
    let axis = |low: f64, high: f64| if log { Axis::log(low, high, cells) } else { Axis::linear(low, high, cells) };
    let whole = match graph {
        _ if low > high => axis(if log { least_top / 100.0 } else { 0.0 }, least_top),
        _ if log || zoomed => axis(low, high),
        // The axis begins at 0, so that twice the rate is drawn twice as high.
        Graph::LearningRate | Graph::ImagesPerSec => axis(low.min(0.0), high.max(least_top)),
        Graph::Accuracy => {
            let (low, high) = no_narrower(low, high, 0.05);
            axis(low.max(0.0), high.min(1.0))
        }
        Graph::Loss => {
            let (least, most) = no_narrower(low, highest(values, (low, high)), least_top);
            // A loss below 0 is measured, not made up by the axis.
            let shown = axis(if low >= 0.0 { least.max(0.0) } else { least }, most);
            let top = shown.value(f64::from(cells));
            return (shown, (high > top).then(|| format!("cut above {}", graph.value(top))));
        }
    };
    (whole, None)
}

/// The upper end of the axis: the highest value, unless that is far above the rest. The lowest one is what a training is for.
fn highest(mut values: Vec<f64>, (low, high): (f64, f64)) -> f64 {
    let last = values.len() - 1;
    let outside = if values.len() < MANY { 0 } else { (values.len() as f64 * OUTSIDE).ceil() as usize };
    // In linear time: this is done for every frame.
    let most = *values.select_nth_unstable_by(last - outside, f64::total_cmp).1;
    if high <= most + (most - low) * NEAR { high } else { most }
}

/// At least so wide, around the same middle: noise should not look like a change.
fn no_narrower(low: f64, high: f64, least: f64) -> (f64, f64) {
    let missing = (least - (high - low)).max(0.0);
    (low - missing / 2.0, high + missing / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: u16 = 12;

    /// Where the axis begins and ends, and what it leaves out.
    fn ends(graph: Graph, values: Vec<f64>) -> (f64, f64, Option<String>) {
        let (axis, cut) = fitted(graph, false, false, values, CELLS);
        (axis.value(0.0), axis.value(CELLS.into()), cut)
    }

    #[test]
    fn a_first_value_far_above_the_rest_does_not_flatten_it_and_the_lowest_one_is_in_sight() {
        let falling = (0..200).map(|step| 1.0 - f64::from(step) / 400.0);
        let (low, high, cut) = ends(Graph::Loss, falling.clone().collect());
        assert!((0.45..=0.5025).contains(&low) && (1.0..1.101).contains(&high) && cut.is_none(), "{low} to {high}");
        let spiked: Vec<f64> = [40.0].into_iter().chain(falling.clone()).collect();
        let (low, high, cut) = ends(Graph::Loss, spiked);
        assert!((0.45..=0.5025).contains(&low) && (1.0..1.101).contains(&high), "{low} to {high}");
        assert_eq!(cut, Some(format!("cut above {high:.3}")));
        let (low, _, cut) = ends(Graph::Loss, falling.chain([-3.0]).collect());
        assert!(low <= -3.0 && cut.is_none(), "the lowest value is what a training is for: {low}");
        assert!(ends(Graph::Loss, vec![40.0, 2.0, 1.0]).1 >= 40.0, "of few values each counts");
    }

    #[test]
    fn an_axis_begins_where_its_values_need_it() {
        for (values, from, to) in
            [(vec![0.82, 0.88, 0.91], 0.80..=0.8201, 0.91..=0.95), (vec![0.97, 0.9999], 0.94..=0.97, 0.9999..=1.02)]
        {
            let (low, high, cut) = ends(Graph::Accuracy, values);
            assert!(from.contains(&low) && to.contains(&high) && cut.is_none(), "{low} to {high}");
        }
        let (low, high, _) = ends(Graph::Accuracy, vec![0.7]);
        assert!(low < 0.69 && high > 0.71, "one value is no change: {low} to {high}");
        assert_eq!(ends(Graph::ImagesPerSec, vec![900.0, 1000.0]).0, 0.0, "twice as fast is twice as high");
        assert_eq!(ends(Graph::LearningRate, vec![1e-4, 1e-2]).0, 0.0);
        assert_eq!(ends(Graph::Loss, Vec::new()).0, 0.0);
    }
}
