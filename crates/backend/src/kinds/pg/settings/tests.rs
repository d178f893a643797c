//! Tests of the settings of connections.
