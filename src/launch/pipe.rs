//! One pipe of the launcher, line by line into the channel of its job.
//!
//! Never keeps more of a line than anybody reads.

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::mpsc;

use super::Flavour;
use super::output::{Line, Sorter};

/// Bytes of a line that are kept: a rank may print for ever without ending one.
const LONGEST: u64 = 4 << 20;

/// Sort the lines of one pipe into the channel.
pub(super) async fn read(pipe: impl AsyncRead + Unpin, flavour: Flavour, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::with_capacity(1 << 16, pipe);
    let mut sorter = Sorter::new(flavour);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let ended = !matches!((&mut reader).take(LONGEST).read_until(b'\n', &mut bytes).await, Ok(1..));
        if bytes.ends_with(b"\n") {
            bytes.pop();
        } else if bytes.len() as u64 >= LONGEST {
            skip_line(&mut reader).await;
        }
        let sorted = if ended { sorter.finish() } else { sorter.take(&bytes) };
        for line in sorted {
            if lines.send(line).await.is_err() {
                return;
            }
        }
        if ended {
            return;
        }
    }
}

/// Read on behind the next line end, and keep nothing of it.
async fn skip_line(reader: &mut (impl AsyncBufRead + Unpin)) {
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

    #[test]
    fn of_a_line_without_end_the_start_is_kept() {
        let mut output = b"[1,0]<stdout>: ".to_vec();
        output.resize(3 * LONGEST as usize, b'x');
        output.extend_from_slice(b"\n[1,1]<stdout>: next\n");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lines = runtime.block_on(async {
            let (sender, mut receiver) = mpsc::channel(8);
            read(&output[..], Flavour::OpenMpi5, sender).await;
            let mut lines = Vec::new();
            while let Some(line) = receiver.recv().await {
                lines.push(line);
            }
            lines
        });
        let [Line::Rank { process: 0, text }, next] = &lines[..] else { panic!("{} lines", lines.len()) };
        assert_eq!(text.len() + "[1,0]<stdout>: ".len(), LONGEST as usize);
        assert_eq!(*next, Line::Rank { process: 1, text: "next".into() });
    }
}
