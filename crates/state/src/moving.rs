//! `state mv`: things in a state at other addresses, maybe in another state.

use std::collections::BTreeSet;
use std::sync::Arc;

use ecow::{EcoString, EcoVec, eco_format};
use yuba_addrs::{
    AbsResource, AbsResourceInstance, ConfigResource, ModuleInstance, ModulePath, ResourceMode, TargetSubject,
};
use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::model::State;

/// One thing that was moved, for telling about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where it was.
    pub from: EcoString,
    /// Where it is.
    pub to: EcoString,
}

impl State {
    /// Moves what is at an address to another one, in this state or into `other`. A module goes with all the modules it
    /// calls; a resource without keys is its only instance, so it can get a key.
    ///
    /// What was moved is told even if something else cannot be; then the states must not be kept.
    pub fn move_to(
        &mut self,
        source: &TargetSubject,
        target: &TargetSubject,
        mut other: Option<&mut State>,
    ) -> (Vec<Moved>, Diagnostics) {
        let mut gone = Gone::default();
        let mut moved = Vec::new();
        let result = match source {
            TargetSubject::Module(module) => {
                self.move_module(module, target, other.as_deref_mut(), &mut gone, &mut moved)
            }
            TargetSubject::Resource(resource) => match self.get(resource) {
                None => Err(diagnostics::move_of_nothing(source).into()),
                Some(found) if found.instances.contains_key(&None) => {
                    let instance = resource.clone().instance(None);
                    self.move_one(&instance, target, other.as_deref_mut(), &mut gone, &mut moved)
                }
                Some(_) => self.move_resource(resource, target, other.as_deref_mut(), &mut gone, &mut moved),
            },
            TargetSubject::Instance(instance) => {
                self.move_one(instance, target, other.as_deref_mut(), &mut gone, &mut moved)
            }
        };
        match result {
            Ok(()) => {
                other.unwrap_or(self).forget_dependencies_on(&gone);
                (moved, Diagnostics::new())
            }
            Err(problems) => (moved, problems),
        }
    }

    fn move_module(
        &mut self,
        source: &ModuleInstance,
        target: &TargetSubject,
        mut other: Option<&mut State>,
        gone: &mut Gone,
        moved: &mut Vec<Moved>,
    ) -> Result<(), Diagnostics> {
        let below = source.steps().len();
        let within = |resource: &AbsResource| resource.module.steps().starts_with(source.steps());
        let found: Vec<AbsResource> = self.iter().map(|r| &r.addr).filter(|addr| within(addr)).cloned().collect();
        if found.is_empty() {
            return Err(diagnostics::move_of_nothing(&TargetSubject::Module(source.clone())).into());
        }
        let TargetSubject::Module(target) = target else {
            return Err(diagnostics::move_module_to(source, target).into());
        };
        for resources in found.chunk_by(|a, b| a.module == b.module) {
            let from = &resources[0].module;
            let to: ModuleInstance = target.steps().iter().chain(&from.steps()[below..]).cloned().collect();
            if other.as_deref().unwrap_or(self).in_module(&to).next().is_some() {
                return Err(diagnostics::move_onto_module(&to).into());
            }
            gone.modules(from);
            moved.push(Moved { from: eco_format!("{from}"), to: eco_format!("{to}") });
            for addr in resources {
                self.carry(addr, addr.resource.clone().absolute(to.clone()), other.as_deref_mut());
            }
        }
        Ok(())
    }

    fn move_resource(
        &mut self,
        source: &AbsResource,
        target: &TargetSubject,
        other: Option<&mut State>,
        gone: &mut Gone,
        moved: &mut Vec<Moved>,
    ) -> Result<(), Diagnostics> {
        let TargetSubject::Resource(to) = target else {
            return Err(diagnostics::move_resource_to(source, target).into());
        };
        let mut problems = unfit(source, to);
        if other.as_deref().unwrap_or(self).get(to).is_some() {
            problems.push(diagnostics::move_onto(&TargetSubject::Resource(to.clone())));
        }
        if problems.has_errors() {
            return Err(problems);
        }
        gone.resources.insert(source.config());
        moved.push(Moved { from: eco_format!("{source}"), to: eco_format!("{to}") });
        self.carry(source, to.clone(), other);
        Ok(())
    }

    /// Takes a resource with all its instances to another address.
    fn carry(&mut self, from: &AbsResource, to: AbsResource, other: Option<&mut State>) {
        if let Some(mut resource) = self.resources.remove(from) {
            resource.addr = to.clone();
            other.unwrap_or(self).resources.insert(to, resource);
        }
    }

