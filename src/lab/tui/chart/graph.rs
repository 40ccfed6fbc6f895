//! What the chart can show, and how its numbers read.

use crate::domain::units;
use crate::tui::shared::curves::{Curve, Curves};

/// What the user has chosen to see in the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    Graph(Graph),
    /// Where the time of a step goes.
    Timeline,
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

    pub fn turned(self, by: usize) -> Tab {
        let place = Tab::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Tab::ALL[(place + by) % Tab::ALL.len()]
    }
}

impl Default for Tab {
    fn default() -> Tab {
        Tab::Graph(Graph::Loss)
    }
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

    pub fn name(self) -> &'static str {
        match self {
            Graph::Loss => "training loss",
            Graph::Accuracy => "validation accuracy",
            Graph::LearningRate => "learning rate",
            Graph::ImagesPerSec => "images/s",
        }
    }

    /// Where there is little room.
    pub fn short_name(self) -> &'static str {
        match self {
            Graph::Loss => "loss",
            Graph::Accuracy => "accuracy",
            Graph::LearningRate | Graph::ImagesPerSec => self.name(),
        }
    }

    pub fn curve(self, curves: &Curves) -> &Curve {
        match self {
            Graph::Loss => &curves.loss,
            Graph::Accuracy => &curves.accuracy,
            Graph::LearningRate => &curves.learning_rate,
            Graph::ImagesPerSec => &curves.images_per_sec,
        }
    }

    /// The axis goes up to this at least, so that small changes look small.
    pub fn least_top(self) -> f64 {
        match self {
            Graph::Loss => 0.1,
            Graph::Accuracy => 1.0,
            Graph::LearningRate => 1e-6,
            Graph::ImagesPerSec => 10.0,
        }
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
            Graph::Accuracy => format!("{:.1} %", value * 100.0),
            Graph::LearningRate => decimals(value, value.abs().max(1e-9) / 100.0),
            Graph::ImagesPerSec => units::rate(value),
        }
    }

    /// What a plot says that has nothing to draw.
    pub fn nothing_yet(self) -> &'static str {
        match self {
            Graph::Loss | Graph::LearningRate => "comes with the first step",
            Graph::Accuracy => "comes with the first epoch",
            Graph::ImagesPerSec => "comes with the first seconds",
        }
    }
}

/// With as many decimals as steps of this size need.
pub fn decimals(value: f64, step: f64) -> String {
    // Slightly less, for steps that differ from a power of ten in the last bit only.
    let digits = (-step.log10() - 1e-9).ceil().clamp(0.0, 7.0) as usize;
    format!("{value:.digits$}")
}
