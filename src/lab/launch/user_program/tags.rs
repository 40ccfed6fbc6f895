//! How the lines of a program that is started without the lab's launcher say which rank printed them.

use regex::{Captures, Regex};

use crate::domain::bounds::MAX_RANKS;
use crate::domain::launcher::OwnLauncher;

/// Where torchrun takes the text in front of a line from.
pub(super) const TORCHRUN_PREFIX: &str = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";
/// What the lab asks torchrun to put there: the usual text runs a role's name and the rank into one word.
pub(super) const TORCHRUN_TEMPLATE: &str = "[${rank}]<stdout>:";

/// Reads the rank that a launcher puts in front of a line.
#[derive(Clone, Debug)]
pub(in crate::launch) struct RankTags {
    regex: Regex,
    /// The same in the middle of a line, where another rank has not ended its own; it begins with `[`.
    inside: Option<Regex>,
    /// The launcher passes each carriage return on as a newline.
    pub returns_are_newlines: bool,
    /// What a launcher around this one may put in front of its tags.
    outer: Option<Regex>,
    /// A number that no rank has is the program's own.
    np: usize,
}

impl RankTags {
    /// Of this launcher. `role` and `template` are torchrun's, where the user has given them.
    ///
    /// `None` of one that puts nothing in front of a line.
    pub fn new(launcher: OwnLauncher, np: Option<usize>, role: Option<&str>, template: Option<&str>) -> Option<RankTags> {
        let horovod = r"\[(?:[^\]\s]*@)?(?:\d+,\s*)?(\d+)\]<std(?:out|err|diag)>: ?";
        let (before, tags) = match launcher {
            OwnLauncher::Torchrun => {
                let role = regex::escape(role.unwrap_or("default"));
                let own = template.map(|template| template_pattern(template, &role));
                // Versions before 2.2 know no template.
                let usual = [r"\[(\d+)\]<stdout>:".to_owned(), format!(r"\[{role}(\d+)\]: ?")];
                ("", own.into_iter().chain(usual).collect())
            }
            // Perhaps behind the time.
            OwnLauncher::Horovodrun => (r"(?:\w{3} \w{3} +\d+ [\d:]+ \d{4})?", vec![horovod.to_owned()]),
            // As wide as the largest number.
            OwnLauncher::Srun => ("", vec![r" *(\d+): ".to_owned()]),
            OwnLauncher::Mpirun | OwnLauncher::Accelerate | OwnLauncher::Deepspeed => return None,
        };
        // Others might stand in a program's own text.
        let inside: Vec<&str> = tags.iter().map(String::as_str).filter(|tag: &&str| tag.starts_with(r"\[")).collect();
        Some(RankTags {
            regex: Regex::new(&format!("^{before}(?:{})", tags.join("|"))).ok()?,
            inside: if inside.is_empty() { None } else { Regex::new(&inside.join("|")).ok() },
            returns_are_newlines: launcher == OwnLauncher::Torchrun,
            outer: None,
            np: np.unwrap_or(MAX_RANKS),
        })
    }

    /// Of a launcher that srun or mpirun starts, which may put a tag of their own in front of each line.
    pub fn inside_another(self) -> RankTags {
        RankTags { outer: Regex::new(r"^(?: *\d+: |\[[^\]\[]*\d\](?:<std(?:out|err|diag)>:)? ?)").ok(), ..self }
    }

    /// The rank, and what it printed; `None` where the line has no tag.
    pub fn read<'a>(&self, line: &'a str) -> Option<(usize, &'a str)> {
        let outer = self.outer.as_ref().and_then(|outer| outer.find(line)).map(|outer| &line[outer.end()..]);
        outer.and_then(|inner| self.read_own(inner)).or_else(|| self.read_own(line))
    }

    /// The next tag: where it begins and ends, and its rank. `is_start`: the text is the start of a line.
    pub fn next(&self, text: &str, is_start: bool) -> Option<(usize, usize, usize)> {
        if is_start && let Some((rank, rest)) = self.read(text) {
            return Some((0, text.len() - rest.len(), rank));
        }
        let place = |found: Captures| Some((found.get(0)?.start(), found.get(0)?.end(), self.rank(&found)?));
        self.inside.as_ref()?.captures_iter(text).find_map(place)
    }

    fn rank(&self, found: &Captures) -> Option<usize> {
        found.iter().skip(1).flatten().next()?.as_str().parse().ok().filter(|rank| *rank < self.np)
    }

    fn read_own<'a>(&self, line: &'a str) -> Option<(usize, &'a str)> {
        let found = self.regex.captures(line)?;
        Some((self.rank(&found)?, &line[found.get(0)?.end()..]))
    }
}

/// A template of the user's as an expression: its first number of a rank counts, or else of a rank on its host.
fn template_pattern(template: &str, role: &str) -> String {
    let mut text = regex::escape(template);
    for (name, place) in [("role_name", "\u{1}"), ("local_rank", "\u{2}"), ("rank", "\u{3}")] {
        text = text.replace(&format!(r"\$\{{{name}\}}"), place).replace(&format!(r"\${name}"), place);
    }
    let counted = if text.contains('\u{3}') { "\u{3}" } else { "\u{2}" };
    text.replacen(counted, r"(\d+)", 1).replace(['\u{2}', '\u{3}'], r"\d+").replace('\u{1}', role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_all_launchers_are_known() {
        use OwnLauncher::{Horovodrun, Srun, Torchrun};
        for (launcher, role, template, line) in [
            (Torchrun, None, None, "[3]<stdout>:x"),
            (Torchrun, None, None, "[default3]:x"),
            (Torchrun, Some("rank"), None, "[rank3]:x"),
            (Torchrun, Some("worker-1"), None, "[worker-13]: x"),
            (Torchrun, None, Some("[${role_name}${rank}|${local_rank}] "), "[default3|1] x"),
            (Torchrun, None, Some("$local_rank> "), "3> x"),
            (Horovodrun, None, None, "[3]<stderr>:x"),
            (Horovodrun, None, None, "[1,3]<stdout>: x"),
            (Horovodrun, None, None, "Thu Jan  1 10:00:00 2026[3]<stdout>:x"),
            (Srun, None, None, "3: x"),
            (Srun, None, None, " 03: x"),
        ] {
            let tags = RankTags::new(launcher, Some(4), role, template).unwrap();
            assert_eq!(tags.read(line), Some((3, "x")), "{line}");
        }
        for (launcher, line) in
            [(Srun, "4: loss 0.5"), (Srun, "epoch 3: x"), (Torchrun, "3: x"), (Torchrun, "[rank3]: x"), (Horovodrun, "[3] x")]
        {
            assert_eq!(RankTags::new(launcher, Some(4), None, None).unwrap().read(line), None, "{line}");
        }
        assert!(RankTags::new(OwnLauncher::Accelerate, None, None, None).is_none());
    }
}
