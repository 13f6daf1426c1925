//! Registers controllers.

use super::programs::pcc::PccSkelBuilder;
use super::{Controller, Error, support};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapMut};
use std::mem::MaybeUninit;

/// Controllers that the kernel has, for as long as this lives. Connections that use one keep it until they end.
pub struct Registered {
    pub(super) links: Vec<(Controller, Link)>,
}

/// Registers controllers: any program of this machine, in any network namespace, may use them from then on.
///
/// # Errors
///
/// When the kernel is too old or was built without what is needed, when the caller may not do it, and when one of
/// the names is taken; then none of them is registered.
pub fn load(controllers: &[Controller]) -> Result<Registered, Error> {
    let kernel = support::kernel()?;
    let mut memory = MaybeUninit::uninit();
    let mut programs = PccSkelBuilder::default().open(&mut memory).map_err(Error::bpf("opening the programs"))?;
    if let Some(constants) = programs.maps.rodata_data.as_deref_mut() {
        constants.two_arguments = kernel.two_arguments;
    }
    for controller in Controller::ALL {
        let map = match controller {
            Controller::Vivace => &mut programs.maps.pcc_vivace,
            Controller::VivaceLoss => &mut programs.maps.pcc_vivaceloss,
            Controller::Allegro => &mut programs.maps.pcc_allegro,
        };
        map.set_autocreate(controllers.contains(&controller)).map_err(Error::bpf("choosing the controllers"))?;
    }
    let mut programs = programs.load().map_err(Error::bpf("loading the programs"))?;
    let mut links = Vec::new();
    for &controller in controllers {
        let map = match controller {
            Controller::Vivace => &mut programs.maps.pcc_vivace,
            Controller::VivaceLoss => &mut programs.maps.pcc_vivaceloss,
            Controller::Allegro => &mut programs.maps.pcc_allegro,
        };
        links.push((controller, register(map, controller)?));
    }
    Ok(Registered { links })
}

fn register(map: &mut MapMut<'_>, controller: Controller) -> Result<Link, Error> {
    map.attach_struct_ops().map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => Error::Taken(controller),
        _ => Error::bpf("registering the controllers")(error),
    })
}
