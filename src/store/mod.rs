//! One repository's refs. So far: single files of either format, and a stack of tables, opened.

mod packed_file;
mod stack;
mod table_file;
mod tables;
mod text;

pub use packed_file::PackedFile;
pub use stack::Stack;
pub use table_file::TableFile;
pub use tables::{Found, LogWalk, RefWalk, Tables};
