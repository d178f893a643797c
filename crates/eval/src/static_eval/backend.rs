//! The `backend` block: a whole block that is evaluated before anything is planned.

use std::sync::Arc;

use ecow::eco_format;
use yuba_config::terraform::Backend;
use yuba_provider::{BlockSchema, EvalExpr, LocalNames, decode, each_expression};
use yuba_syntax::{Diagnostics, Expr};
use yuba_value::Value;

use super::{StaticUse, Statics, diagnostics};
use crate::tree::ModuleId;

impl Statics<'_> {
    /// The arguments of the `backend` block of the root module, by the schema of its type. Where references are wrong,
    /// other errors are not reported. The result has no marks: a value that must not be stored is an error here.
    pub fn backend(&self, backend: &Backend, schema: &BlockSchema) -> (Value, Diagnostics) {
        let unknown = || Value::unknown(schema.implied_type().clone());
        let usage = StaticUse::new(eco_format!("backend.{}", backend.kind), backend.span);
        let mut exprs: Vec<Arc<Expr>> = Vec::new();
        each_expression(&backend.body, schema, &mut |expr, _| exprs.push(Arc::clone(expr)));
        let mut problems = Diagnostics::new();
        for expr in exprs {
            problems.extend(self.evaluate(ModuleId::ROOT, &expr, &usage).1);
        }
        if problems.has_errors() {
            return (unknown(), problems);
        }
        let (value, found) = decode(&backend.body, schema, &mut InPlace { statics: self, usage: &usage });
        let marks = value.marks_deep();
        for (kind, present) in [("sensitive", marks.has_sensitive()), ("ephemeral", marks.has_ephemeral())] {
            if present {
                problems.push(diagnostics::secret_backend(kind, backend.span));
                return (unknown(), problems);
            }
        }
        problems.extend(found);
        (value.unmark_deep().0, problems)
    }
}

struct InPlace<'a> {
    statics: &'a Statics<'a>,
    usage: &'a StaticUse,
}

impl EvalExpr for InPlace<'_> {
    fn eval(&mut self, expr: &Expr, _: &LocalNames) -> (Value, Diagnostics) {
        self.statics.evaluate(ModuleId::ROOT, expr, self.usage)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_provider::{Attribute, BlockSchema};
    use yuba_value::Type;

    use crate::inputs::Inputs;
    use crate::static_eval::{StaticCache, StaticEnv, Statics};
    use crate::tree::tests::{Memory, run, shown};
    use crate::tree::{Manifest, Purpose};
    use crate::world::MemoryWorld;

    /// Diagnostics about `path = <expression>` in a backend block.
    fn found(path: &str) -> String {
        let fixture = format!(
            r#"
--- main.tf
symbols "s" {{
  source = "./l.tfsym.hcl"
}}
variable "plain" {{
  default = "p"
}}
variable "secret" {{
  default   = "x"
  sensitive = true
}}
variable "passing" {{
  default   = "x"
  ephemeral = true
}}
locals {{
  both = "${{var.secret}}${{var.plain}}"
}}
terraform {{
  backend "local" {{
    path = {path}
  }}
}}
--- l.tfsym.hcl
values {{
  path = "lib"
}}
"#
        );
        let mut memory = Memory::new(&fixture);
        let (tree, problems) = run(&mut memory, &[], &Manifest::default(), Purpose::Use);
        assert_eq!(problems, "");
        let (world, inputs, cache) = (MemoryWorld::new(), Inputs::default(), StaticCache::default());
        let sources = Some(&memory.sources);
        let env = StaticEnv { world: &world, workspace: "default", original_dir: None, inputs: &inputs, sources };
        let schema = BlockSchema::new([("path", Attribute::optional(Type::string()))]);
        let backend = tree.root().module.backend.as_ref().expect("because the fixture has one");
        let (value, problems) = Statics::new(&tree, env, &cache).backend(backend, &schema);
        let problems = shown(&problems, &memory.sources);
        let first = |line: &str| line.split(": ").next().unwrap_or_default().to_owned();
        let known = yuba_value::ops::get_attr(&value, "path").ok().and_then(|path| path.as_str().cloned());
        let problems: Vec<String> = problems.lines().map(first).collect();
        format!("{path} => {known:?} {}\n", problems.join("; "))
    }

    #[test]
    fn backends_are_static_and_stored() {
        let all: String = [
            "var.plain",
            "symbols.s.path",
            "symbols.s.pat",
            "symbols.t.path",
            "var.secret",
            "local.both",
            "var.passing",
            "var.nope",
            "terraform_data.x.id",
            "[1]",
            "1\n    nope = 2",
            "var.secret\n    nope = 2",
        ]
        .map(found)
        .concat();
        expect![[r#"
            var.plain => Some("p") 
            symbols.s.path => Some("lib") 
            symbols.s.pat => None error main.tf:20,12 Reference to undefined symbol
            symbols.t.path => None error main.tf:20,12 Reference to undefined symbol library
            var.secret => None error main.tf:19,3 Backend config contains sensitive values
            local.both => None error main.tf:19,3 Backend config contains sensitive values
            var.passing => None error main.tf:19,3 Backend config contains ephemeral values
            var.nope => None error main.tf:20,12 Undefined variable
            terraform_data.x.id => None error main.tf:20,12 Dynamic value in static context
            [1] => None error main.tf:20,12 Incorrect attribute value type
            1
                nope = 2 => Some("1") error main.tf:21,5 Unsupported argument
            var.secret
                nope = 2 => None error main.tf:19,3 Backend config contains sensitive values
        "#]]
        .assert_eq(&all);
    }
}
