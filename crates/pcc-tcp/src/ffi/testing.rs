//! The parts of the C core, for tests.

use super::{Memory, Profile};
use crate::measured::{Measurement, Plan};
use std::ffi::c_void;

/// `struct path` of `bpf/control.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    pub mtu: u64,
    pub rtt: u64,
}

/// `struct reordering` of `bpf/reordering.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Reordering {
    pub lost: u32,
    pub dsacks: u32,
    pub suspects: u32,
    pub credit: u32,
}

unsafe extern "C" {
    pub safe fn pcc_reordering_discount(reordering: &mut Reordering, lost: u32, dsacks: u32) -> u32;
    pub safe fn pcc_reordering_age(reordering: &mut Reordering);
    pub safe fn pcc_log2(x: u64) -> i64;
    pub safe fn pcc_exp2(x: i64) -> i64;
    pub safe fn pcc_power(x: u64, unit: u64, power: i64) -> i64;
    pub safe fn pcc_sigmoid(steepness: i64, y: i64) -> i64;
    pub safe fn pcc_mul_div(a: u64, b: u64, c: u64) -> u64;
    pub safe fn pcc_ratio(part: u64, whole: u64) -> i64;
    pub safe fn pcc_random_u64(state: &mut u64) -> u64;
    pub safe fn pcc_utility(profile: Profile, m: &Measurement) -> i64;
    fn pcc_gradient(samples: *const [u64; 2], count: u64, mean: &mut u64, explained: &mut i64) -> i64;
    safe fn pcc_control_size() -> u64;
    fn pcc_control_init(control: *mut c_void, profile: Profile, seed: u64);
    fn pcc_control_plan(control: *mut c_void, path: &Path, plan: &mut Plan);
    fn pcc_control_on_result(control: *mut c_void, plan: &Plan, result: &Measurement) -> bool;
    fn pcc_control_cut(control: *mut c_void, cut: u32);
    fn pcc_control_limit(control: *mut c_void, ceiling: u64);
    fn pcc_control_rate(control: *const c_void) -> u64;
    fn pcc_control_phase(control: *const c_void) -> u32;
}

/// The mean, the gradient and its share of the variance of samples of send and round-trip times in ns.
pub fn gradient(samples: &[[u64; 2]]) -> (u64, i64, i64) {
    let (mut mean, mut explained) = (0, 0);
    // SAFETY: the call reads as many pairs as it is told that there are.
    let gradient = unsafe { pcc_gradient(samples.as_ptr(), samples.len() as u64, &mut mean, &mut explained) };
    (mean, gradient, explained)
}

/// `struct control` of `bpf/control.h`.
#[derive(Clone, Debug)]
pub struct Control(Memory);

impl Control {
    pub fn new(profile: Profile, seed: u64) -> Control {
        let mut memory = Memory::zeroed(pcc_control_size());
        // SAFETY: the memory has the size and the alignment of a `struct control` and is zero, as the call asks for.
        unsafe { pcc_control_init(memory.get_mut(), profile, seed) };
        Control(memory)
    }

    pub fn plan(&mut self, path: &Path) -> Plan {
        let mut plan = Plan::default();
        // SAFETY: a `struct control` that `new` has initialised; the call keeps no pointer.
        unsafe { pcc_control_plan(self.0.get_mut(), path, &mut plan) };
        plan
    }

    pub fn on_result(&mut self, plan: &Plan, result: &Measurement) -> bool {
        // SAFETY: as in `plan`.
        unsafe { pcc_control_on_result(self.0.get_mut(), plan, result) }
    }

    pub fn cut(&mut self, cut: u32) {
        // SAFETY: as in `plan`.
        unsafe { pcc_control_cut(self.0.get_mut(), cut) }
    }

    pub fn limit(&mut self, ceiling: u64) {
        // SAFETY: as in `plan`.
        unsafe { pcc_control_limit(self.0.get_mut(), ceiling) }
    }

    pub fn rate(&self) -> u64 {
        // SAFETY: as in `plan`; the call only reads.
        unsafe { pcc_control_rate(self.0.get()) }
    }

    pub fn phase(&self) -> u32 {
        // SAFETY: as in `rate`.
        unsafe { pcc_control_phase(self.0.get()) }
    }
}
