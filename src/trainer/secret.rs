//! The secret of a launch, by which the lab knows that an event comes from this library.
//!
//! Never leaves it where programs look: it is taken out of the environment when it is first asked for, which is before MPI
//! starts. Children that the program starts do not get it either. It keeps what a program prints from counting as evidence. It
//! does not stop someone who reads another process's memory.

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use nix::libc;

use crate::domain::event::SECRET_VARIABLE;

/// Empty where no lab supervises this process.
pub(super) fn secret() -> &'static str {
    static SECRET: OnceLock<String> = OnceLock::new();
    SECRET.get_or_init(|| take(SECRET_VARIABLE).unwrap_or_default())
}

/// The value of a variable, which is empty from now on, also in what /proc shows.
fn take(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero. What is returned is null or a text that ends with a zero and stays where it is: nobody
    // sets or removes this variable.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned();
    // SAFETY: the bytes before the zero are this process's own and may be written to. Whoever reads the variable at the same
    // time finds less of it.
    unsafe { std::ptr::write_bytes(value, 0, libc::strlen(value)) };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone() {
        // Cargo sets it for every test, and nothing else reads it.
        let name = "CARGO_PKG_README";
        let before = std::env::var(name).ok();
        assert_eq!(take(name), before);
        assert_eq!(std::env::var(name).ok().as_deref(), before.map(|_| ""));
        assert_eq!(take("HVD_LAB_NOBODY_SETS_THIS"), None);
    }
}
