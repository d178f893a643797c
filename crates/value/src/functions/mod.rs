//! The pure functions of the language, one file per family.
//!
//! Each family has `pub(crate) fn functions() -> Vec<Function>`; [`all`] is the table.

mod charset;
pub mod cidr;
pub mod collection;
pub mod conversion;
pub mod crypto;
pub mod csv;
pub mod datetime;
pub mod encoding;
pub mod format;
mod gzip;
pub mod number;
pub mod pattern;
mod rsa;
pub mod sensitivity;
pub mod set;
pub mod string;
pub mod timestamp;
pub mod yaml;

use crate::function::Function;

/// All pure functions, in no particular order.
pub fn all() -> Vec<Function> {
    let mut table = Vec::with_capacity(128);
    table.extend(cidr::functions());
    table.extend(collection::functions());
    table.extend(conversion::functions());
    table.extend(crypto::functions());
    table.extend(csv::functions());
    table.extend(datetime::functions());
    table.extend(encoding::functions());
    table.extend(format::functions());
    table.extend(number::functions());
    table.extend(pattern::functions());
    table.extend(sensitivity::functions());
    table.extend(set::functions());
    table.extend(string::functions());
    table.extend(yaml::functions());
    table
}
