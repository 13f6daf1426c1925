//! A disk that remembers. It is a file that FUSE serves from memory, and that a loop device makes a block device of: whatever
//! is written to the device comes here at once, and whenever the device is told to flush its cache, so does an `fsync`.

use super::image::Image;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use nix::mount::{MntFlags, umount2};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

/// What a disk was told.
pub enum Op<N> {
    /// To write this from here on.
    Write { at: u64, data: Vec<u8> },
    /// To let nothing that it was told before be lost; noted when that is done.
    Flush,
    /// Not the disk: something was noted here.
    Note(N),
}

/// What was on a disk, and all that it was told since.
pub struct Record<N> {
    pub before: Image,
    pub ops: Vec<Op<N>>,
}

/// A disk that is recorded.
pub struct Disk<N> {
    /// The file.
    pub path: PathBuf,
    memory: Arc<Mutex<Memory<N>>>,
    // Ends when it goes out of scope.
    _served: BackgroundSession,
}

struct Memory<N> {
    now: Image,
    record: Record<N>,
}

impl<N: Send + 'static> Disk<N> {
    /// Puts one in the place of this file, with the same on it. A flush takes it so long.
    pub fn over(path: &Path, flush: Duration) -> io::Result<Self> {
        let now = Image::load(path)?;
        let record = Record { before: now.clone(), ops: Vec::new() };
        let memory = Arc::new(Mutex::new(Memory { now, record }));
        let served = fuser::spawn_mount(Served { memory: memory.clone(), flush }, path, &Config::default())?;
        Ok(Self { path: path.to_owned(), memory, _served: served })
    }

    /// Notes something.
    pub fn note(&self, note: N) {
        lock(&self.memory).record.ops.push(Op::Note(note));
    }

    /// Ends the record.
    pub fn finish(self) -> Record<N> {
        let memory = &mut *lock(&self.memory);
        let before = memory.record.before.clone();
        std::mem::replace(&mut memory.record, Record { before, ops: Vec::new() })
    }
}

impl<N> Drop for Disk<N> {
    fn drop(&mut self) {
        // The loop device may have it open for a moment still.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}

fn lock<N>(memory: &Mutex<Memory<N>>) -> MutexGuard<'_, Memory<N>> {
    memory.lock().expect("nobody panics with it")
}

/// The file system whose root is that file.
struct Served<N> {
    memory: Arc<Mutex<Memory<N>>>,
    flush: Duration,
}

impl<N: Send + 'static> Filesystem for Served<N> {
    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let size = lock(&self.memory).now.len();
        let time = UNIX_EPOCH;
        let attributes = FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: super::image::BLOCK as u32,
            flags: 0,
        };
        reply.attr(&Duration::MAX, &attributes);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Past the page cache of the kernel, which would keep writes back.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(&lock(&self.memory).now.read(offset, size as usize));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut memory = lock(&self.memory);
        if offset + data.len() as u64 > memory.now.len() {
            return reply.error(Errno::ENOSPC);
        }
        memory.now.write(offset, data, || true);
        memory.record.ops.push(Op::Write { at: offset, data: data.to_vec() });
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        std::thread::sleep(self.flush);
        lock(&self.memory).record.ops.push(Op::Flush);
        reply.ok();
    }
}
