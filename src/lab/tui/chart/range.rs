//! Which part of the chart is shown, and where its cursor stands.

use crate::tui::actions::cycle;
use crate::tui::shared::{Along, Curve};

/// Each level shows half of the one before it.
const MOST_LEVELS: u32 = 12;
/// Places that the cursor has in what is shown.
const STEPS: f64 = 80.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    pub along: Along,
    /// The user has turned the axis, and means it.
    turned: bool,
    level: u32,
    /// Middle of what is shown; `None` keeps the newest value in sight.
    middle: Option<f64>,
    pub cursor: Option<f64>,
}

/// How far there is something to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The end of the axis.
    pub end: f64,
    /// The last value of any run.
    pub furthest: f64,
    /// The newest value of the run on the screen.
    pub newest: f64,
}

impl Range {
    /// How many times larger than the whole it shows things.
    pub fn magnification(&self) -> u32 {
        1 << self.level
    }

    /// First and last x that are shown.
    pub fn window(&self, reach: Reach) -> (f64, f64) {
        let end = if reach.end.is_finite() && reach.end > 0.0 { reach.end } else { 1.0 };
        let span = end / f64::from(self.magnification());
        let from = match self.middle {
            Some(middle) => middle - span / 2.0,
            None => reach.newest - span,
        };
        let from = from.clamp(0.0, end - span);
        (from, from + span)
    }

    /// Around the cursor, else around the newest value.
    pub fn zoom_in(&mut self) {
        self.level = (self.level + 1).min(MOST_LEVELS);
        self.middle = self.cursor.or(self.middle);
    }

    pub fn zoom_out(&mut self) {
        self.level = self.level.saturating_sub(1);
        self.middle = self.cursor.or(self.middle);
    }

    /// All of it again, without a cursor.
    pub fn reset(&mut self) {
        *self = Range { along: self.along, turned: self.turned, ..Range::default() };
    }

    /// Moves the cursor by `places` of its steps, and the visible part with it. It starts at the newest value.
    pub fn move_cursor(&mut self, places: f64, reach: Reach) {
        let (from, to) = self.window(reach);
        let at = match self.cursor {
            Some(at) => at + places * (to - from) / STEPS,
            None => reach.newest.min(to),
        };
        self.put_cursor(at, reach);
    }

    pub fn put_cursor(&mut self, x: f64, reach: Reach) {
        let x = x.clamp(0.0, reach.furthest.max(0.0));
        let (from, to) = self.window(reach);
        if x < from || x > to {
            self.middle = Some(x);
        }
        self.cursor = Some(x);
    }

    /// Measures along something else from now on; `curve` says what lies where.
    pub fn turn(&mut self, curve: Option<&Curve>) {
        self.measure(cycle(&Along::ALL, self.along, 1), curve);
        self.turned = true;
    }

    /// Measures along this, unless the user has chosen.
    pub fn suggest(&mut self, along: Along, curve: Option<&Curve>) {
        if !self.turned && along != self.along {
            self.measure(along, curve);
        }
    }

    fn measure(&mut self, along: Along, curve: Option<&Curve>) {
        let convert = |x: f64| Some(curve?.at(self.along, x, f64::INFINITY)?.x(along));
        (self.middle, self.cursor) = (self.middle.and_then(convert), self.cursor.and_then(convert));
        self.along = along;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::shared::curves::Point;

    const REACH: Reach = Reach { end: 8.0, furthest: 7.0, newest: 6.0 };

    #[test]
    fn zooming_follows_the_newest_value_or_stays_with_the_cursor() {
        let mut range = Range::default();
        assert_eq!(range.window(REACH), (0.0, 8.0));
        range.zoom_in();
        range.zoom_in();
        assert_eq!(range.window(REACH), (4.0, 6.0));
        assert_eq!(range.window(Reach { newest: 7.0, ..REACH }), (5.0, 7.0), "new values stay in sight");
        range.put_cursor(2.0, REACH);
        assert_eq!(range.window(REACH), (1.0, 3.0), "the cursor is always in sight");
        range.zoom_out();
        assert_eq!(range.window(REACH), (0.0, 4.0));
        range.reset();
        assert_eq!(range, Range::default());
    }

    #[test]
    fn the_cursor_stays_within_what_was_measured() {
        let mut range = Range::default();
        range.move_cursor(1.0, REACH);
        assert_eq!(range.cursor, Some(6.0));
        range.move_cursor(50.0, REACH);
        assert_eq!(range.cursor, Some(7.0), "another run went further");
        range.move_cursor(-1.0, REACH);
        assert_eq!(range.cursor, Some(6.9));
        range.move_cursor(-800.0, REACH);
        assert_eq!(range.cursor, Some(0.0));
    }

    #[test]
    fn the_cursor_stays_at_its_step_when_the_axis_turns() {
        let mut curve = Curve::default();
        for step in 0..100 {
            let at = f64::from(step);
            curve.push(Point { epoch: at / 10.0, step: at, seconds: 30.0 + at, value: 1.0 });
        }
        let mut range = Range { cursor: Some(4.0), ..Range::default() };
        range.turn(Some(&curve));
        assert_eq!((range.along, range.cursor), (Along::Step, Some(40.0)));
        range.turn(Some(&curve));
        assert_eq!((range.along, range.cursor), (Along::Time, Some(70.0)));
        range.turn(None);
        assert_eq!((range.along, range.cursor), (Along::Epoch, None));
    }

    #[test]
    fn what_the_user_chose_stays() {
        let mut range = Range::default();
        range.suggest(Along::Time, None);
        assert_eq!(range.along, Along::Time);
        range.turn(None);
        range.suggest(Along::Time, None);
        range.reset();
        assert_eq!(range.along, Along::Epoch);
    }

    #[test]
    fn a_run_without_values_has_a_window() {
        let (from, to) = Range::default().window(Reach { end: 0.0, furthest: 0.0, newest: 0.0 });
        assert!(from == 0.0 && to > 0.0);
    }
}
