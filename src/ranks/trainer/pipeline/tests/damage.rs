//! JPEGs that are cut off, changed or claim too much: each is refused in words, and the next one is decoded.

use super::super::decode::{Decoding, Window};
use super::{decoder, jpegs};
use crate::dataset::jpeg;

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
    let bomb = jpeg::bomb(65_000, 65_000);
    let window = Window { x: 0, y: 0, width: 10, height: 10 };
    assert!(refused(&bomb, window).contains("65000 x 65000 pixels"));
    assert!(refused(&bytes, Window { x: 50, ..window }).contains("not inside the image"));
    assert!(refused(&bytes, Window { height: 41, ..window }).contains("not inside the image"));
}
