//! A reader of the XML documents of the blob service: lists of blobs and errors. Elements, attributes, character data and the
//! predefined entities; no document types.

/// A page of a list of blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Names of blobs.
    pub(super) names: Vec<String>,
    /// Where the next page begins; none on the last page.
    pub(super) next: Option<String>,
}

/// Code and message of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceError {
    pub(super) code: String,
    pub(super) message: String,
    /// Why a request is not authenticated.
    pub(super) detail: String,
}

/// Reads a page of a list; none if it is not one.
pub(super) fn page(xml: &str) -> Option<Page> {
    let mut page = Page::default();
    let mut is_list = false;
    walk(xml, &mut |path, attributes, text| match path {
        ["EnumerationResults"] => is_list = true,
        ["EnumerationResults", "Blobs", "Blob", "Name"] => {
            // Names with characters that XML cannot have.
            let is_encoded = attributes.contains("Encoded=\"true\"");
            page.names.push(if is_encoded { percent_decoded(text) } else { text.to_owned() });
        }
        ["EnumerationResults", "NextMarker"] if !text.is_empty() => page.next = Some(text.to_owned()),
        _ => {}
    })?;
    is_list.then_some(page)
}

/// Reads an error; none if it is not one.
pub(super) fn error(xml: &str) -> Option<ServiceError> {
    let mut error = ServiceError::default();
    walk(xml, &mut |path, _, text| match path {
        ["Error", "Code"] => text.clone_into(&mut error.code),
        // Request id and time follow on lines of their own.
        ["Error", "Message"] => text.lines().next().unwrap_or_default().clone_into(&mut error.message),
        ["Error", "AuthenticationErrorDetail"] => error.detail = without_signed_headers(text),
        _ => {}
    })?;
    (!error.code.is_empty()).then_some(error)
}

/// An explanation without the string that was signed: it repeats headers, and the key of the customer is one of them.
fn without_signed_headers(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let lower = line.to_ascii_lowercase();
    let end = lower.find("server used following string").or_else(|| lower.find("string to sign"));
    line[..end.unwrap_or(line.len())].trim_end().to_owned()
}

/// Calls a function at the end of every element, with its path, its attributes and its character data. None if elements do not match.
fn walk<'x>(xml: &'x str, visit: &mut dyn FnMut(&[&'x str], &str, &str)) -> Option<()> {
    let mut rest = xml.trim_start_matches('\u{feff}');
    let mut path: Vec<&str> = Vec::new();
    let mut open: Vec<(&str, String)> = Vec::new();
    while let Some(begin) = rest.find('<') {
        if let Some((_, text)) = open.last_mut() {
            text.push_str(&unescaped(&rest[..begin]));
        }
        rest = &rest[begin..];
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            let (data, after) = data.split_once("]]>")?;
            open.last_mut()?.1.push_str(data);
            rest = after;
            continue;
        }
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let (tag, after) = rest[1..].split_once('>')?;
        rest = after;
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            if path.last() != Some(&name.trim()) {
                return None;
            }
            let (attributes, text) = open.pop()?;
            visit(&path, attributes, text.trim_matches(['\r', '\n']));
            path.pop();
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        path.push(name);
        match is_empty {
            true => {
                visit(&path, attributes, "");
                path.pop();
            }
            false => open.push((attributes, String::new())),
        }
    }
    (path.is_empty() && open.is_empty()).then_some(())
}

/// Character data with its entities replaced. Unknown entities stay as they are.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let entity = rest[at + 1..].split_once(';').and_then(|(name, after)| {
            let character = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => {
                    let number = name.strip_prefix('#')?;
                    let code = match number.strip_prefix(['x', 'X']) {
                        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                        None => number.parse(),
                    };
                    char::from_u32(code.ok()?)?
                }
            };
            Some((character, after))
        });
        match entity {
            Some((character, after)) => {
                out.push(character);
                rest = after;
            }
            None => {
                out.push('&');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_marker_of_a_list_are_read() {
        let xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<EnumerationResults ServiceEndpoint=\"https://a/\" \
                   ContainerName=\"c\"><Prefix>kenv:</Prefix><Marker/><Blobs><Blob><Name>kenv:a&amp;b&#x20;c</Name><Properties>\
                   <Etag>0x1</Etag></Properties><Metadata><Name>no</Name></Metadata></Blob><Blob><Name Encoded=\"true\">kenv:%EF%BF%BE%41\
                   </Name></Blob></Blobs><NextMarker>2!80!x--</NextMarker></EnumerationResults>";
        let expected = Page {
            names: vec!["kenv:a&b c".to_owned(), "kenv:\u{fffe}A".to_owned()],
            next: Some("2!80!x--".to_owned()),
        };
        assert_eq!(page(xml), Some(expected));
        let last = "<EnumerationResults><Blobs/><NextMarker /></EnumerationResults>";
        assert_eq!(page(last), Some(Page::default()));
    }

    #[test]
    fn code_and_message_of_an_error_are_read() {
        let xml = "\u{feff}<?xml version=\"1.0\"?>\n<Error>\n  <Code>AuthenticationFailed</Code>\n  <Message>Server failed.\n\
                   RequestId:1</Message><AuthenticationErrorDetail>Request date header too old: 'x'</AuthenticationErrorDetail></Error>";
        let found = error(xml).expect("because it is an error");
        assert_eq!((found.code.as_str(), found.message.as_str()), ("AuthenticationFailed", "Server failed."));
        assert_eq!(found.detail, "Request date header too old: 'x'");
        for signed in ["'PUT\n\nx-ms-encryption-key:SECRET\n/a/b'", "'PUT\\nx-ms-encryption-key:SECRET'"] {
            let xml = format!(
                "<Error><Code>AuthenticationFailed</Code><AuthenticationErrorDetail>The MAC signature is not the same as any \
                 computed signature. Server used following string to sign: {signed}.</AuthenticationErrorDetail></Error>"
            );
            let found = error(&xml).expect("because it is an error");
            assert_eq!(found.detail, "The MAC signature is not the same as any computed signature.");
        }
    }

    #[test]
    fn other_documents_are_neither() {
        for xml in
            ["", "<", "<a>", "<a></b>", "</a>", "<html><body>Login</body></html>", "<![CDATA[x]]>", "&#xffffffff;<a"]
        {
            assert_eq!((page(xml), error(xml)), (None, None), "{xml}");
        }
    }
}
