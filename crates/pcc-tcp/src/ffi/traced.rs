//! The sender with each call of its rate control told, for tests.

use super::testing::Path;
use super::{Ack, Memory, Profile, pcc_sender_rate, pcc_sender_size};
use crate::measured::{Measurement, Plan};
use std::ffi::c_void;

/// `enum call_kind` of `host/traced.c`.
pub const PLAN: u32 = 0;
pub const RESULT: u32 = 1;
pub const CUT: u32 = 2;

const MAX_CALLS: usize = 16;

/// `struct call` of `host/traced.c`: a call, and what came of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub kind: u32,
    pub cut: u32,
    pub ceiling: u64,
    pub path: Path,
    pub plan: Plan,
    pub result: Measurement,
    pub rate: u64,
    pub phase: u32,
    pub realigned: u32,
}

/// `struct calls` of `host/traced.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    calls: [Call; MAX_CALLS],
    count: u64,
}

impl Calls {
    /// The calls in the order in which they were made.
    pub fn get(&self) -> &[Call] {
        &self.calls[..self.count as usize]
    }
}

// As asserted in `host/traced.c` too.
const _: () = assert!(size_of::<Calls>() == MAX_CALLS * 152 + 8);

unsafe extern "C" {
    fn pcc_traced_init(sender: *mut c_void, profile: Profile, seed: u64, ack: &Ack, calls: &mut Calls);
    fn pcc_traced_on_ack(sender: *mut c_void, ack: &Ack, calls: &mut Calls);
    fn pcc_traced_on_timeout(sender: *mut c_void, ack: &Ack, calls: &mut Calls);
    fn pcc_traced_on_first_sent(sender: *mut c_void, ack: &Ack, calls: &mut Calls);
}

/// `struct sender` of `bpf/sender.h`. Its methods return the calls that were made.
#[derive(Clone, Debug)]
pub struct TracedSender(Memory);

impl TracedSender {
    pub fn new(profile: Profile, seed: u64, ack: &Ack) -> (TracedSender, Calls) {
        let (mut memory, mut calls) = (Memory::zeroed(pcc_sender_size()), Calls::default());
        // SAFETY: the memory has the size and the alignment of a `struct sender` and is zero, as the call asks for; the
        // pointer to the calls isn't used after it.
        unsafe { pcc_traced_init(memory.get_mut(), profile, seed, ack, &mut calls) };
        (TracedSender(memory), calls)
    }

    pub fn on_ack(&mut self, ack: &Ack) -> Calls {
        let mut calls = Calls::default();
        // SAFETY: a `struct sender` that `new` has initialised; the call keeps no pointer that is used after it.
        unsafe { pcc_traced_on_ack(self.0.get_mut(), ack, &mut calls) };
        calls
    }

    pub fn on_timeout(&mut self, ack: &Ack) -> Calls {
        let mut calls = Calls::default();
        // SAFETY: as in `on_ack`.
        unsafe { pcc_traced_on_timeout(self.0.get_mut(), ack, &mut calls) };
        calls
    }

    pub fn on_first_sent(&mut self, ack: &Ack) -> Calls {
        let mut calls = Calls::default();
        // SAFETY: as in `on_ack`.
        unsafe { pcc_traced_on_first_sent(self.0.get_mut(), ack, &mut calls) };
        calls
    }

    /// The rate to pace at in bit/s.
    pub fn rate(&self) -> u64 {
        // SAFETY: as in `on_ack`; the call only reads.
        unsafe { pcc_sender_rate(self.0.get()) }
    }
}
