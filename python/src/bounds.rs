//! How large the numbers of a program in Python may be. What is beyond is an error that says what can be given instead.

use hvd_lab::domain::bounds::{MAX_BATCH_SIZE, MAX_COUNT, MAX_EPOCHS};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::plan::Plan;

/// Batches of an epoch.
const MAX_STEPS: usize = MAX_COUNT / MAX_EPOCHS;

/// A whole number of at most so much.
///
/// # Errors
/// It is another number, or no number.
pub fn count(name: &str, value: &Bound<'_, PyAny>, most: usize) -> PyResult<usize> {
    match value.extract::<usize>() {
        Ok(count) if count <= most => return Ok(count),
        // It is negative, or has more than 64 bits.
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => return Err(error),
        Ok(_) | Err(_) => {}
    }
    // Python writes no number of more than 4300 digits.
    let number = value.str().map_or_else(|_| "too large".to_owned(), |text| text.to_string());
    Err(PyValueError::new_err(format!("{name} is {number}: give a whole number from 0 to {most}")))
}

/// Epochs that need not be whole.
fn epochs(name: &str, value: f64) -> PyResult<f64> {
    match (0.0..=MAX_EPOCHS as f64).contains(&value) {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!("{name} is {value}: give a number from 0 to {MAX_EPOCHS}"))),
    }
}

impl Plan {
    /// Its fields are the keys of the dictionary.
    pub fn read(plan: &Bound<'_, PyDict>) -> PyResult<Plan> {
        let field = |name: &str| plan.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("the plan has no {name}")));
        let whole = |name: &str, said: &str, most: usize| count(said, &field(name)?, most);
        let is = |name: &str| field(name)?.extract::<bool>();
        let batch_size = whole("batch_size", "batch_size", MAX_BATCH_SIZE)?;
        Ok(Plan {
            epochs: whole("epochs", "epochs", MAX_EPOCHS)?,
            initial_epoch: whole("initial_epoch", "initial_epoch", MAX_EPOCHS)?,
            steps: whole("steps", "steps_per_epoch", MAX_STEPS)?,
            validation_steps: whole("validation_steps", "validation_steps", MAX_STEPS)?,
            batch_size: batch_size.max(1),
            is_verbose: is("is_verbose")?,
            warmup_epochs: epochs("warmup_epochs", field("warmup_epochs")?.extract()?)?,
            averages: is("averages")?,
            writes: is("writes")?,
            schedules: is("schedules")?,
            talking: field("talking")?.extract()?,
            batched_by: field("batched_by")?.extract()?,
            has_steps: is("has_steps")?,
        })
    }
}
