//! What a host says of itself: one line for its shell, and the answer read back.
//!
//! Never trusts the answer: it comes from another machine, among whatever its shell prints at a login.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::domain::printable;
use crate::host;
use crate::launch::libraries;
use crate::launch::mpirun::quoted;
use crate::process::probe_command::{self, Answer, NoAnswer};

/// Before each line of an answer.
const MARK: &str = "hvd-lab-host ";
/// For a host to answer. ssh alone may take seconds, and the program loads its libraries.
const PATIENCE: Duration = Duration::from_secs(25);
/// Characters of a line that are kept.
const LINE: usize = 200;
/// Interfaces of a host that are kept.
const INTERFACES: usize = 64;

/// No line break, no quote and no exclamation mark, so that any shell passes it on to `sh` as it is. `$1` is the program, `$2` the
/// folder, `$3` a file to be made there, `$4` whether the program is to be started.
const SCRIPT: &str = concat!(
    r#"say() { printf "hvd-lab-host %s %s\n" "$1" "$2"; }; "#,
    r#"say name "$(uname -n)"; say time "$(date +%s.%N)"; "#,
    r#"if [ -f "$1" ] && [ -x "$1" ]; then say hash "$(sha256sum < "$1")"; "#,
    r#"if [ "$4" = start ]; then said=$("$1" --version 2>&1 < /dev/null); say start "$? $(printf %s "$said" | head -n 1)"; fi; "#,
    r#"elif [ -e "$1" ]; then say hash closed; else say hash missing; fi; "#,
    r#"say token "$(cat "$2/token" 2> /dev/null)"; "#,
    r#"why=$( (echo hvd-lab > "$2/$3") 2>&1 ) && rm -f "$2/$3"; say write "$why"; "#,
    r#"say cores "$(getconf _NPROCESSORS_ONLN)"; say gpus "$(ls -d /dev/nvidia[0-9]* 2> /dev/null | wc -l)"; "#,
    r#"if command -v ip > /dev/null; then ip -o -4 addr show up | while read -r n i f a r; do say net "$i $a"; done; "#,
    r#"else for i in $(ifconfig -l 2> /dev/null || ls /sys/class/net); do say net "$i"; done; fi; say end ok"#,
);

/// The program of the ranks on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The hash by the host's sha256sum; `None` if there is no such tool.
    There(Option<String>),
    Closed,
    Missing,
}

/// The answer of a host.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub program: Program,
    /// Exit code and first line of the program, if it was started.
    pub started: Option<(i32, String)>,
    pub token: String,
    /// Why the folder cannot be written; empty where it can.
    pub write: String,
    pub cores: Option<usize>,
    pub gpus: usize,
    /// Names with their addresses, such as `10.0.0.7/24`; empty addresses where the host has no `ip`.
    pub interfaces: Vec<(String, String)>,
    /// Seconds by which its clock is ahead of this host's, at least; negative if it is behind, 0 if that is unknown.
    pub clock_ahead_s: f64,
}

/// Why a host gave no usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unheard {
    /// It did not answer in time.
    Late(u64),
    /// The agent itself ended with this code and these words.
    Refused(Option<i32>, String),
    /// The agent ended well, and what came was no answer.
    Garbled,
}

/// What a host is asked about: the program, which is started as well if it may be, and the folder with the file `token` in it. `file` is
/// this host's own there.
pub(super) fn question(program: &Path, may_start: bool, folder: &Path, file: &str) -> [String; 4] {
    let start = if may_start { "start" } else { "look" };
    [program.display().to_string(), folder.display().to_string(), file.to_owned(), start.to_owned()]
}

/// The line for a host's shell.
pub(super) fn line(question: [String; 4]) -> String {
    format!("sh -c '{SCRIPT}' hvd-lab {}", question.map(|word| quoted(&word)).join(" "))
}

/// The same for this host, without a shell to pass it on.
pub(super) fn here(question: [String; 4]) -> Command {
    let mut command = libraries::command(Path::new("sh"));
    command.args(["-c", SCRIPT, "hvd-lab"]).args(question);
    command
}

/// Ask, and read the answer.
pub(super) fn ask(command: &mut Command) -> Result<Seen, Unheard> {
    let before = host::now_s();
    let answer = probe_command::ask(command, PATIENCE).map_err(|error| match error {
        NoAnswer::Late { patience, .. } => Unheard::Late(patience.as_secs()),
        NoAnswer::TooLong { .. } => Unheard::Garbled,
        other => Unheard::Refused(None, other.to_string()),
    })?;
    read(&answer, before, host::now_s())
}

