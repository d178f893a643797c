//! Any text is an address or is refused; what is written of an address is read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_addrs::{
    AbsResourceInstance, Hostname, ModuleInstance, ModuleSource, ProviderConstraints, ProviderSource, ProviderVersion,
    Target,
};
use yuba_syntax::FileId;

/// A parsed address prints as text that parses to the same address.
fn check<T: ToString, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) {
    if let Ok(found) = parse(text) {
        let written = found.to_string();
        let again = parse(&written).map(|again| again.to_string());
        assert_eq!(again.ok(), Some(written), "of {text:?}");
    }
}

fuzz_target!(|text: &str| {
    // Quirk: a bare name may have the prefix of a repository, which the full form must not have.
    if !["terraform-", "opentofu-"].iter().any(|prefix| text.starts_with(prefix)) {
        check(text, ProviderSource::parse);
    }
    check(text, ProviderVersion::parse);
    check(text, ProviderConstraints::parse);
    check(text, Hostname::parse);
    check(text, |text| AbsResourceInstance::parse_text(FileId(0), text));
    check(text, |text| ModuleInstance::parse_text(FileId(0), text));
    check(text, |text| Target::parse_text(FileId(0), text));
    let _ = ModuleSource::parse(text);
});
