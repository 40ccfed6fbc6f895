//! One way to find the numbers of an axis, for all charts: they stand on whole cells, as far from each other everywhere.

/// Labels that are nearer to each other are hard to tell apart.
const LEAST_APART: u16 = 2;
/// As many labels as an eye takes in, and the fewest that make a scale.
const MOST_TICKS: u16 = 9;
const LEAST_TICKS: u16 = 2;
/// With fewer labels one wonders what lies between them.
const GOOD_TICKS: u16 = 3;
/// Up to so many cells round numbers may leave too much room empty, which is less than this part filled.
const FEW_CELLS: u16 = 5;
const FULL: f64 = 0.8;
/// So many cells between two labels look best.
const GOOD_APART: f64 = 3.0;
/// From this ratio of its ends on, a scale of logarithms counts in powers of ten.
const DECADES_FROM: f64 = 16.0;

/// From values to cells: cell 0 is the axis line itself, the others lie above it. Labels stand at every so many cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The value on the axis line and what a cell adds; of their logarithms on a scale of logarithms.
    first: f64,
    every: u16,
    step: f64,
    cells: u16,
    /// The cell of the lowest number, and what the last digit of all of them counts.
    lowest: u16,
    digit: f64,
    /// The value whose logarithm is 0, and the base.
    log: Option<(f64, f64)>,
}

/// A number at the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tick {
    /// Above the axis line.
    pub cell: u16,
    pub value: f64,
    /// What its last digit counts.
    pub step: f64,
}

impl Axis {
    /// From just below the lowest value to just above the highest one, in so many cells above the axis line.
    pub fn linear(low: f64, high: f64, cells: u16) -> Axis {
        let (low, high) = apart(low, high);
        let round = Axis::best(low, high, cells, false);
        let is_full = (high - low) / (round.cell() * f64::from(round.cells)) > FULL;
        if is_full || cells > FEW_CELLS { round } else { Axis::plain(low, high, round.cells) }
    }

    /// For values above 0 only: as far from one label to the next is the same factor.
    pub fn log(low: f64, high: f64, cells: u16) -> Axis {
        let low = if low.is_finite() && low > 0.0 { low.clamp(1e-300, 1e300) } else { 1.0 };
        let high = if high.is_finite() { high.clamp(low, 1e300) } else { low };
        let base: f64 = if high / low < DECADES_FROM { 2.0 } else { 10.0 };
        let unit = 10f64.powf((low.log10() + 1e-9).floor());
        let of = |value: f64| (value.ln() - unit.ln()) / base.ln();
        let (from, to) = (of(low), of(high));
        let (from, to) = if to - from < 0.3 { (from - 0.3, to + 0.3) } else { (from, to) };
        Axis { log: Some((unit, base)), ..Axis::best(from, to, cells, true) }
    }

    /// The axis that leaves the least room empty, with labels that are neither rare nor crowded; `whole` for steps of 1 at least.
    fn best(low: f64, high: f64, cells: u16, whole: bool) -> Axis {
        let cells = cells.max(LEAST_APART);
        let span = high - low;
        let (from, to) = ((span / f64::from(cells)).log10().floor() as i32, span.log10().ceil() as i32 + 1);
        // Whole powers are as round as each other.
        let factors: &[f64] = if whole { &[1.0, 2.0, 3.0, 4.0, 6.0] } else { &[1.0, 2.0, 5.0] };
        let steps = (from..=to).flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
        let steps: Vec<f64> = steps.filter(|step| !whole || *step >= 1.0).collect();
        let of = |step: f64, every: u16| {
            let first = (low / step * f64::from(every) + 1e-6).floor();
            let behind = first.rem_euclid(f64::from(every)) as u16;
            Axis { first, every, step, cells, lowest: (every - behind) % every, digit: step, log: None }
        };
        let fits = |axis: &Axis| (high / axis.cell() - axis.first) <= f64::from(cells) + 1e-6;
        let every = LEAST_APART..=cells;
        let all = steps.iter().flat_map(|step| every.clone().map(|every| of(*step, every))).filter(fits);
        let widest = || of(10f64.powi(to + 1), cells);
        all.max_by(|a, b| a.worth(span, whole).total_cmp(&b.worth(span, whole))).unwrap_or_else(widest)
    }

    /// In so few cells round numbers would leave half of them empty: the ends themselves, to two digits.
    fn plain(low: f64, high: f64, cells: u16) -> Axis {
        let digit = 10f64.powf((high - low).log10().floor() - 1.0);
        let every = if cells == 4 { 2 } else { cells };
        let base = (low / digit + 1e-6).floor();
        let parts = f64::from(cells / every);
        let step = ((high / digit - 1e-6 - base) / parts).ceil().max(1.0);
        Axis { first: base / step * f64::from(every), every, step: step * digit, cells, lowest: 0, digit, log: None }
    }

