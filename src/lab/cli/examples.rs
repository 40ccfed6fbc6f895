//! The examples at the end of a verb's help: a command, and what it does in a column of its own, also where it takes two lines.

use clap::Command;

use crate::columns;

/// Columns that a description keeps beside its command; with fewer it stands below it.
const LEAST: usize = 24;
/// Of a description below its command.
const BELOW: usize = 8;
/// Of a command that takes another line.
const FURTHER: usize = 6;
/// What help is laid out for where there is no terminal to ask.
const USUAL: usize = 100;

/// The same verbs, whose examples are laid out for this terminal.
pub fn laid_out(command: Command) -> Command {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    let width = crate::tui::size().map(|(columns, _)| columns).or_else(columns).unwrap_or(USUAL);
    of(command.term_width(width), width)
}

fn of(mut command: Command, width: usize) -> Command {
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        let lines: Vec<String> = text.lines().flat_map(|line| wrapped(line, width)).collect();
        command = command.after_help(lines.join("\n"));
    }
    command.mut_subcommands(|verb| of(verb, width))
}

/// A line of an example in as many lines as it takes; any other line as it is.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    if columns::width(line) <= width || !line.starts_with("  ") {
        return vec![line.to_owned()];
    }
    let Some((example, what)) = parted(line) else {
        // A command goes on further to the right; what goes on already stays where it is.
        let start = columns::width(line) - columns::width(line.trim_start());
        let further = start.max(FURTHER);
        let parts = columns::wrap(line.trim_start(), width.saturating_sub(further).max(1)).into_iter().enumerate();
        return parts.map(|(at, part)| " ".repeat(if at == 0 { start } else { further }) + &part).collect();
    };
    let beside = columns::width(line) - columns::width(what);
    let (mut lines, from) = match width.checked_sub(beside) {
        Some(room) if room >= LEAST => (Vec::new(), beside),
        _ => (vec![example.to_owned()], BELOW),
    };
    for (at, part) in columns::wrap(what, width.saturating_sub(from).max(1)).into_iter().enumerate() {
        let before = if at == 0 && lines.is_empty() { columns::left(example, from) } else { " ".repeat(from) };
        lines.push(before + &part);
    }
    lines
}

/// The command with its indent, and what it does, with two spaces or more between them.
fn parted(line: &str) -> Option<(&str, &str)> {
    let start = line.len() - line.trim_start().len();
    let end = line[start..].find("  ")? + start;
    Some((&line[..end], line[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_goes_on_below_itself() {
        let line = "  hvd-lab devices --watch    twice a second, until Ctrl-C";
        let below = ["  hvd-lab devices --watch    twice a second, until", "                             Ctrl-C"];
        assert_eq!(wrapped(line, 53), below);
        assert_eq!(wrapped(line, 80), [line]);
        assert_eq!(wrapped(line, 40), ["  hvd-lab devices --watch", "        twice a second, until Ctrl-C"]);
        assert_eq!(wrapped("  hvd-lab check 7 --json | jq", 24), ["  hvd-lab check 7", "      --json | jq"]);
        assert_eq!(wrapped("        a line by hand", 18), ["        a line by", "        hand"]);
        assert_eq!(wrapped("Runs live in HVD_LAB_HOME", 10), ["Runs live in HVD_LAB_HOME"], "a paragraph is not parted");
    }
}
