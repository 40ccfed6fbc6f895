//! What others published, out of `assets/references.toml`: rows to set beside measured runs, each with its source.
//!
//! Never mixed with measured figures: speed-up and efficiency of these rows are over a row of the same source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::domain::step::StepSet;
use crate::domain::units;

const TABLE: &str = include_str!("../../../assets/references.toml");

/// One publication.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// A few words, for narrow tables.
    pub name: String,
    /// Who, what and where it can be found.
    pub title: String,
    /// Model, data and hardware.
    pub setting: String,
    #[serde(rename = "row")]
    pub rows: Vec<Published>,
}

/// One published result; ranges are the lowest and highest figure printed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub label: String,
    pub np: usize,
    pub steps: Option<StepSet>,
    pub epochs: Option<usize>,
    /// The one that the other rows of its source are measured against.
    #[serde(default)]
    pub baseline: bool,
    pub images_per_sec: Option<[f64; 2]>,
    #[serde(default)]
    pub counts: Counts,
    pub seconds: Option<[f64; 2]>,
    pub accuracy: Option<[f64; 2]>,
    pub speedup: Option<f64>,
    pub speedup_to_target: Option<f64>,
    scaling_efficiency: Option<f64>,
    pub note: Option<String>,
}

/// Whose images a printed figure counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Counts {
    #[default]
    #[serde(rename = "all ranks")]
    AllRanks,
    #[serde(rename = "one rank")]
    OneRank,
}

impl Published {
    /// As published; speed-up where only an efficiency is told is left to the reader: the baseline may have many ranks.
    pub fn scaling_efficiency(&self) -> Option<f64> {
        self.scaling_efficiency.or(self.speedup.map(|speedup| speedup / self.np as f64))
    }

    /// The middle of what was printed, of all ranks together: where one rank's figure was printed, all had the same.
    pub fn images_per_sec_of_all(&self) -> Option<f64> {
        let printed = self.images_per_sec.map(|[low, high]| (low + high) / 2.0)?;
        Some(if self.counts == Counts::OneRank { printed * self.np as f64 } else { printed })
    }

    /// As printed, saying so where it is that of one rank.
    pub fn rate(&self) -> Option<String> {
        let each = if self.counts == Counts::OneRank { " each" } else { "" };
        self.images_per_sec.map(|range| format!("{}{each}", span(range, units::rate)))
    }

    pub fn duration(&self) -> Option<String> {
        self.seconds.map(|range| span(range, |seconds| format!("{seconds:.1}")) + " s")
    }

    /// `None` of a range too: its middle was not measured.
    pub fn exact_accuracy(&self) -> Option<f64> {
        self.accuracy.filter(|[low, high]| low == high).map(|[_, high]| high)
    }

    pub fn test_accuracy(&self) -> Option<String> {
        self.accuracy.map(|range| span(range, |accuracy| format!("{:.1}", accuracy * 100.0)) + " %")
    }
}

fn span([low, high]: [f64; 2], show: impl Fn(f64) -> String) -> String {
    match (show(low), show(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low}-{high}"),
    }
}

/// All of them; the lab that this one retells comes first.
pub fn references() -> &'static [Source] {
    // The table is part of the program, and a test reads it.
    static SOURCES: LazyLock<BTreeMap<String, Vec<Source>>> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());
    SOURCES.get("source").map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_says_where_each_row_is_from() {
        let tables = toml::from_str::<BTreeMap<String, Vec<Source>>>(TABLE).unwrap();
        assert_eq!(tables.keys().collect::<Vec<_>>(), ["source"]);
        assert!(references().len() > 3);
        for source in references() {
            assert!(!source.title.is_empty() && !source.rows.is_empty(), "{}", source.name);
            for row in &source.rows {
                let told = row.images_per_sec.is_some() || row.scaling_efficiency().is_some();
                assert!(told, "{} {} tells nothing", source.name, row.label);
                let ranges = [row.images_per_sec, row.seconds, row.accuracy].into_iter().flatten();
                assert!(ranges.into_iter().all(|[low, high]| low <= high), "{}: {}", source.name, row.label);
            }
        }
    }

    #[test]
    fn the_original_lab_is_as_published() {
        let lab = &references()[0];
        let [.., one, four] = lab.rows.as_slice() else { panic!() };
        assert!(one.baseline && one.np == 1);
        assert_eq!((four.np, four.speedup, four.speedup_to_target), (4, Some(4.02), Some(2.2)));
        assert!((four.scaling_efficiency().unwrap() - 1.005).abs() < 1e-9);
        assert_eq!(lab.rows[0].rate().as_deref(), Some("1600-1614"));
        assert_eq!(lab.rows[4].rate().as_deref(), Some("1562-1574 each"), "one rank's figure is not that of four");
        assert_eq!(lab.rows[4].images_per_sec_of_all(), Some(6272.0));
    }
}
