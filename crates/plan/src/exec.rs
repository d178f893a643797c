//! The execution graph: what is done, and after what.

use ecow::EcoString;

/// One step of applying a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// An object of the configuration is evaluated again, now with real values; the creations, updates and reads of a
    /// resource's instances happen here. The number is that of the object in the reference graph of the configuration, which
    /// is the number of the step too.
    Evaluate(u32),
    /// The object of a change is destroyed, or forgotten where the change says so. The number is that of the change.
    Destroy(u32),
    /// Nothing: steps wait for it instead of for each other, so that there are few edges.
    Join,
    /// Nothing either, but it is passed also when a step that it waits for failed: instances of one resource do not fail with
    /// each other.
    Settle,
}

/// Steps, and for each the steps it waits for: flat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecGraph {
    /// The steps.
    pub ops: Vec<Op>,
    /// Ends of the edges of each step in `targets`.
    pub ends: Vec<u32>,
    /// The steps that are waited for.
    pub targets: Vec<u32>,
    /// The addresses of the objects that steps evaluate, by step. Plan files name steps by them, and applying a plan
    /// compares them with the configuration. Empty for other steps; the list ends with the last address.
    pub objects: Vec<EcoString>,
}

impl ExecGraph {
    /// From a list of edges `(step, step it waits for)`, in any order.
    pub fn new(ops: Vec<Op>, edges: &[(u32, u32)]) -> ExecGraph {
        let mut ends = vec![0_u32; ops.len()];
        for (from, _) in edges {
            ends[*from as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut at: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).take(ops.len()).collect();
        let mut targets = vec![0_u32; edges.len()];
        for (from, to) in edges {
            let slot = &mut at[*from as usize];
            targets[*slot as usize] = *to;
            *slot += 1;
        }
        ExecGraph { ops, ends, targets, objects: Vec::new() }
    }

    /// With the addresses of the objects that steps evaluate, by step.
    #[must_use]
    pub fn naming(mut self, objects: impl IntoIterator<Item = EcoString>) -> ExecGraph {
        self.objects = objects.into_iter().collect();
        self.objects.truncate(self.objects.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1));
        self
    }

    /// Steps that wait for themselves, directly or through other steps, and the steps that wait for those; in order.
    pub fn stuck(&self) -> Vec<u32> {
        let count = self.ops.len();
        let mut waiters: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut waiting = vec![0_u32; count];
        for step in 0..count as u32 {
            for other in self.waits_for(step) {
                waiters[*other as usize].push(step);
                waiting[step as usize] += 1;
            }
        }
        let mut ready: Vec<u32> = (0..count as u32).filter(|step| waiting[*step as usize] == 0).collect();
        while let Some(step) = ready.pop() {
            for waiter in std::mem::take(&mut waiters[step as usize]) {
                waiting[waiter as usize] -= 1;
                if waiting[waiter as usize] == 0 {
                    ready.push(waiter);
                }
            }
        }
        (0..count as u32).filter(|step| waiting[*step as usize] > 0).collect()
    }

    /// The steps that a step waits for.
    pub fn waits_for(&self, op: u32) -> &[u32] {
        let start = if op == 0 { 0 } else { self.ends[op as usize - 1] };
        &self.targets[start as usize..self.ends[op as usize] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_grouped_by_step() {
        let graph = ExecGraph::new(vec![Op::Join; 4], &[(3, 1), (1, 0), (3, 2), (2, 0)]);
        let waits: Vec<&[u32]> = (0..4).map(|op| graph.waits_for(op)).collect();
        assert_eq!(waits, [&[] as &[u32], &[0], &[0], &[1, 2]]);
        assert!(graph.stuck().is_empty());
        assert_eq!(ExecGraph::new(vec![Op::Join; 4], &[(1, 2), (2, 1), (3, 2)]).stuck(), [1, 2, 3]);
        assert_eq!(ExecGraph::new(vec![Op::Join], &[(0, 0)]).stuck(), [0]);
    }
}
