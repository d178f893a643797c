//! Plans whose steps were changed after planning.

use yuba_plan::{ExecGraph, Op};

use super::*;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// Changes a graph somewhere so that it stays a graph: edges lead to steps.
fn forge(graph: &ExecGraph, dice: &mut Dice) -> ExecGraph {
    let mut ops = graph.ops.clone();
    let mut objects = graph.objects.clone();
    let steps = 0..ops.len() as u32;
    let mut edges: Vec<(u32, u32)> =
        steps.flat_map(|step| graph.waits_for(step).iter().map(move |other| (step, *other))).collect();
    let (at, other) = (dice.roll(ops.len()), dice.roll(ops.len()));
    match dice.roll(9) {
        0 => ops
            .push([Op::Destroy(0), Op::Evaluate(at as u32), Op::Join, Op::Destroy(99), Op::Evaluate(99)][dice.roll(5)]),
        1 => ops.swap(at, other),
        2 => {
            ops[at] = [Op::Destroy(dice.roll(4) as u32), Op::Evaluate(other as u32), Op::Join, Op::Settle][dice.roll(4)]
        }
        3 => drop(edges.swap_remove(dice.roll(edges.len()))),
        4 => edges.push((at as u32, other as u32)),
        5 => edges.iter_mut().skip(dice.roll(9)).step_by(7).for_each(|(from, to)| std::mem::swap(from, to)),
        6 => objects.swap(dice.roll(graph.objects.len()), dice.roll(graph.objects.len())),
        7 => objects[dice.roll(graph.objects.len())] = "fake_thing.other".into(),
        _ => edges.clear(),
    }
    ExecGraph::new(ops, &edges).naming(objects)
}

/// Whatever a plan file says about steps: they are those that its changes lead to, or nothing is done.
#[test]
fn forged_steps_are_not_done() {
    let first = r#"
resource "fake_thing" "a" {
  name = "a"
}
resource "fake_thing" "b" {
  name = fake_thing.a.id
}
resource "fake_thing" "c" {
  name = fake_thing.b.id
}
"#;
    let second = r#"
variable "x" {
  default = "b2"
}
resource "fake_thing" "a" {
  name = "a2"
}
module "m" {
  source = "./m"
  name   = fake_thing.a.id
}
//- m/main.tf
variable "name" {}
resource "fake_thing" "d" {
  name = var.name
}
output "id" {
  value = fake_thing.d.id
}
"#;
    let fake = FakeWorld::new();
    let state = with_context(first, &fake, |context, config| {
        plan_and_apply(context, (config, &fake), State::empty(), &PlanOptions::default(), &mut Nothing).1
    });
    let second = format!("//- main.tf\n{second}");
    with_context(&second, &fake, |context, _| {
        let state = state.expect("because it was applied");
        let (planned, _) = finish(plan(context, state, &PlanOptions::default()));
        let mut planned = planned.expect("because the plan is valid");
        fake.take_log();
        let (honest, mut dice, mut refused) = (planned.exec.clone(), Dice(0x2545_f491_4f6c_dd1d), 0);
        for number in 0..10_000 {
            planned.exec = forge(&honest, &mut dice);
            if planned.exec == honest {
                continue;
            }
            let doors = ApplyDoors { recorder: &mut Nothing, provisioners: &NoProvisioners, random: &|| 1 };
            let applied = finish(apply(context, &planned, doors));
            let titles: Vec<&str> = applied.problems.iter().map(|problem| problem.summary.as_str()).collect();
            assert_eq!(titles, ["Saved plan does not fit the configuration"], "forgery {number}");
            assert!(fake.take_log().is_empty() && applied.state.same_content(&planned.prior_state), "forgery {number}");
            refused += 1;
        }
        assert!(refused > 8_000, "{refused}");
        planned.exec = honest;
        let doors = ApplyDoors { recorder: &mut Nothing, provisioners: &NoProvisioners, random: &|| 1 };
        let applied = finish(apply(context, &planned, doors));
        assert!(!applied.problems.has_errors());
        assert_eq!((applied.counts.added, applied.counts.changed, applied.counts.destroyed), (1, 1, 2));
    });
}
