//! Connection strings: URLs and `key=value` pairs, read as lib/pq reads them, which OpenTofu uses.
//!
//! Invariant: no message contains a value of the string, because any part of it may be a password.

use std::collections::BTreeMap;

/// Parameters by name.
pub(super) type Parameters = BTreeMap<String, String>;

/// Reads a connection string. The error is the second half of a sentence.
pub(super) fn parse(text: &str) -> Result<Parameters, String> {
    let url = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    match url {
        Some(rest) => parse_url(rest),
        None => parse_pairs(text),
    }
}

/// `[user[:password]@][host[:port],...][/database][?name=value&...]`
fn parse_url(text: &str) -> Result<Parameters, String> {
    let mut found = Parameters::new();
    let mut set = |name: &str, value: String| {
        // Quirk: lib/pq takes the first value of a parameter, and an empty one counts as not set.
        if !value.is_empty() && !found.contains_key(name) {
            found.insert(name.to_owned(), value);
        }
    };
    let (before, query) = text.split_once('?').map_or((text, ""), |(before, query)| (before, query));
    if before.contains('#') {
        return Err("the URL contains the character #, which must be written as %23".to_owned());
    }
    let query = query.split('#').next().unwrap_or_default();
    let (authority, database) = before.split_once('/').unwrap_or((before, ""));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (Some(user), hosts),
        None => (None, authority),
    };
    if let Some(user) = user {
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        set("user", decoded(name, "user name")?);
        set("password", decoded(password, "password")?);
    }
    let (hosts, ports) = split_hosts(hosts)?;
    set("host", hosts);
    set("port", ports);
    set("dbname", decoded(database, "database name")?);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(&name.replace('+', " "), "query")?;
        let value = decoded(&value.replace('+', " "), &format!("parameter \"{name}\""))?;
        set(&name, value);
    }
    Ok(found)
}

/// Hosts and ports of the authority of a URL, each separated by commas. There are no ports if none is written.
fn split_hosts(text: &str) -> Result<(String, String), String> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for item in text.split(',') {
        let (host, port) = match item.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, ""),
            Some((host, port)) => {
                let port = port.strip_prefix(':');
                (host, port.ok_or("the URL has characters after the ] of a host that are not a port")?)
            }
            None => item.split_once(':').unwrap_or((item, "")),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            let hint = "special characters of a password must be percent-encoded";
            return Err(format!("the port in the URL is not a number; {hint}"));
        }
        hosts.push(decoded(host, "host")?);
        ports.push(port.to_owned());
    }
    let ports = if ports.iter().all(String::is_empty) { String::new() } else { ports.join(",") };
    Ok((hosts.join(","), ports))
}

/// Without percent-encoding.
fn decoded(text: &str, what: &str) -> Result<String, String> {
    let wrong = || format!("the {what} in the URL has a % that is not followed by two hexadecimal digits");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16)).ok_or_else(wrong);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| format!("the {what} in the URL is not valid UTF-8"))
}

/// `name=value name='a value'`, where a backslash escapes the next character.
fn parse_pairs(text: &str) -> Result<Parameters, String> {
    let mut found = Parameters::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|character| character.is_whitespace()).is_some() {}
        if rest.peek().is_none() {
            return Ok(found);
        }
        let mut name = String::new();
        while let Some(character) = rest.next_if(|character| !character.is_whitespace() && *character != '=') {
            name.push(character);
        }
        while rest.next_if(|character| character.is_whitespace()).is_some() {}
        if rest.next() != Some('=') {
            return Err(match found.is_empty() {
                // The word may be a password.
                true => "it is neither a postgres:// URL nor pairs of name=value".to_owned(),
                false => format!("the pair of name and value number {} has no =", found.len() + 1),
            });
        }
        while rest.next_if(|character| character.is_whitespace()).is_some() {}
        let value = match rest.next_if_eq(&'\'') {
            Some(_) => quoted(&mut rest).ok_or_else(|| format!("the value of \"{name}\" has no closing quote"))?,
            None => bare(&mut rest).ok_or_else(|| format!("the value of \"{name}\" ends with a backslash"))?,
        };
        found.insert(name, value);
    }
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// A value up to its closing quote; none if there is no such quote.
fn quoted(rest: &mut Characters<'_>) -> Option<String> {
    let mut value = String::new();
    loop {
        match rest.next()? {
            '\'' => return Some(value),
            '\\' => value.push(rest.next()?),
            character => value.push(character),
        }
    }
}

/// A value up to white space; none if its last character is a backslash that escapes nothing.
fn bare(rest: &mut Characters<'_>) -> Option<String> {
    let mut value = String::new();
    while let Some(character) = rest.next_if(|character| !character.is_whitespace()) {
        value.push(if character == '\\' { rest.next()? } else { character });
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Parameters = expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(parse(text), Ok(expected), "{text}");
    }

    #[test]
    fn urls_become_parameters() {
        check("postgres://", &[]);
        check("postgres://h", &[("host", "h")]);
        check(
            "postgresql://ann:p%40ss%20w@db.example:5433/states?sslmode=disable&application_name=a+b",
            &[
                ("user", "ann"),
                ("password", "p@ss w"),
                ("host", "db.example"),
                ("port", "5433"),
                ("dbname", "states"),
                ("sslmode", "disable"),
                ("application_name", "a b"),
            ],
        );
        check("postgres://ann@[::1]:5433/x", &[("user", "ann"), ("host", "::1"), ("port", "5433"), ("dbname", "x")]);
        check("postgres://a,b:5433/x", &[("host", "a,b"), ("port", ",5433"), ("dbname", "x")]);
        check("postgres://%2Frun%2Fpg/x", &[("host", "/run/pg"), ("dbname", "x")]);
        check("postgres:///x?host=/run/pg&user=&user=b", &[("dbname", "x"), ("host", "/run/pg"), ("user", "b")]);
    }

    #[test]
    fn pairs_become_parameters() {
        check("", &[]);
        check("host=h port = 5433 dbname=", &[("host", "h"), ("port", "5433"), ("dbname", "")]);
        check(r"user=space\ man password='it\'s \\ valid'", &[("user", "space man"), ("password", r"it's \ valid")]);
        check("password=''\n user=a", &[("password", ""), ("user", "a")]);
    }

    #[test]
    fn no_error_shows_a_value() {
        for text in [
            "postgres://ann:s3cret#x@h/db",
            "postgres://ann:s3cret",
            "postgres://ann:s3cret%zz@h/db",
            "postgres://ann:s3cret%ff@h/db",
            "postgres://h/db?password=s3cret%",
            "s3cret",
            "user=ann s3cret",
            "password='s3cret",
            "password=s3cret\\",
            "postgres://ann@[::1]s3cret/db",
        ] {
            let error = parse(text).expect_err(text);
            assert!(!error.contains("s3cret"), "{text}: {error}");
        }
    }
}