    fn worth(&self, span: f64, whole: bool) -> f64 {
        let ticks = self.places().count() as u16;
        let filled = span / (self.cell() * f64::from(self.cells));
        let apart = (f64::from(self.every) / GOOD_APART).ln().abs() * 0.05;
        let begins = if (self.first / f64::from(self.every)).fract() == 0.0 { 0.08 } else { 0.0 };
        let outside = f64::from(LEAST_TICKS.saturating_sub(ticks) + ticks.saturating_sub(MOST_TICKS));
        // Powers have few places to stand at.
        let few = f64::from(GOOD_TICKS.saturating_sub(ticks)) * if whole { 0.1 } else { 0.15 };
        filled - apart + begins - few - outside
    }

    fn cell(&self) -> f64 {
        self.step / f64::from(self.every)
    }

    /// How many cells above the axis line a value lies, which may be none of the axis; `None` for what has no place at all.
    pub fn place(&self, value: f64) -> Option<f64> {
        let along = match self.log {
            Some((unit, base)) => (value.ln() - unit.ln()) / base.ln(),
            None => value,
        };
        Some(along / self.cell() - self.first).filter(|place| place.is_finite())
    }

    /// What lies so many cells above the axis line.
    pub fn value(&self, place: f64) -> f64 {
        let along = (self.first + place) * self.cell();
        self.log.map_or(along, |(unit, base)| unit * base.powf(along))
    }

    fn places(&self) -> impl Iterator<Item = u16> {
        (self.lowest..=self.cells).step_by(self.every.into())
    }

    /// The numbers of the axis, from the axis line upwards.
    pub fn ticks(&self) -> impl Iterator<Item = Tick> {
        self.places().map(|cell| {
            let along = ((self.first + f64::from(cell)) * self.cell() / self.digit).round() * self.digit;
            match self.log {
                None => Tick { cell, value: along, step: self.digit },
                Some((unit, base)) => {
                    let value = unit * base.powf(along);
                    Tick { cell, value, step: last_digit(value) }
                }
            }
        })
    }
}

/// The power of ten of the last digit that is not 0, of three at most.
fn last_digit(value: f64) -> f64 {
    let first = 10f64.powf((value.log10() + 1e-9).floor());
    let is_whole = |step: &f64| ((value / step).round() - value / step).abs() < 1e-6;
    [first, first / 10.0, first / 100.0].into_iter().find(is_whole).unwrap_or(first / 100.0)
}

/// Two values that are far enough from each other to be told apart.
fn apart(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = if low.is_finite() && high.is_finite() { (low.min(high), high.max(low)) } else { (0.0, 1.0) };
    let (low, high) = (low.clamp(-1e300, 1e300), high.clamp(-1e300, 1e300));
    let least = (low.abs().max(high.abs()) * 1e-9).max(1e-290);
    if high - low > least {
        return (low, high);
    }
    // One value stands in the middle; nothing is below 0 that was not.
    let room = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
    (if low == 0.0 { 0.0 } else { low - room }, high + room)
}

/// The round number that cuts `span` into at most `count` parts.
pub fn round_step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * decade
}

