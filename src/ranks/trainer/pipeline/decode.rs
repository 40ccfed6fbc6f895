//! JPEG to pixels, by libjpeg-turbo: the choice of DCT, a smaller image, or a part of it.
//!
//! Never decodes what claims more pixels than [`jpeg::LARGEST_PIXELS`].
//!
//! Why this library, and why so. The decoder takes two thirds of the pipeline's time. Measured on one core with photos of 500x375:
//! libjpeg-turbo 950 to 1350 images/s, the crate zune-jpeg about 1000 without a choice of DCT and without decoding a part. Crates
//! that compile it need nasm, which is not on every machine, or take half the speed; all of them make a fresh build longer.
//! So it is the library that Pillow's wheel carries: `make setup` unpacks it, pinned by its hash, and it is opened when the first
//! image is decoded. A trainer without images does not need it. Any libjpeg.so.62 of the
//! system serves as well; before version 3 all of an image is decoded where a part is asked for.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::dataset::jpeg::{self, Head};
pub use crate::domain::nvcnn::Dct;

/// A library to use instead, by name or path.
pub const VARIABLE: &str = "HVD_LAB_LIBJPEG";
const LIBRARY: &str = if cfg!(target_os = "macos") { "libjpeg.62.dylib" } else { "libjpeg.so.62" };
const MESSAGE_BYTES: usize = 256;
/// A part begins and ends at whole blocks, of up to this many pixels.
const BLOCK: u32 = 32;

/// As in src/ranks/trainer/pipeline/libjpeg.c.
#[repr(C)]
struct Request {
    bytes: *const u8,
    length: usize,
    dct: c_int,
    fancy_upsampling: c_int,
    denominator: c_uint,
    x: c_uint,
    y: c_uint,
    width: c_uint,
    height: c_uint,
    out: *mut u8,
    capacity: usize,
}

// SAFETY: the declarations agree with src/ranks/trainer/pipeline/libjpeg.c.
unsafe extern "C" {
    fn hvd_jpeg_load(name: *const c_char, message: *mut u8, size: usize) -> c_int;
    fn hvd_jpeg_parts() -> c_int;
    fn hvd_jpeg_new(message: *mut u8, size: usize) -> *mut c_void;
    fn hvd_jpeg_free(decoder: *mut c_void);
    fn hvd_jpeg_decode(decoder: *mut c_void, request: *mut Request, message: *mut u8, size: usize) -> c_int;
}

/// How an image is decoded.
#[derive(Clone, Copy, Debug)]
pub struct Decoding {
    pub dct: Dct,
    /// Smooth colours between pixels where they were stored in half the resolution. Without it, decoding a part of an image
    /// gives the same pixels as the part of the whole.
    pub fancy_upsampling: bool,
}

impl Default for Decoding {
    fn default() -> Decoding {
        Decoding { dct: Dct::Fast, fancy_upsampling: false }
    }
}

/// A rectangle in the pixels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Window {
    pub fn whole(head: Head) -> Window {
        Window { x: 0, y: 0, width: head.width, height: head.height }
    }

    /// The same place in an image that is `times` smaller, with every pixel that it touches.
    pub fn smaller(self, times: u32) -> Window {
        let (right, bottom) = ((self.x + self.width).div_ceil(times), (self.y + self.height).div_ceil(times));
        let (x, y) = (self.x / times, self.y / times);
        Window { x, y, width: right - x, height: bottom - y }
    }
}

/// Decoded pixels: RGB, a byte each. What was asked for is `width` x `height` of it, from `left` on.
#[derive(Debug)]
pub struct Pixels<'a> {
    pub bytes: &'a [u8],
    /// Bytes from one row to the next.
    pub row: usize,
    /// In pixels: the rows begin a little before what was asked for, at a whole block.
    pub left: usize,
    pub width: usize,
    pub height: usize,
}

impl Pixels<'_> {
    /// A part of what was asked for.
    pub fn part(self, window: Window) -> Self {
        let bytes = &self.bytes[window.y as usize * self.row..];
        let (left, width, height) = (self.left + window.x as usize, window.width as usize, window.height as usize);
        Pixels { bytes, row: self.row, left, width, height }
    }

    /// The bytes of one row of what was asked for.
    pub fn line(&self, y: usize) -> &[u8] {
        &self.bytes[y * self.row + 3 * self.left..][..3 * self.width]
    }
}

/// One thread's decoder; its memory is used again for every image.
pub struct Decoder {
    raw: *mut c_void,
    pixels: Vec<u8>,
    decoding: Decoding,
}

