//! Whose line is this: takes the launcher's tags off the ranks' output.
//!
//! Tags differ by launcher and version: `[1,0]<stdout>:text` (Open MPI 4), `[1,0]<stdout>: text` (5),
//! `[prterun-host-pid@1,0]<stdout>: text` (some 5.0 builds), `[0] text` (MPICH). A rank that writes without ending its
//! line gets its tag in the middle of someone else's; such pieces are put together again.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Flavour;
use super::bar::Bars;
use super::piece::{KEPT, Line, Piece};
use super::user_program::RankTags;
use crate::domain::units;

/// How lines say which process printed them.
#[derive(Clone, Debug)]
pub enum Tags {
    /// As this launcher tags them; what has no tag is the launcher's own.
    Of(Flavour),
    /// As the launcher of a program of the user's own does; what has no tag is the launcher's own.
    By(RankTags),
    /// Not at all: all are taken for process 0's.
    No,
}

/// Sorts the lines of one stream of the launcher (standard output or error).
#[derive(Debug)]
pub struct Sorter {
    tags: Tags,
    /// Pieces without a line end.
    open: BTreeMap<Owner, Piece>,
    /// Whose text is being read; `None` at the start of a line.
    current: Option<Owner>,
    /// Of a launcher that passes on carriage returns as newlines.
    bars: Option<Bars>,
}

/// Whose text this is, and whether it is of standard error; `None` is the launcher.
type Owner = Option<(usize, bool)>;

/// A tag in a text.
struct Tag {
    process: usize,
    is_error: bool,
    /// Bytes up to the text.
    length: usize,
}

impl Sorter {
    pub fn new(tags: Tags) -> Sorter {
        let bars = matches!(&tags, Tags::By(tags) if tags.returns_are_newlines).then(Bars::default);
        Sorter { tags, open: BTreeMap::new(), current: None, bars }
    }

    /// Sort the end of a line, or a whole one, given without its end.
    pub fn sort(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = self.sort_part(bytes);
        let owner = self.current.take().unwrap_or(self.untagged());
        let piece = self.open.remove(&owner).unwrap_or_default();
        self.end(owner, piece, &mut lines);
        lines
    }

    /// Sort a part of a line whose end has not come. No tag may be cut by its end.
    pub fn sort_part(&mut self, bytes: &[u8]) -> Vec<Line> {
        // Some launchers end their messages with a zero byte.
        let text = String::from_utf8_lossy(bytes).replace('\0', "");
        let mut lines = Vec::new();
        let mut rest = text.as_str();
        while let Some((start, tag)) = self.next_tag(rest) {
            self.push(without_time(&rest[..start]), &mut lines);
            // A piece without a line end waits for the rest, and the launcher's own words do not.
            if self.current == Some(None)
                && let Some(words) = self.open.remove(&None)
            {
                lines.extend(words.into_lines().map(Line::Launcher));
            }
            let owner = Some((tag.process, tag.is_error));
            self.open.entry(owner).or_default().tag();
            self.current = Some(owner);
            rest = &rest[start + tag.length..];
        }
        self.push(rest, &mut lines);
        lines
    }

    /// The lines that have no end when the stream ends.
    pub fn finish(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        for (owner, piece) in std::mem::take(&mut self.open) {
            self.end(owner, piece, &mut lines);
        }
        lines.extend(self.bars.iter_mut().flat_map(Bars::finish));
        lines
    }

    /// More text of the current line.
    fn push(&mut self, text: &str, lines: &mut Vec<Line>) {
        if text.is_empty() {
            return;
        }
        let untagged = self.untagged();
        let owner = *self.current.get_or_insert(untagged);
        let (drawn, is_newly_cut) = self.open.entry(owner).or_default().push(text);
        let Some((process, _)) = owner else { return };
        lines.extend(drawn.map(|text| Line::Drawn { process, text }));
        // Said at once, for there may never be an end.
        if is_newly_cut {
            let most = units::bytes(KEPT as u64);
            lines.push(Line::Launcher(format!(
                "hvd-lab: rank {process} has printed a line of more than {most}: the rest of it is not kept. End each line with a newline"
            )));
        }
    }

    fn end(&mut self, owner: Owner, piece: Piece, lines: &mut Vec<Line>) {
        for text in piece.into_lines() {
            match (owner, &mut self.bars) {
                (None, _) => lines.push(Line::Launcher(text)),
                (Some((process, _)), Some(bars)) => lines.extend(bars.take(process, text)),
                (Some((process, _)), None) => lines.push(Line::Rank { process, text }),
            }
        }
    }

