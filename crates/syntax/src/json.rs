//! JSON syntax.

/// A JSON object (or array of objects) as a body.
#[derive(Clone, Debug)]
pub struct JsonBody {}
