//! Arguments of the `remote` backend and of the `cloud` block: the host, its API, the token, the organization, the workspaces.

use std::sync::Arc;

use yuba_addrs::{Hostname, Version};
use yuba_net::Secret;
use yuba_net::http::Url;
use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::Type;

use super::api::{Api, Reply};
use super::mapping::Mapping;
use super::{Form, TfeStore};
use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::store::{Store, StoreError, StoreErrorKind};

/// The first version of the API that the `cloud` block works with.
const CLOUD_API: &str = "2.5";

pub(in crate::kinds) fn remote_schema() -> ArgumentSchema {
    let text = |name, description| Argument::optional(name, Type::string()).described(description);
    let workspaces = BlockSchema::new([
        ("name", Attribute::optional(Type::string()).described("The workspace that the default workspace stands for.")),
        ("prefix", Attribute::optional(Type::string()).described("Prefix of the names of all workspaces.")),
    ]);
    ArgumentSchema::new([
        text("hostname", "The host of the server."),
        Argument::required("organization", Type::string()).described("The organization of the workspaces."),
        text("token", "The API token. Run \"yuba login\" instead of setting it.").secret(),
    ])
    .with_blocks([("workspaces", NestedBlock::new(Nesting::Single, workspaces))])
}

pub(in crate::kinds) fn cloud_schema() -> ArgumentSchema {
    let text = |name, description| Argument::optional(name, Type::string()).described(description);
    let workspaces = BlockSchema::new([
        ("name", Attribute::optional(Type::string()).described("The only workspace of the configuration.")),
        ("project", Attribute::optional(Type::string()).described("The project of workspaces that are created.")),
        ("tags", Attribute::optional(Type::set(Type::string())).described("The tags of all workspaces.")),
    ]);
    ArgumentSchema::new([
        text("hostname", "The host of the server.").from_environment(&["TF_CLOUD_HOSTNAME"]),
        text("organization", "The organization of the workspaces.").from_environment(&["TF_CLOUD_ORGANIZATION"]),
        text("token", "The API token. Run \"yuba login\" instead of setting it.").secret(),
    ])
    .with_blocks([("workspaces", NestedBlock::new(Nesting::Single, workspaces))])
}

/// The strings of the `workspaces` block; none where an argument is not set or empty.
struct Workspaces(Option<Arguments>);

impl Workspaces {
    fn of(arguments: &Arguments) -> Workspaces {
        Workspaces(arguments.object("workspaces"))
    }
    fn text(&self, name: &str) -> Option<String> {
        self.0.as_ref()?.text(name).filter(|text| !text.is_empty()).map(|text| text.to_string())
    }
    fn tags(&self) -> Vec<String> {
        self.0.iter().flat_map(|block| block.texts("tags")).map(|tag| tag.to_string()).collect()
    }
}

pub(in crate::kinds) fn check_remote(arguments: &Arguments) -> Diagnostics {
    let mut problems = Diagnostics::new();
    if arguments.text("organization").is_some_and(|name| name.is_empty()) {
        problems.push(diagnostics::tfe_organization_empty());
    }
    problems.extend(remote_mapping(arguments).err());
    problems
}

fn remote_mapping(arguments: &Arguments) -> Result<Mapping, Diagnostic> {
    let workspaces = Workspaces::of(arguments);
    match (workspaces.text("name"), workspaces.text("prefix")) {
        (Some(name), None) => Ok(Mapping::Default(name)),
        (None, Some(prefix)) => Ok(Mapping::Prefix(prefix)),
        (None, None) => Err(diagnostics::tfe_workspaces_missing("prefix")),
        (Some(_), Some(_)) => Err(diagnostics::tfe_workspaces_ambiguous("prefix")),
    }
}

/// Without the environment, which can set what the block leaves out.
pub(in crate::kinds) fn check_cloud(arguments: &Arguments) -> Diagnostics {
    let workspaces = Workspaces::of(arguments);
    match workspaces.text("name").is_some() && !workspaces.tags().is_empty() {
        true => diagnostics::tfe_workspaces_ambiguous("tags").into(),
        false => Diagnostics::new(),
    }
}

