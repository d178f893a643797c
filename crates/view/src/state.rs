//! A state as people read it.

use std::fmt::Write as _;

use yuba_addrs::AbsResourceInstance;
use yuba_provider::Providers;
use yuba_state::{DeposedKey, Object, Resource, State, Status};
use yuba_syntax::Diagnostics;

use crate::change::{Change, Node, Options};
use crate::diagnostics;
use crate::plan::Look;
use crate::state_json::schema_of;

/// All objects and outputs.
pub fn render(state: &State, schemas: &dyn Providers, look: Look) -> Result<String, Diagnostics> {
    if state.is_empty() {
        return Ok("The state file is empty. No resources are represented.\n".to_owned());
    }
    let options = options(look);
    let mut out = String::new();
    let mut resources: Vec<(Vec<String>, &Resource)> = state.iter().map(|r| (module_order(r), r)).collect();
    resources.sort_by(|(a, _), (b, _)| a.cmp(b));
    // The current module and those that call it, directly or not, as far as they have objects.
    let mut above: Vec<&[String]> = Vec::new();
    for (module, resource) in &resources {
        let mut is_in_same = above.last() == Some(&module.as_slice());
        if !is_in_same {
            above.retain(|caller| module.starts_with(caller));
        }
        for (key, instance) in &resource.instances {
            let addr = resource.addr.clone().instance(key.clone());
            for (deposed, object) in instance.objects() {
                // Objects are an empty line apart, modules two. Quirk: an empty line is missing before a module unless
                // one that calls it has objects.
                if is_in_same {
                    out.push('\n');
                } else if !above.is_empty() {
                    out.push_str("\n\n");
                }
                if !is_in_same {
                    above.push(module);
                    is_in_same = true;
                }
                write_object(&mut out, &addr, resource, deposed, object, schemas, options)?;
            }
        }
    }
    if !state.outputs.is_empty() {
        out.push_str("\n\nOutputs:\n\n");
        for (name, output) in &state.outputs {
            let node = Node { sensitive: output.sensitive, ..Node::of(&output.value) };
            let _ = write!(out, "{name} = ");
            Change::still(&node).by_type(output.value.ty()).write(&mut out, 0, options);
            out.push('\n');
        }
    }
    Ok(out)
}

/// The current object of one instance, or an empty string.
pub fn render_instance(
    state: &State,
    addr: &AbsResourceInstance,
    schemas: &dyn Providers,
    look: Look,
) -> Result<Option<String>, Diagnostics> {
    let Some(resource) = state.get(&addr.containing()) else { return Ok(None) };
    let object = resource.instances.get(&addr.key).and_then(|instance| instance.current.as_ref());
    let Some(object) = object else { return Ok(None) };
    let mut out = String::new();
    write_object(&mut out, addr, resource, None, object, schemas, options(look))?;
    Ok(Some(out))
}

/// Modules come after the ones that call them, and those of one caller in order of their names as texts.
fn module_order(resource: &Resource) -> Vec<String> {
    resource.addr.module.steps().iter().map(ToString::to_string).collect()
}

fn options(look: Look) -> Options {
    Options { show_kept: true, no_symbols: true, ..look.options() }
}

fn write_object(
    out: &mut String,
    addr: &AbsResourceInstance,
    resource: &Resource,
    deposed: Option<&DeposedKey>,
    object: &Object,
    schemas: &dyn Providers,
    options: Options,
) -> Result<(), Diagnostics> {
    let name = &addr.resource;
    let provider = schemas.schema(&resource.provider.provider);
    let Some(schema) = schema_of(provider.as_deref(), name) else {
        return Err(diagnostics::object_type_unknown(addr, &resource.provider.provider).into());
    };
    if deposed.is_none() && schema.version != object.schema_version {
        let versions = (object.schema_version, schema.version);
        return Err(diagnostics::object_schema_version(addr, &resource.provider.provider, versions).into());
    }
    let schema = &schema.block;
    let value =
        object.decode(schema.implied_type()).map_err(|error| diagnostics::object_mismatch(addr, &error.message))?;
    let note = match deposed {
        Some(key) => format!(" (deposed object {key})"),
        None if object.status == Status::Tainted => " (tainted)".to_owned(),
        None => String::new(),
    };
    let _ = writeln!(out, "# {addr}:{note}");
    let _ = write!(out, "{} \"{}\" \"{}\" ", name.mode.block_type(), name.kind, name.name);
    let node = Node::of_block(&value, schema);
    Change::still(&node).by_block(schema).write(out, 0, options);
    out.push('\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_value::Value;

    use super::*;
    use crate::testing::{addr, builtin, state_of};

    #[test]
    fn objects_and_outputs() {
        let state = state_of(&[
            ("module.c.terraform_data.b[\"x\"]", Value::int(2)),
            ("terraform_data.a", Value::tuple(vec![Value::string("a\nb"), Value::null_dynamic()])),
        ]);
        let look = Look { show_sensitive: true, ..Look::default() };
        expect![[r##"
            # terraform_data.a:
            resource "terraform_data" "a" {
                id    = "i"
                input = [
                    <<-EOT
                        a
                        b
                    EOT,
                    null,
                ]
            }


            # module.c.terraform_data.b["x"]:
            resource "terraform_data" "b" {
                id    = "i"
                input = 2
            }


            Outputs:

            o = {
                a = "<"
            }
        "##]]
        .assert_eq(&render(&state, &builtin(), look).unwrap_or_default());
        let one = render_instance(&state, &addr("module.c.terraform_data.b[\"x\"]"), &builtin(), look);
        expect![[r##"
            # module.c.terraform_data.b["x"]:
            resource "terraform_data" "b" {
                id    = "i"
                input = 2
            }
        "##]]
        .assert_eq(&one.ok().flatten().unwrap_or_default());
    }
}
