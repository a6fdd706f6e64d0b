//! The only floor that asks the operating system: opens, maps, reads and identifies files.

mod backing;
mod dir;
mod identity;
mod lines;
mod open;
mod small;
mod tail;

pub use backing::Backing;
pub use dir::list;
pub use identity::Identity;
pub use lines::{LineStep, Lines};
pub use open::{absolute, is_a_directory, is_a_loop, load, load_file, open};
pub use small::{MOST, There, is_nothing, look, look_through, read_through};
pub use tail::{Tail, tail};
