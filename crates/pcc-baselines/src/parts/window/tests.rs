use super::*;

const MTU: u64 = 1000;

/// The simplest rule: one packet more each round trip, half after a loss.
#[derive(Debug)]
struct Reno;

impl Rule for Reno {
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        window.additive_increase(ack.packets);
    }

    fn after_loss(&mut self, size: f64) -> f64 {
        size / 2.0
    }
}

/// A sender on a path of 100 ms.
struct Driver {
    control: Windowed<Reno>,
    now: Time,
    next: u64,
}

impl Driver {
    fn new() -> Driver {
        let mut control = Windowed::new(Reno, Pacing::Linux);
        control.on_mtu_change(MTU);
        Driver { control, now: Time::ZERO, next: 0 }
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    /// Sends `count` packets and returns the number of the first.
    fn send(&mut self, count: u64) -> u64 {
        let first = self.next;
        for number in first..first + count {
            self.control.on_packet_sent(&SentPacket { time: self.now, number, bytes: MTU });
        }
        self.next += count;
        first
    }

    fn ack(&mut self, numbers: std::ops::Range<u64>) {
        let (time, rtt) = (self.now, Duration::from_millis(100));
        for number in numbers {
            self.control.on_packet_acked(&AckedPacket { time, number, sent: time - rtt, bytes: MTU, rtt });
            self.control.on_batch_end(time);
        }
    }

    /// One acknowledgement of all of them, which came back marked.
    fn echo(&mut self, numbers: std::ops::Range<u64>) {
        let (time, rtt) = (self.now, Duration::from_millis(100));
        for number in numbers {
            self.control.on_packet_marked(&AckedPacket { time, number, sent: time - rtt, bytes: MTU, rtt });
        }
        self.control.on_batch_end(time);
    }

    /// Packets that were sent `age_ms` ago are lost.
    fn lose(&mut self, numbers: std::ops::Range<u64>, age_ms: u64) {
        let (time, sent) = (self.now, self.now - Duration::from_millis(age_ms));
        for number in numbers {
            self.control.on_packet_lost(&LostPacket { time, number, sent, bytes: MTU });
        }
        self.control.on_batch_end(time);
    }

    /// Sends a window, which arrives.
    fn round_trip(&mut self) {
        let count = self.control.in_flight_cap() / MTU;
        let first = self.send(count);
        self.wait(100);
        self.ack(first..first + count);
    }

    fn cap(&self) -> u64 {
        self.control.in_flight_cap()
    }
}

#[test]
fn slow_start_doubles_until_a_loss_and_then_adds() {
    let mut driver = Driver::new();
    assert_eq!(driver.cap(), 10 * MTU);
    driver.round_trip();
    driver.round_trip();
    assert_eq!(driver.cap(), 40 * MTU);
    driver.send(40);
    driver.wait(100);
    driver.lose(30..31, 100);
    assert_eq!(driver.cap(), 20 * MTU);
    driver.ack(31..70);
    driver.round_trip();
    assert!((20_900..21_000).contains(&driver.cap()), "{}", driver.cap());
}

#[test]
fn all_losses_of_a_round_trip_are_one_congestion() {
    let mut driver = Driver::new();
    driver.round_trip();
    let first = driver.send(20);
    driver.wait(100);
    driver.lose(first..first + 2, 100);
    driver.ack(first + 2..first + 10);
    driver.lose(first + 10..first + 12, 100);
    driver.ack(first + 12..first + 20);
    assert_eq!(driver.cap(), 10 * MTU, "nor does the window grow by what was sent before the reduction");
    let first = driver.send(10);
    driver.wait(100);
    driver.lose(first..first + 1, 100);
    assert_eq!(driver.cap(), 5 * MTU);
}

/// RFC 3168, section 6.1.2.
#[test]
fn marks_are_answered_as_losses_once_in_a_round_trip() {
    let mut driver = Driver::new();
    driver.round_trip();
    let first = driver.send(20);
    driver.wait(100);
    driver.echo(first..first + 2);
    assert_eq!((driver.cap(), driver.control.window.threshold), (10 * MTU, 10.0));
    driver.ack(first + 2..first + 10);
    driver.echo(first + 10..first + 12);
    driver.lose(first + 12..first + 13, 100);
    driver.ack(first + 13..first + 20);
    assert_eq!((driver.cap(), driver.control.in_flight), (10 * MTU, 0));
    let first = driver.send(10);
    driver.wait(100);
    driver.echo(first..first + 1);
    assert_eq!(driver.cap(), 5 * MTU);
    let before = driver.cap();
    driver.echo(first..first + 1);
    assert_eq!(driver.cap(), before, "a second fate changes nothing");
}

#[test]
fn a_late_acknowledgement_and_a_second_fate_change_nothing() {
    let mut driver = Driver::new();
    driver.round_trip();
    let first = driver.send(20);
    driver.wait(100);
    driver.lose(first..first + 4, 100);
    let before = format!("{:?}", driver.control);
    driver.ack(first..first + 4);
    driver.lose(first..first + 4, 100);
    assert_eq!(format!("{:?}", driver.control), before);
}

#[test]
fn an_application_that_sends_little_does_not_make_the_window_grow() {
    let mut driver = Driver::new();
    driver.round_trip();
    for _ in 0..10 {
        let first = driver.send(5);
        driver.wait(100);
        driver.ack(first..first + 5);
    }
    assert_eq!(driver.cap(), 20 * MTU, "never half in flight");
    let first = driver.send(15);
    driver.control.on_app_limited(driver.now);
    driver.wait(100);
    driver.ack(first..first + 15);
    assert_eq!(driver.cap(), 20 * MTU, "said to be limited");
}

#[test]
fn a_discarded_packet_is_no_longer_in_flight() {
    let mut driver = Driver::new();
    driver.round_trip();
    driver.round_trip();
    let first = driver.send(1);
    driver.control.on_packet_discarded(first);
    assert_eq!(driver.control.in_flight, 0);
    driver.wait(100_000);
    driver.send(1);
    assert_eq!(driver.cap(), 10 * MTU, "so that the sender was idle");
}

#[test]
fn idle_time_decays_the_window_to_the_initial_one() {
    let mut driver = Driver::new();
    for _ in 0..3 {
        driver.round_trip();
    }
    assert_eq!(driver.cap(), 80 * MTU);
    let timeout = driver.control.rtt.expect("sampled").probe_timeout();
    driver.wait((timeout * 1.5e3) as u64);
    driver.send(1);
    assert_eq!(driver.cap(), 40 * MTU);
    assert_eq!(driver.control.window.threshold, f64::INFINITY);
    driver.wait(100);
    driver.ack(driver.next - 1..driver.next);
    driver.wait(60_000);
    driver.send(1);
    assert_eq!(driver.cap(), 10 * MTU);
}

#[test]
fn a_host_may_begin_with_another_window() {
    let mut driver = Driver::new();
    driver.control.on_initial_window(3);
    assert_eq!(driver.cap(), 3 * MTU);
    driver.round_trip();
    assert_eq!(driver.cap(), 6 * MTU);
}

#[test]
fn slow_start_leads_back_to_three_quarters_of_an_idle_window() {
    let mut driver = Driver::new();
    (driver.control.window.size, driver.control.window.threshold) = (80.0, 50.0);
    driver.round_trip();
    let size = driver.control.window.size;
    driver.wait(60_000);
    driver.send(1);
    assert_eq!((driver.cap(), driver.control.window.threshold), (10 * MTU, 0.75 * size));
}

#[test]
fn a_sender_that_waited_for_losses_was_not_idle() {
    let mut driver = Driver::new();
    for _ in 0..3 {
        driver.round_trip();
    }
    let first = driver.send(80);
    driver.wait(5000);
    driver.lose(first..first + 80, 5000);
    assert_eq!(driver.cap(), 40 * MTU);
    driver.send(1);
    assert_eq!(driver.cap(), 40 * MTU);
}

#[test]
fn losses_over_three_timeouts_leave_two_packets() {
    let mut driver = Driver::new();
    driver.round_trip();
    driver.wait(1);
    let first = driver.send(2);
    driver.wait(2000);
    driver.send(2);
    driver.wait(225);
    driver.lose(first..first + 1, 2225);
    assert_eq!(driver.cap(), 10 * MTU);
    driver.lose(first + 1..first + 2, 2225);
    driver.lose(first + 2..first + 3, 225);
    assert_eq!(driver.cap(), 2 * MTU);
    for _ in 0..20 {
        let first = driver.send(2);
        driver.wait(225);
        driver.lose(first..first + 2, 225);
    }
    assert_eq!(driver.cap(), 2 * MTU, "the minimum window");
}

#[test]
fn the_pacing_rate_follows_the_window() {
    let mut driver = Driver::new();
    assert_eq!(driver.control.pacing_rate(), None);
    driver.round_trip();
    let kbps = |control: &Windowed<Reno>| control.pacing_rate().map(|rate| (rate.mbps() * 1e3).round());
    assert_eq!(kbps(&driver.control), Some(3200.0), "2 * 20 packets in 100 ms");
    let first = driver.send(20);
    driver.wait(100);
    driver.lose(first..first + 1, 100);
    assert_eq!(kbps(&driver.control), Some(960.0), "1.2 * 10 packets");
    driver.control.pacing = Pacing::Even;
    assert_eq!(kbps(&driver.control), Some(800.0));
    driver.control.pacing = Pacing::AckClocked;
    assert_eq!(driver.control.pacing_rate(), None);
}
