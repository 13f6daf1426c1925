//! A utility function as a part of a profile.

use super::{Heterogeneous, Interactive, LossResilient, Safe, TcpFriendly, Utility, Vivace};
use alloc::sync::Arc;

/// A utility function and its constants.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "kind", rename_all = "kebab-case")
)]
pub enum UtilityConfig {
    /// Allegro's default.
    Safe(Safe),
    /// Allegro's that backs off when the round-trip time grows.
    TcpFriendly(TcpFriendly),
    /// Allegro's that favours low delay.
    Interactive(Interactive),
    /// Allegro's for heavy random loss.
    LossResilient(LossResilient),
    /// Vivace's.
    Vivace(Vivace),
    /// Vivace's that divides a link in chosen shares.
    Heterogeneous(Heterogeneous),
    /// Your own, which has no text.
    #[cfg_attr(feature = "serde", serde(skip_deserializing, serialize_with = "crate::text::no_text"))]
    Own(Arc<dyn Utility>),
}

impl UtilityConfig {
    /// A utility function of your own.
    pub fn own(utility: impl Utility + 'static) -> UtilityConfig {
        UtilityConfig::Own(Arc::new(utility))
    }

    /// The function itself, to be called without a look at its kind.
    pub fn shared(&self) -> Arc<dyn Utility> {
        match self {
            UtilityConfig::Safe(utility) => Arc::new(*utility),
            UtilityConfig::TcpFriendly(utility) => Arc::new(*utility),
            UtilityConfig::Interactive(utility) => Arc::new(*utility),
            UtilityConfig::LossResilient(utility) => Arc::new(*utility),
            UtilityConfig::Vivace(utility) => Arc::new(*utility),
            UtilityConfig::Heterogeneous(utility) => Arc::new(*utility),
            UtilityConfig::Own(utility) => utility.clone(),
        }
    }
}