fn cloud_mapping(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Mapping, Diagnostic> {
    let workspaces = Workspaces::of(arguments);
    let variable = |name| environment.variables.get(name).map(str::to_owned);
    let (selected, tags) = (variable("TF_WORKSPACE"), workspaces.tags());
    let project = workspaces.text("project").or_else(|| variable("TF_CLOUD_PROJECT"));
    let name = workspaces.text("name");
    if let (Some(name), Some(selected)) = (&name, &selected)
        && name != selected
    {
        return Err(diagnostics::tfe_workspace_differs(name, selected));
    }
    match (name.or_else(|| selected.filter(|_| tags.is_empty())), tags.is_empty()) {
        (Some(name), true) => Ok(Mapping::Name { name, project }),
        (None, false) => Ok(Mapping::Tags { tags, project }),
        (None, true) => Err(diagnostics::tfe_workspaces_missing("tags")),
        (Some(_), false) => Err(diagnostics::tfe_workspaces_ambiguous("tags")),
    }
}

pub(in crate::kinds) fn open_remote(
    arguments: &Arguments,
    environment: &BackendEnvironment,
) -> Result<Arc<dyn Store>, Diagnostics> {
    let problems = check_remote(arguments);
    if problems.has_errors() {
        return Err(problems);
    }
    let Some(organization) = arguments.text("organization") else {
        return Err(diagnostics::tfe_organization_empty().into());
    };
    let forces_local = environment.variables.get("TF_FORCE_LOCAL_BACKEND").is_some();
    // Quirk: a run that is forced to be local needs the state service only.
    let service = if forces_local { "state.v2" } else { "tfe.v2.1" };
    let api = connect(Form::Remote, arguments, environment, service)?;
    let mapping = remote_mapping(arguments)?;
    Ok(Arc::new(opened(api, &organization, mapping, environment)?))
}

pub(in crate::kinds) fn open_cloud(
    arguments: &Arguments,
    environment: &BackendEnvironment,
) -> Result<Arc<dyn Store>, Diagnostics> {
    let Some(organization) = arguments.text("organization") else {
        return Err(diagnostics::tfe_organization_missing().into());
    };
    let mapping = cloud_mapping(arguments, environment)?;
    let api = connect(Form::Cloud, arguments, environment, "tfe.v2")?;
    let store = opened(api, &organization, mapping, environment)?;
    check_selected(&store, environment)?;
    Ok(Arc::new(store))
}

/// The host with its API, and the token for it.
fn connect(
    form: Form,
    arguments: &Arguments,
    environment: &BackendEnvironment,
    service: &str,
) -> Result<Api, Diagnostics> {
    let Some(given) = arguments.text("hostname") else {
        return Err(diagnostics::tfe_hostname_missing(form_name(form)).into());
    };
    let host = Hostname::parse(&given).map_err(|reason| diagnostics::tfe_hostname_invalid(&given, &reason))?;
    let base = service_url(form, &host, environment, service)?;
    let token = arguments.secret("token").or_else(|| environment.services.token(&host));
    let token =
        token.filter(|token| !token.reveal().is_empty()).ok_or_else(|| diagnostics::tfe_token_missing(&host))?;
    if token.reveal().bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
        return Err(diagnostics::tfe_token_invalid(&host).into());
    }
    let (client, retries) = (environment.services.client().clone(), environment.retries);
    Ok(Api { client, base, token: Secret::new(token.reveal().trim()), host: host.to_string(), form, retries })
}

/// The URL of the API. It ends with a slash.
fn service_url(
    form: Form,
    host: &Hostname,
    environment: &BackendEnvironment,
    service: &str,
) -> Result<Url, Diagnostic> {
    let found = environment.services.url(host, service);
    let mut url = found.map_err(|error| diagnostics::tfe_not_discovered(form_name(form), host, &error))?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url.set_query(None);
    Ok(url)
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Remote => "remote",
        Form::Cloud => "cloud",
    }
}

/// The store, after the server has said that it has the organization.
fn opened(
    api: Api,
    organization: &str,
    mapping: Mapping,
    environment: &BackendEnvironment,
) -> Result<TfeStore, Diagnostics> {
    let failed = |error: &StoreError| diagnostics::tfe_organization_unreadable(organization, &api.host, error);
    let mut api_version = None;
    if api.form == Form::Cloud {
        api_version = retrying(environment, || api.get(&["ping"], &[])).map_err(|error| failed(&error))?.api_version;
    }
    let read = || api.get(&["organizations", organization, "entitlement-set"], &[]);
    let reply = retrying(environment, read).map_err(|error| failed(&error))?;
    api_version = api_version.or_else(|| reply.api_version.clone());
    let entitlements = reply.found().map_err(|error| failed(&error))?;
    let Some(entitlements) = entitlements else {
        return Err(diagnostics::tfe_organization_not_found(organization, &api.host).into());
    };
    let is_old = |version: &str| match (Version::parse(version), Version::parse(CLOUD_API)) {
        (Ok(version), Ok(first)) => version < first,
        _ => true,
    };
    if api.form == Form::Cloud && api_version.as_deref().is_none_or(is_old) {
        return Err(diagnostics::tfe_api_too_old(&api.host, api_version.as_deref(), CLOUD_API).into());
    }
    let is_forced = environment.variables.get("TF_FORCE_LOCAL_BACKEND").is_some();
    Ok(TfeStore {
        form: api.form,
        organization: organization.to_owned(),
        mapping,
        forces_local: is_forced || entitlements["attributes"]["operations"] != true,
        run: environment.variables.get("TFE_RUN_ID").map(str::to_owned),
        memory: Default::default(),
        api,
    })
}

/// Repeats a request while its failure may pass.
fn retrying(
    environment: &BackendEnvironment,
    mut request: impl FnMut() -> Result<Reply, StoreError>,
) -> Result<Reply, StoreError> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match request() {
            Err(error) if error.kind == StoreErrorKind::Transient && attempt < environment.retries.attempts => {
                std::thread::sleep(environment.retries.pause_after(attempt, error.retry_after));
            }
            done => return done,
        }
    }
}

/// Fails where TF_WORKSPACE selects a workspace that does not exist, or one without the tags of the configuration.
fn check_selected(store: &TfeStore, environment: &BackendEnvironment) -> Result<(), Diagnostics> {
    let Some(selected) = environment.variables.get("TF_WORKSPACE") else { return Ok(()) };
    let failed = |error: StoreError| Diagnostics::from(diagnostics::tfe_request_failed(&error));
    if store.look_up(selected).map_err(failed)?.is_none() {
        return Err(diagnostics::tfe_workspace_not_found(selected, &store.organization).into());
    }
    match store.mapping.tags() {
        [] => Ok(()),
        _ if store.listed().map_err(failed)?.iter().any(|name| name == selected) => Ok(()),
        tags => Err(diagnostics::tfe_workspace_not_tagged(selected, tags).into()),
    }
}
