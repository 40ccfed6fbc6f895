//! One pipe of the launcher, line by line into the channel of its job.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;

use super::output::{LONGEST_TAG, Sorter, Tags};
use super::piece::Line;

/// Bytes of a line without an end that are sorted at once.
const PART: usize = 1 << 16;
const LONGEST_CHARACTER: usize = 4;

/// Sort the lines of one pipe into the channel.
pub(super) async fn read(pipe: impl AsyncRead + Unpin, tags: Tags, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::with_capacity(PART, pipe);
    let mut sorter = Sorter::new(tags);
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let chunk = reader.fill_buf().await.unwrap_or_default();
        let (is_over, end) = (chunk.is_empty(), chunk.iter().position(|byte| *byte == b'\n'));
        let all = chunk.len();
        bytes.extend_from_slice(&chunk[..end.unwrap_or(all)]);
        reader.consume(end.map_or(all, |end| end + 1));
        let mut sorted = Vec::new();
        if end.is_some() || is_over && !bytes.is_empty() {
            sorted = sorter.sort(&bytes);
            bytes.clear();
        } else if bytes.len() >= PART || bytes.contains(&b'\r') {
            // States of a bar are passed on as they arrive, because the line may never end.
            sorted = sorter.sort_part(&bytes.drain(..whole(&bytes)).collect::<Vec<_>>());
        }
        if is_over {
            sorted.extend(sorter.finish());
        }
        for line in sorted {
            if lines.send(line).await.is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
    }
}

/// Bytes before the first place near the end where a tag or a character may be cut.
fn whole(bytes: &[u8]) -> usize {
    let returned = bytes.iter().rposition(|byte| *byte == b'\r').map_or(0, |place| place + 1);
    let near = bytes.len().saturating_sub(LONGEST_TAG).max(returned);
    let tag = bytes[near..].iter().position(|byte| *byte == b'[').map(|place| near + place);
    let last = bytes.len().saturating_sub(LONGEST_CHARACTER);
    let character = bytes[last..].iter().position(|byte| *byte >= 0xc0).map(|place| last + place);
    tag.into_iter().chain(character).min().unwrap_or(bytes.len())
}

