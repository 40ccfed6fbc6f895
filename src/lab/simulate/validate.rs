//! Published results beside what the model says of them.

use serde::Serialize;

use super::engine::Method;
use super::numbers::{Numbers, Published};
use super::step::Simulation;

/// Points of efficiency that a prediction may be off.
const CLOSE: f64 = 5.0;

/// A published result, and what the model says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    #[serde(flatten)]
    pub published: Published,
    /// Efficiency, per cent.
    pub predicted: f64,
    /// In points of efficiency: above 0 where the model says too much.
    pub error: f64,
    #[serde(rename = "is_within_5_points")]
    pub is_close: bool,
}

/// All published results that the table has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    pub rows: Vec<Checked>,
    pub mean_error: f64,
    #[serde(rename = "within_5_points")]
    pub close: usize,
}

impl Validation {
    /// # Errors
    /// A row of the table names what is not there.
    pub fn new(numbers: &Numbers) -> Result<Validation, String> {
        let rows = numbers.published.iter().map(|row| check(numbers, row)).collect::<Result<Vec<Checked>, String>>()?;
        let mean_error = rows.iter().map(|row| row.error.abs()).sum::<f64>() / rows.len().max(1) as f64;
        let close = rows.iter().filter(|row| row.is_close).count();
        Ok(Validation { rows, mean_error, close })
    }
}

fn check(numbers: &Numbers, row: &Published) -> Result<Checked, String> {
    let simulation = Simulation {
        layers: numbers.layers(&row.model)?,
        batch: row.batch,
        images_per_s: numbers.rate(&row.gpu, &row.model, Some(row.batch))?.images_per_s,
        cluster: numbers.cluster(&row.within, (&row.network, row.nics), row.per_node)?,
        method: Method { hierarchical: row.hierarchical, ..Method::of(row.engine) },
        constants: numbers.constants.clone(),
    };
    let predicted = 100.0 * simulation.efficiency(row.ranks) / simulation.efficiency(row.baseline_ranks);
    let error = predicted - row.efficiency;
    Ok(Checked { published: row.clone(), predicted, error, is_close: error.abs() <= CLOSE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::numbers::numbers;

    #[test]
    fn most_published_results_are_within_five_points() {
        let checked = Validation::new(numbers()).unwrap();
        let errors: Vec<String> = checked.rows.iter().map(|row| format!("{} {:+.1}", row.published.label, row.error)).collect();
        assert_eq!(checked.rows.len(), 14, "every row is shown");
        assert!(checked.close >= 11 && checked.mean_error <= 4.0, "{} {:.2}: {errors:?}", checked.close, checked.mean_error);
    }
}
