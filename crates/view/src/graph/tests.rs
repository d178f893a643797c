//! Graphs in, text out.

use expect_test::expect;

use super::layout::layout;
use super::picture::{Group, Kind, Picture, Thing};
use super::*;

#[test]
fn edges_that_follow_from_others_go() {
    let mut graph = Graph::default();
    for name in ["a", "b \"q\"", "c", "root"] {
        let shape = if name == "root" { Shape::Plain } else { Shape::Box };
        graph.add(name, name, shape);
    }
    for (from, to) in [(0, 1), (1, 2), (0, 2), (0, 2), (3, 0), (3, 1), (3, 2), (2, 2)] {
        graph.connect(from, to);
    }
    graph.reduce();
    expect![[r#"
        digraph {
        	compound = "true"
        	newrank = "true"
        	subgraph "root" {
        		"[root] a" [label = "a", shape = "box"]
        		"[root] b \"q\"" [label = "b \"q\"", shape = "box"]
        		"[root] c" [label = "c", shape = "box"]
        		"[root] a" -> "[root] b \"q\""
        		"[root] b \"q\"" -> "[root] c"
        		"[root] root" -> "[root] a"
        	}
        }

    "#]]
    .assert_eq(&graph.dot_with_cycles());
    graph.connect(2, 0);
    assert_eq!(graph.dot_with_cycles().matches("color = \"red\"").count(), 3);
}

#[test]
fn nothing_overlaps_and_modules_contain_their_nodes() {
    let groups = [("", None), ("module.m", Some(0)), ("module.m.module.n", Some(1)), ("module.o", Some(0))];
    let groups: Vec<Group> = groups.into_iter().map(|(title, parent)| Group { title: title.into(), parent }).collect();
    let count = 40_u32;
    let thing = |at: u32| Thing { label: format!("terraform_data.t{at}"), kind: Kind::Resource, group: at * 7 % 4 };
    let edges = (0..count).map(|at| (0..at).filter(|to| (at * 31 + to * 17) % 11 == 0).collect());
    let picture = Picture { things: (0..count).map(thing).collect(), edges: edges.collect(), groups };
    let found = layout(&picture);
    let apart = |a: &layout::Rect, b: &layout::Rect| {
        a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
    };
    let holds = |a: &layout::Rect, b: &layout::Rect| {
        a.x <= b.x && a.y <= b.y && a.right() >= b.right() && a.bottom() >= b.bottom()
    };
    for (at, rect) in found.things.iter().enumerate() {
        assert!(found.things[..at].iter().all(|other| apart(rect, other)), "{at}");
        let own = picture.things[at].group as usize;
        assert!(holds(&found.groups[own], rect), "{at}");
        for (group, other) in found.groups.iter().enumerate() {
            let is_around = group == 0 || group == own || (group, own) == (1, 2);
            assert_eq!(apart(rect, other), !is_around, "{at} in {group}");
        }
        for to in &picture.edges[at] {
            assert!(found.things[*to as usize].right() < rect.x, "{at} needs {to}");
        }
    }
    assert!(holds(&found.groups[1], &found.groups[2]) && apart(&found.groups[1], &found.groups[3]));
    let document = svg::svg(&picture, &found);
    assert_eq!(document.matches("<title>").count(), 40);
    assert!(document.contains(">module.m.module.n</text>"));
}
