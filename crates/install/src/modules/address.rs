//! The address of a package: `git::https://example.com/x.git?ref=v1`.

use yuba_net::http::Url;

use crate::archive::Format;

/// An address, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Protocol.
    pub(super) protocol: String,
    /// URL or path.
    pub(super) url: Url,
}

impl Address {
    pub(super) fn parse(package: &str) -> Result<Address, String> {
        let (forced, rest) = match package.split_once("::") {
            Some((forced, rest)) if !forced.is_empty() && forced.bytes().all(|b| b.is_ascii_alphanumeric()) => {
                (Some(forced), rest)
            }
            _ => (None, package),
        };
        let url = Url::parse(rest).map_err(|error| {
            let hint = match (forced, rest.starts_with("ssh://")) {
                (Some("git"), true) => {
                    ". If the colon introduces a path, leave out \"ssh://\": git::git@host:path, or replace \
                     the colon by a slash"
                }
                _ => "",
            };
            format!("the address is not a URL: {error}{hint}")
        })?;
        let protocol = forced.map_or_else(|| url.scheme().to_owned(), str::to_owned);
        Ok(Address { protocol, url })
    }

    /// Whether it leads to files of this machine, by its own scheme or by the protocol before it: `git::file:///srv/x`.
    pub(super) fn is_local(&self) -> bool {
        self.protocol.eq_ignore_ascii_case("file") || self.url.scheme() == "file"
    }

    /// Takes an argument out of the query.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        take_argument(&mut self.url, name)
    }

    /// The kind of archive: by the argument `archive`, or by the extension of the path. None if it is not an archive.
    pub(super) fn take_format(&mut self) -> Result<Option<Format>, String> {
        match self.take("archive").as_deref() {
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => return Ok(None),
            // Quirk: any other word that is not a kind of archive means that it is not an archive.
            Some(given) if !given.is_empty() => return format_of(given).transpose(),
            _ => {}
        }
        let kinds = ["tar.gz", "tgz", "tar.bz2", "tar.tbz2", "tar.xz", "txz", "zip", "gz", "bz2", "xz"];
        let found = kinds.iter().find(|kind| self.url.path().ends_with(&format!(".{kind}")));
        found.and_then(|kind| format_of(kind)).transpose()
    }
}

fn format_of(kind: &str) -> Option<Result<Format, String>> {
    match kind {
        "zip" => Some(Ok(Format::Zip)),
        "tar.gz" | "tgz" => Some(Ok(Format::TarGz)),
        "tar.bz2" | "tar.tbz2" => Some(Ok(Format::TarBz2)),
        "tar.xz" | "txz" => Some(Ok(Format::TarXz)),
        "gz" | "bz2" | "xz" => {
            let reason =
                format!("a file compressed with {kind} is not an archive: it cannot contain the files of a module");
            Some(Err(reason))
        }
        _ => None,
    }
}

/// Takes an argument out of the query of a URL. The first one counts if there are several, as in OpenTofu.
pub(super) fn take_argument(url: &mut Url, name: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
    let found = pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    if found.is_some() {
        let rest: Vec<&(String, String)> = pairs.iter().filter(|(key, _)| key != name).collect();
        url.set_query(None);
        if !rest.is_empty() {
            url.query_pairs_mut().extend_pairs(rest.iter().map(|(key, value)| (key, value)));
        }
    }
    found
}
