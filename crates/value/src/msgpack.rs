//! MessagePack codec for values, with unknown values as extension types.
