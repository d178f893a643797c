//! The formatter: canonical whitespace for any file, whatever its blocks mean.
