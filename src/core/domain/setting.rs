//! One row of the table of settings of a workload: its flag, its place in a form and its argument for the ranks all come from it.

pub mod scales;
mod value;

use std::fmt;

pub use value::{Named, Unit, Value};

/// One setting of a workload `W`: how it is named, explained, read, shown, stepped and checked.
pub struct Setting<W: 'static> {
    /// The flag of the verb, without its dashes.
    pub flag: &'static str,
    pub short: Option<char>,
    /// What the flag takes, for its help; empty for a switch.
    pub value_name: &'static str,
    pub help: &'static str,
    /// The name on the screen, where it is not the flag.
    pub label: &'static str,
    /// What can be typed, in a few words.
    pub hint: &'static str,
    pub values: Values,
    /// The flag that switches it off, with its help.
    pub off: Option<(&'static str, &'static str)>,
    /// The flag of the program of the ranks; `None` for what only the launcher needs.
    pub program: Option<&'static str>,
    /// Why its value cannot run, in one sentence.
    pub problem: fn(&W) -> Option<String>,
    /// The word for an empty field.
    absent: Option<&'static str>,
    unit: Unit,
    /// How the screen writes it, where that is not how it is typed.
    screen: Option<fn(&W) -> String>,
    field: fn(&mut W) -> &mut dyn Value,
    /// Sets what follows from a new value.
    then: fn(&mut W),
    /// Whether the ranks are given it.
    is_passed_on: fn(&W) -> bool,
}

/// The values that the arrow keys go through.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Whole numbers, both ends included.
    Count(usize, usize),
    /// The next one above or below; below the smallest is the empty field, if there can be one.
    Scale(&'static [f64]),
    /// As [`Values::Scale`]; the last value means all, so no limit.
    UpToAll(&'static [f64]),
    /// Whole numbers from 0, also from between two of them.
    WholeFromZero,
    /// One after the other, and round again.
    Names(&'static [&'static str]),
    /// One after the other, from the first to the last; before the first is the empty field, if there can be one.
    List(fn() -> Vec<String>),
    /// `on` or `off`.
    Switch,
    /// Only typed.
    Free,
}

