//! What several controllers are made of: filters, round trips, delivery rates, congestion windows, and what the versions
//! of BBR share.

pub(crate) mod bbr;
pub(crate) mod delivery_rate;
pub(crate) mod hystart;
pub(crate) mod persistent;
pub(crate) mod round_min;
pub(crate) mod rounds;
pub(crate) mod rtt;
pub(crate) mod window;
pub(crate) mod windowed_filter;
