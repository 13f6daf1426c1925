//! One program under PCC.

use super::cgroup::Cgroup;
use super::links::link;
use super::programs::exec::ExecSkelBuilder;
use super::{Controller, Error, load};
use libbpf_rs::Link;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use std::any::Any;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

/// How often a controller is looked for, and how long between: another process may be about to register it, or to end.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// While this lives, TCP connections that this process and those that it starts make or accept use a controller.
///
/// It works by a control group: those sockets count that are made in it. However this process ends, the controller and the
/// program that selects it go with it; the processes that it started, and their connections, go on.
pub struct Scope {
    // In this order they go.
    _selects: Link,
    cgroup: Cgroup,
    _registered: Box<dyn Any>,
}

impl Scope {
    /// Begins one, with a controller that is registered as long as it is needed: by this process if by nobody else.
    ///
    /// # Errors
    ///
    /// When the controller can't be had (see [`load`]), or there are no control groups, or this process may not make one.
    pub fn enter(controller: Controller) -> Result<Scope, Error> {
        let registered = register(controller)?;
        let cgroup = Cgroup::enter()?;
        let selects = attach(controller, &cgroup)?;
        Ok(Scope { _selects: selects, cgroup, _registered: registered })
    }

    /// The processes in it but for this one. They go on when this is dropped, with other controllers for their new connections.
    pub fn others(&self) -> usize {
        self.cgroup.others()
    }
}

/// What keeps a controller registered: our link, or a share in somebody's, for the kernel unregisters it with the last one.
fn register(controller: Controller) -> Result<Box<dyn Any>, Error> {
    let mut attempts = 0;
    loop {
        if let Some(link) = link(controller) {
            return Ok(Box::new(link));
        }
        match load(&[controller]) {
            Ok(registered) => return Ok(Box::new(registered)),
            Err(Error::Taken { .. }) if attempts < ATTEMPTS => attempts += 1,
            Err(error) => return Err(error),
        }
        sleep(PAUSE);
    }
}

fn attach(controller: Controller, cgroup: &Cgroup) -> Result<Link, Error> {
    let mut memory = MaybeUninit::uninit();
    let mut programs = ExecSkelBuilder::default().open(&mut memory).map_err(Error::bpf("opening the programs"))?;
    if let Some(constants) = programs.maps.rodata_data.as_deref_mut() {
        for (to, from) in constants.controller.iter_mut().zip(controller.name().bytes()) {
            *to = from as _;
        }
    }
    let programs = programs.load().map_err(Error::bpf("loading the programs"))?;
    let directory = cgroup.open()?;
    let attached = programs.progs.select_controller.attach_cgroup(directory.as_raw_fd());
    attached.map_err(Error::bpf("selecting the controller for a control group"))
}
