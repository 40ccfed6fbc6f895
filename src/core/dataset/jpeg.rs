//! The head of a JPEG: how large the image is, before anything is decoded.
//!
//! Never decodes: the lab has no decoder.

/// The most pixels that are decoded, as Pillow has it: 0.5 GiB in colour. A few bytes can claim four billion.
pub const LARGEST_PIXELS: u64 = 178_956_970;

/// What the head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub width: u32,
    pub height: u32,
    /// 1 grey, 3 colour, 4 for print (CMYK).
    pub components: u8,
}

/// Bytes by which other kinds of files are known that come under the name of a JPEG.
const OTHERS: [(&[u8], &str); 16] = [
    (b"\x89PNG", "a PNG"),
    (b"GIF8", "a GIF"),
    (b"RIFF", "a WebP"),
    (b"BM", "a BMP"),
    (b"II*\0", "a TIFF"),
    (b"MM\0*", "a TIFF"),
    (b"\0\0\0\x0cjP", "a JPEG 2000"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000"),
    (b"\0\0\0\x0cJXL ", "a JPEG XL"),
    (b"\xff\x0a", "a JPEG XL"),
    (b"P5", "a PGM"),
    (b"P6", "a PPM"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"version https://git-lfs", "a pointer of Git LFS (`git lfs pull` fetches the file)"),
    (b"<", "a text (HTML or XML)"),
];

/// Reads the size from the head, and refuses what is too large to decode.
///
/// # Errors
/// In words, why these bytes cannot be decoded.
pub fn head(bytes: &[u8]) -> Result<Head, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    if !bytes.starts_with(b"\xff\xd8") {
        // Photos of phones and browsers say their kind behind four bytes of length.
        let boxed = [(&b"ftypavif"[..], "an AVIF"), (b"ftyp", "a HEIC or a film")];
        let boxed = boxed.iter().find(|(start, _)| bytes.get(4..).is_some_and(|rest| rest.starts_with(start)));
        let other = OTHERS.iter().find(|(start, _)| bytes.starts_with(start)).or(boxed).map(|(_, name)| *name);
        return Err(other.map_or("it is not a JPEG".into(), |name| format!("it is {name}, not a JPEG")));
    }
    // The frame header is the first segment of its row. C4, C8 and CC are in the same row, and are tables.
    let is_frame = |marker: u8| matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
    let frame = segments(bytes).find(|(marker, _)| is_frame(*marker));
    let (marker, frame) = frame.ok_or("it is damaged: it ends before its size is given")?;
    // C0 to C2, and C9 and CA with arithmetic coding, are decoded; the others are lossless or made of several frames.
    if !matches!(marker, 0xc0..=0xc2 | 0xc9 | 0xca) {
        return Err("it is a lossless or hierarchical JPEG, which is not decoded: save it as an ordinary JPEG".into());
    }
    let [precision, h1, h0, w1, w0, components, ..] = *frame else {
        return Err("it is damaged: its size is cut off".into());
    };
    if precision != 8 {
        return Err(format!("it is a JPEG of {precision} bits a colour, which is not decoded: save it with 8 bits"));
    }
    let (width, height) = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
    if width == 0 || height == 0 {
        return Err(format!("it is damaged: its size is {width} x {height} pixels"));
    }
    if u64::from(width) * u64::from(height) > LARGEST_PIXELS {
        let most = LARGEST_PIXELS / 1_000_000;
        return Err(format!("it claims {width} x {height} pixels; images of more than {most} million pixels are refused"));
    }
    Ok(Head { width, height, components })
}

/// Whether an image is there to its end, as far as that shows without decoding: a copy that was cut off has no end marker.
///
/// # Errors
/// In words.
pub fn whole(bytes: &[u8]) -> Result<(), String> {
    // Some programs leave bytes behind the end.
    let scans = &bytes[head_bytes(bytes)..];
    let has_end = scans.windows(2).rev().any(|pair| pair == [0xff, 0xd9]);
    if has_end { Ok(()) } else { Err("it is damaged: it is cut off before its end".into()) }
}

/// Bytes before the first scan. A preview in the head has an end marker of its own.
fn head_bytes(bytes: &[u8]) -> usize {
    let start = bytes.as_ptr() as usize;
    segments(bytes).last().map_or(0, |(_, content)| content.as_ptr() as usize + content.len() - start)
}

/// The first comment, as a program leaves that says where an image is from.
pub fn comment(bytes: &[u8]) -> Option<&str> {
    segments(bytes).find(|(marker, _)| *marker == 0xfe).and_then(|(_, content)| std::str::from_utf8(content).ok())
}

/// Marker and content of each segment up to the scan.
fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        // Markers may be filled up with further ff bytes.
        while rest.first() == Some(&0xff) && rest.get(1) == Some(&0xff) {
            rest = &rest[1..];
        }
        let (&[0xff, marker, l1, l0], _) = rest.split_first_chunk::<4>()? else { return None };
        if marker == 0xda || marker == 0xd9 {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([l1, l0]));
        let content = rest.get(4..2 + length.max(2))?;
        rest = &rest[2 + length.max(2)..];
        Some((marker, content))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::testing::bomb;

    #[test]
    fn the_size_and_the_comment_are_read() {
        assert_eq!(head(&bomb(500, 375)), Ok(Head { width: 500, height: 375, components: 3 }));
        assert_eq!(comment(&bomb(1, 1)), Some("hello"));
    }

    #[test]
    fn what_cannot_be_decoded_is_said() {
        let said = |bytes: &[u8]| head(bytes).unwrap_err();
        assert_eq!(
            said(&bomb(65_000, 65_000)),
            "it claims 65000 x 65000 pixels; images of more than 178 million pixels are refused"
        );
        assert_eq!(said(&bomb(0, 9)), "it is damaged: its size is 0 x 9 pixels");
        for (start, expected) in [
            (&b"\x89PNG\r\n"[..], "a PNG"),
            (b"II*\0", "a TIFF"),
            (b"\0\0\0\x1cftypavif", "an AVIF"),
            (b"\0\0\0\x18ftypheic", "a HEIC or a film"),
            (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS (`git lfs pull` fetches the file)"),
        ] {
            assert_eq!(said(start), format!("it is {expected}, not a JPEG"));
        }
        // The frame's marker and its bits stand behind two fill bytes.
        let frame = bomb(9, 9).windows(4).position(|bytes| bytes == [0xff, 0xff, 0xc0, 0]).unwrap();
        for (at, value, expected) in [(frame + 5, 12, "12 bits a colour"), (frame + 2, 0xc3, "lossless")] {
            let mut other = bomb(9, 9);
            other[at] = value;
            assert!(said(&other).contains(expected), "{}", said(&other));
        }
        assert_eq!((said(b""), said(b"abc")), ("it is empty".into(), "it is not a JPEG".into()));
        let cut = [bomb(9, 9), vec![1, 2, 0xff]].concat();
        assert_eq!(whole(&cut).unwrap_err(), "it is damaged: it is cut off before its end");
        assert_eq!(whole(&[cut, vec![0xd9, 0, 0]].concat()), Ok(()), "with bytes behind its end");
        // The end of a preview in the head.
        let preview = [&b"\xff\xd8\xff\xe1\x00\x06\xff\xd8\xff\xd9"[..], &bomb(9, 9)[2..]].concat();
        assert!(head(&preview).is_ok() && whole(&preview).is_err());
        let whole = bomb(9, 9);
        // The size ends behind the head, the comment, and ten bytes more of the frame.
        for end in 2..2 + 18 + 9 + 20 {
            assert!(said(&whole[..end]).contains("damaged"), "{end}");
        }
    }
}
