//! One pipe of the launcher, line by line into the channel of its job.
//!
//! At most 4 MiB of a line are kept.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::mpsc;

use super::output::{Line, Sorter, Tags};
use crate::domain::units;

/// Bytes of a line that are kept: a rank may print for ever without ending one.
const LONGEST: u64 = 4 << 20;

/// Sort the lines of one pipe into the channel.
pub(super) async fn read(pipe: impl AsyncRead + Unpin, tags: Tags, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::with_capacity(1 << 16, pipe);
    if !matches!(tags, Tags::Of(_)) {
        return read_drawn(reader, tags, lines).await;
    }
    let mut sorter = Sorter::new(tags);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let ended = !matches!((&mut reader).take(LONGEST).read_until(b'\n', &mut bytes).await, Ok(1..));
        let is_cut = !bytes.ends_with(b"\n") && bytes.len() as u64 >= LONGEST;
        bytes.pop_if(|last| *last == b'\n');
        let mut sorted = if ended { sorter.finish() } else { sorter.sort(&bytes) };
        sorted.extend(sorted.last().filter(|_| is_cut).and_then(cut));
        for line in sorted {
            if lines.send(line).await.is_err() {
                return;
            }
        }
        if ended {
            return;
        }
        if is_cut {
            skip_line(&mut reader).await;
        }
    }
}

/// The same of a program whose bars come as they are drawn: of each the last state is kept.
async fn read_drawn(mut reader: impl AsyncBufRead + Unpin, tags: Tags, lines: mpsc::Sender<Line>) {
    let mut sorter = Sorter::new(tags);
    let mut bytes: Vec<u8> = Vec::new();
    while let Ok(chunk) = reader.fill_buf().await {
        let (is_over, end) = (chunk.is_empty(), chunk.iter().position(|byte| *byte == b'\n'));
        let all = chunk.len();
        let has_return = bytes.ends_with(b"\r") || chunk.contains(&b'\r');
        let room = (LONGEST as usize).saturating_sub(bytes.len());
        bytes.extend_from_slice(&chunk[..end.unwrap_or(all).min(room)]);
        reader.consume(end.map_or(all, |end| end + 1));
        let is_line = end.is_some() || is_over && !bytes.is_empty();
        // Told at once, for there may never be an end.
        let is_cut = room > 0 && bytes.len() as u64 >= LONGEST;
        let said = if is_cut { sorter.sort(&bytes[..1024]).last().and_then(cut) } else { None };
        // What stands between two returns was there for a moment, whole.
        let drawn = if has_return { before_last_return(&mut bytes) } else { None };
        let sorted =
            if is_line { sorter.sort(&std::mem::take(&mut bytes)) } else { drawn.map_or(vec![], |drawn| sorter.sort(&drawn)) };
        for line in sorted.into_iter().chain(said) {
            let line = match line {
                Line::Rank { process, text } if !is_line => Line::Drawn { process, text },
                line => line,
            };
            if lines.send(line).await.is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
    }
}

/// The note after a line of which the rest is not kept.
fn cut(line: &Line) -> Option<Line> {
    let Line::Rank { process, .. } = line else { return None };
    let most = units::bytes(LONGEST);
    Some(Line::Launcher(format!(
        "hvd-lab: rank {process} has printed a line of more than {most}: the rest of it is not kept. End each line with a newline"
    )))
}

/// Takes off what was drawn over, and gives the last of it.
fn before_last_return(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    // A return at the very end takes nothing back yet.
    let last = bytes.len().checked_sub(1)?;
    let end = bytes[..last].iter().rposition(|byte| *byte == b'\r')?;
    let drawn = bytes[..end].split(|byte| *byte == b'\r').rfind(|part| !part.is_empty()).map(<[u8]>::to_vec);
    bytes.drain(..=end);
    drawn
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
    use crate::launch::Flavour;

    #[test]
    fn of_a_line_without_end_the_start_is_kept() {
        let mut output = b"[1,0]<stdout>: ".to_vec();
        output.resize(3 * LONGEST as usize, b'x');
        output.extend_from_slice(b"\n[1,1]<stdout>: next\n");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lines = runtime.block_on(async {
            let (sender, mut receiver) = mpsc::channel(8);
            read(&output[..], Tags::Of(Flavour::OpenMpi5), sender).await;
            let mut lines = Vec::new();
            while let Some(line) = receiver.recv().await {
                lines.push(line);
            }
            lines
        });
        let [Line::Rank { process: 0, text }, Line::Launcher(said), next] = &lines[..] else { panic!("{} lines", lines.len()) };
        assert!(said.contains("rank 0 has printed a line of more than 4"), "{said}");
        assert_eq!(text.len() + "[1,0]<stdout>: ".len(), LONGEST as usize);
        assert_eq!(*next, Line::Rank { process: 1, text: "next".into() });
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
}