/// Read on behind the next line end, and keep nothing of it.
pub(super) async fn skip_line(reader: &mut (impl AsyncBufRead + Unpin)) {
    while let Ok(bytes) = reader.fill_buf().await {
        let (end, all) = (bytes.iter().position(|byte| *byte == b'\n'), bytes.len());
        reader.consume(end.map_or(all, |end| end + 1));
        if end.is_some() || all == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::launcher::OwnLauncher;
    use crate::domain::units;
    use crate::launch::Flavour;
    use crate::launch::piece::KEPT;
    use crate::launch::user_program::RankTags;

    async fn lines_of(output: &[u8], tags: Tags) -> Vec<Line> {
        let (sender, mut receiver) = mpsc::channel(8);
        let reading = async move {
            read(output, tags, sender).await;
        };
        let collecting = async {
            let mut lines = Vec::new();
            while let Some(line) = receiver.recv().await {
                lines.push(line);
            }
            lines
        };
        tokio::join!(reading, collecting).1
    }

    fn torchrun() -> Tags {
        Tags::By(RankTags::new(OwnLauncher::Torchrun, Some(2), None, None).unwrap())
    }

    #[tokio::test]
    async fn of_a_long_line_the_start_is_kept_and_all_that_follows() {
        // Torchrun passes on what it has read, whether or not the line has ended.
        for (tags, [first, second]) in [
            (Tags::Of(Flavour::OpenMpi5), ["[1,0]<stdout>: ", "[1,1]<stdout>: "]),
            (torchrun(), ["[0]<stdout>:", "[1]<stdout>:"]),
        ] {
            let mut output = Vec::new();
            let mut print = |tag: &str, bytes: usize, end: &str| {
                output.extend_from_slice(tag.as_bytes());
                output.resize(output.len() + bytes, b'x');
                output.extend_from_slice(end.as_bytes());
            };
            print(first, KEPT + 1_000_000, "");
            print(second, 2 * KEPT, "");
            print(first, 234_567, "\n");
            print(second, 0, "\n");
            print(second, 0, "next\n");
            print(first, 0, "next\n");
            let lines = lines_of(&output, tags).await;
            let [Line::Launcher(said), Line::Launcher(_), rest @ ..] = &lines[..] else { panic!("{} lines", lines.len()) };
            assert!(said.contains("rank 0 has printed a line of more than"), "{said}");
            let cut = |process, left_out: &str| {
                let text = format!("{} … [hvd-lab: {left_out} bytes of this line are left out]", "x".repeat(KEPT));
                Line::Rank { process, text }
            };
            let next = |process| Line::Rank { process, text: "next".into() };
            let second = units::count(KEPT);
            assert!(rest == [cut(0, "1,234,567"), cut(1, &second), next(1), next(0)], "{} lines", lines.len());
        }
    }

    #[tokio::test]
    async fn a_tag_or_a_character_that_comes_in_two_parts_is_whole() {
        let long = "é".repeat(PART);
        for shift in 0..20 {
            let text = format!("[0]<stdout>:{}{long}[1]<stdout>:é[0]<stdout>:\n[1]<stdout>:\n", "x".repeat(shift));
            let [first, second] = &lines_of(text.as_bytes(), torchrun()).await[..] else { panic!("{shift}") };
            assert!(*first == Line::Rank { process: 0, text: "x".repeat(shift) + &long }, "{shift}");
            assert_eq!(*second, Line::Rank { process: 1, text: "é".into() }, "{shift}");
        }
    }

    #[tokio::test]
    async fn bars_of_torchrun_stay_with_their_ranks() {
        // Each carriage return is a newline here, and comes in front of the next state.
        let state = |rank: usize, percent: usize| {
            format!("[{rank}]<stdout>:Epoch 1: {percent:3}%|█ | {percent}/100 [00:00<00:00, 9.9it/s]")
        };
        let mut text = "[0]<stdout>:\n".to_owned() + &state(0, 0) + "[1]<stdout>:\n" + &state(1, 0);
        for percent in [40, 80] {
            text += &format!("[1]<stdout>:\n{}[0]<stdout>:\n{}", state(1, percent), state(0, percent));
        }
        text += &format!("[0]<stdout>:\n{}\n[1]<stdout>:\n{}\n[0]<stdout>:done\n", state(0, 100), state(1, 100));
        let lines = lines_of(text.as_bytes(), torchrun()).await;
        let state = |rank, percent| state(rank, percent)["[0]<stdout>:".len()..].to_owned();
        let kept: Vec<_> = lines.iter().filter(|line| !matches!(line, Line::Drawn { .. })).cloned().collect();
        let line = |process, text: String| Line::Rank { process, text };
        assert_eq!(kept, [line(0, state(0, 100)), line(0, "done".into()), line(1, state(1, 100))]);
        for (process, percent) in [(0, 0), (0, 40), (0, 80), (1, 0), (1, 40), (1, 80)] {
            assert!(lines.contains(&Line::Drawn { process, text: state(process, percent) }), "{process} {percent}");
        }
    }

    #[tokio::test]
    async fn of_a_bar_every_state_is_told_and_the_last_is_kept() {
        let (sender, mut receiver) = mpsc::channel(16);
        let (mut program, pipe) = tokio::io::duplex(64);
        let reading = tokio::spawn(read(pipe, Tags::No, sender));
        let drawn = |text: &str| Some(Line::Drawn { process: 0, text: text.into() });
        let line = |text: &str| Some(Line::Rank { process: 0, text: text.into() });
        use tokio::io::AsyncWriteExt;
        for (piece, expected) in
            [("\r 10%", None), ("\r 20%", drawn(" 10%")), ("\r 3", drawn(" 20%")), ("0%\n[3] x\n", line(" 30%"))]
        {
            program.write_all(piece.as_bytes()).await.unwrap();
            if expected.is_some() {
                assert_eq!(receiver.recv().await, expected, "{piece:?}");
            }
        }
        assert_eq!(receiver.recv().await, line("[3] x"), "no launcher's tag");
        program.write_all(b"last words").await.unwrap();
        drop(program);
        assert_eq!((receiver.recv().await, receiver.recv().await), (line("last words"), None));
        reading.await.unwrap();
    }

    #[tokio::test]
    async fn a_bar_whose_pieces_have_tags_is_told_as_it_is_drawn() {
        let (sender, mut receiver) = mpsc::channel(16);
        let (mut program, pipe) = tokio::io::duplex(64);
        let reading = tokio::spawn(read(pipe, Tags::Of(Flavour::OpenMpi5), sender));
        use tokio::io::AsyncWriteExt;
        for (piece, expected) in [
            ("[1,0]<stdout>: \r 10%", None),
            ("[1,1]<stdout>: \r 70%[1,0]<stdout>: \r 20%", Some(Line::Drawn { process: 0, text: " 10%".into() })),
            ("[1,0]<stdout>: \n", Some(Line::Rank { process: 0, text: " 20%".into() })),
            ("[1,1]<stdout>: \r 80%", Some(Line::Drawn { process: 1, text: " 70%".into() })),
        ] {
            program.write_all(piece.as_bytes()).await.unwrap();
            if expected.is_some() {
                assert_eq!(receiver.recv().await, expected, "{piece:?}");
            }
        }
        drop(program);
        assert_eq!(receiver.recv().await, Some(Line::Rank { process: 1, text: " 80%".into() }));
        reading.await.unwrap();
    }
}
