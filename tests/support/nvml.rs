//! The stand-in for libnvidia-ml, built with the machine's C compiler.
//!
//! Never built twice by one program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::needs::skip;

/// The stand-in, built once for all tests of this program.
pub fn stand_in() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libnvml-stand-in-{}.so", std::process::id()));
        let source = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/support/nvml_stand_in.c");
        match Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-lm").status() {
            Ok(status) => assert!(status.success(), "cc refused the stand-in"),
            Err(error) => {
                skip("cc", format_args!("cc does not start ({error})"));
                return None;
            }
        }
        Some(library)
    };
    LIBRARY.get_or_init(build).as_deref()
}
