//! What libtorch says when it gets no more memory, in one line with what to change.
//!
//! Any other panic is printed as Rust prints it, and the lab gets an event as well.

use std::io::Write;
use std::panic::{self, Location, PanicHookInfo};

use super::report::Reporter;
use crate::comm;
use crate::domain::event::Event;
use crate::domain::units;

/// How libtorch begins to say that memory was refused: on the CPU, and on a GPU.
const ON_CPU: &str = "can't allocate memory: you tried to allocate ";
const ON_GPU: &str = "CUDA out of memory. Tried to allocate ";

/// From now on a panic of this process is an event for the lab, and one for want of memory a line in plain words.
///
/// `program` begins the line, `during` goes with the event. `needs` says what takes the memory, and `advice` what to change.
pub fn explain(program: &'static str, during: &'static str, needs: String, advice: &'static str, events: bool) {
    let as_before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let process = comm::launched_index();
        let text = message(panic);
        let shortage = refused(&text).map(|place| format!("{place} for {needs}. {advice}"));
        match &shortage {
            // If standard error is closed, the event is still sent.
            Some(shortage) => _ = writeln!(std::io::stderr(), "{program}: process {process}: {shortage}"),
            None => as_before(panic),
        }
        // A thread beside the main one fails by itself, and the main one says what that means.
        let is_main = std::thread::current().name() == Some("main");
        if shortage.is_some() || is_main {
            let cause = shortage.unwrap_or_else(|| fault(program, &text, panic.location()));
            Reporter::new(process, events).event(Event::Fatal { during: during.to_owned(), cause });
        }
    }));
}

/// Where memory was refused, and how much of it; `None` if it is about something else.
fn refused(message: &str) -> Option<String> {
    if let Some((_, rest)) = message.split_once(ON_CPU) {
        let bytes = rest.split(' ').next().and_then(|digits| digits.parse().ok()).map(units::bytes);
        return Some(format!("not enough memory: {} more were not available", bytes.unwrap_or_else(|| "some".into())));
    }
    let (_, rest) = message.split_once(ON_GPU)?;
    // `20.00 MiB. GPU 0 has ...`
    let size = rest.split(". ").next().unwrap_or("some");
    Some(format!("not enough memory on the GPU: {size} more were not available"))
}

/// With the line of the source: the program may be one that someone is working on.
fn fault(program: &str, text: &str, location: Option<&Location>) -> String {
    let place = location.map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
    format!("a fault of {program}: {}{place}", first_line(text))
}

fn message(panic: &PanicHookInfo) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// The first line, without libtorch's stack trace. In a quoted message a line ends with `\n` in two characters.
fn first_line(text: &str) -> &str {
    text.split("\\n").next().unwrap_or_default().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libtorch_says_is_understood() {
        let cpu = "called `Result::unwrap()` on an `Err` value: Torch(\"[enforce fail at alloc_cpu.cpp:127] err == 0. \
                   DefaultCPUAllocator: can't allocate memory: you tried to allocate 553430272 bytes. Error code 12 (Cannot \
                   allocate memory)\\nframe #0: c10::ThrowEnforceNotMet(char const*)\")";
        assert_eq!(refused(cpu).unwrap(), "not enough memory: 528 MiB more were not available");
        let gpu = "Torch(\"CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which\")";
        assert_eq!(refused(gpu).unwrap(), "not enough memory on the GPU: 20.00 GiB more were not available");
        assert_eq!(refused("index out of bounds"), None);
        assert!(!first_line(cpu).contains("frame #0") && first_line(cpu).contains("alloc_cpu"), "{}", first_line(cpu));
    }
}
