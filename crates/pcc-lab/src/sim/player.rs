//! The viewer of a video: asks for chunks, plays them, and stalls when there is nothing to play.

use super::source::Video;
use pcc::Time;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Player {
    video: Video,
    /// Segments of one chunk.
    chunk_segments: u64,
    /// Chunks that were asked for, and those that are complete.
    requested: u64,
    complete: u64,
    /// When play began; `None` before the first chunk was complete.
    began: Option<Time>,
    /// The playing time in the buffer at `updated`.
    buffered: Duration,
    updated: Time,
    stalled: Duration,
}

impl Player {
    pub fn new(video: Video, start: Time, segment_bytes: u64) -> Player {
        let chunk_segments = video.bitrate.bytes_in(video.chunk).div_ceil(segment_bytes).max(1);
        Player {
            video,
            chunk_segments,
            requested: 0,
            complete: 0,
            began: None,
            buffered: Duration::ZERO,
            updated: start,
            stalled: Duration::ZERO,
        }
    }

    /// All segments below `in_order` have arrived.
    pub fn on_progress(&mut self, now: Time, in_order: u64) {
        let complete = in_order / self.chunk_segments;
        if complete > self.complete {
            self.play_until(now);
            self.buffered += self.video.chunk * u32::try_from(complete - self.complete).unwrap_or(u32::MAX);
            self.complete = complete;
            self.began.get_or_insert(now);
        }
    }

    fn play_until(&mut self, now: Time) {
        let passed = now.since(self.updated);
        self.updated = self.updated.max(now);
        if self.began.is_some() {
            self.stalled += passed.saturating_sub(self.buffered);
            self.buffered = self.buffered.saturating_sub(passed);
        }
    }

    /// When the next chunk should be asked for: at once if the one before is complete, but not before one more fits into the buffer.
    pub fn next_request(&self) -> Option<Time> {
        let excess = (self.buffered + self.video.chunk).saturating_sub(self.video.buffer.max(self.video.chunk));
        (self.requested == self.complete).then(|| self.updated + excess)
    }

    /// Asks for the next chunk if it is time; returns its segments.
    pub fn request(&mut self, now: Time) -> Option<u64> {
        if self.next_request()? > now {
            return None;
        }
        self.play_until(now);
        self.requested += 1;
        Some(self.chunk_segments)
    }

    /// The share of the time since play began in which it stalled; 1 if it never began.
    pub fn stall_ratio(&mut self, end: Time) -> f64 {
        self.play_until(end);
        match self.began.map(|began| end.since(began).as_secs_f64()) {
            Some(time) if time > 0.0 => self.stalled.as_secs_f64() / time,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::Rate;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_late_chunk_stalls_and_a_full_buffer_waits() {
        let [chunk, buffer] = [1000, 2000].map(Duration::from_millis);
        // 1,000 segments of 1,000 bytes a chunk.
        let mut player = Player::new(Video { bitrate: Rate::from_mbps(8.0), chunk, buffer }, at(0), 1000);
        assert_eq!(player.request(at(0)), Some(1000));
        assert_eq!(player.request(at(0)), None, "one chunk at a time");
        player.on_progress(at(400), 999);
        assert_eq!(player.next_request(), None);
        player.on_progress(at(500), 1000);
        assert_eq!(player.request(at(500)), Some(1000));
        // Play began at 500 and has nothing from 1500 to 2500.
        player.on_progress(at(2500), 2000);
        assert_eq!(player.request(at(2500)), Some(1000));
        player.on_progress(at(2600), 3000);
        // 1.9 s are buffered; a chunk more fits at 3500.
        assert_eq!(player.next_request(), Some(at(3500)));
        assert!((player.stall_ratio(at(4500)) - 0.25).abs() < 1e-9);
    }
}
