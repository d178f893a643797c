//! Changes with equal differences.

use ecow::EcoString;
use foldhash::HashMap;

use super::{ChangeAction, ChangeGroup, DiffKind, DiffMark, DiffNode, ReplaceOrder, Report, ReportChange};

/// Common properties of the members of a group.
#[derive(PartialEq, Eq, Hash)]
struct GroupKey {
    action: ChangeAction,
    order: Option<ReplaceOrder>,
    kind: EcoString,
    reason: Option<&'static str>,
    forces: Vec<EcoString>,
    is_moved: bool,
    is_imported: bool,
    diff: DiffNode,
}

/// Finds the groups of a report.
pub(super) fn find(report: &mut Report) {
    let mut groups: HashMap<GroupKey, Vec<u32>> = HashMap::default();
    for (change, at) in report.changes.iter().zip(0..) {
        groups.entry(common(change)).or_default().push(at);
    }
    let mut found: Vec<(GroupKey, Vec<u32>)> = groups.into_iter().filter(|(_, members)| members.len() > 1).collect();
    found.sort_by(|(_, a), (_, b)| a.first().cmp(&b.first()));
    for (index, (common, members)) in (0..).zip(found) {
        for at in &members {
            if let Some(change) = report.changes.get_mut(*at as usize) {
                change.group = Some(index);
            }
        }
        let GroupKey { action, kind, diff, .. } = common;
        report.groups.push(ChangeGroup { members, action, kind, diff });
    }
}

fn common(change: &ReportChange) -> GroupKey {
    GroupKey {
        action: change.action,
        order: change.order,
        kind: change.address.kind.clone(),
        reason: change.reason.as_ref().map(|reason| reason.code),
        forces: change.forces.clone(),
        is_moved: change.moved_from.is_some(),
        is_imported: change.import.is_some(),
        diff: shared(&change.diff),
    }
}

/// The difference without unchanged parts, and without values before that the provider has chosen.
fn shared(node: &DiffNode) -> DiffNode {
    if node.computed && node.unknown {
        return DiffNode { before: None, children: Vec::new(), kind: DiffKind::Value, hidden: 0, ..node.clone() };
    }
    if node.kind == DiffKind::Text {
        return node.clone();
    }
    let changes = node
        .children
        .iter()
        .filter(|child| child.mark != DiffMark::Same && !(child.computed && child.mark == DiffMark::Removed));
    let children = changes.map(shared).collect();
    DiffNode {
        name: node.name.clone(),
        label: node.label.clone(),
        before: node.before.clone(),
        after: node.after.clone(),
        note: node.note.clone(),
        hidden: 0,
        children,
        ..*node
    }
}