impl<W: Clone + 'static> Setting<W> {
    /// A setting with a value, which the verb and the program of the ranks call by the same name.
    pub const fn new(
        flag: &'static str,
        value_name: &'static str,
        help: &'static str,
        field: fn(&mut W) -> &mut dyn Value,
    ) -> Setting<W> {
        Setting {
            flag,
            short: None,
            value_name,
            help,
            label: flag,
            hint: "",
            values: Values::Free,
            off: None,
            program: Some(flag),
            problem: |_| None,
            absent: None,
            unit: Unit::PLAIN,
            screen: None,
            field,
            then: |_| (),
            is_passed_on: |_| true,
        }
    }

    /// A flag that takes no value.
    pub const fn switch(flag: &'static str, help: &'static str, field: fn(&mut W) -> &mut dyn Value) -> Setting<W> {
        Setting::new(flag, "", help, field).stepped(Values::Switch)
    }

    pub const fn short(mut self, short: char) -> Setting<W> {
        self.short = Some(short);
        self
    }

    pub const fn labelled(mut self, label: &'static str, hint: &'static str) -> Setting<W> {
        (self.label, self.hint) = (label, hint);
        self
    }

    pub const fn stepped(mut self, values: Values) -> Setting<W> {
        self.values = values;
        self
    }

    /// It may be empty, which this word says.
    pub const fn or(mut self, absent: &'static str) -> Setting<W> {
        self.absent = Some(absent);
        self
    }

    pub const fn written_in(mut self, unit: Unit) -> Setting<W> {
        self.unit = unit;
        self
    }

    pub const fn on_screen(mut self, show: fn(&W) -> String) -> Setting<W> {
        self.screen = Some(show);
        self
    }

    pub const fn with_off(mut self, flag: &'static str, help: &'static str) -> Setting<W> {
        self.off = Some((flag, help));
        self
    }

    /// The flag of the ranks' program has this name.
    pub const fn program(mut self, flag: &'static str) -> Setting<W> {
        self.program = Some(flag);
        self
    }

    /// The program of the ranks does not need it.
    pub const fn for_launcher(mut self) -> Setting<W> {
        self.program = None;
        self
    }

    pub const fn checked(mut self, problem: fn(&W) -> Option<String>) -> Setting<W> {
        self.problem = problem;
        self
    }

    pub const fn then(mut self, then: fn(&mut W)) -> Setting<W> {
        self.then = then;
        self
    }

    pub const fn passed_on_if(mut self, is_passed_on: fn(&W) -> bool) -> Setting<W> {
        self.is_passed_on = is_passed_on;
        self
    }

    /// Its value as it is stored and as the ranks are given it; `None` for an empty field.
    fn stored(&self, workload: &W) -> Option<String> {
        (self.field)(&mut workload.clone()).text()
    }

    /// Its value as it is typed; `None` for an empty field.
    pub fn text(&self, workload: &W) -> Option<String> {
        self.stored(workload).map(self.unit.show)
    }

    /// Its value as it is shown: in words where the field is empty.
    pub fn get(&self, workload: &W) -> String {
        self.text(workload).or(self.absent.map(str::to_owned)).unwrap_or_default()
    }

    /// Its value as the screen writes it.
    pub fn shown(&self, workload: &W) -> String {
        self.screen.map_or_else(|| self.get(workload), |show| show(workload))
    }

    /// Takes a typed value.
    ///
    /// # Errors
    /// One line about the text; the workload is as it was.
    pub fn set(&self, workload: &mut W, text: &str) -> Result<(), String> {
        let field = (self.field)(workload);
        if self.absent == Some(text) {
            field.clear();
        } else {
            field.put(&(self.unit.read)(text)?)?;
        }
        (self.then)(workload);
        Ok(())
    }

    /// Takes a typed value, or one as the ranks are given it.
    ///
    /// # Errors
    /// As [`Setting::set`].
    pub fn set_stored(&self, workload: &mut W, text: &str) -> Result<(), String> {
        self.set(workload, text).or_else(|error| {
            // Only a number may stand there in another unit. A name that is not known stays unknown.
            let is_number = text.parse::<f64>().is_ok();
            let put = if is_number { (self.field)(workload).put(text).ok() } else { None };
            put.ok_or(error)?;
            (self.then)(workload);
            Ok(())
        })
    }

    pub fn is_switch(&self) -> bool {
        matches!(self.values, Values::Switch)
    }

    /// The value above or below, as text; values at the end of a scale or list stay, names and switches go round.
    pub fn next(&self, workload: &W, up: bool) -> String {
        let text = self.get(workload);
        let number = self.stored(workload).unwrap_or_default().parse::<f64>();
        match self.values {
            Values::Count(least, most) => {
                let value = text.parse::<usize>().unwrap_or(least);
                if up { value.saturating_add(1).min(most) } else { value.saturating_sub(1).max(least) }.to_string()
            }
            Values::Scale(scale) => match (number, self.absent) {
                (Err(_), Some(_)) if up => scale.first().map_or(text, f64::to_string),
                (Err(_), Some(absent)) => absent.to_owned(),
                (Ok(number), Some(absent)) if !up && scale.first().is_none_or(|first| number <= *first) => absent.to_owned(),
                (number, _) => on_scale(scale, number.unwrap_or(0.0), up).to_string(),
            },
            Values::UpToAll(scale) => {
                let all = scale.last().copied().unwrap_or(f64::INFINITY);
                let next = on_scale(scale, number.unwrap_or(all), up);
                if next < all { next.to_string() } else { self.absent.unwrap_or_default().to_owned() }
            }
            Values::WholeFromZero => {
                let number = number.unwrap_or(0.0);
                if up { number.floor() + 1.0 } else { (number.ceil() - 1.0).max(0.0) }.to_string()
            }
            Values::Names(names) => next_name(names, &text, up).to_owned(),
            Values::List(names) => {
                let names: Vec<String> = self.absent.map(str::to_owned).into_iter().chain(names()).collect();
                let place = names.iter().position(|name| *name == text).unwrap_or(0);
                let next = if up { place + 1 } else { place.saturating_sub(1) };
                names.get(next).cloned().unwrap_or(text)
            }
            Values::Switch => if text == "on" { "off" } else { "on" }.to_owned(),
            Values::Free => text,
        }
    }

    /// Goes to the value above or below.
    pub fn step(&self, workload: &mut W, up: bool) {
        // It cannot fail: the next value is one that the setting accepts.
        let _ = self.set_stored(workload, &self.next(workload, up));
    }
}

impl<W> fmt::Debug for Setting<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.flag)
    }
}

/// The flags of the program of the ranks that ask for these settings: those with a value, and those that are switched on.
pub fn arguments<W: Clone>(settings: &[Setting<W>], workload: &W) -> (Vec<[String; 2]>, Vec<String>) {
    let passed_on = || settings.iter().filter(|setting| (setting.is_passed_on)(workload));
    let values = passed_on().filter(|setting| !setting.is_switch());
    let switches = passed_on().filter(|setting| setting.is_switch() && setting.text(workload).is_some_and(|text| text == "on"));
    (
        values.filter_map(|setting| Some([format!("--{}", setting.program?), setting.stored(workload)?])).collect(),
        switches.filter_map(|setting| Some(format!("--{}", setting.program?))).collect(),
    )
}

/// The next value on a scale above or below; a value beyond the scale's end stays.
fn on_scale(values: &[f64], value: f64, up: bool) -> f64 {
    let next = if up {
        values.iter().find(|&&candidate| candidate > value * 1.000_001)
    } else {
        values.iter().rev().find(|&&candidate| candidate < value * 0.999_999)
    };
    next.copied().unwrap_or(value)
}

/// The name after or before this one, round the end; the first where it is none of them.
pub fn next_name<'a>(names: &[&'a str], name: &str, up: bool) -> &'a str {
    let len = names.len();
    match names.iter().position(|candidate| *candidate == name) {
        Some(place) => names[(place + if up { 1 } else { len - 1 }) % len],
        None => names.first().copied().unwrap_or_default(),
    }
}
