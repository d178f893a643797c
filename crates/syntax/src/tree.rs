//! The lossless tree: every token of a file, and which tokens make up which construct.
//!
//! Flat: nodes in preorder, each with its range of tokens and the size of its subtree. Trivia belong to the smallest
//! node that spans them. The tree knows nothing of meaning; evaluation runs on [`crate::Expr`].

use std::fmt::Write;

use crate::token::{Token, TokenKind};

/// A file as its tokens and constructs.
#[derive(Clone, Debug, Default)]
pub struct SyntaxTree {
    /// All tokens; their bytes put together are the file.
    pub tokens: Vec<Token>,
    /// In preorder. The first is the whole file.
    pub nodes: Vec<Node>,
}

/// One construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Its first token.
    pub first: u32,
    /// One past its last token.
    pub end: u32,
    /// Number of nodes of the subtree.
    pub size: u32,
}

/// Kinds of constructs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A whole file.
    File,
    /// `name = value`
    Attribute,
    /// `type "label" { ... }`
    Block,
    /// A label of a block.
    Label,
    /// A number, or one of `true`, `false`, `null`.
    Literal,
    /// A name that refers to something.
    Name,
    /// `a.b`, `a.0`
    Attr,
    /// `a[b]`
    Index,
    /// `a.*.b`, `a[*].b`
    Splat,
    /// `f(a)`
    Call,
    /// `a ? b : c`
    Conditional,
    /// `a + b`
    Binary,
    /// `-a`
    Unary,
    /// `(a)`
    Parens,
    /// `[a, b]`
    Tuple,
    /// `{ a = b }`
    Object,
    /// `a = b` in an object.
    ObjectItem,
    /// `[for a in b : c]`, `{for a in b : c => d}`
    For,
    /// A quoted template, heredoc or bare template.
    Template,
    /// `${a}`
    Interpolation,
    /// `%{ if a }` and the like.
    Directive,
}

impl SyntaxTree {
    /// Puts together what the parser recorded: nodes in postorder, children before their parents.
    pub(crate) fn from_postorder(tokens: Vec<Token>, post: &[Node]) -> SyntaxTree {
        let mut nodes = post.to_vec();
        // For each open ancestor: its index in preorder and the index in postorder at which its subtree begins.
        let mut ancestors: Vec<(usize, usize)> = Vec::new();
        for (at, node) in post.iter().enumerate().rev() {
            let begins = at + 1 - node.size as usize;
            while ancestors.last().is_some_and(|(_, parent_begins)| *parent_begins > at) {
                ancestors.pop();
            }
            let index = ancestors.last().map_or(begins, |(parent, parent_begins)| parent + 1 + begins - parent_begins);
            nodes[index] = *node;
            ancestors.push((index, begins));
        }
        SyntaxTree { tokens, nodes }
    }

    /// The file, put together from its tokens.
    pub fn text(&self, source: &[u8]) -> Vec<u8> {
        self.tokens.iter().flat_map(|token| token.bytes(source)).copied().collect()
    }

    /// The children of a node, by index.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = node + self.nodes.get(node).map_or(0, |n| n.size as usize);
        let mut next = node + 1;
        std::iter::from_fn(move || {
            let child = next;
            next += self.nodes.get(child)?.size as usize;
            (child < end).then_some(child)
        })
    }

    /// One line per node: kind, indented by depth, with the text of nodes that have no children.
    pub fn debug_text(&self, source: &[u8]) -> String {
        let mut out = String::new();
        let mut ends: Vec<usize> = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            while ends.last().is_some_and(|end| *end <= at) {
                ends.pop();
            }
            let _ = write!(out, "{:indent$}{:?}", "", node.kind, indent = ends.len() * 2);
            if node.size == 1 {
                let tokens = self.tokens.get(node.first as usize..node.end as usize).unwrap_or_default();
                let bytes: Vec<u8> = tokens.iter().flat_map(|t| t.bytes(source)).copied().collect();
                let _ = write!(out, " {:?}", String::from_utf8_lossy(&bytes));
            }
            out.push('\n');
            ends.push(at + node.size as usize);
        }
        out
    }

    /// Whether nothing but whitespace and comments is in it.
    pub fn is_blank(&self) -> bool {
        use TokenKind as K;
        self.tokens.iter().all(|t| t.is_space() || matches!(t.kind, K::Newline | K::Comment | K::Eof))
    }
}