// SAFETY: what is behind the pointer belongs to this value alone, and libjpeg keeps nothing that belongs to a thread.
unsafe impl Send for Decoder {}

fn text(message: &[u8]) -> String {
    let end = message.iter().position(|byte| *byte == 0).unwrap_or(message.len());
    String::from_utf8_lossy(&message[..end]).into_owned()
}

/// Opens the library once for all threads.
fn load() -> Result<(), String> {
    static LOADED: OnceLock<Result<(), String>> = OnceLock::new();
    let open = || {
        let name = std::env::var(VARIABLE).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| LIBRARY.into());
        let path = CString::new(name.clone()).map_err(|_| format!("{VARIABLE} is not a file name"))?;
        let mut message = [0; MESSAGE_BYTES];
        // SAFETY: both are valid for the call, and OnceLock lets one thread in.
        let loaded = unsafe { hvd_jpeg_load(path.as_ptr(), message.as_mut_ptr(), message.len()) };
        let remedy = format!("Run `make setup`, install libjpeg-turbo (libjpeg62-turbo), or set {VARIABLE} to its {LIBRARY}");
        (loaded == 0)
            .then_some(())
            .ok_or_else(|| format!("images cannot be decoded: {name} cannot be opened ({}). {remedy}", text(&message)))
    };
    LOADED.get_or_init(open).clone()
}

impl Decoder {
    /// # Errors
    /// There is no library that decodes, or it is another version than its name says.
    pub fn open(decoding: Decoding) -> Result<Decoder, String> {
        load()?;
        let mut message = [0; MESSAGE_BYTES];
        // SAFETY: the library is open, and the message is valid for the call.
        let raw = unsafe { hvd_jpeg_new(message.as_mut_ptr(), message.len()) };
        match raw.is_null() {
            false => Ok(Decoder { raw, pixels: Vec::new(), decoding }),
            true => Err(format!("images cannot be decoded: {LIBRARY} has another interface than 6.2 ({})", text(&message))),
        }
    }

    /// Decodes a part of an image that is made `times` smaller (1, 2, 4 or 8). `window` is in pixels of the whole image.
    ///
    /// # Errors
    /// In words, what is wrong with this image.
    pub fn decode(&mut self, bytes: &[u8], window: Window, times: u32) -> Result<Pixels<'_>, String> {
        let head = jpeg::head(bytes)?;
        let wanted = window.smaller(times);
        // SAFETY: the library is open.
        if unsafe { hvd_jpeg_parts() } != 0 {
            return self.decode_part(bytes, wanted, times);
        }
        let whole = Window::whole(head).smaller(times);
        if wanted.x + wanted.width > whole.width || wanted.y + wanted.height > whole.height {
            return Err("the part that was asked for is not inside the image".into());
        }
        Ok(self.decode_part(bytes, whole, times)?.part(wanted))
    }

    /// `part` is in pixels of the smaller image.
    fn decode_part(&mut self, bytes: &[u8], part: Window, times: u32) -> Result<Pixels<'_>, String> {
        let room = (part.width as usize + 2 * BLOCK as usize) * part.height as usize * 3;
        if self.pixels.len() < room {
            self.pixels.resize(room, 0);
        }
        let mut message = [0; MESSAGE_BYTES];
        let mut request = Request {
            bytes: bytes.as_ptr(),
            length: bytes.len(),
            dct: c_int::from(self.decoding.dct == Dct::Fast),
            fancy_upsampling: c_int::from(self.decoding.fancy_upsampling),
            denominator: times,
            x: part.x,
            y: part.y,
            width: part.width,
            height: part.height,
            out: self.pixels.as_mut_ptr(),
            capacity: self.pixels.len(),
        };
        // SAFETY: all pointers are valid for the call, which keeps none of them and writes at most `capacity` bytes.
        let done = unsafe { hvd_jpeg_decode(self.raw, &mut request, message.as_mut_ptr(), message.len()) };
        if done != 0 {
            return Err(format!("it is damaged: {}", text(&message)));
        }
        let left = part.x - request.x;
        let row = 3 * request.width as usize;
        Ok(Pixels {
            bytes: &self.pixels[..row * part.height as usize],
            row,
            left: left as usize,
            width: part.width as usize,
            height: part.height as usize,
        })
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: it was made by hvd_jpeg_new, and this is its last use.
        unsafe { hvd_jpeg_free(self.raw) }
    }
}
