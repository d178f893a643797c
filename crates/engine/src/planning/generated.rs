//! Objects that are imported without having configuration: it is written for them.

use ecow::EcoString;
use yuba_plan::Importing;
use yuba_provider::ImportBy;
use yuba_syntax::Diagnostics;

use super::managed::imported;
use crate::generate;
use crate::object::{Existing, Subject};
use crate::walk::providers::Server;

/// An object to import.
pub(crate) struct GenerateJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) server: Server,
    pub(crate) by: ImportBy,
    pub(crate) importing: Importing,
}

/// What was found, and the configuration for it.
pub(crate) struct GeneratedAnswer<'a> {
    pub(crate) job: GenerateJob<'a>,
    pub(crate) found: Option<(Existing, EcoString)>,
    pub(crate) problems: Diagnostics,
}

impl<'a> GenerateJob<'a> {
    pub(crate) async fn run(self) -> GeneratedAnswer<'a> {
        match imported(&self.subject, &self.by, &self.importing, None).await {
            Ok((existing, problems)) => {
                let (value, _) = existing.value.unmark_deep();
                let text = self.subject.schema().map(|schema| {
                    generate::resource(&self.subject.addr, &schema.block, &self.server.config, &value).into()
                });
                let found = text.map(|text| (existing, text));
                GeneratedAnswer { job: self, found, problems }
            }
            Err(problems) => GeneratedAnswer { job: self, found: None, problems },
        }
    }
}
