//! Packages that hosts have: archives, and pages that say where the package is.

use std::path::{Path, PathBuf};

use yuba_addrs::RemoteModule;
use yuba_net::http::{Request, Url, shown};

use super::address::Address;
use super::checksum::Checksum;
use super::files::{self, create_parent, find_subdir_inside};
use super::registry::Direct;
use super::{Fetcher, MOST_HOPS, netrc};
use crate::archive::{Format, Limits, unpack};

/// The longest list of checksums.
const LONGEST_LIST: u64 = 4 << 20;
/// The longest page that is searched for where the package is.
const LONGEST_PAGE: u64 = 4 << 20;

/// Downloads an archive, or the package that a page names.
pub(super) fn fetch(fetcher: &Fetcher, mut address: Address, into: &Path, hops: u32) -> Result<(), String> {
    let format = address.take_format()?;
    let given = address.take("checksum").filter(|given| !given.is_empty());
    let checksum = given.map(|given| checksum(fetcher, &given, &address.url)).transpose()?;
    match format {
        Some(format) => archive(fetcher, &request(fetcher, address.url), format, checksum.as_ref(), into),
        None if checksum.is_some() => {
            Err("a checksum is for archives only, and this address does not look like one; add \
                                           the argument \"archive\" to say what kind it is"
                .to_owned())
        }
        None => page(fetcher, address.url, into, hops),
    }
}

/// The checksum that an argument says, or that the list has which it names.
pub(super) fn checksum(fetcher: &Fetcher, given: &str, archive: &Url) -> Result<Checksum, String> {
    let Some(list) = given.strip_prefix("file:") else { return Checksum::parse(given) };
    let url = Url::parse(list).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = url else {
        return Err(format!("a list of checksums for an archive of a host has an http or https address, not {list:?}"));
    };
    let asked = request(fetcher, url).at_most(LONGEST_LIST);
    let response = fetcher.services.client().get(&asked).map_err(|error| error.to_string())?;
    if !response.is_success() {
        return Err(format!("{} responded with \"{}\"", shown(&asked.url), response.status_text()));
    }
    let name = archive.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    Checksum::listed(&String::from_utf8_lossy(&response.body), name)
        .ok_or_else(|| format!("{} has no checksum for {name}", shown(&asked.url)))
}

fn request(fetcher: &Fetcher, url: Url) -> Request {
    let mut request = Request::new(url);
    if request.url.username().is_empty() {
        let home = fetcher.config.directories.home.as_deref();
        request.basic = netrc::lookup(&request.url, &fetcher.environment, home);
    }
    request
}

/// Downloads an archive, compares its checksum and unpacks it.
pub(super) fn archive(
    fetcher: &Fetcher,
    request: &Request,
    format: Format,
    checksum: Option<&Checksum>,
    into: &Path,
) -> Result<(), String> {
    let file = Partial::beside(into)?;
    download(fetcher, request, &file.0)?;
    if let Some(checksum) = checksum {
        checksum.check(&file.0)?;
    }
    unpack(&file.0, format, into, Limits::default()).map_err(|error| format!("{}: {error}", shown(&request.url)))
}

/// Downloads to a file that does not exist.
pub(super) fn download(fetcher: &Fetcher, request: &Request, file: &Path) -> Result<(), String> {
    let client = fetcher.services.client();
    let response = client.download(request, file, &mut |_, _| {}).map_err(|error| error.to_string())?;
    match response.is_success() {
        true => Ok(()),
        false => Err(format!("{} responded with \"{}\"", shown(&request.url), response.status_text())),
    }
}

/// Downloads the archive that a registry named as the package.
pub(super) fn direct(fetcher: &Fetcher, location: &Direct, into: &Path) -> Result<(), String> {
    let file = Partial::beside(into)?;
    let request = Request::new(location.url.clone())
        .with_token(location.token.clone())
        .with_header("accept", "application/zip, application/x-tar; *;q=0.1");
    download(fetcher, &request, &file.0)?;
    let format = Format::sniff(&file.0)?;
    unpack(&file.0, format, into, Limits::default()).map_err(|error| format!("{}: {error}", shown(&location.url)))
}

