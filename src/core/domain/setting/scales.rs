//! Scales that the arrow keys step through, for settings of more than one workload.

/// Height and width of images.
pub const IMAGE_SIZES: &[f64] = &[28.0, 32.0, 48.0, 64.0, 67.0, 96.0, 128.0, 160.0, 224.0, 256.0, 299.0];
pub const POWERS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];
pub const COUNTS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0];
pub const COUNTS_FROM_1: &[f64] = COUNTS.split_at(1).1;
