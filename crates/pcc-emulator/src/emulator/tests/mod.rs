mod frames;
mod links;
mod packets;
mod traffic;
