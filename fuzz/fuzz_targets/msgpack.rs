//! Any bytes decode or are refused; what decodes encodes, and decodes to what encodes the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_value::{ObjectAttr, Type, msgpack};

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let attr = |name: &str, ty| ObjectAttr { name: name.into(), ty, optional: false };
    let ty = match choice % 8 {
        0 => Type::dynamic(),
        1 => Type::string(),
        2 => Type::number(),
        3 => Type::list(Type::dynamic()),
        4 => Type::map(Type::number()),
        5 => Type::set(Type::string()),
        6 => Type::tuple(vec![Type::bool(), Type::dynamic()]),
        _ => Type::object_with_optional([attr("a", Type::list(Type::string())), attr("b", Type::dynamic())]),
    };
    let Ok(value) = msgpack::decode(bytes, &ty) else { return };
    let encoded = msgpack::encode(&value, &ty).expect("a decoded value encodes");
    let again = msgpack::decode(&encoded, &ty).expect("an encoded value decodes");
    // Whole floats come back as integers, of another precision; the bytes are what has to be stable.
    assert_eq!(msgpack::encode(&again, &ty).ok().as_ref(), Some(&encoded), "{value:?} came back as {again:?}");
});
