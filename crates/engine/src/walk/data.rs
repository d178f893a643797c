//! Data resources: read while planning if everything about them is known, else while applying.

use ecow::eco_format;
use yuba_config::resource::Resource;
use yuba_eval::ModuleInstanceId;
use yuba_plan::Phase;
use yuba_provider::{DataRequest, Outcome};
use yuba_syntax::{Code, Diagnostic, Diagnostics};
use yuba_value::Value;

use crate::diagnostics::{PROVIDER_INVALID_OBJECT, PROVIDER_NULL_OBJECT};
use crate::object::{Ended, Subject, conforms};
use crate::walk::providers::Server;

/// An instance of a data resource to be read.
pub(crate) struct DataJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) server: Server,
    pub(crate) at: ModuleInstanceId,
    /// The configuration, with marks, wholly known.
    pub(crate) config: Value,
}

/// The read value.
pub(crate) struct DataAnswer<'a> {
    pub(crate) job: DataJob<'a>,
    /// With marks; none if it could not be read.
    pub(crate) value: Option<Value>,
    /// The value for the state, which stores only the marks of the configuration: the schema defines the remaining marks.
    pub(crate) kept: Option<Value>,
    pub(crate) problems: Diagnostics,
}

impl<'a> DataJob<'a> {
    pub(crate) async fn run(self) -> DataAnswer<'a> {
        let (kept, problems) = self.read().await;
        let schema = self.subject.schemas.data.get(self.subject.kind());
        let value = match (&kept, schema) {
            (Some(kept), Some(schema)) => Some(schema.block.mark(kept, None)),
            _ => kept.clone(),
        };
        DataAnswer { job: self, value, kept, problems }
    }

    async fn read(&self) -> (Option<Value>, Diagnostics) {
        let subject = &self.subject;
        let (config, marks) = self.config.unmark_with_paths();
        let found = subject.provider.validate_data_config(subject.kind().clone(), config.clone()).await;
        let mut problems = subject.placed(found);
        if problems.has_errors() {
            return (None, problems);
        }
        subject.started(Phase::Read, &Value::null(config.ty().clone()));
        let request = DataRequest {
            kind: subject.kind().clone(),
            config,
            provider_meta: subject.meta.clone(),
            address: subject.addr.clone(),
        };
        let Outcome { value: answer, problems: found } = subject.provider.read_data(request).await;
        problems.extend(subject.placed(found));
        let value = answer.filter(|_| !problems.has_errors()).and_then(|answer| match self.checked(&answer.state) {
            Ok(()) => Some((answer.state, answer.marks)),
            Err(problem) => {
                problems.push(problem);
                None
            }
        });
        let value = value.map(|(state, more)| state.mark_at(&marks).mark_at(&more));
        let shown = value.clone().unwrap_or_else(Value::null_dynamic);
        subject.finished(Phase::Read, &shown, Ended::with(value.as_ref()));
        if value.is_none() && !problems.has_errors() {
            problems.push(self.broken(&PROVIDER_NULL_OBJECT, "returned no result for"));
        }
        (value, problems)
    }

    fn checked(&self, state: &Value) -> Result<(), Diagnostic> {
        let Some(schema) = self.subject.schemas.data.get(self.subject.kind()) else { return Ok(()) };
        if let Err(reason) = conforms(state, schema.block.implied_type()) {
            let what = eco_format!("returned a value that does not conform to its schema ({reason}) for");
            return Err(self.broken(&PROVIDER_INVALID_OBJECT, &what));
        }
        if state.is_null() {
            return Err(self.broken(&PROVIDER_NULL_OBJECT, "returned null for"));
        }
        if !state.is_wholly_known() {
            return Err(self.broken(&PROVIDER_INVALID_OBJECT, "returned a value that contains unknown values for"));
        }
        Ok(())
    }

    fn broken(&self, code: &'static Code, what: &str) -> Diagnostic {
        self.subject.broken(code, &eco_format!("{what} {}", self.subject.addr))
    }
}
