//! Line differences between two texts, in the unified format of `diff -u`.

use std::io::Write as _;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Difference of two texts, under the labels of the two; empty where they are equal.
pub fn unified(old_label: &str, old: &[u8], new_label: &str, new: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if old == new {
        return out;
    }
    let (old, new) = (lines(old), lines(new));
    let ops = edits(&old, &new);
    // Writing to memory does not fail.
    let _ = writeln!(out, "--- {old_label}\n+++ {new_label}");
    for hunk in group_diff_ops(ops, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        let old_range = range(first.old_range().start, last.old_range().end);
        let new_range = range(first.new_range().start, last.new_range().end);
        let _ = writeln!(out, "@@ -{old_range} +{new_range} @@");
        for op in &hunk {
            if op.tag() == DiffTag::Equal {
                write_lines(&mut out, b' ', &old[op.old_range()]);
            } else {
                write_lines(&mut out, b'-', &old[op.old_range()]);
                write_lines(&mut out, b'+', &new[op.new_range()]);
            }
        }
    }
    out
}

/// Corresponding lines of the two texts, and differing ones, as `diff` would choose them.
fn edits(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let (mut gone, mut added) = (vec![false; old.len()], vec![false; new.len()]);
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        if op.tag() != DiffTag::Equal {
            gone[op.old_range()].fill(true);
            added[op.new_range()].fill(true);
        }
    }
    slide(old, &mut gone, &added);
    slide(new, &mut added, &gone);
    let (mut at_old, mut at_new) = (0, 0);
    let mut ops = Vec::new();
    while at_old < old.len() || at_new < new.len() {
        let equal = gone[at_old..].iter().zip(&added[at_new..]).take_while(|(gone, added)| !**gone && !**added).count();
        if equal > 0 {
            ops.push(DiffOp::Equal { old_index: at_old, new_index: at_new, len: equal });
        }
        (at_old, at_new) = (at_old + equal, at_new + equal);
        let old_len = gone[at_old..].iter().take_while(|changed| **changed).count();
        let new_len = added[at_new..].iter().take_while(|changed| **changed).count();
        if old_len + new_len > 0 {
            ops.push(DiffOp::Replace { old_index: at_old, old_len, new_index: at_new, new_len });
        } else if equal == 0 {
            // Not possible while the unchanged lines of both correspond.
            break;
        }
        (at_old, at_new) = (at_old + old_len, at_new + new_len);
    }
    ops
}

/// Moves runs of changed lines that could as well begin earlier or later: together where they meet, to where the other
/// text has a change too, else as far down as they go.
fn slide(lines: &[&[u8]], changed: &mut [bool], other: &[bool]) {
    // For each unchanged line of this text, in order: whether changed lines of the other one stand right before it.
    let mut meets: Vec<bool> = Vec::new();
    let mut after_change = false;
    for &other_changed in other {
        match other_changed {
            true => after_change = true,
            false => meets.push(std::mem::take(&mut after_change)),
        }
    }
    meets.push(after_change);
    let mut end = 0;
    // Number of unchanged lines before the run.
    let mut unchanged = 0;
    while let Some(skipped) = changed[end..].iter().position(|changed| *changed) {
        let mut start = end + skipped;
        unchanged += skipped;
        end = start + changed[start..].iter().take_while(|changed| **changed).count();
        let met_at = loop {
            let length = end - start;
            while start > 0 && lines[start - 1] == lines[end - 1] {
                (start, end, unchanged) = (start - 1, end - 1, unchanged - 1);
                changed[start] = true;
                changed[end] = false;
                start -= changed[..start].iter().rev().take_while(|changed| **changed).count();
            }
            let mut met_at = meets.get(unchanged).is_some_and(|meets| *meets).then_some(end);
            while end < lines.len() && lines[start] == lines[end] {
                changed[start] = false;
                changed[end] = true;
                (start, end, unchanged) = (start + 1, end + 1, unchanged + 1);
                end += changed[end..].iter().take_while(|changed| **changed).count();
                if meets.get(unchanged).is_some_and(|meets| *meets) {
                    met_at = Some(end);
                }
            }
            if end - start == length {
                break met_at;
            }
        };
        while met_at.is_some_and(|met_at| met_at < end) {
            (start, end, unchanged) = (start - 1, end - 1, unchanged - 1);
            changed[start] = true;
            changed[end] = false;
        }
    }
}

/// The lines of a text, each with its line end.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// A range of lines as a hunk's head has it: numbers from 1, the count only where it is not 1, and an empty range at the
/// line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn write_lines(out: &mut Vec<u8>, mark: u8, lines: &[&[u8]]) {
    for line in lines {
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(old: &str, new: &str, expect: &Expect) {
        expect.assert_eq(&String::from_utf8_lossy(&unified("a", old.as_bytes(), "b", new.as_bytes())));
    }

    #[test]
    fn equal_texts_have_no_diff() {
        check("x\n", "x\n", &expect![[""]]);
    }

    #[test]
    fn hunks_are_as_diff_prints_them() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\nx",
            "1\nb\n3\n4\n5\n6\n7\n8\n9\nx\n",
            &expect![[r#"
                --- a
                +++ b
                @@ -1,5 +1,5 @@
                 1
                -2
                +b
                 3
                 4
                 5
                @@ -7,4 +7,4 @@
                 7
                 8
                 9
                -x
                \ No newline at end of file
                +x
            "#]],
        );
        check("", "x\n", &expect![["--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n"]]);
        check("x\n\n", "x\n", &expect![["--- a\n+++ b\n@@ -1,2 +1 @@\n x\n-\n"]]);
    }

    #[test]
    fn runs_move_down_unless_they_meet_a_change() {
        check("{\n}\n{\n}\n", "{\n}\n{\n}\n{\n}\n", &expect![["--- a\n+++ b\n@@ -2,3 +2,5 @@\n }\n {\n }\n+{\n+}\n"]]);
        check(
            "a=1\n}\nb\n}\n",
            "a = 1\n  }\n}\nb\n}\n",
            &expect![["--- a\n+++ b\n@@ -1,4 +1,5 @@\n-a=1\n+a = 1\n+  }\n }\n b\n }\n"]],
        );
    }
}
