//! Any bytes are a state or are refused; what is written of a state is read again and written the same. Any line is an
//! edit or is refused, and an edit comes back from its line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_state::{Edit, read, write};

/// The state as a file; none where it has a provider address of old that has no equivalent today.
fn written(bytes: &[u8]) -> Option<Vec<u8>> {
    let (state, _) = read(bytes).ok()?;
    if state.iter().any(|resource| resource.provider.provider.is_legacy()) {
        return None;
    }
    let mut out = Vec::new();
    write(&state, &mut out);
    Some(out)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(first) = written(bytes) {
        let second = written(&first).expect("what was written can be read");
        let third = written(&second).expect("what was written can be read");
        assert_eq!(second, third);
    }
    if let Ok(line) = std::str::from_utf8(bytes)
        && let Ok(edit) = Edit::from_json_line(line)
    {
        let line = edit.to_json_line();
        let again = Edit::from_json_line(&line).expect("what was written can be read");
        assert_eq!(again.to_json_line(), line);
    }
});
