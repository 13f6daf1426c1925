//! A controller in steady state doesn't allocate.

mod support;

use allocation_counter::measure;
use pcc::{AckedPacket, CongestionControl, LostPacket, SentPacket, Time, profiles};
use std::time::Duration;
use support::{Flow, Path};

/// Once its tables have grown to the flight that they hold, a controller allocates nothing, not even per interval.
#[test]
fn packets_cost_no_allocation() {
    const FLIGHT: u64 = 1000;
    for profile in profiles::all() {
        let mut controller = profile.build(1);
        let mut run = |numbers: std::ops::Range<u64>| {
            let at = |number: u64| Time::from_nanos(1_000_000_000 + number * 100_000);
            for number in numbers {
                let (time, bytes) = (at(number), 1200);
                controller.on_packet_sent(&SentPacket { time, number, bytes });
                let Some(number) = number.checked_sub(FLIGHT) else { continue };
                let (sent, rtt) = (at(number), time.since(at(number)));
                if number % 100 == 0 {
                    controller.on_packet_lost(&LostPacket { time, number, sent, bytes });
                } else {
                    controller.on_packet_acked(&AckedPacket { time, number, sent, bytes, rtt });
                }
                controller.on_batch_end(time);
            }
        };
        let start = measure(|| run(0..50_000));
        assert!((1..50).contains(&start.count_total), "{}: tables grow, a few times: {start:?}", profile.name);
        let steady = measure(|| run(50_000..250_000));
        assert_eq!(steady.count_total, 0, "{}: {steady:?}", profile.name);
    }
}

/// What a flow keeps doesn't grow with its age.
#[test]
fn memory_stays_bounded() {
    for profile in profiles::all() {
        let mut flow = Flow::new(profile.build(1), Path { loss: 0.01, ..Path::clean(20.0, 30) });
        flow.run(Duration::from_secs(20));
        let later = measure(|| flow.run(Duration::from_secs(60)));
        assert!(later.bytes_current.abs() < 100_000, "{}: {later:?}", profile.name);
    }
}