/// `before` and `after` are this host's clock around the answer.
fn read(answer: &Answer, before: f64, after: f64) -> Result<Seen, Unheard> {
    let lines: Vec<(&str, String)> = answer.stdout.lines().filter_map(said).collect();
    let of = |key: &str| lines.iter().find(|(name, _)| *name == key).map(|(_, value)| value.as_str());
    if of("end").is_none() {
        return Err(if answer.status.success() {
            Unheard::Garbled
        } else {
            Unheard::Refused(answer.status.code(), last_words(&answer.stderr))
        });
    }
    let time_s = of("time").and_then(|time| time.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().ok());
    let ahead = |time: f64| (time - after).max(0.0) + (time - before).min(0.0);
    let program = match of("hash").unwrap_or("missing") {
        "missing" => Program::Missing,
        "closed" => Program::Closed,
        hash => Program::There(hash.split_whitespace().next().filter(|hash| hash.len() == 64).map(str::to_owned)),
    };
    let started = of("start").and_then(|start| {
        let (code, words) = start.split_once(' ').unwrap_or((start, ""));
        Some((code.parse().ok()?, words.to_owned()))
    });
    let nets = lines.iter().filter(|(name, _)| *name == "net").take(INTERFACES);
    let net = |(_, net): &(&str, String)| {
        let (name, address) = net.split_once(' ').unwrap_or((net, ""));
        (name.to_owned(), address.to_owned())
    };
    Ok(Seen {
        program,
        started,
        token: of("token").unwrap_or_default().to_owned(),
        write: of("write").unwrap_or("it did not say why").to_owned(),
        cores: of("cores").and_then(|cores| cores.trim().parse().ok()),
        gpus: of("gpus").and_then(|gpus| gpus.trim().parse().ok()).unwrap_or(0),
        interfaces: nets.map(net).collect(),
        // A date without fractions may be a second behind.
        clock_ahead_s: time_s.map_or(0.0, ahead),
    })
}

/// Key and value of a line of the answer.
fn said(line: &str) -> Option<(&str, String)> {
    let (key, value) = line.strip_prefix(MARK)?.split_once(' ')?;
    Some((key, printable::line(value).trim().chars().take(LINE).collect()))
}

/// The last line that says something: above it stands what the host greets with.
fn last_words(text: &str) -> String {
    let is_word = |line: &&str| line.chars().any(char::is_alphanumeric);
    let line = text.lines().rfind(is_word).unwrap_or_default();
    printable::line(line).trim().trim_end_matches('.').chars().take(LINE).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn answer(code: i32, stdout: &str, stderr: &str) -> Answer {
        Answer { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn this_host_answers_its_own_question() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "a-token").unwrap();
        let shell = Path::new("/bin/sh");
        let question = |file| question(shell, false, folder.path(), file);
        let seen = ask(&mut here(question("h0"))).unwrap();
        assert!(matches!(&seen.program, Program::There(Some(hash)) if hash.len() == 64), "{seen:?}");
        assert_eq!((seen.token.as_str(), seen.write.as_str(), seen.started.clone()), ("a-token", "", None));
        assert!(seen.cores.is_some_and(|cores| cores > 0) && seen.clock_ahead_s.abs() < 1.5, "{seen:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "its file is gone again");
        // As an agent passes it on: one word for a shell.
        let mut shell_says = Command::new("sh");
        let again = ask(shell_says.arg("-c").arg(line(question("h1")))).unwrap();
        assert_eq!((again.program, again.interfaces), (seen.program, seen.interfaces));
    }

    #[test]
    fn a_program_that_is_not_there_or_does_not_start_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("closed"), "").unwrap();
        let ask_for = |program: &Path, at: &Path| ask(&mut here(question(program, true, at, "h0"))).unwrap();
        assert_eq!(ask_for(&path("nothing"), folder.path()).program, Program::Missing);
        assert_eq!(ask_for(&path("closed"), folder.path()).program, Program::Closed);
        std::fs::write(path("broken"), "#!/bin/sh\necho no libtorch >&2\necho more\nexit 3\n").unwrap();
        std::fs::set_permissions(path("broken"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let seen = ask_for(&path("broken"), &path("nowhere's"));
        assert_eq!(seen.started, Some((3, "no libtorch".into())));
        assert!(seen.token.is_empty() && seen.write.contains("nowhere's"), "{seen:?}");
    }

    #[test]
    fn an_answer_is_found_among_what_a_host_greets_with_and_cleaned() {
        let text = "Welcome to node7!\nhvd-lab-host time 1060.5\nhvd-lab-host hash missing\nhvd-lab-host net eth0 10.0.0.7/24\n\
                    hvd-lab-host write \u{1b}[2JPermission denied\u{202e}\nhvd-lab-host end ok\n";
        let seen = read(&answer(0, text, ""), 999.0, 1000.5).unwrap();
        assert_eq!(seen.clock_ahead_s, 60.0);
        assert_eq!(seen.write, "Permission denied");
        assert_eq!(seen.interfaces, [("eth0".to_owned(), "10.0.0.7/24".to_owned())]);
        let behind = read(&answer(0, &text.replace("1060.5", "900.%N"), ""), 999.0, 1000.5).unwrap();
        assert_eq!(behind.clock_ahead_s, -99.0);
        let within = read(&answer(0, &text.replace("1060.5", "1000"), ""), 999.0, 1000.5).unwrap();
        assert_eq!(within.clock_ahead_s, 0.0);
        // Cut off in the middle.
        let cut = text.replace("hvd-lab-host end ok\n", "");
        assert_eq!(read(&answer(0, &cut, ""), 0.0, 0.0), Err(Unheard::Garbled));
        let refused = read(&answer(255, "", "Warning: a banner\nada@node7: Permission denied (publickey).\n---\n"), 0.0, 0.0);
        assert_eq!(refused, Err(Unheard::Refused(Some(255), "ada@node7: Permission denied (publickey)".into())));
    }
}
