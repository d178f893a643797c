//! One file: its blocks, decoded, nothing merged yet.
