//! Registers controllers.

use super::programs::pcc::{PccSkel, PccSkelBuilder};
use super::{Controller, Error, Holder, holders, links, support};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapMut, OpenObject, PrintLevel, set_print};
use std::mem::MaybeUninit;
use std::ptr;

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
    let mut memory = MaybeUninit::uninit();
    let mut programs = programs(&mut memory, controllers)?;
    let mut links = Vec::new();
    for &controller in controllers {
        links.push((controller, register(map(&mut programs, controller), controller)?));
    }
    Ok(Registered { links })
}

/// Puts programs of this build in the place of registered ones, at which `links` are. Connections keep the old ones.
pub(super) fn replace(links: &[(Controller, Link)]) -> Result<(), Error> {
    let controllers: Vec<_> = links.iter().map(|(controller, _)| *controller).collect();
    let mut memory = MaybeUninit::uninit();
    let mut programs = programs(&mut memory, &controllers)?;
    for (controller, link) in links {
        let map = map(&mut programs, *controller);
        // The name is taken, but this is how the library makes a map ready for a link.
        drop(map.attach_struct_ops());
        links::update(link, map)?;
    }
    Ok(())
}

/// The programs of these controllers, in the kernel but not registered.
fn programs<'a>(memory: &'a mut MaybeUninit<OpenObject>, controllers: &[Controller]) -> Result<PccSkel<'a>, Error> {
    let kernel = support::kernel()?;
    support::privileged()?;
    // It would tell of callbacks that only other kernels have.
    set_print(Some((PrintLevel::Warn, |_, message| eprint!("{message}"))));
    let mut programs = PccSkelBuilder::default().open(memory).map_err(Error::bpf("opening the programs"))?;
    if let Some(constants) = programs.maps.rodata_data.as_deref_mut() {
        constants.two_arguments = kernel.two_arguments;
    }
    for controller in Controller::ALL {
        let (map, callbacks) = match controller {
            Controller::Vivace => (&mut programs.maps.pcc_vivace, programs.struct_ops.pcc_vivace_mut()),
            Controller::VivaceLoss => (&mut programs.maps.pcc_vivaceloss, programs.struct_ops.pcc_vivaceloss_mut()),
            Controller::Allegro => (&mut programs.maps.pcc_allegro, programs.struct_ops.pcc_allegro_mut()),
        };
        let other = if kernel.tells_start { &mut callbacks.cwnd_event } else { &mut callbacks.cwnd_event_tx_start };
        *other = ptr::null_mut();
        map.set_autocreate(controllers.contains(&controller)).map_err(Error::bpf("choosing the controllers"))?;
    }
    programs.load().map_err(Error::bpf("loading the programs"))
}

fn map<'a, 'b>(programs: &'b mut PccSkel<'a>, controller: Controller) -> &'b mut MapMut<'a> {
    match controller {
        Controller::Vivace => &mut programs.maps.pcc_vivace,
        Controller::VivaceLoss => &mut programs.maps.pcc_vivaceloss,
        Controller::Allegro => &mut programs.maps.pcc_allegro,
    }
}

fn register(map: &mut MapMut<'_>, controller: Controller) -> Result<Link, Error> {
    map.attach_struct_ops().map_err(|error| match error.kind() {
        libbpf_rs::ErrorKind::AlreadyExists => {
            Error::Taken { controller, holder: holders().remove(&controller).unwrap_or(Holder::Unknown) }
        }
        _ => Error::bpf("registering the controllers")(error),
    })
}
