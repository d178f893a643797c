//! Hostnames of registries, and the DNS rules that also hold for the other parts of a provider's name.

use std::fmt;

use ecow::{EcoString, eco_format};
use unicode_normalization::UnicodeNormalization;

/// A hostname with an optional port, in the form in which people write it: lower case, Unicode rather than Punycode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hostname(EcoString);

impl Hostname {
    /// Reads a hostname, or fails with the reason.
    pub fn parse(given: &str) -> Result<Hostname, EcoString> {
        let (name, port) = match given.split_once(':') {
            Some((name, port)) => (name, port_suffix(port, name)?),
            None => (given, EcoString::new()),
        };
        if name.is_empty() {
            return Err("the hostname is empty".into());
        }
        let (labels, end) = match name.strip_suffix('.') {
            Some(labels) => (labels, "."),
            None => (name, ""),
        };
        let mut host = EcoString::new();
        for label in labels.split('.') {
            if label.is_empty() {
                return Err("it has two dots in a row".into());
            }
            if label.starts_with("xn--") {
                return Err(eco_format!("{label:?} is in Punycode; write international names in their own letters"));
            }
            let label = normalize_label(label).ok_or("it may have letters, digits and inner dashes only")?;
            if !host.is_empty() {
                host.push('.');
            }
            host.push_str(&label);
        }
        host.push_str(end);
        host.push_str(&port);
        Ok(Hostname(host))
    }
    /// One that is known to be well-formed.
    pub(crate) fn known(name: &'static str) -> Hostname {
        Hostname(name.into())
    }
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The port with its colon; nothing for the default port.
fn port_suffix(port: &str, name: &str) -> Result<EcoString, EcoString> {
    match port.parse::<u32>() {
        Ok(443) => Ok(EcoString::new()),
        Ok(port) if port <= 65535 => Ok(eco_format!(":{port}")),
        Ok(_) => Err("its port number is greater than 65535".into()),
        Err(_) if name.eq_ignore_ascii_case("https") || name.eq_ignore_ascii_case("http") => {
            Err("a hostname with an optional port is needed, not a whole URL".into())
        }
        Err(_) => Err("its port is not a number".into()),
    }
}

/// One label in lower case; none if it has other characters than letters, digits and inner dashes.
pub(crate) fn normalize_label(label: &str) -> Option<EcoString> {
    let label: EcoString = if label.is_ascii() {
        label.to_ascii_lowercase().into()
    } else {
        label.nfkc().flat_map(char::to_lowercase).nfc().collect()
    };
    let bytes = label.as_bytes();
    let dashes = bytes.first() == Some(&b'-') || bytes.last() == Some(&b'-') || bytes.get(2..4) == Some(b"--");
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || c == '-'
            || !c.is_ascii() && (c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c))
    };
    let starts_well = label.chars().next().is_some_and(|c| !unicode_normalization::char::is_combining_mark(c));
    (starts_well && !dashes && label.chars().all(allowed)).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_are_normalized() {
        let parse = |given| Hostname::parse(given).map_or("invalid".to_owned(), |host| host.to_string());
        for (given, expect) in [
            ("Registry.OpenTofu.org", "registry.opentofu.org"),
            ("example.com:443", "example.com"),
            ("example.com:8080", "example.com:8080"),
            ("example.com.", "example.com."),
            ("localhost", "localhost"),
            ("Испытание.com", "испытание.com"),
            ("BÜCHER.example", "bücher.example"),
            ("", "invalid"),
            ("a..b", "invalid"),
            (".a", "invalid"),
            ("xn--80akhbyknj4f.com", "invalid"),
            ("a_b.com", "invalid"),
            ("-a.com", "invalid"),
            ("a-.com", "invalid"),
            ("ab--c.com", "invalid"),
            ("example.com:", "invalid"),
            ("example.com:x", "invalid"),
            ("example.com:65536", "invalid"),
            ("https://example.com", "invalid"),
        ] {
            assert_eq!(parse(given), expect, "{given}");
        }
    }
}