    fn move_one(
        &mut self,
        source: &AbsResourceInstance,
        target: &TargetSubject,
        other: Option<&mut State>,
        gone: &mut Gone,
        moved: &mut Vec<Moved>,
    ) -> Result<(), Diagnostics> {
        let to = match target {
            TargetSubject::Instance(instance) => instance.clone(),
            TargetSubject::Resource(resource) => resource.clone().instance(None),
            TargetSubject::Module(_) => return Err(diagnostics::move_instance_to(source, target).into()),
        };
        let mut problems = unfit(&source.containing(), &to.containing());
        if other.as_deref().unwrap_or(self).instance(&to).is_some() {
            problems.push(diagnostics::move_onto(&TargetSubject::Instance(to.clone())));
        }
        if self.instance(source).is_none() {
            problems.push(diagnostics::move_of_missing(source));
        }
        if problems.has_errors() {
            return Err(problems);
        }
        gone.resources.insert(source.config());
        moved.push(Moved { from: eco_format!("{source}"), to: eco_format!("{to}") });
        if let Some((instance, provider)) = self.take_instance(source) {
            other.unwrap_or(self).put_instance(to, instance, provider);
        }
        Ok(())
    }

    /// Dependencies on what was moved are not true any more; the next apply records all of them anew.
    fn forget_dependencies_on(&mut self, gone: &Gone) {
        for resource in self.resources.values_mut() {
            for instance in resource.instances.values_mut() {
                if let Some(object) = &mut instance.current
                    && object.dependencies.iter().any(|dependency| gone.has(dependency))
                {
                    Arc::make_mut(object).dependencies = EcoVec::new();
                }
            }
        }
    }
}

/// What is where it was no more.
#[derive(Default)]
struct Gone {
    modules: BTreeSet<ModulePath>,
    resources: BTreeSet<ConfigResource>,
}

impl Gone {
    /// Quirk: of a module with a key nothing is known to be gone, because dependencies do not have keys.
    fn modules(&mut self, module: &ModuleInstance) {
        if module.steps().iter().all(|step| step.key.is_none()) {
            self.modules.insert(module.module());
        }
    }
    fn has(&self, dependency: &ConfigResource) -> bool {
        let in_module = |length: usize| {
            let path: ModulePath = dependency.module.steps()[..length].iter().cloned().collect();
            self.modules.contains(&path)
        };
        self.resources.contains(dependency)
            || !self.modules.is_empty() && (0..=dependency.module.steps().len()).any(in_module)
    }
}

