//! Operations on values: arithmetic, comparison, logic, indexing. They carry null, unknown and marks along.
