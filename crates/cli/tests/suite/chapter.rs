//! Chapters: Markdown files with named sections of fenced blocks.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// A Markdown file of the suite or of the documentation.
pub(crate) struct Chapter {
    /// Path from the root of the repository, such as `suite/25-plans.md`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) sections: Vec<Section>,
}

/// A heading and the blocks below it.
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

/// A fenced block.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) fence: String,
    pub(crate) body: String,
    /// Line numbers of the body in the file, counted from zero.
    pub(crate) lines: Range<usize>,
    /// Spaces before the fence: the block is part of a list. The body does not contain them.
    pub(crate) indent: usize,
}

/// Pages with this line are one section: all their blocks run in one directory.
const ONE_DIRECTORY: &str = "<!-- one directory -->";

/// Generated pages without blocks.
const GENERATED: &str = "docs/commands";

/// All chapters, in the order of their names: the suite, the documentation and the README.
pub(crate) fn chapters(root: &Path) -> Vec<Chapter> {
    let mut paths = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs"), PathBuf::from("suite")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root.join(&folder)).expect("because the repository has this directory");
        for entry in entries {
            let path = folder.join(entry.expect("because it is readable").file_name());
            if path == Path::new(GENERATED) {
            } else if root.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let chapter = |name: PathBuf| {
        let path = root.join(&name);
        let text = std::fs::read_to_string(&path).expect("because chapters are UTF-8");
        Chapter { name: name.to_string_lossy().replace('\\', "/"), sections: sections(&text), path }
    };
    paths.into_iter().map(chapter).collect()
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { name: "introduction".to_owned(), blocks: Vec::new() }];
    let is_one = text.lines().any(|line| line == ONE_DIRECTORY);
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if let Some(fence) = line[indent..].strip_prefix("```") {
            let end = format!("{}```", " ".repeat(indent));
            let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != end).collect();
            let body: Vec<&str> = body.iter().map(|line| line.strip_prefix(&end[..indent]).unwrap_or(line)).collect();
            let block = Block {
                indent,
                fence: fence.to_owned(),
                lines: number + 1..number + 1 + body.len(),
                body: body.into_iter().fold(String::new(), |all, line| all + line + "\n"),
            };
            sections.last_mut().expect("there is always a section").blocks.push(block);
        } else if let Some(name) = line.strip_prefix("## ").filter(|_| !is_one) {
            sections.push(Section { name: name.to_owned(), blocks: Vec::new() });
        }
    }
    sections
}

/// A fence in a list begins and ends a block, too.
pub(crate) fn blocks_of_lists_are_blocks() -> Result<(), libtest_mimic::Failed> {
    let sections =
        sections("## A\n\n1. Run it:\n\n   ```sh\n   yuba a\n\n     b\n   ```\n\n2. Then:\n\n```text\nc\n```\n");
    let [_, section] = sections.as_slice() else { return Err("there are two sections".into()) };
    let shown: Vec<_> = section.blocks.iter().map(|block| (block.fence.as_str(), block.body.as_str())).collect();
    assert_eq!(shown, [("sh", "yuba a\n\n  b\n"), ("text", "c\n")]);
    assert_eq!(section.blocks.first().map(|block| (block.lines.clone(), block.indent)), Some((5..8, 3)));
    Ok(())
}
