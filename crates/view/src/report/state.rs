//! From a state to a report.

use ecow::{EcoString, eco_format};
use yuba_eval::{ConfigTree, Evaluation};
use yuba_provider::Providers;
use yuba_state::{DeposedKey, Object, Resource, State, Status};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use super::build::{TOOL, address, checks};
use super::counts::Counting;
use super::secrets::Secrets;
use super::tree::{DiffNode, Kept, of_block, of_value};
use super::{
    ChangeAction, Report, ReportOutput, ReportResource, ReportSubject, ReportWarning, copies, disabled, relations,
};
use crate::change::{Change, Node};
use crate::state_json::{KnownSchemas, schema_of};

/// The configuration that a state belongs to.
#[derive(Clone, Copy)]
pub struct StateConfiguration<'a> {
    /// Its modules.
    pub tree: &'a ConfigTree,
    /// Its files.
    pub files: &'a Sources,
    /// Evaluates expressions whose values are known without any resource.
    pub evaluation: &'a Evaluation<'a>,
    /// Its diagnostics. The report has those about deprecated objects.
    pub diagnostics: &'a Diagnostics,
}

impl Report {
    /// A report of a state, without sensitive values. An object whose values cannot be read by a schema is listed without them. With
    /// the configuration, the report has disabled objects and uses of deprecated ones too.
    pub fn of_state(
        state: &State,
        workspace: &str,
        schemas: &dyn Providers,
        configuration: Option<&StateConfiguration<'_>>,
    ) -> Report {
        let mut schemas = KnownSchemas::new(schemas);
        let mut report = Report {
            subject: ReportSubject::State,
            tool: TOOL.into(),
            workspace: workspace.into(),
            ..Report::default()
        };
        let (mut counting, mut secrets) = (Counting::default(), Secrets::default());
        for resource in state.iter() {
            for (key, instance) in &resource.instances {
                let addr = resource.addr.clone().instance(key.clone());
                for (deposed, object) in instance.objects() {
                    let address = address(&addr, deposed, &resource.provider, instance.provider_key.as_ref());
                    counting.unchanged(&address.module, address.mode, &address.kind);
                    let (values, problem) = match values(resource, deposed, object, &mut schemas, &mut secrets) {
                        Ok(values) => (values, None),
                        Err(problem) => (DiffNode::default(), Some(problem)),
                    };
                    let tainted = object.status == Status::Tainted;
                    report.resources.push(ReportResource { address, tainted, values, problem });
                }
            }
        }
        counting.finish(&mut report);
        for (name, output) in &state.outputs {
            let node = Node::of(&output.value);
            let node = Node { sensitive: node.sensitive || output.sensitive, ..node };
            secrets.collect(&node);
            let diff = of_value(&node, output.value.ty());
            let (name, action) = (name.clone(), ChangeAction::NoOp);
            report.outputs.push(ReportOutput { name, action, sensitive: diff.sensitive, diff });
        }
        report.checks = state.check_results.as_deref().map(checks).unwrap_or_default();
        if let Some(configuration) = configuration {
            report.disabled = disabled::find(configuration);
            report.warnings = deprecated_uses(configuration);
        }
        relations::of_state(&mut report, state);
        secrets.remove_from(&mut report);
        report
    }
}

/// Uses of deprecated variables, outputs and attributes, in the order of their diagnostics.
fn deprecated_uses(configuration: &StateConfiguration<'_>) -> Vec<ReportWarning> {
    let build = |problem: &Diagnostic| {
        let used = problem.deprecation()?;
        let file = problem.subject.and_then(|span| configuration.files.get(span.file));
        Some(ReportWarning {
            summary: problem.summary.clone(),
            detail: problem.explanation(),
            address: problem.address.clone(),
            file: file.map(|file| file.name.as_ref().into()),
            line: file.zip(problem.subject).map(|(file, span)| file.line_at(span.start as usize)),
            deprecated: Some(used.source.clone()),
        })
    };
    configuration.diagnostics.iter().filter_map(build).collect()
}

/// The values of an object, or the reason why they are unknown.
fn values(
    resource: &Resource,
    deposed: Option<&DeposedKey>,
    object: &Object,
    schemas: &mut KnownSchemas<'_>,
    secrets: &mut Secrets,
) -> Result<DiffNode, EcoString> {
    let source = &resource.provider.provider;
    let provider = schemas.provider(source);
    let name = &resource.addr.resource;
    let schema = schema_of(provider.as_deref(), name)
        .ok_or_else(|| eco_format!("The schema of {} is not available.", name.kind))?;
    if deposed.is_none() && schema.version != object.schema_version {
        let (stored, own) = (object.schema_version, schema.version);
        return Err(eco_format!("The object has schema version {stored}, provider {source} has version {own}."));
    }
    let schema = &schema.block;
    let value = object.decode(schema.implied_type()).map_err(|error| {
        eco_format!("The object does not match the schema of provider {source}: {}.", error.message)
    })?;
    let node = Node::of_block(&value, schema);
    secrets.collect(&node);
    let mut values = of_block(&Change::still(&node).by_block(schema), schema, Kept::Shown);
    copies::hide(&mut values, &[&node]);
    Ok(values)
}
