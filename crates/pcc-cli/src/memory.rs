//! Memory that connections share: each may take as much of it as is left.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory is counted in pieces of so many bytes.
const PIECE: u64 = 1 << 10;

/// What all connections of this process together may get beyond what each begins with, in bytes.
const ALL: u64 = 256 << 20;

/// Bytes for all.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Semaphore>);

/// Bytes for one, which are given back when this is dropped.
pub type Share = OwnedSemaphorePermit;

impl Memory {
    /// All of it.
    pub fn new() -> Memory {
        Memory::of(ALL)
    }

    /// So many bytes.
    pub fn of(bytes: u64) -> Memory {
        Memory(Arc::new(Semaphore::new((bytes / PIECE) as usize)))
    }

    /// A share of so many bytes, if there is as much.
    pub fn share(&self, bytes: u64) -> Option<Share> {
        self.0.clone().try_acquire_many_owned(u32::try_from(bytes.div_ceil(PIECE)).ok()?).ok()
    }
}
