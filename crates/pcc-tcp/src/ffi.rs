//! The C sender, behind safe calls.

#[cfg(test)]
pub mod testing;
#[cfg(test)]
pub mod traced;

use std::ffi::c_void;
use std::mem::offset_of;

/// What the kernel knows when the sender is told something: `struct ack` of `bpf/monitor.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "loader", derive(zerocopy::FromBytes))]
pub struct Ack {
    /// The current time in ns.
    pub now: u64,
    /// When the pacer lets the next segment go, in ns, if that is later.
    pub next_send: u64,
    /// Bytes of data sent so far, those sent again included.
    pub bytes_sent: u64,
    /// Segments sent so far; wraps around.
    pub sent: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments that this acknowledgement declared lost.
    pub lost: u32,
    /// Bytes of a full segment.
    pub mss: u32,
    /// The newest segment's round-trip time in ns, 0 if it has none.
    pub rtt: u64,
    /// The smoothed round-trip time in ns, 0 before the first sample.
    pub srtt: u64,
}

// As asserted in `host/sender.c` too.
const _: () = {
    assert!(size_of::<Ack>() == 56);
    assert!(offset_of!(Ack, now) == 0);
    assert!(offset_of!(Ack, next_send) == 8);
    assert!(offset_of!(Ack, bytes_sent) == 16);
    assert!(offset_of!(Ack, sent) == 24);
    assert!(offset_of!(Ack, in_flight) == 28);
    assert!(offset_of!(Ack, lost) == 32);
    assert!(offset_of!(Ack, mss) == 36);
    assert!(offset_of!(Ack, rtt) == 40);
    assert!(offset_of!(Ack, srtt) == 48);
};

/// `enum profile` of `bpf/utility.h`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    VivaceLatency,
    VivaceLoss,
    Allegro2015,
}

unsafe extern "C" {
    safe fn pcc_sender_size() -> u64;
    fn pcc_sender_init(sender: *mut c_void, profile: Profile, seed: u64, ack: &Ack);
    fn pcc_sender_on_ack(sender: *mut c_void, ack: &Ack);
    fn pcc_sender_on_timeout(sender: *mut c_void, ack: &Ack);
    fn pcc_sender_on_first_sent(sender: *mut c_void, ack: &Ack);
    fn pcc_sender_rate(sender: *const c_void) -> u64;
    fn pcc_sender_window(sender: *const c_void, ack: &Ack) -> u64;
}

/// The memory of a C struct without pointers, aligned for 64-bit members.
#[derive(Clone, Debug)]
pub struct Memory(Box<[u64]>);

impl Memory {
    pub fn zeroed(bytes: u64) -> Memory {
        Memory(vec![0; bytes.div_ceil(8) as usize].into())
    }

    pub fn get(&self) -> *const c_void {
        self.0.as_ptr().cast()
    }

    pub fn get_mut(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// `struct sender` of `bpf/sender.h`.
#[derive(Clone, Debug)]
pub struct Sender(Memory);

impl Sender {
    pub fn new(profile: Profile, seed: u64, ack: &Ack) -> Sender {
        let mut memory = Memory::zeroed(pcc_sender_size());
        // SAFETY: the memory has the size and the alignment of a `struct sender` and is zero, as the call asks for.
        unsafe { pcc_sender_init(memory.get_mut(), profile, seed, ack) };
        Sender(memory)
    }

    pub fn on_ack(&mut self, ack: &Ack) {
        // SAFETY: a `struct sender` that `new` has initialised; the call keeps no pointer.
        unsafe { pcc_sender_on_ack(self.0.get_mut(), ack) }
    }

    pub fn on_timeout(&mut self, ack: &Ack) {
        // SAFETY: as in `on_ack`.
        unsafe { pcc_sender_on_timeout(self.0.get_mut(), ack) }
    }

    pub fn on_first_sent(&mut self, ack: &Ack) {
        // SAFETY: as in `on_ack`.
        unsafe { pcc_sender_on_first_sent(self.0.get_mut(), ack) }
    }

    /// The rate to pace at in bit/s.
    pub fn rate(&self) -> u64 {
        // SAFETY: as in `on_ack`; the call only reads.
        unsafe { pcc_sender_rate(self.0.get()) }
    }

    /// Segments that may be in flight.
    pub fn window(&self, ack: &Ack) -> u64 {
        // SAFETY: as in `rate`.
        unsafe { pcc_sender_window(self.0.get(), ack) }
    }
}
