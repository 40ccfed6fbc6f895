//! What the chart can show, and how its numbers read.

use crate::domain::units;
use crate::tui::shared::{Curve, Curves};
use crate::tui::widgets::axis::decimals;

/// What the user has chosen to see in the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    Graph(Graph),
    /// Where the time of a step goes.
    Timeline,
}

impl Default for Tab {
    fn default() -> Tab {
        Tab::ALL[0]
    }
}

impl Tab {
    /// In the order of the arrow keys.
    pub const ALL: [Tab; 5] = [
        Tab::Graph(Graph::Loss),
        Tab::Graph(Graph::Accuracy),
        Tab::Graph(Graph::LearningRate),
        Tab::Graph(Graph::ImagesPerSec),
        Tab::Timeline,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    Loss,
    Accuracy,
    LearningRate,
    ImagesPerSec,
}

impl Graph {
    pub const ALL: [Graph; 4] = [Graph::Loss, Graph::Accuracy, Graph::LearningRate, Graph::ImagesPerSec];

    pub fn row(self) -> &'static GraphRow {
        &ROWS[self as usize]
    }

    pub fn curve(self, curves: &Curves) -> &Curve {
        (self.row().curve)(curves)
    }

    /// On an axis whose numbers are `step` apart.
    pub fn tick(self, value: f64, step: f64) -> String {
        match self {
            Graph::Accuracy => format!("{} %", decimals(value * 100.0, step * 100.0)),
            _ => decimals(value, step),
        }
    }

    pub fn value(self, value: f64) -> String {
        match self {
            Graph::Loss => format!("{value:.3}"),
            Graph::Accuracy => units::accuracy(value),
            Graph::LearningRate => decimals(value, value.abs().max(1e-9) / 100.0),
            Graph::ImagesPerSec => units::rate(value),
        }
    }
}

/// How a graph is called, and what its plot begins with.
pub struct GraphRow {
    pub name: &'static str,
    /// Where there is little room.
    pub short_name: &'static str,
    /// The axis goes up to this at least, so that small changes look small.
    pub least_top: f64,
    /// There is nothing above it.
    pub most: Option<f64>,
    /// The words in a plot that is still empty.
    pub nothing_yet: &'static str,
    curve: fn(&Curves) -> &Curve,
}

const fn row(name: &'static str, least_top: f64, nothing_yet: &'static str, curve: fn(&Curves) -> &Curve) -> GraphRow {
    GraphRow { name, short_name: name, least_top, most: None, nothing_yet, curve }
}

const STEP: &str = "comes with the first step";

/// In the order of [`Graph::ALL`].
static ROWS: [GraphRow; 4] = [
    GraphRow { short_name: "loss", ..row("training loss", 0.1, STEP, |curves| &curves.loss) },
    GraphRow {
        short_name: "accuracy",
        most: Some(1.0),
        ..row("validation accuracy", 1.0, "comes with the first epoch", |curves| &curves.accuracy)
    },
    row("learning rate", 1e-6, STEP, |curves| &curves.learning_rate),
    row("images/s", 10.0, "comes with the first seconds", |curves| &curves.images_per_sec),
];
