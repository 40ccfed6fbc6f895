//! The models by name, as the command line spells them, and what each takes and gives.
//!
//! Never builds one: the trainer does. A new family is a type that implements [`Family`], and a line in `families!`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::images::InputShape;

/// Models that differ in their sizes alone.
pub trait Family: Copy + fmt::Display {
    /// How the names look, with examples, for messages.
    const FORM: &'static str;
    /// The smallest sensible one, for tests.
    const SMALLEST: Self;

    /// The model of that name, if it is of this family.
    fn parse(name: &str) -> Option<Self>;
    /// The images that it takes.
    fn input(self) -> InputShape;
    /// The classes that it tells apart.
    fn classes(self) -> usize;
    /// The numbers that it learns.
    fn parameters(self) -> u64;
}

/// Weights, gradients and the state of an optimizer would take ten times as many bytes and more: no machine holds that.
const MAX_PARAMETERS: u64 = 10_000_000_000;

/// Makes [`ModelSpec`] of all families, so that none can be forgotten in its names, its laws, or `trainer::model::build`.
macro_rules! families {
    ($($(#[$doc:meta])* $name:ident($spec:ident),)+) => {
        /// A model by its family and sizes. As text: its name, such as `wrn-16-10`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum ModelSpec {
            $($(#[$doc])* $name($spec),)+
        }

        impl ModelSpec {
            /// The smallest model of each family: what holds for all models is tested on these.
            pub const SMALLEST: &'static [ModelSpec] = &[$(ModelSpec::$name($spec::SMALLEST)),+];

            /// The images that it takes.
            pub fn input(self) -> InputShape {
                match self { $(ModelSpec::$name(spec) => spec.input(),)+ }
            }

            /// The numbers that it learns.
            pub fn parameters(self) -> u64 {
                match self { $(ModelSpec::$name(spec) => spec.parameters(),)+ }
            }

            /// The classes that it tells apart.
            pub fn classes(self) -> usize {
                match self { $(ModelSpec::$name(spec) => spec.classes(),)+ }
            }
        }

        impl fmt::Display for ModelSpec {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(ModelSpec::$name(spec) => spec.fmt(f),)+ }
            }
        }

        impl FromStr for ModelSpec {
            type Err = String;

            fn from_str(text: &str) -> Result<ModelSpec, String> {
                $(if let Some(spec) = $spec::parse(text) {
                    return match spec.parameters() {
                        0..=MAX_PARAMETERS => Ok(ModelSpec::$name(spec)),
                        many => Err(format!(
                            "`{text}` would have {} billion parameters, more than the {} billion that a machine may hold: use a \
                             smaller one, such as {}",
                            many / 1_000_000_000, MAX_PARAMETERS / 1_000_000_000, $spec::SMALLEST
                        )),
                    };
                })+
                Err(format!("`{text}` is not a model: use {}", [$($spec::FORM),+].join("; or ")))
            }
        }
    };
}

families! {
    /// The lab's Wide ResNet.
    WideResNet(WideResNetSpec),
}

/// A Wide ResNet: depth 6n+4, and the factor on its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideResNetSpec {
    pub depth: usize,
    pub width: usize,
}

impl Family for WideResNetSpec {
    const FORM: &'static str = "wrn-DEPTH-WIDTH with a depth of 6n+4, such as wrn-10-1 or wrn-16-10";
    const SMALLEST: WideResNetSpec = WideResNetSpec { depth: 10, width: 1 };

    fn parse(name: &str) -> Option<WideResNetSpec> {
        let (depth, width) = name.strip_prefix("wrn-")?.split_once('-')?;
        let (depth, width): (usize, usize) = (depth.parse().ok()?, width.parse().ok()?);
        let fits = (10..=1000).contains(&depth) && (depth - 4).is_multiple_of(6) && (1..=64).contains(&width);
        fits.then_some(WideResNetSpec { depth, width })
    }

    fn input(self) -> InputShape {
        InputShape { channels: 1, height: 28, width: 28 }
    }

    fn classes(self) -> usize {
        10
    }

    /// Each convolution has a bias, and a batch norm behind it that scales and shifts; none is behind those of the shortcuts.
    fn parameters(self) -> u64 {
        let (blocks, width) = ((self.depth as u64 - 4) / 6, self.width as u64);
        let conv = |side: u64, from: u64, to: u64| side * side * from * to + to;
        let conv_norm = |from, to| conv(3, from, to) + 2 * to;
        let residual = |from, to| conv_norm(from, to) + conv_norm(to, to) + if from == to { 0 } else { conv(1, from, to) };
        let groups = [(16, 16 * width), (16 * width, 32 * width), (32 * width, 64 * width)];
        let of_group = |(from, to)| residual(from, to) + (blocks - 1) * residual(to, to);
        let (last, classes) = (64 * width, self.classes() as u64);
        conv_norm(self.input().channels as u64, 16) + groups.map(of_group).iter().sum::<u64>() + last * classes + classes
    }
}

impl fmt::Display for WideResNetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrn-{}-{}", self.depth, self.width)
    }
}

impl ModelSpec {
    /// The Wide ResNet of this depth and width.
    pub const fn wrn(depth: usize, width: usize) -> ModelSpec {
        ModelSpec::WideResNet(WideResNetSpec { depth, width })
    }
}

impl TryFrom<String> for ModelSpec {
    type Error = String;

    fn try_from(text: String) -> Result<ModelSpec, String> {
        text.parse()
    }
}

impl From<ModelSpec> for String {
    fn from(spec: ModelSpec) -> String {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_by_depth_and_width() {
        assert_eq!("wrn-16-10".parse(), Ok(ModelSpec::wrn(16, 10)));
        for bad in ["wrn-12-1", "wrn-4-1", "wrn-16", "resnet-50", "wrn-16-0", "wrn--1", "wrn-16-10-1", ""] {
            assert!(bad.parse::<ModelSpec>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_model_that_no_machine_holds_is_refused_by_name() {
        assert_eq!(ModelSpec::wrn(16, 10).parameters(), 17_121_962, "as published");
        let refused = "wrn-1000-64".parse::<ModelSpec>().unwrap_err();
        assert!(refused.starts_with("`wrn-1000-64` would have ") && refused.contains("billion parameters"), "{refused}");
        for fine in ["wrn-1000-1", "wrn-28-10", "wrn-10-64"] {
            assert!(fine.parse::<ModelSpec>().is_ok(), "{fine}");
        }
    }

    #[test]
    fn the_name_of_every_family_is_read_back() {
        for spec in ModelSpec::SMALLEST {
            assert_eq!(spec.to_string().parse(), Ok(*spec));
            assert!(spec.input().numbers() > 0 && spec.classes() > 1, "{spec}");
        }
    }
}
