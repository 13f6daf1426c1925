use super::packets::{Sample, datagram};
use crate::emulator::coalesce::Outbox;
use crate::emulator::frame::Frame;
use crate::emulator::network::Arrival;
use crate::emulator::side::Side;
use pcc::Time;
use proptest::prelude::*;
use std::rc::Rc;
use std::time::Duration;

fn samples() -> impl Strategy<Value = Sample> {
    let payload = prop::collection::vec(any::<u8>(), 1..5000);
    let headers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<Option<u32>>(), any::<u8>());
    (headers, 0..=10usize, 0..=10usize, payload, 1..2000u16).prop_map(
        |((source, destination, id, sequence, flags), ip_options, options, payload, segment)| Sample {
            source: source.into(),
            destination: destination.into(),
            id,
            sequence,
            flags,
            options: (ip_options, options),
            payload,
            segment,
        },
    )
}

/// Every segment of a frame by itself.
fn apart(frame: &Frame) -> Vec<Vec<u8>> {
    let mut scratch = Vec::new();
    (0..frame.segments()).map(|segment| frame.cut(segment..segment + 1, &mut scratch).to_vec()).collect()
}

proptest! {
    #[test]
    fn segments_are_what_the_kernel_would_have_made(sample in samples()) {
        let frame = Frame::parse(&sample.frame(), true).unwrap();
        let expected: Vec<Vec<u8>> = sample.segments().iter().map(Sample::frame).collect();
        let segments = apart(&frame);
        // Of a single packet the kernel's own words stay.
        prop_assert_eq!(&segments, &expected);
        for (segment, bytes) in (0..).zip(&expected) {
            prop_assert_eq!(frame.wire_bytes(segment), bytes.len() as u64 - 10);
        }
    }

    /// Runs of segments are super-packets that make the same segments.
    #[test]
    fn segments_put_together_and_cut_again_are_the_same(sample in samples(), runs in prop::collection::vec(1..6u32, 100)) {
        let frame = Frame::parse(&sample.frame(), true).unwrap();
        let (mut scratch, mut first, mut segments) = (Vec::new(), 0, Vec::new());
        for length in runs.into_iter().cycle() {
            let end = (first + length).min(frame.segments());
            let run = Frame::parse(frame.cut(first..end, &mut scratch), true).unwrap();
            prop_assert_eq!(run.segments(), end - first);
            segments.extend(apart(&run));
            first = end;
            if first == frame.segments() {
                break;
            }
        }
        prop_assert_eq!(segments, apart(&frame));
        prop_assert_eq!(frame.cut(0..frame.segments(), &mut scratch), sample.frame());
    }

    #[test]
    fn arbitrary_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200), offloads: bool) {
        walk(&bytes, offloads);
    }

    /// Nearly right is more dangerous.
    #[test]
    fn damaged_frames_are_harmless(sample in samples(), damage in prop::collection::vec((0..70usize, any::<u8>()), 0..4), cut in 0..5100usize) {
        let mut bytes = sample.frame();
        damage.into_iter().filter(|(at, _)| *at < bytes.len()).collect::<Vec<_>>().into_iter().for_each(|(at, byte)| bytes[at] = byte);
        walk(&bytes, true);
        bytes.truncate(cut);
        walk(&bytes, true);
    }
}

/// Does all that can be done with a frame.
fn walk(bytes: &[u8], offloads: bool) {
    let Some(frame) = Frame::parse(bytes, offloads) else { return };
    let wire: u64 = (0..frame.segments()).map(|segment| frame.wire_bytes(segment)).sum();
    assert!(wire + 10 >= bytes.len() as u64);
    let mut scratch = Vec::new();
    for segment in 0..frame.segments() {
        frame.tcp_data(segment);
        assert!(!frame.cut(segment..segment + 1, &mut scratch).is_empty());
    }
}

/// The sizes of the runs into which segments that are due at these times, in us, are put.
fn runs(quantum: Duration, due: &[(u32, u64)]) -> Vec<Vec<u32>> {
    let frame = Rc::new(Frame::parse(&datagram(9500).frame(), true).unwrap());
    let mut outbox = Outbox::new(quantum);
    for (segment, us) in due {
        let due = Time::from_nanos(us * 1000);
        outbox.push(Arrival { to: Side::Right, flow: 0, due, frame: frame.clone(), segment: *segment });
    }
    outbox.take().iter().map(|run| run.segments().collect()).collect()
}

#[test]
fn only_consecutive_segments_within_a_quantum_stay_together() {
    let us = Duration::from_micros;
    assert_eq!(runs(us(0), &[(0, 5), (1, 5), (2, 6), (3, 6)]), [vec![0, 1], vec![2, 3]]);
    assert_eq!(runs(us(50), &[(0, 5), (1, 30), (2, 55), (3, 56)]), [vec![0, 1, 2], vec![3]]);
    // One was lost, and one overtaken.
    assert_eq!(runs(us(50), &[(0, 5), (2, 5), (3, 5), (1, 6)]), [vec![0], vec![2, 3], vec![1]]);
}

#[test]
fn only_what_is_not_alone_waits() {
    let mut outbox = Outbox::new(Duration::from_micros(50));
    let at = |us: u64| Time::from_nanos(us * 1000);
    assert_eq!(outbox.deadline(Some(at(3))), None);
    let frame = Rc::new(Frame::parse(&datagram(100).frame(), true).unwrap());
    outbox.push(Arrival { to: Side::Right, flow: 0, due: at(10), frame, segment: 0 });
    assert_eq!(outbox.deadline(None), Some(at(10)));
    assert_eq!(outbox.deadline(Some(at(61))), Some(at(10)));
    assert_eq!(outbox.deadline(Some(at(60))), Some(at(60)));
}
