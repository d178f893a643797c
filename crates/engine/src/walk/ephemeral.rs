//! Ephemeral resources: opened where a walk comes to them, closed when it is over, never kept.

use ecow::eco_format;
use yuba_config::resource::Resource;
use yuba_eval::ModuleInstanceId;
use yuba_plan::Phase;
use yuba_provider::{Outcome, Private};
use yuba_syntax::Diagnostics;
use yuba_value::{Mark, Value};

use super::Walk;
use crate::object::{Subject, conforms};

/// An ephemeral resource that is open.
pub(crate) struct Open<'a> {
    subject: Subject<'a>,
    private: Private,
}

/// One that is to be opened.
pub(crate) struct OpenJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) resource: &'a Resource,
    pub(crate) at: ModuleInstanceId,
    /// The configuration, with marks.
    pub(crate) config: Value,
}

/// What became of opening one.
pub(crate) struct OpenAnswer<'a> {
    subject: Subject<'a>,
    resource: &'a Resource,
    at: ModuleInstanceId,
    opened: Option<(Value, Private)>,
    problems: Diagnostics,
}

impl<'a> OpenJob<'a> {
    pub(crate) async fn run(self) -> OpenAnswer<'a> {
        let OpenJob { subject, resource, at, config } = self;
        let (config, marks) = config.unmark_with_paths();
        let found = subject.provider.validate_ephemeral_config(subject.kind().clone(), config.clone()).await;
        let mut problems = subject.placed(found);
        let mut opened = None;
        if !problems.has_errors() {
            subject.started(Phase::Open, &Value::null_dynamic());
            let Outcome { value, problems: found } =
                subject.provider.open_ephemeral(subject.kind().clone(), config).await;
            problems.extend(subject.placed(found));
            opened = value.filter(|_| !problems.has_errors()).map(|opened| (opened.value, opened.private));
            let schema = subject.schemas.ephemeral.get(subject.kind());
            if let (Some((value, _)), Some(schema)) = (&opened, schema)
                && let Err(reason) = conforms(value, schema.block.implied_type())
            {
                let what = eco_format!("opened {} with a value that does not fit: {reason}", subject.addr);
                problems.push(subject.broken("Provider produced invalid object", &what));
                opened = None;
            }
            subject.finished(Phase::Open, &Value::null_dynamic(), opened.is_some());
        }
        let opened = opened.map(|(value, private)| (value.mark_at(&marks).mark(Mark::Ephemeral), private));
        OpenAnswer { subject, resource, at, opened, problems }
    }
}

impl<'a> Walk<'a> {
    /// Takes the value of one that was opened, and remembers to close it.
    pub(crate) fn opened_answer(&mut self, answer: OpenAnswer<'a>) -> bool {
        let OpenAnswer { subject, resource, at, opened, problems } = answer;
        let ok = self.tell(problems);
        let Some((value, private)) = opened.filter(|_| ok) else { return false };
        let addr = subject.addr.clone();
        self.live.set_instance(at, &resource.key, addr.key.clone(), value.clone());
        self.opened.push(Open { subject, private });
        self.postconditions(at, resource, &addr, value)
    }

    /// Closes what was opened, the last first.
    pub(crate) async fn close_all(&mut self) {
        while let Some(Open { subject, private }) = self.opened.pop() {
            subject.started(Phase::Close, &Value::null_dynamic());
            let found = subject.provider.close_ephemeral(subject.kind().clone(), private).await;
            let problems = subject.placed(found);
            subject.finished(Phase::Close, &Value::null_dynamic(), !problems.has_errors());
            self.tell(problems);
        }
    }
}
