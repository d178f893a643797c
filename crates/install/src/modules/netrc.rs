//! Users and passwords of hosts from the file `.netrc`, as `curl` and other tools read it.

use std::path::Path;

use yuba_net::http::Url;
use yuba_net::{Environment, Secret};

/// The user and the password for a host, if the file has them. An entry with the port of the address counts before one
/// without.
pub(super) fn lookup(url: &Url, environment: &Environment, home: Option<&Path>) -> Option<(String, Secret)> {
    let host = url.host_str()?;
    let file = environment.path("NETRC").or_else(|| home.map(|home| home.join(".netrc")))?;
    let text = std::fs::read_to_string(file).ok()?;
    let with_port = url.port().and_then(|port| find(&text, &format!("{host}:{port}"), DefaultEntry::Ignored));
    with_port.or_else(|| find(&text, host, DefaultEntry::Used))
}

/// Whether the entry `default` applies to a host without an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultEntry {
    Used,
    Ignored,
}

fn find(text: &str, host: &str, default: DefaultEntry) -> Option<(String, Secret)> {
    let (mut login, mut password) = ("", "");
    let mut applies = false;
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" if applies => break,
            "machine" => applies = words.next() == Some(host),
            "default" => applies = default == DefaultEntry::Used,
            "login" if applies => login = words.next().unwrap_or_default(),
            "password" if applies => password = words.next().unwrap_or_default(),
            "login" | "password" | "account" => drop(words.next()),
            _ => {}
        }
    }
    (!login.is_empty() || !password.is_empty()).then(|| (login.to_owned(), Secret::new(password)))
}

/// The words of a file, without comments and macros. A macro goes on to an empty line.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut is_macro = false;
    for line in text.lines() {
        is_macro &= !line.trim().is_empty();
        for word in line.split_whitespace().take_while(|word| !word.starts_with('#')) {
            is_macro |= word == "macdef";
            if !is_macro {
                words.push(word);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_the_host_counts() {
        let text = "machine a.example login u1 password p1\nmachine b.example\n  login u2\n  password p2\ndefault login d password e\n";
        let found = |text, host| {
            find(text, host, DefaultEntry::Used).map(|(user, password)| format!("{user}:{}", password.reveal()))
        };
        assert_eq!(found(text, "b.example").as_deref(), Some("u2:p2"));
        assert_eq!(found(text, "a.example").as_deref(), Some("u1:p1"));
        assert_eq!(found(text, "c.example").as_deref(), Some("d:e"));
        let check = |text, expect| assert_eq!(found(text, "a.example").as_deref(), expect, "{text}");
        check("macdef init\nmachine a.example login m\n\nmachine a.example login u password p", Some("u:p"));
        check("# login x\nmachine a.example account z login u password p#1 # login y", Some("u:p#1"));
        check("machine a.example login u", Some("u:"));
        check("machine a.example password p", Some(":p"));
        check("machine a.example", None);
    }

    #[test]
    fn an_entry_with_the_port_counts_before_one_without() {
        let text = "default login d password e\nmachine a.example login u password p\nmachine a.example:8443 login v password q\n";
        let sandbox = yuba_testkit::Sandbox::new("", "");
        sandbox.write("netrc", text);
        let file = sandbox.dir().join("netrc");
        let environment = Environment::from_iter([("NETRC", file.to_str().expect("the path is Unicode"))]);
        let user = |url: &str| lookup(&Url::parse(url).expect("it is a URL"), &environment, None).map(|(user, _)| user);
        assert_eq!(user("https://a.example:8443/x").as_deref(), Some("v"));
        assert_eq!(user("https://b.example/x").as_deref(), Some("d"));
    }
}
