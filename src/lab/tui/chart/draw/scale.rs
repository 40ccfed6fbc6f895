//! Round numbers for axes, linear and logarithmic.

/// From a value to its place on an axis, 0 at the lower end and 1 at the upper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// A linear scale from `low` to `high`.
    pub fn exact(low: f64, high: f64) -> Scale {
        Scale { low, high: if high > low { high } else { low + 1.0 }, log: false }
    }

    /// From and to round numbers around the values, with about `ticks` of them.
    pub fn round(low: f64, high: f64, ticks: usize) -> Scale {
        let high = if high > low { high } else { low + low.abs().max(0.1) * 0.1 };
        let step = step(high - low, ticks);
        // A hair less, so that a value on a round number needs no further one.
        Scale::exact(((low / step) + 1e-9).floor() * step, ((high / step) - 1e-9).ceil() * step)
    }

    /// For values above 0 only.
    pub fn log(low: f64, high: f64) -> Scale {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low * 1.2 { high } else { low * 1.2 };
        // A little room on both sides.
        let room = (high / low).powf(0.03);
        Scale { low: low / room, high: high * room, log: true }
    }

    /// The lower end and the upper one.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// `None` for what has no place on it, as 0 on a logarithmic one.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = match self.log {
            false => (value - self.low) / (self.high - self.low),
            true => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        place.is_finite().then_some(place)
    }

    /// Round numbers between both ends, about `count` of them, each with its label.
    pub fn ticks(&self, count: usize, label: impl Fn(f64, f64) -> String) -> Vec<(f64, String)> {
        if self.log {
            return self.log_ticks(count).into_iter().map(|tick| (tick, label(tick, tick))).collect();
        }
        let step = step(self.high - self.low, count);
        let first = (self.low / step - 1e-9).ceil();
        let ticks = (0..=count * 3).map(|index| (first + index as f64) * step);
        let inside = ticks.take_while(|tick| *tick <= self.high + step * 1e-9);
        inside.map(|tick| (tick, label(tick, step))).collect()
    }

    /// Powers of ten, with twice and five times each where there is room.
    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let decade = |value: f64| value.log10().clamp(-308.0, 308.0) as i32;
        let (first, last) = (decade(self.low) - 1, decade(self.high) + 1);
        let of = |factors: &'static [f64]| {
            let all = (first..=last).flat_map(move |decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
            all.filter(|tick| (self.low..=self.high).contains(tick)).collect::<Vec<f64>>()
        };
        let densest = [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]].map(of);
        let few = densest.iter().find(|ticks| ticks.len() <= count.max(2)).or(densest.last()).cloned().unwrap_or_default();
        let every = few.len().div_ceil(count.max(2)).max(1);
        few.into_iter().step_by(every).collect()
    }
}

/// The 1, 2 or 5 that cuts `span` into at most `count` parts.
fn step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * decade
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::chart::graph::decimals;

    fn labels(scale: Scale, count: usize) -> String {
        let ticks = scale.ticks(count, decimals);
        ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        assert_eq!(labels(Scale::round(0.0, 2.31, 5), 5), "0.0 0.5 1.0 1.5 2.0 2.5");
        assert_eq!(labels(Scale::round(0.0, 1.0, 4), 4), "0.0 0.5 1.0");
        assert_eq!(labels(Scale::round(0.412, 0.437, 4), 4), "0.41 0.42 0.43 0.44");
        assert_eq!(labels(Scale::exact(0.0, 279.0), 6), "0 50 100 150 200 250");
        assert_eq!(labels(Scale::round(3.0, 3.0, 3), 3), "3.0 3.1 3.2 3.3");
    }

    #[test]
    fn a_log_scale_has_powers_of_ten_and_no_place_for_zero() {
        let scale = Scale::log(0.001, 10.0);
        assert_eq!(labels(scale, 6), "0.001 0.01 0.1 1 10");
        assert_eq!((scale.place(0.0), scale.place(-1.0), scale.place(f64::NAN)), (None, None, None));
        assert!((scale.place(0.1).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(labels(Scale::log(0.5, 2.4), 5), "0.5 0.6 0.8 1 2");
    }

    #[test]
    fn values_without_a_spread_or_far_out_have_a_scale() {
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (-1.0, -1.0), (1e300, 1e300), (1e-300, 1e-300), (0.0, f64::MAX)] {
            for scale in [Scale::round(low, high, 4), Scale::log(low, high)] {
                let ticks = scale.ticks(4, decimals);
                assert!(ticks.len() < 20, "{low} to {high}: {ticks:?}");
            }
        }
    }
}
