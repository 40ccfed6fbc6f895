//! Protobuf messages, written and read field by field: TensorBoard's events and TensorFlow's examples need no more of the format.
//!
//! Never follows a length beyond its message: what is read may come from anywhere.

/// A protobuf message in the making: each field is a tag (number and wire type) and its value.
#[derive(Default)]
pub struct Message(pub Vec<u8>);

impl Message {
    fn raw_varint(&mut self, mut value: u64) {
        // Seven bits a byte, the lowest first; the top bit says that more follow.
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u64, wire_type: u64) {
        self.raw_varint(field << 3 | wire_type);
    }

    pub fn varint(mut self, field: u64, value: u64) -> Message {
        self.tag(field, 0);
        self.raw_varint(value);
        self
    }

    pub fn double(mut self, field: u64, value: f64) -> Message {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.tag(field, 2);
        self.raw_varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub fn float(mut self, field: u64, value: f32) -> Message {
        self.tag(field, 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Numbers in one field, without a tag for each.
    pub fn packed_floats(self, field: u64, values: &[f32]) -> Message {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.bytes(field, &bytes)
    }

    /// As [`packed_floats`](Message::packed_floats), of integers.
    pub fn packed_varints(self, field: u64, values: &[i64]) -> Message {
        let mut packed = Message::default();
        values.iter().for_each(|value| packed.raw_varint(*value as u64));
        self.bytes(field, &packed.0)
    }
}

/// What a field holds, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// The bytes are no protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a protobuf message")]
pub struct Malformed;

/// The fields of a message in their order; it ends behind the first malformed one.
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub fn new(message: &'a [u8]) -> Fields<'a> {
        Fields(message)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// A bare number, as they stand one behind another in a packed field.
    pub fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.number()?),
            1 => Value::Fixed64(self.take()?),
            2 => {
                let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
                let (bytes, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
                self.0 = rest;
                Value::Bytes(bytes)
            }
            5 => Value::Fixed32(self.take()?),
            _ => return Err(Malformed),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let message =
            Message::default().varint(1, 300).double(2, 0.5).bytes(16, b"abc").float(4, -1.5).packed_varints(5, &[-1, 7]);
        let fields: Vec<(u64, Value)> = Fields::new(&message.0).map(Result::unwrap).collect();
        let Value::Bytes(packed) = fields[4].1 else { panic!("{fields:?}") };
        assert_eq!(
            fields[..4],
            [
                (1, Value::Varint(300)),
                (2, Value::Fixed64(0.5f64.to_le_bytes())),
                (16, Value::Bytes(b"abc")),
                (4, Value::Fixed32((-1.5f32).to_le_bytes()))
            ]
        );
        let mut numbers = Fields::new(packed);
        assert_eq!((numbers.number().unwrap() as i64, numbers.number(), numbers.next().is_none()), (-1, Ok(7), true));
    }

    #[test]
    fn a_message_that_lies_about_its_length_ends_there() {
        // A field of 2^63 bytes, a number without an end, an unknown wire type, and half a float.
        for bytes in [
            &[0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01][..],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0x0b],
            &[0x0d, 1, 2],
            &[0x0a, 5, 1],
        ] {
            let fields: Vec<_> = Fields::new(bytes).collect();
            assert_eq!(fields, [Err(Malformed)], "{bytes:?}");
        }
    }
}