/// Why a resource cannot become another one.
fn unfit(from: &AbsResource, to: &AbsResource) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let (a, b) = (&from.resource, &to.resource);
    if a.mode == ResourceMode::Ephemeral || b.mode == ResourceMode::Ephemeral {
        problems.push(diagnostics::move_of_ephemeral());
        return problems;
    }
    if a.mode != b.mode {
        problems.push(diagnostics::move_between_modes(from, to));
    }
    if a.kind != b.kind {
        problems.push(diagnostics::move_between_types(from, to));
    }
    problems
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_addrs::Target;
    use yuba_syntax::FileId;

    use super::*;
    use crate::testing::{listing, state};

    const STATE: &str = "t.a | t.c[0] | t.c[1] | t.d <t.a, module.m.t.x> | data.t.q | module.m.t.x | module.m.t.y <t.c> | \
                         module.m.module.n.t.z | module.k[\"a\"].t.x | module.k[\"b\"].t.x";

    fn check(source: &str, target: &str, expect: &Expect) {
        let address = |text: &str| Target::parse_text(FileId(0), text).expect("because it is an address").subject;
        let mut moving = state(STATE);
        let (moved, problems) = moving.move_to(&address(source), &address(target), None);
        let mut out = String::new();
        for moved in moved {
            out += &format!("{} -> {}\n", moved.from, moved.to);
        }
        for problem in problems.iter() {
            out += &format!("! {}: {}\n", problem.summary, problem.detail);
        }
        if problems.is_empty() {
            out += &listing(&moving);
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn an_instance() {
        check(
            "t.a",
            "t.b",
            &expect![[r#"
            t.a -> t.b
            data.t.q
            t.b
            t.c[0]
            t.c[1]
            t.d
            module.k["a"].t.x
            module.k["b"].t.x
            module.m.t.x
            module.m.t.y <t.c>
            module.m.module.n.t.z
        "#]],
        );
        check(
            "t.a",
            "module.new.t.b[\"k\"]",
            &expect![[r#"
            t.a -> module.new.t.b["k"]
            data.t.q
            t.c[0]
            t.c[1]
            t.d
            module.k["a"].t.x
            module.k["b"].t.x
            module.m.t.x
            module.m.t.y <t.c>
            module.new.t.b["k"]
            module.m.module.n.t.z
        "#]],
        );
        check(
            "t.c[1]",
            "t.c[\"x\"]",
            &expect![[r#"
            t.c[1] -> t.c["x"]
            data.t.q
            t.a
            t.c[0]
            t.c["x"]
            t.d <module.m.t.x, t.a>
            module.k["a"].t.x
            module.k["b"].t.x
            module.m.t.x
            module.m.t.y
            module.m.module.n.t.z
        "#]],
        );
        check(
            "t.c[0]",
            "t.e",
            &expect![[r#"
            t.c[0] -> t.e
            data.t.q
            t.a
            t.c[1]
            t.d <module.m.t.x, t.a>
            t.e
            module.k["a"].t.x
            module.k["b"].t.x
            module.m.t.x
            module.m.t.y
            module.m.module.n.t.z
        "#]],
        );
    }

    #[test]
    fn a_resource_with_keys() {
        check(
            "t.c",
            "module.m.t.c",
            &expect![[r#"
            t.c -> module.m.t.c
            data.t.q
            t.a
            t.d <module.m.t.x, t.a>
            module.k["a"].t.x
            module.k["b"].t.x
            module.m.t.c[0]
            module.m.t.c[1]
            module.m.t.x
            module.m.t.y
            module.m.module.n.t.z
        "#]],
        );
        check(
            "t.c",
            "t.e[0]",
            &expect![[r#"
            ! Invalid target address: Cannot move t.c to t.e[0]: t.c is a resource with all its instances, which can only become a resource as a whole.
        "#]],
        );
    }

    #[test]
    fn a_module() {
        check(
            "module.m",
            "module.o[0].module.p",
            &expect![[r#"
            module.m -> module.o[0].module.p
            module.m.module.n -> module.o[0].module.p.module.n
            data.t.q
            t.a
            t.c[0]
            t.c[1]
            t.d
            module.k["a"].t.x
            module.k["b"].t.x
            module.o[0].module.p.t.x
            module.o[0].module.p.t.y <t.c>
            module.o[0].module.p.module.n.t.z
        "#]],
        );
        check(
            "module.k[\"a\"]",
            "module.k[\"c\"]",
            &expect![[r#"
            module.k["a"] -> module.k["c"]
            data.t.q
            t.a
            t.c[0]
            t.c[1]
            t.d <module.m.t.x, t.a>
            module.k["b"].t.x
            module.k["c"].t.x
            module.m.t.x
            module.m.t.y <t.c>
            module.m.module.n.t.z
        "#]],
        );
        check(
            "module.m",
            "module.k[\"a\"]",
            &expect![[r#"
            ! Destination module already exists: Cannot move to module.k["a"]: the state has resources in that module already.
        "#]],
        );
        check(
            "module.m",
            "t.a",
            &expect![[r#"
            ! Invalid target address: Cannot move module.m to t.a: a module can only become a module.
        "#]],
        );
        check(
            "module.k",
            "module.l",
            &expect![[r#"
            ! Invalid source address: Cannot move module.k: nothing in the state is called so.
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_moved() {
        check(
            "t.a",
            "t.d",
            &expect![[r#"
            ! Invalid target address: Cannot move to t.d: the state has something there already.
        "#]],
        );
        check(
            "t.a",
            "data.t.a",
            &expect![[r#"
            ! Invalid state move request: Cannot move t.a to data.t.a: a managed resource can only become another managed resource.
        "#]],
        );
        check(
            "t.a",
            "u.a",
            &expect![[r#"
            ! Invalid state move request: Cannot move t.a to u.a: they are of different resource types.
        "#]],
        );
        check(
            "t.nope",
            "t.b",
            &expect![[r#"
            ! Invalid source address: Cannot move t.nope: nothing in the state is called so.
        "#]],
        );
        check(
            "t.c[7]",
            "t.b",
            &expect![[r#"
            ! Invalid source address: There is no t.c[7] in the state.
        "#]],
        );
        check(
            "t.a",
            "module.x",
            &expect![[r#"
            ! Invalid target address: Cannot move t.a to module.x: a resource instance can only become a resource instance.
        "#]],
        );
        check(
            "t.a",
            "ephemeral.t.a",
            &expect![[r#"
            ! Invalid state move request: Ephemeral resources are never in a state, so they can be neither source nor target of a move. It is enough to change the configuration.
        "#]],
        );
    }

    #[test]
    fn into_another_state() {
        let address = |text: &str| Target::parse_text(FileId(0), text).expect("because it is an address").subject;
        let (mut from, mut to) = (state(STATE), state("t.c[1] | t.u <t.a>"));
        let (moved, problems) = from.move_to(&address("t.a"), &address("t.c[0]"), Some(&mut to));
        assert!(problems.is_empty());
        assert_eq!(moved, [Moved { from: "t.a".into(), to: "t.c[0]".into() }]);
        assert!(from.instance(&AbsResourceInstance::parse_text(FileId(0), "t.a").expect("because")).is_none());
        expect![[r#"
            t.c[0]
            t.c[1]
            t.u
        "#]]
        .assert_eq(&listing(&to));
        let (_, problems) = from.move_to(&address("t.d"), &address("t.u"), Some(&mut to));
        assert!(problems.has_errors());
    }
}
