//! Objects that are imported without having configuration: it is written for them, and planned as if it had been there.

use ecow::EcoString;
use yuba_config::resource::IgnoreChanges;
use yuba_plan::Importing;
use yuba_provider::ImportBy;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use super::managed::{Planned, Wish, imported};
use crate::object::{Existing, Subject};
use crate::walk::providers::Server;

/// An object to import.
pub(crate) struct ImportJob<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) server: Server,
    pub(crate) by: ImportBy,
    pub(crate) importing: Importing,
}

/// Results of generating.
pub(crate) struct ImportAnswer<'a> {
    pub(crate) job: ImportJob<'a>,
    pub(crate) found: Option<Existing>,
    pub(crate) problems: Diagnostics,
}

impl<'a> ImportJob<'a> {
    pub(crate) async fn run(self) -> ImportAnswer<'a> {
        match imported(&self.subject, &self.by, &self.importing, None).await {
            Ok((existing, problems)) => ImportAnswer { job: self, found: Some(existing), problems },
            Err(problems) => ImportAnswer { job: self, found: None, problems },
        }
    }
}

/// An object that configuration was written for.
pub(crate) struct WrittenJob<'a> {
    pub(crate) job: ImportJob<'a>,
    pub(crate) existing: Existing,
    /// The block as it will stand in the file.
    pub(crate) text: EcoString,
    /// Its meaning.
    pub(crate) config: Value,
}

/// The value of the configuration; none if it has errors.
pub(crate) struct WrittenAnswer<'a> {
    pub(crate) written: WrittenJob<'a>,
    pub(crate) planned: Option<Planned>,
    pub(crate) problems: Diagnostics,
}

impl<'a> WrittenJob<'a> {
    pub(crate) async fn run(self) -> WrittenAnswer<'a> {
        let wish = Wish {
            subject: &self.job.subject,
            ignore_changes: &IgnoreChanges::None,
            force_replace: false,
            triggered: false,
            create_before_destroy: false,
            skip_destroy: false,
        };
        let (planned, problems) = match wish.plan(&self.config, Some(&self.existing)).await {
            Ok((planned, problems)) => (Some(planned), problems),
            Err(problems) => (None, problems),
        };
        WrittenAnswer { written: self, planned, problems }
    }
}
