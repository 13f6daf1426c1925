use super::*;

/// 12 Mbit/s: a full packet takes a millisecond.
const RATE: Rate = Rate::from_mbps(12.0);

fn marking(kind: QueueKind, packets: u64) -> QueueConfig {
    QueueConfig { ecn: true, ..queue(kind, Limit::Packets(packets)) }
}

fn marks_above(packets: u64) -> QueueConfig {
    QueueConfig { mark_above: Some(Limit::Packets(packets)), ..queue(QueueKind::DropTail, Limit::Packets(100)) }
}

/// What comes of 14.4 Mbit/s for two seconds, packets that say `ecn`, one each 833 us.
fn run(queue: QueueConfig, ecn: Codepoint) -> (Vec<Delivered<u64>>, Counters) {
    let mut path = Path::new(&bottleneck(RATE, queue), 1);
    (0..2401).for_each(|i| path.enqueue_ecn(at(i * 833_000), 0, i, 1500, ecn));
    (drain(&mut path), path.counters())
}

#[test]
fn codel_marks_when_it_would_drop() {
    for kind in [QueueKind::CoDel, QueueKind::FqCoDel] {
        let (delivered, counters) = run(marking(kind, 1000), Codepoint::Ect);
        let marked = delivered.iter().filter(|packet| packet.ecn == Codepoint::Ce);
        let marks: Vec<f64> = marked.map(|packet| packet.due.as_nanos() as f64 / 1e6).collect();
        assert_eq!((counters.dropped, counters.marked), (0, marks.len() as u64), "{kind:?}");
        // The wait passes 5 ms after 30 ms, and an interval later it is still above; the packet itself takes a millisecond.
        assert!((129.0..134.0).contains(&marks[0]), "{kind:?}: {}", marks[0]);
        let mut planned = marks[0];
        for (count, mark) in (1..).zip(&marks) {
            assert!((0.0..=1.0).contains(&(mark - planned)), "{kind:?}: mark {count} at {mark}, planned for {planned}");
            planned += 100.0 / f64::from(count).sqrt();
        }
        assert!(marks.len() > 80, "{}", marks.len());
    }
}

#[test]
fn codel_drops_what_cannot_be_marked_and_marks_nothing_unless_told_to() {
    for kind in [QueueKind::CoDel, QueueKind::FqCoDel] {
        let without = run(queue(kind, Limit::Packets(1000)), Codepoint::NotEct);
        assert_eq!(run(marking(kind, 1000), Codepoint::NotEct), without, "{kind:?}");
        assert!(without.1.dropped > 80 && without.1.marked == 0, "{:?}", without.1);
        let (_, counters) = run(queue(kind, Limit::Packets(1000)), Codepoint::Ect);
        assert_eq!(counters, without.1, "{kind:?}");
    }
}

#[test]
fn what_does_not_fit_is_dropped_also_if_it_could_be_marked() {
    for queue in [marking(QueueKind::CoDel, 20), marking(QueueKind::FqCoDel, 20), marks_above(5)] {
        let mut path = Path::new(&bottleneck(RATE, queue), 1);
        (0..200).for_each(|i| path.enqueue_ecn(Time::ZERO, 0, i, 1500, Codepoint::Ect));
        assert!(path.counters().dropped >= 100, "{queue:?}: {:?}", path.counters());
    }
}

/// RFC 8257, section 3.1: a packet that finds more than the threshold before it, that in service included.
#[test]
fn a_threshold_marks_by_the_length_of_the_instant() {
    let mut path = Path::new(&bottleneck(RATE, marks_above(2)), 1);
    let marked =
        |path: &mut Path<u32>| drain(path).iter().map(|packet| packet.ecn == Codepoint::Ce).collect::<Vec<_>>();
    (0..5).for_each(|i| path.enqueue_ecn(Time::ZERO, 0, i, 1500, Codepoint::Ect));
    assert_eq!(marked(&mut path), [false, false, false, true, true]);
    (0..5).for_each(|i| path.enqueue_ecn(at_ms(10), 0, i, 1500, Codepoint::NotEct));
    assert_eq!(path.counters().dropped, 2, "what can't be marked");
    assert_eq!(marked(&mut path), [false; 3]);
    path.enqueue_ecn(at_ms(20), 0, 0, 1500, Codepoint::Ce);
    assert_eq!(marked(&mut path), [true], "a mark stays");
}
