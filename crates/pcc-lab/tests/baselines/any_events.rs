//! No sequence of events, however odd, stops a baseline or the kernel's PCC. The core's profiles are driven by the same
//! events in its own tests.

#[path = "../../../pcc/tests/support/events.rs"]
mod events;

use events::{Driver, Op, ops};
use pcc::CongestionControl;
use pcc_baselines as baselines;
use pcc_lab::controller::ControllerConfig;
use proptest::prelude::*;
use std::time::Duration;

fn controllers() -> impl Iterator<Item = (&'static str, Box<dyn CongestionControl>)> {
    let build = |name| (name, ControllerConfig::named(name).build(7).expect("a known name"));
    baselines::names().chain(pcc_tcp::Controller::ALL.map(|controller| controller.name())).map(build)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A sender that may not send a packet, or at no rate, would stand still for ever.
    #[test]
    fn no_events_stop_a_controller(ops in prop::collection::vec(ops(), 1..150)) {
        // A window grows by what was acknowledged; hybla's by that times the square of how long the round trip is, which has no such bound.
        let is_huge = |op: &Op| matches!(op, Op::Send { bytes: u64::MAX, .. });
        let most = if ops.iter().any(is_huge) { u64::MAX } else { 1 << 62 };
        for (name, mut control) in controllers() {
            let most = if name == "hybla" { u64::MAX } else { most };
            let (mut driver, mut mtu) = (Driver::new(), 1200);
            control.on_mtu_change(mtu);
            for &op in &ops {
                driver.run(&mut *control, op);
                if let Op::Mtu(size) = op {
                    mtu = size.clamp(1, 65_535);
                }
                let cap = control.in_flight_cap();
                prop_assert!((mtu..=most).contains(&cap), "{name}: a cap of {cap} bytes, packets of {mtu}");
                if let Some(rate) = control.pacing_rate() {
                    prop_assert!(!rate.is_zero() && rate.bits_per_sec().is_finite(), "{name}: {rate}");
                }
            }
        }
    }

    /// After any events but those that end time, a path that works again gets at least a packet a minute.
    #[test]
    fn every_controller_recovers(ops in prop::collection::vec(ops().prop_filter("time goes on", |op| {
        !matches!(op, Op::Wait(Duration::MAX) | Op::Ack { rtt: Duration::MAX, .. } | Op::StepBack(_) | Op::Mtu(_))
    }), 1..60)) {
        for (name, mut control) in controllers() {
            let mut driver = Driver::new();
            ops.iter().for_each(|op| driver.run(&mut *control, *op));
            while !driver.outstanding.is_empty() {
                driver.run(&mut *control, Op::AckOldest { packets: u8::MAX });
            }
            for _ in 0..200 {
                driver.run(&mut *control, Op::Send { packets: 1, gap: 0, bytes: 1200 });
                driver.now += Duration::from_millis(50);
                driver.run(&mut *control, Op::AckOldest { packets: 1 });
                driver.run(&mut *control, Op::BatchEnd);
            }
            if let Some(rate) = control.pacing_rate() {
                prop_assert!(rate.time_for(1200) < Duration::from_secs(60), "{name}: {rate}");
            }
        }
    }
}
