//! Users and passwords of hosts, as `curl` and others keep them: the file `.netrc`.

use std::path::Path;

use crate::{Environment, Secret};

/// The user and the password for a host, if the file has them.
pub(super) fn lookup(host: &str, environment: &Environment, home: Option<&Path>) -> Option<(String, Secret)> {
    let file = environment.path("NETRC").or_else(|| home.map(|home| home.join(".netrc")))?;
    find(&std::fs::read_to_string(file).ok()?, host)
}

fn find(text: &str, host: &str) -> Option<(String, Secret)> {
    let text: String = text.lines().map(|line| line.split(" #").next().unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let mut words = text.split_whitespace();
    let mut applies = false;
    let (mut login, mut password) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" if applies => break,
            "machine" => applies = words.next() == Some(host),
            "default" => applies = true,
            "login" if applies => login = words.next(),
            "password" if applies => password = words.next(),
            "login" | "password" | "account" => drop(words.next()),
            // A macro goes on to an empty line, which nobody needs here: hosts come first.
            "macdef" => break,
            _ => {}
        }
    }
    Some((login?.to_owned(), Secret::new(password?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_the_host_counts() {
        let text = "machine a.example login u1 password p1\nmachine b.example\n  login u2\n  password p2\ndefault login d password e\n";
        let found = |host| find(text, host).map(|(user, password)| format!("{user}:{}", password.reveal()));
        assert_eq!(found("b.example").as_deref(), Some("u2:p2"));
        assert_eq!(found("a.example").as_deref(), Some("u1:p1"));
        assert_eq!(found("c.example").as_deref(), Some("d:e"));
        assert!(find("machine a.example login u", "a.example").is_none());
    }
}
