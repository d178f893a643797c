//! As much of URLs as the reading of module sources needs, by the rules of Go's `net/url`.

use ecow::EcoString;

/// Whether a text is a well-formed URL with a scheme.
pub(crate) fn has_scheme(text: &str) -> bool {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return false;
    }
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let starts_well = letters.next().is_some_and(|b| b.is_ascii_alphabetic());
    if !starts_well || !letters.all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return false;
    }
    let (rest, _query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        return true; // opaque, as in mailto:x
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) if !rest.starts_with('/') => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            if !is_authority(authority) {
                return false;
            }
            path
        }
        _ => rest,
    };
    unescape(path).is_some() && unescape(fragment).is_some()
}

fn is_authority(authority: &str) -> bool {
    let host = match authority.rsplit_once('@') {
        None => authority,
        Some((user, host)) => {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
            if !user.bytes().all(allowed) || unescape(user).is_none() {
                return false;
            }
            host
        }
    };
    let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
    if host.starts_with('[') {
        return host.rfind(']').is_some_and(|end| {
            let port = &host[end + 1..];
            port.is_empty() || port.strip_prefix(':').is_some_and(is_port)
        });
    }
    if host.rsplit_once(':').is_some_and(|(_, port)| !is_port(port)) {
        return false;
    }
    host.bytes().all(|b| !b.is_ascii() || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&b))
}

/// The bytes that a text with percent escapes stands for; none where an escape is malformed.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'%' => {
                let digit = |b: Option<u8>| char::from(b?).to_digit(16);
                u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?
            }
            _ => b,
        });
    }
    Some(out)
}

fn escape(bytes: &[u8], keep: &[u8], out: &mut EcoString) {
    for &b in bytes {
        if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) || keep.contains(&b) {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
}

/// A path with exactly those escapes that it needs; none where an escape in it is malformed.
pub(crate) fn escape_path(path: &str) -> Option<EcoString> {
    let mut out = EcoString::new();
    escape(&unescape(path)?, b"$&+,/:;=@", &mut out);
    Some(out)
}

/// A path whose percent signs mean themselves.
pub(crate) fn escape_raw_path(path: &str) -> EcoString {
    let mut out = EcoString::new();
    escape(path.as_bytes(), b"$&+,/:;=@", &mut out);
    out
}

/// A query with its parameters sorted by name and escaped; none where it is malformed.
pub(crate) fn normalize_query(query: &str) -> Option<EcoString> {
    let mut params = Vec::new();
    for param in query.split('&').filter(|param| !param.is_empty()) {
        if param.contains(';') {
            return None;
        }
        let (name, value) = param.split_once('=').unwrap_or((param, ""));
        params.push((unescape(&name.replace('+', " "))?, unescape(&value.replace('+', " "))?));
    }
    params.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out = EcoString::new();
    for (at, (name, value)) in params.iter().enumerate() {
        if at > 0 {
            out.push('&');
        }
        for (part, sign) in [(name, ""), (value, "=")] {
            out.push_str(sign);
            let mut escaped = EcoString::new();
            escape(part, b" ", &mut escaped);
            out.push_str(&escaped.replace(" ", "+"));
        }
    }
    Some(out)
}

/// A slash-separated path without `.`, `..` and empty parts, as far as that goes; `.` if nothing is left.
pub(crate) fn clean_path(path: &str) -> EcoString {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}").into(),
        (false, true) => ".".into(),
        (false, false) => joined.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_recognized_as_go_does() {
        for (text, expect) in [
            ("https://example.com/a?b#c", true),
            ("example.com:path", true),
            ("c:\\dir", true),
            ("s3://bucket/key", true),
            ("https://user:pw@example.com:80/x", true),
            ("ssh://git@[::1]:22/x", true),
            ("example.com/x", false),
            ("git@github.com:a/b", false),
            ("1http://x", false),
            ("://x", false),
            ("https://example.com:port/x", false),
            ("https://exa mple.com/x", false),
            ("https://example.com/%zz", false),
            ("https://us er@example.com/", false),
            ("", false),
        ] {
            assert_eq!(has_scheme(text), expect, "{text}");
        }
    }

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, expect) in
            [("a//b/./c/../d/", "a/b/d"), ("../../x", "../../x"), ("a/../..", ".."), ("", "."), ("/../a", "/a")]
        {
            assert_eq!(clean_path(path), expect, "{path}");
        }
    }
}
