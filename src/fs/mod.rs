//! The only floor that asks the operating system: opens, maps, reads and identifies files.

mod backing;
mod identity;
mod open;

pub use backing::Backing;
pub use identity::Identity;
pub use open::{absolute, load, open};
