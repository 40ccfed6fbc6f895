//! The largest of several numbers of a normal distribution.

/// How many standard deviations the largest of so many numbers lies above their mean, on average (Blom 1958). 0 of one.
pub fn largest_of(count: usize) -> f64 {
    match count {
        0 | 1 => 0.0,
        count => quantile((count as f64 - 0.375) / (count as f64 + 0.25)),
    }
}

/// The number below which this part of a normal distribution lies, for parts between 0 and 1 (Acklam's approximation, to 1e-8).
fn quantile(part: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] =
        [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1.0];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const LOW: f64 = 0.02425;
    let sum = |numbers: &[f64], x: f64| numbers.iter().fold(0.0, |sum, number| sum * x + number);
    let tail = |part: f64| {
        let q = (-2.0 * part.ln()).sqrt();
        sum(&C, q) / sum(&D, q)
    };
    match part {
        part if part < LOW => tail(part),
        part if part > 1.0 - LOW => -tail(1.0 - part),
        part => {
            let q = part - 0.5;
            let r = q * q;
            sum(&A, r) * q / sum(&B, r)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (part, expected) in [(0.5, 0.0), (0.975, 1.959964), (0.01, -2.326348), (0.999, 3.090232), (0.9999, 3.719016)] {
            assert!((quantile(part) - expected).abs() < 1e-5, "{part}: {}", quantile(part));
        }
    }

    #[test]
    fn the_largest_of_more_is_larger() {
        assert_eq!((largest_of(0), largest_of(1)), (0.0, 0.0));
        // The exact mean of the larger of two is 1/sqrt(pi).
        assert!((largest_of(2) - 0.564).abs() < 0.03, "{}", largest_of(2));
        let all: Vec<f64> = (1..20).map(|power| largest_of(1 << power)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    }
}
