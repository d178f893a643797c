//! Files become a module: duplicates found, override files merged.
