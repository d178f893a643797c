//! Moved objects: which objects of the last state have another address now.
