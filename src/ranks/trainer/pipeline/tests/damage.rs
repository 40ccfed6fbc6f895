//! JPEGs that are cut off, changed or claim too much: each is refused in words, and the next one is decoded.

use super::super::decode::{Decoding, Window};
use super::{decoder, jpegs};
use crate::dataset::{jpeg, testing};

#[test]
fn a_cut_off_image_is_refused_wherever_it_ends() {
    let Some(mut decoder) = decoder(Decoding::default()) else { return };
    for (name, bytes) in jpegs() {
        let all = Window::whole(jpeg::head(&bytes).unwrap());
        for end in (0..bytes.len() - 2).step_by(7) {
            let error = decoder.decode(&bytes[..end], all, 1).map(drop).expect_err(&format!("{name} to byte {end}"));
            assert!(error.contains("damaged") || error.contains("empty") || error.contains("not a JPEG"), "{error}");
            assert!(!error.contains('\n'));
        }
        decoder.decode(&bytes, all, 1).unwrap();
    }
}

#[test]
fn changed_bytes_never_end_more_than_their_image() {
    let Some(mut decoder) = decoder(Decoding::default()) else { return };
    let (mut refused, mut tried) = (0, 0);
    for (_, bytes) in jpegs() {
        let all = Window::whole(jpeg::head(&bytes).unwrap());
        for at in (2..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            tried += 1;
            // What the head now says is asked for, as the pipeline does.
            let window = jpeg::head(&changed).map_or(all, Window::whole);
            if u64::from(window.width) * u64::from(window.height) < 4_000_000 {
                refused += usize::from(decoder.decode(&changed, window, 1).is_err());
            }
        }
        let pixels = decoder.decode(&bytes, all, 1).unwrap();
        assert_eq!((pixels.width, pixels.height), (56, 40));
    }
    assert!(refused > tried / 20, "{refused} of {tried}");
}

#[test]
fn a_bomb_and_a_part_outside_of_the_image_are_refused() {
    let Some(mut decoder) = decoder(Decoding::default()) else { return };
    let (_, bytes) = jpegs().swap_remove(0);
    let mut refused = |bytes: &[u8], window| decoder.decode(bytes, window, 1).map(drop).unwrap_err();
    let bomb = testing::bomb(65_000, 65_000);
    let window = Window { x: 0, y: 0, width: 10, height: 10 };
    assert!(refused(&bomb, window).contains("65000 x 65000 pixels"));
    assert!(refused(&bytes, Window { x: 50, ..window }).contains("not inside the image"));
    assert!(refused(&bytes, Window { height: 41, ..window }).contains("not inside the image"));
}

#[test]
fn what_costs_no_pixel_is_decoded_as_the_photo_without_it() {
    let Some(mut decoder) = decoder(Decoding::default()) else { return };
    let (_, plain) = jpegs().swap_remove(0);
    let scan = plain.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap();
    let with = |at: usize, more: &[u8]| [&plain[..at], more, &plain[at..]].concat();
    let mut jfif = plain.clone();
    let version = plain.windows(5).position(|name| name == b"JFIF\0").unwrap() + 5;
    jfif[version] = 2;
    let whole = Window::whole(jpeg::head(&plain).unwrap());
    for (what, bytes) in [
        ("an unknown JFIF revision", jfif),
        ("bytes behind the end", with(plain.len(), &[0; 99])),
        ("a second image behind the end, as phones write", [&plain[..], &plain[..]].concat()),
        ("bytes before the scan", with(scan, b"\0\0\0")),
        ("filled up markers", with(scan, &[0xff; 3])),
        ("a broken colour profile", with(2, b"\xff\xe2\0\x12ICC_PROFILE\0\x02\x03xx")),
        (
            "EXIF of a camera that lay on its side",
            with(2, b"\xff\xe1\0\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"),
        ),
    ] {
        let expected = decoder.decode(&plain, whole, 1).unwrap().bytes.to_vec();
        assert_eq!(decoder.decode(&bytes, whole, 1).map(|pixels| pixels.bytes.to_vec()), Ok(expected), "{what}");
        assert_eq!(jpeg::whole(&bytes), Ok(()), "{what}");
    }
}

#[test]
fn arithmetic_codes_and_both_kinds_of_print_colours_are_decoded() {
    let Some(mut decoder) = decoder(Decoding::default()) else { return };
    // 8 x 8 pixels, dark and light in turn, by `cjpeg -arithmetic`.
    let arithmetic = "ffd8ffe000104a46494600010100000100010000ffdb004300080606070605080707070909080a0c140d0c0b0b0c1912130f141d1a1f\
        1e1d1a1c1c20242e2720222c231c1c2837292c30313434341f27393d38323c2e333432ffc9000b080008000801011100ffcc000600101005ffda000801010\
        0003f00d0acfa77107527e9f6e175a9e364516aad4778dc96968b43ffd9";
    let digits: Vec<u32> = arithmetic.chars().filter_map(|letter| letter.to_digit(16)).collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
    let pixels = decoder.decode(&bytes, Window { x: 0, y: 0, width: 8, height: 8 }, 1).unwrap();
    assert!(pixels.line(0)[0].abs_diff(40) < 20 && pixels.line(0)[21].abs_diff(200) < 20, "{:?}", pixels.line(0));

    let (_, cmyk) = jpegs().into_iter().find(|(name, _)| name == "cmyk").unwrap();
    let whole = Window::whole(jpeg::head(&cmyk).unwrap());
    let mut ycck = cmyk.clone();
    // The last byte of Adobe's marker says how the colours are kept.
    let adobe = cmyk.windows(5).position(|name| name == b"Adobe").unwrap() + 11;
    assert_eq!(std::mem::replace(&mut ycck[adobe], 2), 0);
    let plain = decoder.decode(&cmyk, whole, 1).unwrap().bytes.to_vec();
    assert_ne!(decoder.decode(&ycck, whole, 1).unwrap().bytes, plain);
}
