//! The call of the program that the collectives of this rank belong to, for an error in the program's own words when ranks diverge.
//!
//! A name is sent only once ranks have diverged, and compared with nothing.

use std::cell::RefCell;

thread_local! {
    /// MPI is called from one thread.
    static CALL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Bytes of a name, as ranks send it.
pub(super) const BYTES: usize = 160;

/// From now on the collectives of this thread belong to this call, such as `hvd.broadcast at fashion_mnist.py:97`; the name before.
/// Empty for none.
pub fn name_call(name: &str) -> String {
    CALL.with_borrow_mut(|call| std::mem::replace(call, name.to_owned()))
}

/// The name of the call that this thread is in; empty for none.
pub(super) fn current() -> String {
    CALL.with_borrow(String::clone)
}

/// The same as ranks send it: cut where it is too long.
pub(super) fn to_bytes() -> [u8; BYTES] {
    let name = current();
    let mut bytes = [0; BYTES];
    bytes.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
    bytes
}

pub(super) fn from_bytes(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_sent_as_it_is_or_cut() {
        assert_eq!(name_call("hvd.barrier at a.py:1"), "");
        assert_eq!(from_bytes(&to_bytes()), "hvd.barrier at a.py:1");
        assert_eq!(name_call(&"x".repeat(500)), "hvd.barrier at a.py:1");
        assert_eq!(from_bytes(&to_bytes()), "x".repeat(BYTES));
    }
}
