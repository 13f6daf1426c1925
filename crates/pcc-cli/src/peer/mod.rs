//! How two commands find each other and prove who they are: one makes a ticket and waits, the other has the ticket and
//! connects. What they then do with the connection is not for here.

pub mod asking;
pub mod connecting;
pub mod credentials;
pub mod door;
pub mod endpoint;
pub mod greeting;
pub mod identity;
pub mod keeper;
pub mod pin;
pub mod restart;
pub mod ticket;
pub mod wire;
