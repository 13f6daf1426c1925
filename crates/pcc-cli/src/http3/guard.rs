//! Bounds the frames of a stream (RFC 9114 7.1): h3 keeps a frame until all of it is there, however long it says that it is.
//! Only DATA is handed on in pieces, and may be of any length.

/// The longest frame that isn't DATA, in bytes. Of the frames with a use the fields of a request or response are the longest.
pub const MAX_FRAME: u64 = 64 << 10;

/// The frame type of DATA (RFC 9114 7.2.1).
const DATA: u64 = 0;
/// The stream type of a control stream (RFC 9114 6.2.1).
const CONTROL: u64 = 0;

/// A frame that is longer than any should be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes")]
pub struct TooLong(u64);

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// The type of a unidirectional stream.
    StreamType,
    /// The length of a frame of this type.
    Length(u64),
    /// So many bytes of a frame, and then the type of the next.
    Payload(u64),
    /// A stream without frames.
    Anything,
}

/// Follows the frames of a stream.
#[derive(Debug)]
pub struct Guard {
    next: Next,
    number: Number,
}

impl Guard {
    /// For a stream of a request.
    pub fn of_request() -> Guard {
        Guard { next: Next::Payload(0), number: Number::default() }
    }

    /// For a stream that says what it is.
    pub fn of_unidirectional() -> Guard {
        Guard { next: Next::StreamType, number: Number::default() }
    }

    /// Takes note of the next bytes of the stream.
    ///
    /// # Errors
    ///
    /// When a frame is too long.
    pub fn check(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if let Next::Anything = self.next {
                return Ok(());
            }
            if let Next::Payload(left @ 1..) = self.next {
                let here = left.min(bytes.len() as u64);
                bytes = &bytes[here as usize..];
                self.next = Next::Payload(left - here);
                continue;
            }
            let number = self.number.push(bytes[0]);
            bytes = &bytes[1..];
            let Some(number) = number else { continue };
            self.next = match self.next {
                Next::StreamType if number == CONTROL => Next::Payload(0),
                Next::StreamType | Next::Anything => Next::Anything,
                Next::Payload(_) => Next::Length(number),
                Next::Length(kind) if kind != DATA && number > MAX_FRAME => return Err(TooLong(number)),
                Next::Length(_) => Next::Payload(number),
            };
        }
        Ok(())
    }
}

/// A number that comes byte by byte (RFC 9000 16).
#[derive(Debug, Default)]
struct Number {
    value: u64,
    /// Bytes that are still to come.
    left: u32,
}

impl Number {
    /// The number, when this was its last byte.
    fn push(&mut self, byte: u8) -> Option<u64> {
        if self.left == 0 {
            (self.value, self.left) = (u64::from(byte & 0x3f), (1 << (byte >> 6)) - 1);
        } else {
            (self.value, self.left) = (self.value << 8 | u64::from(byte), self.left - 1);
        }
        (self.left == 0).then_some(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number as it is on the wire, in eight bytes.
    fn number(value: u64) -> [u8; 8] {
        (value | 0b11 << 62).to_be_bytes()
    }

    fn frame(kind: u64, len: u64) -> Vec<u8> {
        [&number(kind)[..], &number(len), &vec![1; len.min(2 * MAX_FRAME) as usize]].concat()
    }

    proptest! {
        #[test]
        fn frames_are_followed_however_they_are_cut(
            frames in prop::collection::vec((0_u64..4, 0_u64..200), 0..20),
            cuts in prop::collection::vec(1_usize..40, 1..40),
            is_control in any::<bool>(),
        ) {
            let mut guard = if is_control { Guard::of_unidirectional() } else { Guard::of_request() };
            let mut bytes = if is_control { vec![CONTROL as u8] } else { Vec::new() };
            bytes.extend(frames.into_iter().flat_map(|(kind, len)| frame(kind, len)));
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                prop_assert_eq!(guard.check(piece), Ok(()));
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            // Whatever came before, it is known where a frame begins.
            prop_assert_eq!(guard.check(&frame(1, MAX_FRAME + 1)), Err(TooLong(MAX_FRAME + 1)));
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Guard::of_request().check(&bytes);
            let _ = Guard::of_unidirectional().check(&bytes);
        }
    }

    #[test]
    fn only_data_may_be_long() {
        assert_eq!(Guard::of_request().check(&frame(DATA, 2 * MAX_FRAME)), Ok(()));
        assert_eq!(Guard::of_request().check(&frame(1, MAX_FRAME)), Ok(()));
        assert_eq!(Guard::of_request().check(&frame(0x21, u64::MAX >> 2)), Err(TooLong(u64::MAX >> 2)));
        let qpack = [&[2][..], &frame(1, MAX_FRAME + 1)].concat();
        assert_eq!(Guard::of_unidirectional().check(&qpack), Ok(()), "a stream without frames");
    }
}