/// Requests a page that names the package, and downloads the package.
fn page(fetcher: &Fetcher, mut url: Url, into: &Path, hops: u32) -> Result<(), String> {
    if hops >= MOST_HOPS {
        return Err(format!("{} names another address, after {MOST_HOPS} addresses that did the same", shown(&url)));
    }
    url.query_pairs_mut().append_pair("terraform-get", "1");
    let asked = request(fetcher, url).at_most(LONGEST_PAGE);
    let response = fetcher.services.client().get(&asked).map_err(|error| error.to_string())?;
    if !response.is_success() {
        return Err(format!("{} responded with \"{}\"", shown(&asked.url), response.status_text()));
    }
    let named = match response.header("x-terraform-get") {
        Some(named) if !named.is_empty() => Some(named.to_owned()),
        _ => meta_source(&String::from_utf8_lossy(&response.body)),
    };
    let Some(named) = named else {
        return Err(format!(
            "{} is neither an archive nor a page that names the package: it has no header \"X-Terraform-Get\" \
             and no meta tag \"terraform-get\"",
            shown(&asked.url)
        ));
    };
    let wrong = |reason: &dyn std::fmt::Display| {
        format!("{} names {named:?} as its package, which is not a package address: {reason}", shown(&asked.url))
    };
    let absolute = match named.starts_with(['.', '/']) {
        true => response.url.join(&named).map_err(|error| wrong(&error))?.to_string(),
        false => named.clone(),
    };
    let source = RemoteModule::parse(&absolute).map_err(|error| wrong(&error.diagnostic().explanation()))?;
    let Some(subdir) = &source.subdir else { return fetcher.fetch_from(&source.package, into, hops + 1) };
    // Only the subdirectory becomes the package.
    let whole = Partial::beside(into)?;
    fetcher.fetch_from(&source.package, &whole.0, hops + 1)?;
    let dir = whole.0.join(find_subdir_inside(&whole.0, subdir)?);
    files::copy_directory(&dir, into)
}

/// Content of `<meta name="terraform-get" content="...">` in the head of a page.
fn meta_source(page: &str) -> Option<String> {
    let page = without_comments(page);
    let lower = page.to_ascii_lowercase();
    let end = ["<body", "</head"].iter().filter_map(|tag| lower.find(tag)).min().unwrap_or(page.len());
    let mut at = 0;
    while let Some(start) = lower[at..end].find("<meta").map(|found| at + found) {
        let stop = lower[start..end].find('>').map_or(end, |found| start + found);
        let attributes = attributes(&page[start + 5..stop]);
        let value =
            |name: &str| attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.clone());
        if value("name").as_deref() == Some("terraform-get")
            && let Some(content) = value("content").filter(|content| !content.is_empty())
        {
            return Some(content);
        }
        at = stop;
    }
    None
}

fn without_comments(page: &str) -> String {
    let mut pieces = page.split("<!--");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once("-->").map_or("", |(_, after)| after))
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals].trim().rsplit(char::is_whitespace).next().unwrap_or_default().to_owned();
        let value = rest[equals + 1..].trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        let plain = value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        found.push((name, plain));
        rest = after;
    }
    found
}

/// A temporary file or directory, removed when it is dropped.
pub(super) struct Partial(pub(super) PathBuf);

impl Partial {
    /// Beside another path, so that there is room for both or for none.
    pub(super) fn beside(path: &Path) -> Result<Partial, String> {
        create_parent(path)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
        let name = format!(".fetch-{:016x}", u64::from_ne_bytes(random));
        Ok(Partial(path.parent().unwrap_or(Path::new(".")).join(name)))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        files::remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_the_package_is() {
        let page = "<!doctype html><HTML><head><meta charset=utf-8><META content='https://x/y.zip?a=1&amp;b=2' name=terraform-get /></head>";
        assert_eq!(meta_source(page).as_deref(), Some("https://x/y.zip?a=1&b=2"));
        let page = "<head><!-- <meta name=terraform-get content=x> --><meta name=terraform-get content=y><!-- ";
        assert_eq!(meta_source(page).as_deref(), Some("y"));
        for none in [
            "",
            "<!-- <meta name=terraform-get content=x>",
            "<meta name=\"terraform-get\">",
            "<body><meta name=terraform-get content=x>",
            "<meta",
        ] {
            assert_eq!(meta_source(none), None, "{none}");
        }
    }
}
