//! Utility functions: what a monitor interval was worth.

mod allegro;
mod function;
mod heterogeneous;
mod logarithmic;
#[cfg(test)]
mod tests;
mod vivace;

pub use allegro::{Interactive, LossResilient, Safe, TcpFriendly};
pub use function::{Utility, sigmoid};
pub use heterogeneous::Heterogeneous;
pub use logarithmic::Logarithmic;
pub use vivace::{SmallLoss, Vivace};

use alloc::sync::Arc;

/// Makes [`UtilityConfig`] from the list of the built-in utilities: the name in text, the variant, and the constants if
/// nobody sets others.
macro_rules! built_in {
    ($($(#[$doc:meta])* $name:literal: $utility:ident = $constants:expr,)*) => {
        /// A utility function and its constants.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(tag = "kind"))]
        pub enum UtilityConfig {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $utility($utility),
            )*
            /// A utility of your own. It can't be written to a file.
            #[cfg_attr(feature = "serde", serde(skip_deserializing, serialize_with = "crate::text::no_text"))]
            Own(Arc<dyn Utility>),
        }

        impl UtilityConfig {
            /// The built-in ones: the name that each has in text, and its default constants.
            pub const BUILT_IN: &[(&'static str, UtilityConfig)] = &[$(($name, UtilityConfig::$utility($constants)),)*];

            /// The function itself, to be called without a look at its kind.
            pub fn shared(&self) -> Arc<dyn Utility> {
                match self {
                    $(UtilityConfig::$utility(utility) => Arc::new(*utility),)*
                    UtilityConfig::Own(utility) => utility.clone(),
                }
            }
        }
    };
}

built_in! {
    /// Allegro's default.
    "safe": Safe = Safe::DEFAULT,
    /// Allegro's that backs off when the round-trip time grows.
    "tcp-friendly": TcpFriendly = TcpFriendly::DEFAULT,
    /// Allegro's that favours low delay.
    "interactive": Interactive = Interactive { safe: Safe::DEFAULT },
    /// Allegro's for heavy random loss.
    "loss-resilient": LossResilient = LossResilient,
    /// Vivace's; by default [`Vivace::LATENCY`].
    "vivace": Vivace = Vivace::LATENCY,
    /// Vivace's that divides a link in chosen shares; by default with the price 2, which is half of a link.
    "heterogeneous": Heterogeneous = Heterogeneous { price: 2.0 },
    /// A number of packets in the queue.
    "logarithmic": Logarithmic = Logarithmic::DEFAULT,
}

impl UtilityConfig {
    /// A utility function of your own.
    pub fn own(utility: impl Utility + 'static) -> UtilityConfig {
        UtilityConfig::Own(Arc::new(utility))
    }
}
