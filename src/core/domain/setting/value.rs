//! Values that can be shown and typed as text, and the units in which people write them.

use std::fmt::Display;
use std::str::FromStr;

use crate::domain::units;

/// A field of a workload, as text.
pub trait Value {
    /// `None` if the field is empty.
    fn text(&self) -> Option<String>;

    /// Takes a typed text.
    ///
    /// # Errors
    /// One line about the text; the value is as it was.
    fn put(&mut self, text: &str) -> Result<(), String>;

    /// Makes the field empty, if it can be.
    fn clear(&mut self) {}
}

/// A type whose values have names, and whose parser says what is wrong with a text.
pub trait Named: FromStr<Err: ToString> + Display {}

impl<T: Named> Value for T {
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        *self = text.parse().map_err(|error: T::Err| error.to_string())?;
        Ok(())
    }
}

macro_rules! numbers {
    ($($number:ty: $expected:literal,)+) => {
        $(impl Value for $number {
            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }

            fn put(&mut self, text: &str) -> Result<(), String> {
                *self = text.parse().map_err(|_| match text {
                    "" => concat!("empty: type ", $expected).to_owned(),
                    _ => format!(concat!("`{}` is not ", $expected), text),
                })?;
                Ok(())
            }
        })+
    };
}

numbers! {
    usize: "a whole number, such as 2",
    u64: "a whole number, such as 1",
    f64: "a number, such as 0.5",
}

impl Value for bool {
    fn text(&self) -> Option<String> {
        Some(if *self { "on" } else { "off" }.to_owned())
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        *self = match text {
            "on" | "yes" | "true" => true,
            "off" | "no" | "false" => false,
            _ => return Err(format!("`{text}` is neither on nor off")),
        };
        Ok(())
    }
}

impl<T: Value + Default> Value for Option<T> {
    fn text(&self) -> Option<String> {
        self.as_ref()?.text()
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        let mut value = T::default();
        value.put(text)?;
        *self = Some(value);
        Ok(())
    }

    fn clear(&mut self) {
        *self = None;
    }
}

/// Words with commas between them.
impl Value for Vec<String> {
    fn text(&self) -> Option<String> {
        Some(self.join(","))
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        *self = text.split(',').map(str::to_owned).collect();
        Ok(())
    }
}

impl Value for Option<String> {
    fn text(&self) -> Option<String> {
        self.clone()
    }

    fn put(&mut self, text: &str) -> Result<(), String> {
        *self = (!text.is_empty()).then(|| text.to_owned());
        Ok(())
    }

    fn clear(&mut self) {
        *self = None;
    }
}

/// How people write a value, where that is not how it is stored.
#[derive(Clone, Copy)]
pub struct Unit {
    /// From the text that is typed to the text of the stored value.
    pub read: fn(&str) -> Result<String, String>,
    pub show: fn(String) -> String,
}

impl Unit {
    pub const PLAIN: Unit = Unit { read: |text| Ok(text.to_owned()), show: |text| text };
    /// Whole seconds, `M:SS` or `H:MM:SS`.
    pub const SECONDS: Unit =
        Unit { read: |text| Ok(units::parse_clock(text)?.to_string()), show: |text| units::clock(text.parse().unwrap_or(0.0)) };
    /// Bytes, such as `1K` or `16M`.
    pub const BYTES: Unit = Unit {
        read: |text| Ok(units::parse_bytes(text)?.to_string()),
        show: |text| units::exact_bytes(text.parse().unwrap_or(0)),
    };
    /// Bits a second, such as `1gbit`.
    pub const SPEED: Unit =
        Unit { read: |text| Ok(units::parse_bits(text)?.to_string()), show: |text| units::link_speed(text.parse().unwrap_or(0)) };
    /// A share of all images: 0 to 1, or in percent.
    pub const SHARE: Unit = Unit { read: share, ..Unit::PLAIN };
    /// A number of images.
    pub const IMAGES: Unit = Unit { read: images, ..Unit::PLAIN };
}

fn share(text: &str) -> Result<String, String> {
    let mut share = 0.0;
    if let Some(percent) = text.strip_suffix('%') {
        share.put(percent.trim_end())?;
        return self::share(&((share * 1e4).round() / 1e6).to_string());
    }
    share.put(text)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(text.to_owned());
    }
    let slip = (share > 1.0 && share <= 100.0).then(|| format!(": for {share} % write {}", share / 100.0));
    Err(format!("{text} is not in 0 to 1{}", slip.unwrap_or_default()))
}

fn images(text: &str) -> Result<String, String> {
    let number = text.parse::<usize>().map_err(|_| format!("`{text}` is not a number of images: use a number, or all"))?;
    Ok(number.to_string())
}
