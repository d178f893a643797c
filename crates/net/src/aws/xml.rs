//! XML responses of AWS services: elements with text, without attributes that matter.

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a namespace prefix.
    pub name: String,
    /// Its text, without surrounding space unless it has nothing else.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
}

/// Elements within elements. No response of a service comes near it.
const DEEPEST: usize = 32;

impl Element {
    /// Reads a document; none if it is not well-formed.
    pub fn parse(document: &str) -> Option<Element> {
        let mut open: Vec<Element> = Vec::new();
        let mut rest = document.trim_start_matches('\u{feff}');
        loop {
            let start = rest.find('<')?;
            let text = rest.get(..start)?;
            if let Some(element) = open.last_mut() {
                element.text.push_str(&unescape(text)?);
            }
            rest = rest.get(start..)?;
            if let Some((_, after)) = skipped(rest) {
                rest = after;
                continue;
            }
            if let Some(data) = rest.strip_prefix("<![CDATA[") {
                let (data, after) = data.split_once("]]>")?;
                open.last_mut()?.text.push_str(data);
                rest = after;
                continue;
            }
            let (tag, after) = rest.get(1..)?.split_once('>')?;
            rest = after;
            let closed = match tag.strip_prefix('/') {
                Some(name) => {
                    let element = open.pop()?;
                    (element.name == local(name.trim_end())).then_some(element)?
                }
                None => {
                    let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
                    let name = tag.split_whitespace().next()?;
                    let element = Element { name: local(name).to_owned(), ..Element::default() };
                    if !is_empty {
                        open.push(element);
                        if open.len() > DEEPEST {
                            return None;
                        }
                        continue;
                    }
                    element
                }
            };
            match open.last_mut() {
                Some(parent) => parent.children.push(closed),
                None => return Some(closed),
            }
        }
    }

    /// The first element with this name, at any depth.
    pub fn find(&self, name: &str) -> Option<&Element> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }

    /// The text of the first element with this name, at any depth; none if it is empty.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.find(name).map(|element| element.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// The elements with this name directly in it.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// A declaration or comment at the beginning, and what follows it.
fn skipped(text: &str) -> Option<(&str, &str)> {
    match text {
        _ if text.starts_with("<?") => text.split_once("?>"),
        _ if text.starts_with("<!--") => text.split_once("-->"),
        _ if text.starts_with("<!DOCTYPE") => text.split_once('>'),
        _ => None,
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn unescape(text: &str) -> Option<String> {
    let mut pieces = text.split('&');
    let mut out = pieces.next()?.to_owned();
    for piece in pieces {
        let (entity, after) = piece.split_once(';')?;
        let character = match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            entity => {
                let number = entity.strip_prefix('#')?;
                let number = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(number)?
            }
        };
        out.push(character);
        out.push_str(after);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_name() {
        let document = "<?xml version=\"1.0\"?>\n<!-- x --><r:ListBucketResult xmlns:r=\"http://s3\"><Contents><Key>a &amp; b&#x2F;c</Key>\
                        <Size>1</Size></Contents><Contents><Key><![CDATA[<d>]]></Key></Contents><Empty/></r:ListBucketResult>";
        let list = Element::parse(document).expect("it is well-formed");
        assert_eq!(list.name, "ListBucketResult");
        let keys: Vec<_> = list.all("Contents").filter_map(|contents| contents.text_of("Key")).collect();
        assert_eq!(keys, ["a & b/c", "<d>"]);
        assert_eq!((list.text_of("Empty"), list.text_of("Missing")), (None, None));
    }

    #[test]
    fn damaged_documents_are_refused() {
        for text in
            ["", "<", "<a", "<a>", "<a></b>", "</a>", "<a>&nope;</a>", "<a>&#xD800;</a>", "text", "<>", "<a/ >é"]
        {
            assert_eq!(Element::parse(text).map(|element| element.children.len()), None, "{text}");
        }
        assert_eq!(Element::parse(&"<a>".repeat(100)), None);
    }
}
