//! Tests of the validation walk, with modules and schemas in memory.