    /// Whose text without a tag is.
    fn untagged(&self) -> Owner {
        matches!(self.tags, Tags::No).then_some((0, false))
    }

    /// The next tag, and where it begins. Some launchers put one only at the start of a line.
    fn next_tag(&self, text: &str) -> Option<(usize, Tag)> {
        let is_start = self.current.is_none();
        match &self.tags {
            Tags::Of(Flavour::Mpich) => hydra_tag(text).filter(|_| is_start).map(|tag| (0, tag)),
            Tags::Of(open_mpi) => {
                text.match_indices('[').find_map(|(start, _)| Some((start, open_mpi_tag(&text[start..], *open_mpi)?)))
            }
            Tags::By(tags) => {
                let (start, end, process) = tags.next(text, is_start)?;
                Some((start, Tag { process, is_error: false, length: end - start }))
            }
            Tags::No => None,
        }
    }
}

/// Bytes of a tag up to its `]`: a host's name has at most 255. A line of many `[` is not searched to its end for each.
pub(super) const LONGEST_TAG: usize = 512;

/// Without the time that mpirun puts in front of a tag where it is asked to: `[Thu Jan  1 10:00:00 2026]`, in version 4 without brackets.
fn without_time(text: &str) -> &str {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\[?[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\]?$").ok());
    TIME.as_ref().and_then(|time| time.find(text)).map_or(text, |found| &text[..found.start()])
}

/// `[job,rank]<stream>:`, the job perhaps with the launcher's name before it, and `[host:pid]` behind it.
fn open_mpi_tag(text: &str, flavour: Flavour) -> Option<Tag> {
    let inside = text.strip_prefix('[')?;
    let close = inside.bytes().take(LONGEST_TAG).position(|byte| matches!(byte, b']' | b'['))?;
    if inside.as_bytes()[close] == b'[' {
        return None;
    }
    let (job, rank) = inside[..close].rsplit_once(',')?;
    let number = job.rsplit_once('@').map_or(job, |(_, number)| number);
    number.parse::<u64>().ok()?;
    let behind = &inside[close + 1..];
    let place = behind.bytes().take(LONGEST_TAG).position(|byte| byte == b']').filter(|_| behind.starts_with('['));
    let (close, behind) = place.map_or((close, behind), |end| (close + 1 + end, &behind[end + 1..]));
    let stream = ["<stdout>:", "<stderr>:", "<stddiag>:"].into_iter().find(|name| behind.starts_with(name))?;
    // Open MPI 5 puts one blank behind the colon; with 4 a blank there is the rank's own.
    let blank = usize::from(flavour == Flavour::OpenMpi5 && behind[stream.len()..].starts_with(' '));
    Some(Tag { process: rank.parse().ok()?, is_error: stream != "<stdout>:", length: close + 2 + stream.len() + blank })
}

/// `[rank] text`.
fn hydra_tag(text: &str) -> Option<Tag> {
    let (rank, behind) = text.strip_prefix('[')?.split_once(']')?;
    let length = text.len() - behind.strip_prefix(' ').unwrap_or(behind).len();
    Some(Tag { process: rank.parse().ok()?, is_error: false, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(flavour: Flavour, text: &str) -> Vec<Line> {
        let mut sorter = Sorter::new(Tags::Of(flavour));
        let mut lines: Vec<Line> = text.split('\n').flat_map(|line| sorter.sort(line.as_bytes())).collect();
        lines.extend(sorter.finish());
        lines
    }

    fn rank(process: usize, text: &str) -> Line {
        Line::Rank { process, text: text.into() }
    }

    fn launcher(text: &str) -> Line {
        Line::Launcher(text.into())
    }

    #[test]
    fn every_launchers_tags_come_off() {
        for (flavour, text, want) in [
            (Flavour::OpenMpi4, "[1,0]<stdout>:Epoch 1/3", rank(0, "Epoch 1/3")),
            (Flavour::OpenMpi4, "[1,12]<stderr>:  indented", rank(12, "  indented")),
            (Flavour::OpenMpi5, "[1,1]<stdout>: Epoch 1/3", rank(1, "Epoch 1/3")),
            (Flavour::OpenMpi5, "[1,1]<stdout>:Epoch 1/3", rank(1, "Epoch 1/3")),
            (Flavour::OpenMpi5, "[1,1]<stdout>:   indented\r", rank(1, "  indented")),
            (Flavour::OpenMpi5, "[prterun-node-7@1,3]<stderr>: oops", rank(3, "oops")),
            (Flavour::OpenMpi5, "[1,0]<stdout>:", rank(0, "")),
            (Flavour::OpenMpi5, "[Thu Nov 26 10:45:10 2026][1,1]<stdout>: x", rank(1, "x")),
            (Flavour::OpenMpi4, "Thu Jan  1 10:00:00 2026[1,1]<stdout>:x", rank(1, "x")),
            (Flavour::OpenMpi5, "[1,1][vm:15469]<stderr>: x", rank(1, "x")),
            (Flavour::OpenMpi5, "[1,1][vm", launcher("[1,1][vm")),
            (Flavour::Mpich, "[0] Epoch 1/3", rank(0, "Epoch 1/3")),
            (Flavour::Mpich, "[11] [0] quoted", rank(11, "[0] quoted")),
            (
                Flavour::Mpich,
                "[proxy:0:0@vm] HYD_pmcd_pmip_control_cmd_cb",
                launcher("[proxy:0:0@vm] HYD_pmcd_pmip_control_cmd_cb"),
            ),
            (Flavour::OpenMpi5, "[vm:123] *** Process received signal ***", launcher("[vm:123] *** Process received signal ***")),
            (Flavour::OpenMpi5, "-----", launcher("-----")),
            (Flavour::OpenMpi5, "", launcher("")),
            (Flavour::OpenMpi5, "[1,x]<stdout>: a", launcher("[1,x]<stdout>: a")),
            (Flavour::OpenMpi5, "[1,0]<stdlog>: a", launcher("[1,0]<stdlog>: a")),
        ] {
            assert_eq!(sort(flavour, text), [want], "{flavour}: {text}");
        }
    }

    #[test]
    fn lines_in_pieces_are_put_together() {
        let torn = "[1,0]<stdout>: @hvd {\"a\"[1,1]<stdout>: loss 0.5\n[1,0]<stdout>: :1}";
        assert_eq!(sort(Flavour::OpenMpi5, torn), [rank(1, "loss 0.5"), rank(0, "@hvd {\"a\":1}")]);
        let same = "[1,0]<stdout>:first half,[1,0]<stdout>:second half";
        assert_eq!(sort(Flavour::OpenMpi4, same), [rank(0, "first half,second half")]);
        let unended = "[1,1]<stdout>: bye[1,0]<stdout>: bye";
        assert_eq!(sort(Flavour::OpenMpi5, unended), [rank(0, "bye"), rank(1, "bye")]);
    }

    #[test]
    fn output_and_error_of_a_rank_do_not_mix_in_one_line() {
        let text = "[1,0]<stdout>: half[1,0]<stderr>: warning\n[1,0]<stdout>:  a line";
        assert_eq!(sort(Flavour::OpenMpi5, text), [rank(0, "warning"), rank(0, "half a line")]);
    }

    #[test]
    fn the_launchers_own_words_before_a_tag_stay_its_own() {
        let text = "prterun: warning [1,0]<stdout>: text";
        assert_eq!(sort(Flavour::OpenMpi5, text), [launcher("prterun: warning "), rank(0, "text")]);
    }

    #[test]
    fn a_line_of_a_megabyte_of_brackets_is_sorted_at_once() {
        let began = std::time::Instant::now();
        for brackets in ["[", "[,", "[1,0]<", "]["] {
            let text = brackets.repeat(KEPT / brackets.len());
            assert_eq!(sort(Flavour::OpenMpi5, &text), [launcher(&text)]);
            assert_eq!(sort(Flavour::OpenMpi5, &format!("[1,0]<stdout>: {text}")), [rank(0, &text)]);
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let mut sorter = Sorter::new(Tags::Of(Flavour::OpenMpi5));
        assert_eq!(sorter.sort(b"[1,0]<stdout>: caf\xe9 \xff[[[[1,"), [rank(0, "caf\u{fffd} \u{fffd}[[[[1,")]);
        assert_eq!(sorter.sort(b"[1,0]<stdout>: a\0b\0"), [rank(0, "ab")]);
        assert_eq!(sorter.sort("[1,0]<stdout>: \u{1f9e5} [é".as_bytes()), [rank(0, "\u{1f9e5} [é")]);
    }
}
