//! What is asked of all models that share a name pattern.

use std::fmt;

use crate::domain::images::InputShape;

/// Models that differ in their sizes alone, or that stand in one table.
pub trait Family: Copy + fmt::Display {
    /// How the names look, with examples, for messages.
    const FORM: &'static str;
    /// The smallest sensible one, for tests.
    const SMALLEST: Self;

    /// The model of that name, if it is of this family.
    fn parse(name: &str) -> Option<Self>;
    /// The images that it is made for.
    fn input(self) -> InputShape;
    /// The classes that it tells apart.
    fn classes(self) -> usize;
    /// The numbers that it learns from images of this shape; nothing if they are too small for its layers.
    fn parameters(self, input: InputShape) -> Option<u64>;
}
