//! A file that grows line by line: no line in it is ever glued to half of another, whatever a full disk or kill -9 left.
//!
//! Readers open it themselves.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use crate::host::{file_limit, files};

/// Lines are written down when so much is waiting, or when the file is flushed.
const BUFFER_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    file: File,
    /// Not written yet. If a full disk took only a part of a line, the rest follows it: no line is cut by the next one.
    waiting: Vec<u8>,
    /// Bytes in the file and on their way to it.
    pub length: u64,
}

/// A file of the run could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    pub cause: io::Error,
}

impl LineFile {
    /// # Errors
    /// It cannot be made or read.
    pub fn open(path: PathBuf) -> Result<LineFile, WriteError> {
        let opened = files::open_to_append(&path);
        let begun = opened.and_then(|mut file| Ok((file.metadata()?.len(), ends_in_a_line(&mut file)?, file)));
        let (length, is_whole, file) = begun.map_err(|cause| WriteError { path: path.clone(), cause })?;
        // The attempt before ended in the middle of a line: the next one must not go on there.
        let waiting = if is_whole { Vec::new() } else { b"\n".to_vec() };
        Ok(LineFile { path, file, length: length + waiting.len() as u64, waiting })
    }

    /// Taken as a whole, or not at all: another one may be written when there is room again.
    pub fn line(&mut self, text: &str) -> Result<(), WriteError> {
        if !self.waiting.is_empty() && self.waiting.len() + text.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        self.waiting.extend_from_slice(text.as_bytes());
        self.waiting.push(b'\n');
        self.length += text.len() as u64 + 1;
        Ok(())
    }

    /// Hand everything to the operating system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        while !self.waiting.is_empty() {
            match file_limit::explained(self.file.write(&self.waiting)) {
                Ok(0) => return Err(self.failed(ErrorKind::WriteZero.into())),
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.failed(cause)),
            }
        }
        Ok(())
    }

    /// Lines that are not in the file, or not wholly.
    pub fn waiting_lines(&self) -> usize {
        self.waiting.iter().filter(|byte| **byte == b'\n').count()
    }

    fn failed(&self, cause: io::Error) -> WriteError {
        WriteError { path: self.path.clone(), cause }
    }
}

/// Also where there is nothing in it.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        (folder, path)
    }

    #[test]
    fn a_line_that_was_cut_short_is_not_glued_to_the_next_one() {
        let (_folder, path) = file();
        // As a full disk or kill -9 leaves it.
        std::fs::write(&path, "one\ntw").unwrap();
        let mut again = LineFile::open(path.clone()).unwrap();
        again.line("three").unwrap();
        again.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!((text.as_str(), again.length), ("one\ntw\nthree\n", text.len() as u64));
        let whole = LineFile::open(path).unwrap();
        assert_eq!(whole.length, text.len() as u64, "nothing is added to whole lines");
    }

    #[test]
    fn a_disk_that_is_full_for_a_while_cuts_no_line() {
        let (_folder, path) = file();
        let mut lines = LineFile::open(path.clone()).unwrap();
        let good = std::mem::replace(&mut lines.file, File::options().append(true).open("/dev/full").unwrap());
        lines.line("one").unwrap();
        let error = lines.flush().unwrap_err().to_string();
        assert!(error.contains("events.jsonl: No space left on device"), "{error}");
        let long = "x".repeat(BUFFER_BYTES);
        assert!(lines.line(&long).is_err(), "it is not kept in memory either");
        lines.file = good;
        lines.line("two").unwrap();
        lines.flush().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }
}
