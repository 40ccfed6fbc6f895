//! How events travel from a rank to the supervisor: as messages on a socket, or else as marked lines between what the rank prints.
//!
//! The supervisor of a run makes a secret and hands it to the ranks, with the path of its socket. The library takes both out of the
//! environment. A rank that reaches the socket greets with the secret and its number, and its standard output stays the program's own.
//! A rank on another host prints its events: whatever it prints without the secret stays a line of its log. A program without a
//! supervisor has no secret, and its lines need none.
//!
//! Events are numbered from 1, also those that found no room on the way: so a gap says how many are missing.

/// Stands before every event that a rank prints. No line for people holds it.
pub const MARKER: &str = "@hvd ";

/// The variable by which ranks get the secret of their launch.
pub const SECRET_VARIABLE: &str = "HVD_LAB_EVENT_SECRET";

/// The variable by which ranks get the path of the supervisor's socket. It means nothing on other hosts.
pub const SOCKET_VARIABLE: &str = "HVD_LAB_EVENT_SOCKET";

/// One event as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// `None` from programs that count nothing.
    pub number: Option<u64>,
    pub json: &'a str,
}

/// The first line on the socket, with its end: who speaks.
pub fn greeting(secret: &str, process: usize) -> String {
    format!("{secret} {process}\n")
}

/// The process that greets like this, if it knows the secret.
pub fn read_greeting(secret: &str, line: &str) -> Option<usize> {
    line.trim_end().strip_prefix(secret)?.strip_prefix(' ')?.parse().ok()
}

/// An event as a line on the socket, with its end.
pub fn message(number: u64, json: &str) -> String {
    format!("{number} {json}\n")
}

/// A line on the socket, without its end.
pub fn read_message(line: &str) -> Message<'_> {
    match line.split_once(' ').map(|(number, json)| (number.parse(), json)) {
        Some((Ok(number), json)) => Message { number: Some(number), json },
        _ => Message { number: None, json: line },
    }
}

/// An event as a rank prints it, with its end. Under a supervisor it begins with a line end too, for the program may have left a line
/// without one.
pub fn printed(secret: &str, number: u64, json: &str) -> String {
    if secret.is_empty() { format!("{MARKER}{json}\n") } else { format!("\n{MARKER}{secret} {number} {json}\n") }
}

/// The event in a line that a rank printed, and what stands before it. `None` for lines without the marker and the secret.
pub fn find_printed<'a>(secret: &str, line: &'a str) -> Option<(&'a str, Message<'a>)> {
    line.match_indices(MARKER).find_map(|(at, _)| {
        let behind = &line[at + MARKER.len()..];
        let message = if secret.is_empty() { behind } else { behind.strip_prefix(secret)?.strip_prefix(' ')? };
        Some((&line[..at], read_message(message)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_found_wherever_it_stands_in_a_line() {
        let line = printed("5ec2e7", 12, "{}");
        assert_eq!(line.lines().next(), Some(""), "a line that the program left open ends here");
        let line = line.trim();
        for before in ["", "....", "50%\r", "@hvd ", "@hvd 5ec2e", "@hvd {} "] {
            let whole = format!("{before}{line}");
            assert_eq!(find_printed("5ec2e7", &whole), Some((before, Message { number: Some(12), json: "{}" })), "{whole}");
        }
        assert_eq!(find_printed("5ec2e7", "@hvd 5ec2e7 {}"), Some(("", Message { number: None, json: "{}" })));
        assert_eq!(printed("", 1, "{}"), "@hvd {}\n");
        assert_eq!(find_printed("", "@hvd {}"), Some(("", Message { number: None, json: "{}" })));
    }

    #[test]
    fn a_line_without_the_secret_is_no_event() {
        for line in ["Epoch 1/3", "@hvd {}", "@hvd  {}", "@hvd 5ec2e {}", "@hvd 5ec2e7{}", "@hvd 0 5ec2e7 {}", "5ec2e7 {}"] {
            assert_eq!(find_printed("5ec2e7", line), None, "{line}");
        }
    }

    #[test]
    fn a_greeting_names_the_process_and_needs_the_secret() {
        assert_eq!(read_greeting("5ec2e7", &greeting("5ec2e7", 3)), Some(3));
        for line in ["", "5ec2e7", "5ec2e7 ", "5ec2e7 x", "5ec2e 3", "5ec2e73", "5ec2e7 -1"] {
            assert_eq!(read_greeting("5ec2e7", line), None, "{line}");
        }
        assert_eq!(read_message(message(7, "{\"a\": 1}").trim_end()), Message { number: Some(7), json: "{\"a\": 1}" });
    }
}
