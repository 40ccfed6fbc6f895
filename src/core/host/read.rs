//! Reading what may come from a stranger: a file that is one and no larger than it should be, and lines of any length.
//!
//! It does not wait for a pipe, and keeps no more bytes than it was asked to.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::domain::units;

/// Bytes of a line in the files of a run: the rest of a longer one is skipped.
pub const LONGEST_LINE: usize = 1 << 20;

/// Open a file that is one: a pipe or a device might be waited for, or never end.
///
/// # Errors
/// It is not there, may not be read, or is something else.
pub fn open(path: &Path) -> io::Result<File> {
    // Without O_NONBLOCK a pipe is waited for before anybody could see that it is one.
    let file = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a folder, a pipe or a device, not a file"))
    }
}

/// The content of a file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and a larger one.
pub fn small_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {}", units::bytes(most))))
    } else {
        Ok(bytes)
    }
}

/// As [`small_file`], of a text, without the byte order mark that editors and spreadsheets put before it.
///
/// # Errors
/// As [`small_file`], and what is not UTF-8.
pub fn small_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = small_text_with_mark(path, most)?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// As [`small_text`], with its byte order mark: for a file that another program reads, which may know of none.
///
/// # Errors
/// As [`small_text`].
pub fn small_text_with_mark(path: &Path, most: u64) -> io::Result<String> {
    let invalid = |cause: String| io::Error::new(io::ErrorKind::InvalidData, cause);
    let bytes = small_file(path, most)?;
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(invalid("it is UTF-16 text (by its byte order mark): save it as UTF-8".into()));
    }
    String::from_utf8(bytes).map_err(|error| invalid(format!("it is not UTF-8 text ({}): save it as UTF-8", error.utf8_error())))
}

/// The lines of a file without their ends, as text whatever they hold: of a line of more than `most` bytes its start.
///
/// # Errors
/// In the place of a line: the reader's own.
pub fn lines(reader: impl Read, most: usize) -> impl Iterator<Item = io::Result<String>> {
    let mut reader = BufReader::new(reader);
    std::iter::from_fn(move || next_line(&mut reader, most).transpose())
}

fn next_line(reader: &mut impl BufRead, most: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() > most {
        line.truncate(most);
        reader.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(small_text(&path, 4).unwrap(), "1234");
        let said = |path: &Path| small_file(path, 3).unwrap_err().to_string();
        assert_eq!(said(&path), "it has more than 3 B");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for odd in [&pipe, folder.path(), Path::new("/dev/zero")] {
            assert!(said(odd).contains("not a file"), "{}", odd.display());
        }
        assert_eq!(small_file(&folder.path().join("none"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "\u{feff}a\r\n").unwrap();
        assert_eq!(small_text(&path, 9).unwrap(), "a\r\n", "without its byte order mark");
        std::fs::write(&path, b"\xff\xfea\0").unwrap();
        assert!(small_text(&path, 9).unwrap_err().to_string().contains("save it as UTF-8"));
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(small_text(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_line_is_never_longer_than_asked_for() {
        let read: Vec<String> = lines(&b"ab\n\nabc\nabcd\nabcdefgh\nl\xffst"[..], 4).map(Result::unwrap).collect();
        assert_eq!(read, ["ab", "", "abc", "abcd", "abcd", "l\u{fffd}st"]);
    }
}
