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
}

/// All chapters, in the order of their names.
pub(crate) fn chapters(root: &Path) -> Vec<Chapter> {
    let mut chapters = Vec::new();
    for folder in ["suite", "docs"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("because the repository has this directory");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("because it is readable").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        paths.sort();
        chapters.extend(paths.into_iter().map(|path| {
            let text = std::fs::read_to_string(&path).expect("because chapters are UTF-8");
            let file = path.file_name().expect("because it is a file").to_string_lossy();
            Chapter { name: format!("{folder}/{file}"), sections: sections(&text), path }
        }));
    }
    chapters
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { name: "introduction".to_owned(), blocks: Vec::new() }];
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(fence) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            let block = Block {
                fence: fence.to_owned(),
                lines: number + 1..number + 1 + body.len(),
                body: body.into_iter().fold(String::new(), |all, line| all + line + "\n"),
            };
            sections.last_mut().expect("there is always a section").blocks.push(block);
        } else if let Some(name) = line.strip_prefix("## ") {
            sections.push(Section { name: name.to_owned(), blocks: Vec::new() });
        }
    }
    sections
}
