//! Providers that modules require, as a tree.

use std::fmt::Write as _;

/// A node and what is below it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Its label; empty for the root.
    pub label: String,
    /// Its children.
    pub children: Vec<Tree>,
}

/// Draws a tree. The root is a dot.
pub fn render(tree: &Tree) -> String {
    let mut text = ".\n".to_owned();
    render_children(&mut text, &tree.children, "");
    text
}

fn render_children(text: &mut String, children: &[Tree], indent: &str) {
    for (at, child) in children.iter().enumerate() {
        let is_last = at + 1 == children.len();
        let (edge, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        let _ = writeln!(text, "{indent}{edge}{}", child.label);
        render_children(text, &child.children, &format!("{indent}{below}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_drawn() {
        let leaf = |label: &str| Tree { label: label.to_owned(), children: Vec::new() };
        let a = Tree { label: "a".to_owned(), children: vec![leaf("b"), leaf("c")] };
        let e = Tree { label: "e".to_owned(), children: vec![leaf("f")] };
        let tree = Tree { label: String::new(), children: vec![a, leaf("d"), e] };
        let expected = ".\n├── a\n│   ├── b\n│   └── c\n├── d\n└── e\n    └── f\n";
        assert_eq!(render(&tree), expected);
    }
}
