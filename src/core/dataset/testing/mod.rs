//! Damaged files for the tests of every package.

/// A JPEG header that claims this many pixels, without image data.
pub fn bomb(width: u16, height: u16) -> Vec<u8> {
    let ([w1, w0], [h1, h0]) = (width.to_be_bytes(), height.to_be_bytes());
    let mut bytes = b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xfe\x00\x07hello".to_vec();
    bytes.extend([0xff, 0xff, 0xc0, 0, 17, 8, h1, h0, w1, w0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    bytes.extend([0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0, 1, 2, 3]);
    bytes
}