/// Formats a value with as many decimals as steps of this size need, and very small or large ones by their power of ten.
pub fn decimals(value: f64, step: f64) -> String {
    // Slightly less, for steps that differ from a power of ten in the last bit only.
    let digits = (-step.abs().log10() - 1e-9).ceil();
    if digits > 6.0 || value.abs() >= 1e7 {
        if value == 0.0 {
            return "0".to_owned();
        }
        let digits = (value.abs().log10().floor() + digits).clamp(0.0, 12.0) as usize;
        return format!("{value:.digits$e}");
    }
    format!("{value:.digits$}", digits = digits.clamp(0.0, 7.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::widgets::plot::row;

    fn labels(axis: Axis) -> String {
        axis.ticks().map(|tick| decimals(tick.value, tick.step)).collect::<Vec<_>>().join(" ")
    }

    /// Numbers that look random and are the same each time.
    fn numbers() -> impl Iterator<Item = f64> {
        let mut state = 7_u64;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        })
    }

    /// What holds for every axis, whatever it is of.
    fn check(axis: Axis, (low, high): (f64, f64), cells: u16) {
        let said = format!("{low:e} to {high:e} in {cells} cells: {axis:?}");
        let ticks: Vec<Tick> = axis.ticks().collect();
        assert!(!ticks.is_empty() && ticks.len() <= usize::from(MOST_TICKS), "{said}");
        assert!(ticks.len() >= 2 || cells < 3, "a scale has two numbers: {said}");
        let apart: Vec<u16> = ticks.windows(2).map(|pair| pair[1].cell - pair[0].cell).collect();
        assert!(apart.iter().all(|cells| *cells == apart[0] && *cells >= LEAST_APART), "evenly spaced, not touching: {said}");
        for tick in &ticks {
            let place = axis.place(tick.value).unwrap();
            assert!(tick.cell <= cells && (place - f64::from(tick.cell)).abs() < 1e-3, "{} lies at {place}: {said}", tick.value);
        }
        assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value), "{said}");
        let written: Vec<String> = ticks.iter().map(|tick| decimals(tick.value, tick.step)).collect();
        assert!(written.windows(2).all(|pair| pair[0] != pair[1]), "{written:?}: {said}");
        assert!(written.iter().all(|label| label.len() <= 17), "{written:?}: {said}");
        if !low.is_finite() || !high.is_finite() {
            return;
        }
        let [from, to] = [low, high].map(|value| axis.place(value).unwrap());
        assert!(from >= -1e-3 && to <= f64::from(cells) + 1e-3, "{from} to {to}: {said}");
        assert!(row(cells, from).is_some() && row(cells, to).is_some(), "{said}");
        assert!(
            cells < 6 || high - low < 1e-290 || to - from >= f64::from(cells) * 0.45,
            "half of it is empty, {from} to {to}: {said}"
        );
    }

    #[test]
    fn labels_stand_on_whole_cells_and_all_values_are_inside() {
        let mut next = numbers();
        let mut random = || next.next().unwrap();
        for _ in 0..3000 {
            let cells = 2 + (random() * 40.0) as u16;
            let size = 10f64.powf(random() * 24.0 - 12.0);
            let low = (random() - 0.5) * size * if random() < 0.3 { 100.0 } else { 1.0 };
            let ends = (low, low + random() * size);
            check(Axis::linear(ends.0, ends.1, cells), ends, cells);
        }
    }

    #[test]
    fn a_scale_of_logarithms_has_the_same_factor_from_label_to_label() {
        let mut next = numbers();
        let mut random = || next.next().unwrap();
        for _ in 0..3000 {
            let cells = 4 + (random() * 36.0) as u16;
            let low = 10f64.powf(random() * 18.0 - 9.0);
            let ends = (low, low * 10f64.powf(0.7 + random() * 8.0));
            let axis = Axis::log(ends.0, ends.1, cells);
            check(axis, ends, cells);
            let values: Vec<f64> = axis.ticks().map(|tick| tick.value).collect();
            let factor = values[1] / values[0];
            assert!(values.windows(2).all(|pair| (pair[1] / pair[0] / factor - 1.0).abs() < 1e-6), "{values:?}");
        }
        assert_eq!(labels(Axis::log(0.001, 10.0, 8)), "0.001 0.1 10");
        assert_eq!(labels(Axis::log(0.3, 2.4, 12)), "0.4 0.8 1.6 3.2");
        let axis = Axis::log(0.001, 10.0, 8);
        assert_eq!((axis.place(0.0), axis.place(-1.0), axis.place(f64::NAN)), (None, None, None));
    }

    #[test]
    fn odd_values_have_an_axis_too() {
        const ODD: [f64; 13] = [0.0, 1.0, -1.0, 5.0, 0.1, 1e-9, 1e12, -1e12, 1e300, 1e-300, f64::MAX, f64::INFINITY, f64::NAN];
        for low in ODD {
            for high in ODD {
                for cells in 2..30 {
                    let axis = Axis::linear(low, high, cells);
                    let ends = (low.min(high), low.max(high));
                    let is_huge = ends.1.abs() > 1e300 || low.is_nan() || high.is_nan();
                    check(axis, if is_huge { (f64::NAN, f64::NAN) } else { ends }, cells);
                    let ticks = Axis::log(low, high, cells).ticks().count();
                    assert!((1..=usize::from(MOST_TICKS)).contains(&ticks), "{low:e} to {high:e} in {cells}: {ticks}");
                }
            }
        }
        // One value lies in the middle, a tiny change of a large one fills the axis.
        let place = Axis::linear(5.0, 5.0, 10).place(5.0).unwrap();
        assert!((3.0..=7.0).contains(&place), "{place}");
    }

    #[test]
    fn nought_lies_on_the_axis_line() {
        for high in [0.3, 1.0, 7.0, 5581.0, 1e-5] {
            for cells in 2..40 {
                let axis = Axis::linear(0.0, high, cells);
                assert_eq!((axis.place(0.0), row(cells, 0.0)), (Some(0.0), Some(cells)), "{high} in {cells}");
                assert_eq!(axis.ticks().next().map(|tick| (tick.cell, tick.value)), Some((0, 0.0)));
            }
        }
    }

    #[test]
    fn numbers_are_written_as_their_steps_need_it() {
        let all = [(0.5, 0.5), (1.0, 0.5), (0.41, 0.01), (150.0, 50.0), (1.5e-9, 5e-10), (2e12, 1e12), (0.0, 1e-9)];
        assert_eq!(all.map(|(value, step)| decimals(value, step)), ["0.5", "1.0", "0.41", "150", "1.5e-9", "2e12", "0"]);
    }
}
