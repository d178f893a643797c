//! Tests of credential flows against strict hosts.
