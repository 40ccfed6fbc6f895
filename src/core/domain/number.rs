//! Numbers of reports as JSON has them.

use serde::{Deserialize, Deserializer};

/// JSON has no NaN and no infinity and holds `null` instead: a diverged loss is still reported.
pub(super) fn number<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(f64::NAN))
}
