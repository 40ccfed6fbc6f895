//! The secret of a launch, by which the supervisor knows that an event comes from this library, and the path of its socket.
//!
//! Both are taken out of the environment before `main` begins, so that no line of a learner's program sees them, and no child that it
//! starts. It keeps what a program prints from counting as evidence. It does not stop someone who reads another process's memory.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use nix::libc;

use crate::domain::event::{SECRET_VARIABLE, SOCKET_VARIABLE};

/// What a supervisor hands to its ranks.
pub(super) struct Handed {
    /// Empty where no lab supervises this process.
    pub secret: String,
    pub socket: Option<PathBuf>,
}

pub(super) fn handed() -> &'static Handed {
    static HANDED: OnceLock<Handed> = OnceLock::new();
    HANDED.get_or_init(|| Handed {
        secret: take(SECRET_VARIABLE).unwrap_or_default().to_string_lossy().into_owned(),
        socket: take(SOCKET_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from),
    })
}

extern "C" fn take_early() {
    handed();
}

/// The loader calls it before the program begins, or when it loads the library into Python.
#[used]
// SAFETY: the section holds pointers to functions of this type. It runs before `main`, and uses nothing that `main` sets up.
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
static TAKE_EARLY: extern "C" fn() = take_early;

/// The value of a variable, which is empty from now on, also in what /proc shows.
fn take(name: &str) -> Option<OsString> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero. What is returned is null or a text that ends with a zero and stays where it is: nobody
    // sets or removes this variable.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(value) }.to_bytes().to_vec();
    // SAFETY: the bytes before the zero are this process's own and may be written to. Whoever reads the variable at the same
    // time finds less of it.
    unsafe { std::ptr::write_bytes(value, 0, libc::strlen(value)) };
    Some(OsString::from_vec(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone() {
        // Cargo sets it for every test, and nothing else reads it.
        let name = "CARGO_PKG_README";
        let before = std::env::var_os(name);
        assert_eq!(take(name), before);
        assert_eq!(std::env::var(name).ok().as_deref(), before.map(|_| ""));
        assert_eq!(take("HVD_LAB_NOBODY_SETS_THIS"), None);
    }
}
