//! `tf.train.Example`, as ImageNet is kept in: a JPEG, its label, and where its object is.
//!
//! ```text
//! Example: 1 Features     Features: 1 entry, once per name     entry: 1 name | 2 Feature
//! Feature: 1 BytesList or 2 FloatList or 3 Int64List           each list: 1 value, repeated or packed
//! ```

use super::protobuf::{Fields, Malformed, Message, Value};

/// Where an object is, in fractions of the image's height and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundingBox {
    pub ymin: f32,
    pub xmin: f32,
    pub ymax: f32,
    pub xmax: f32,
}

/// What is used of an example. The names are those of TensorFlow's own scripts for ImageNet; TensorFlow Datasets
/// call the first two `image` and `label`, and count the labels from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example<'a> {
    /// `image/encoded`
    pub jpeg: &'a [u8],
    /// `image/class/label`
    pub label: Option<i64>,
    /// `image/class/text`
    pub text: &'a str,
    /// `image/object/bbox/{ymin, xmin, ymax, xmax}`
    pub boxes: Vec<BoundingBox>,
    /// `image/height` and `image/width`
    pub size: Option<(u32, u32)>,
}

const BOX_SIDES: [&str; 4] = ["ymin", "xmin", "ymax", "xmax"];

impl Example<'_> {
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = |value: &[u8]| Message::default().bytes(1, &Message::default().bytes(1, value).0);
        let integer = |value: i64| Message::default().bytes(3, &Message::default().packed_varints(1, &[value]).0);
        let floats = |values: &[f32]| Message::default().bytes(2, &Message::default().packed_floats(1, values).0);
        let mut features = vec![
            ("image/encoded".to_owned(), bytes(self.jpeg)),
            ("image/format".to_owned(), bytes(b"JPEG")),
            ("image/class/text".to_owned(), bytes(self.text.as_bytes())),
        ];
        features.extend(self.label.map(|label| ("image/class/label".to_owned(), integer(label))));
        if let Some((height, width)) = self.size {
            features.push(("image/height".to_owned(), integer(i64::from(height))));
            features.push(("image/width".to_owned(), integer(i64::from(width))));
        }
        if !self.boxes.is_empty() {
            let sides: [fn(&BoundingBox) -> f32; 4] = [|b| b.ymin, |b| b.xmin, |b| b.ymax, |b| b.xmax];
            for (name, side) in BOX_SIDES.into_iter().zip(sides) {
                let values: Vec<f32> = self.boxes.iter().map(side).collect();
                features.push((format!("image/object/bbox/{name}"), floats(&values)));
            }
        }
        let entry = |(name, feature): (String, Message)| Message::default().bytes(1, name.as_bytes()).bytes(2, &feature.0);
        let features = features.into_iter().map(entry).fold(Message::default(), |all, entry| all.bytes(1, &entry.0));
        Message::default().bytes(1, &features.0).0
    }
}

/// Reads what is used of an example, and skips everything else in it.
///
/// # Errors
/// The bytes are no example.
pub fn parse(message: &[u8]) -> Result<Example<'_>, Malformed> {
    let mut example = Example::default();
    let mut sides: [Vec<f32>; 4] = Default::default();
    let (mut height, mut width) = (None, None);
    for features in messages(message, 1) {
        for entry in messages(features?, 1) {
            let (name, feature) = named(entry?)?;
            match name {
                b"image/encoded" | b"image" => example.jpeg = bytes(feature)?.unwrap_or_default(),
                b"image/class/label" => example.label = integer(feature)?,
                b"label" => example.label = integer(feature)?.and_then(|from_0| from_0.checked_add(1)),
                b"image/class/text" => {
                    example.text = std::str::from_utf8(bytes(feature)?.unwrap_or_default()).unwrap_or_default()
                }
                b"image/height" => height = integer(feature)?,
                b"image/width" => width = integer(feature)?,
                _ => {
                    let side = name.strip_prefix(b"image/object/bbox/");
                    if let Some(at) = side.and_then(|side| BOX_SIDES.iter().position(|known| known.as_bytes() == side)) {
                        sides[at] = floats(feature)?;
                    }
                }
            }
        }
    }
    let [ymin, xmin, ymax, xmax] = &sides;
    let corners = ymin.iter().zip(xmin).zip(ymax.iter().zip(xmax));
    example.boxes = corners.map(|((&ymin, &xmin), (&ymax, &xmax))| BoundingBox { ymin, xmin, ymax, xmax }).collect();
    example.size = height.zip(width).and_then(|(h, w)| Some((u32::try_from(h).ok()?, u32::try_from(w).ok()?)));
    Ok(example)
}

/// The messages that a field holds, one after another.
fn messages(message: &[u8], wanted: u64) -> impl Iterator<Item = Result<&[u8], Malformed>> {
    Fields::new(message).filter_map(move |field| match field {
        Ok((number, Value::Bytes(bytes))) if number == wanted => Some(Ok(bytes)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

fn named(entry: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let name = messages(entry, 1).last().transpose()?.unwrap_or_default();
    Ok((name, messages(entry, 2).last().transpose()?.unwrap_or_default()))
}

fn bytes(feature: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let Some(list) = messages(feature, 1).next().transpose()? else { return Ok(None) };
    messages(list, 1).next().transpose()
}

fn integer(feature: &[u8]) -> Result<Option<i64>, Malformed> {
    let Some(list) = messages(feature, 3).next().transpose()? else { return Ok(None) };
    Ok(match Fields::new(list).next().transpose()? {
        Some((1, Value::Varint(value))) => Some(value as i64),
        Some((1, Value::Bytes(packed))) if !packed.is_empty() => Some(Fields::new(packed).number()? as i64),
        _ => None,
    })
}

fn floats(feature: &[u8]) -> Result<Vec<f32>, Malformed> {
    let Some(list) = messages(feature, 2).next().transpose()? else { return Ok(Vec::new()) };
    let mut values = Vec::new();
    for field in Fields::new(list) {
        match field? {
            (1, Value::Fixed32(bytes)) => values.push(f32::from_le_bytes(bytes)),
            (1, Value::Bytes(packed)) => values.extend(packed.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))),
            _ => {}
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOXES: [BoundingBox; 2] =
        [BoundingBox { ymin: 0.1, xmin: 0.2, ymax: 0.8, xmax: 0.9 }, BoundingBox { ymin: 0.0, xmin: 0.0, ymax: 0.5, xmax: 1.0 }];

    #[test]
    fn what_is_written_is_read() {
        let example =
            Example { jpeg: b"\xff\xd8", label: Some(1000), text: "tench", boxes: BOXES.to_vec(), size: Some((375, 500)) };
        assert_eq!(parse(&example.to_bytes()), Ok(example));
        assert_eq!(parse(b""), Ok(Example::default()));
    }

    #[test]
    fn numbers_that_are_not_packed_are_read_too() {
        let list = Message::default().float(1, 0.25).float(1, 0.5);
        let floats_feature = Message::default().bytes(2, &list.0);
        assert_eq!(floats(&floats_feature.0), Ok(vec![0.25, 0.5]));
        let list = Message::default().varint(1, 7);
        assert_eq!(integer(&Message::default().bytes(3, &list.0).0), Ok(Some(7)));
    }

    #[test]
    fn every_truncation_is_malformed_or_another_example_and_never_a_panic() {
        let bytes = Example { jpeg: &[9; 300], label: Some(-5), text: "x", boxes: BOXES.to_vec(), size: None }.to_bytes();
        for end in 1..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Err(Malformed), "{end}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x80;
            let _ = parse(&changed);
        }
    }
}
