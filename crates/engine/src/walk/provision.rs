//! Provisioners: commands that run after an object was created or before it is destroyed.

use std::pin::Pin;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_config::provisioner::{Connection, OnFailure, Provisioner, ProvisionerWhen};
use yuba_config::resource::Resource;
use yuba_eval::ModuleScope;
use yuba_plan::Event;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::diagnostics::{hidden_provisioner_reason, provisioner_failed};
use crate::request::Context;

/// The door to provisioners.
pub trait Provisioners: Sync {
    /// Runs one. Its output goes to `output`. Values have no marks.
    fn run<'p>(&'p self, order: ProvisionOrder, output: &'p dyn Fn(EcoString)) -> Provisioned<'p>;
}

/// A provisioner at work: how it ended, or why it failed. `output` is called where it is polled.
pub type Provisioned<'p> = Pin<Box<dyn Future<Output = Result<(), EcoString>> + 'p>>;

/// Task of a provisioner.
#[derive(Clone, Debug)]
pub struct ProvisionOrder {
    /// Its type: `local-exec`, `remote-exec` or `file`.
    pub kind: EcoString,
    /// Its arguments, by the schema of the type.
    pub config: Value,
    /// Connection of the machine; null if there are no settings.
    pub connection: Value,
    /// Reason why its output must not be shown, if any.
    pub hidden: Option<Hidden>,
}

/// The kind of value in the arguments of a provisioner that hides its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A sensitive value.
    Sensitive,
    /// An ephemeral value, whether sensitive or not.
    Ephemeral,
}

impl Hidden {
    fn of(config: &Value) -> Option<Hidden> {
        let marks = config.marks_deep();
        match (marks.has_ephemeral(), marks.has_sensitive()) {
            (true, _) => Some(Hidden::Ephemeral),
            (false, true) => Some(Hidden::Sensitive),
            (false, false) => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Hidden::Sensitive => "sensitive",
            Hidden::Ephemeral => "ephemeral",
        }
    }
}

/// A provisioner whose arguments are known.
pub(crate) struct Provisioning {
    order: ProvisionOrder,
    on_failure: OnFailure,
    block: Provisioner,
}

/// The provisioners of a resource for an occasion, with their arguments; or errors in these.
pub(crate) fn prepare(
    scope: &ModuleScope<'_>,
    provisioners: &[Provisioner],
    connection: Option<&Connection>,
    when: ProvisionerWhen,
) -> (Vec<Provisioning>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut prepared = Vec::new();
    for provisioner in provisioners.iter().filter(|provisioner| provisioner.when == when) {
        let Some(schema) = yuba_eval::provisioner_schema(&provisioner.kind) else { continue };
        let (config, found) = scope.eval_body(&provisioner.body, schema);
        problems.extend(found);
        let outer = connection.map(|connection| &connection.body);
        let body = match (outer, provisioner.connection.as_ref().map(|connection| &connection.body)) {
            (Some(outer), Some(own)) => Some(outer.clone().overridden_by(own.clone())),
            (Some(body), None) | (None, Some(body)) => Some(body.clone()),
            (None, None) => None,
        };
        let mut reach = Value::null_dynamic();
        if let Some(body) = body {
            let (value, found) = scope.eval_body(&body, yuba_eval::connection_schema());
            problems.extend(found);
            reach = value;
        }
        let hidden = Hidden::of(&config);
        let order = ProvisionOrder {
            kind: provisioner.kind.clone(),
            config: config.unmark_deep().0,
            connection: reach.unmark_deep().0,
            hidden,
        };
        prepared.push(Provisioning { order, on_failure: provisioner.on_failure, block: provisioner.clone() });
    }
    (prepared, problems)
}

/// Runs provisioners one after the other, up to one that fails and is not allowed to.
pub(crate) async fn run(
    context: &Context<'_>,
    door: &dyn Provisioners,
    addr: &AbsResourceInstance,
    steps: Vec<Provisioning>,
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for step in steps {
        let provisioner = step.order.kind.clone();
        (context.events)(Event::ProvisionStarted { addr: addr.clone(), provisioner: provisioner.clone() });
        let hidden = step.order.hidden;
        let output = |text: EcoString| {
            let text = match hidden {
                None => text,
                Some(hidden) => eco_format!("(output suppressed due to {} value in config)", hidden.word()),
            };
            (context.events)(Event::ProvisionOutput { addr: addr.clone(), provisioner: provisioner.clone(), text });
        };
        let result = door.run(step.order, &output).await;
        let ok = result.is_ok();
        (context.events)(Event::ProvisionFinished { addr: addr.clone(), provisioner: provisioner.clone(), ok });
        let Err(reason) = result else { continue };
        if step.on_failure == OnFailure::Continue {
            // `on_failure = continue` ignores the failure.
            continue;
        }
        let reason = match hidden {
            Some(hidden) => hidden_provisioner_reason(hidden.word()),
            None => reason,
        };
        problems.push(provisioner_failed(&provisioner, addr, reason, step.block.body.missing_item_span()));
        break;
    }
    problems
}

/// Whether a resource has provisioners for an occasion.
pub(crate) fn has(resource: &Resource, when: ProvisionerWhen) -> bool {
    resource.provisioners.iter().any(|provisioner| provisioner.when == when)
}
