//! Everything that can go wrong here, said in one place.

use std::fmt::Display;
use std::io::{Error, ErrorKind};
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResource, AbsResourceInstance, ProviderSource, ResourceMode, TargetSubject};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics, Span};
use yuba_value::quote::quote;

/// A target that does not exist.
pub(crate) fn no_such_target(name: &str, error: &Error) -> Diagnostic {
    let detail = match error.kind() {
        ErrorKind::NotFound => format!("There is no file or directory at {name}."),
        _ => format!("The file or directory {name} cannot be reached: {}.", reason(error)),
    };
    Diagnostic::error("Invalid file or directory path", detail)
}

/// A file of a kind that has no canonical form.
pub(crate) fn not_formattable(name: &str, endings: &[&str]) -> Diagnostic {
    let hint = match name.ends_with(".json") {
        true => " Configuration in JSON syntax has no canonical form.",
        false => "",
    };
    let detail = format!("{name} cannot be formatted: only files that end in {} can.{hint}", list(endings));
    Diagnostic::error("Invalid file extension", detail)
}

/// A directory whose entries cannot be listed.
pub(crate) fn unreadable_directory(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Invalid path", format!("The directory {name} cannot be read: {}.", reason(error)))
}

/// A file that cannot be opened.
pub(crate) fn unopenable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Failed to open file", format!("The file {name} cannot be opened: {}.", reason(error)))
}

/// A file whose content cannot be had.
pub(crate) fn unreadable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("Failed to read file", format!("The file {name} cannot be read: {}.", reason(error)))
}

/// A formatted file that could not take the place of the old one.
pub(crate) fn unwritable_file(name: &str, error: &Error) -> Diagnostic {
    let detail = format!("The formatted text of {name} cannot be written: {}.", reason(error));
    Diagnostic::error("Writing formatted file failed", detail)
}

/// A directory without configuration.
pub(crate) fn no_configuration(dir: &str) -> Diagnostic {
    Diagnostic::error("No configuration files", format!("The directory {dir} has no configuration files."))
}

/// What to do where the state is in a backend that is not supported. It is true for every command.
const OTHER_BACKEND: &str = "To keep the state in a local file instead, add a file backend_override.tf with the following \
                             lines and run \"yuba init\":\n\n    terraform {\n      backend \"local\" {}\n    }\n\nCommands \
                             that do not use the state, such as \"yuba validate\", need only the modules and providers that \
                             \"yuba init -backend=false\" installs.";

/// The `cloud` block.
pub(crate) fn cloud_not_available(span: Span) -> Diagnostic {
    let detail = format!("Yuba does not support the service of a \"cloud\" block. {OTHER_BACKEND}");
    Diagnostic::error("Cloud backend not available", detail).at(span)
}

/// A backend that OpenTofu has and this version has not.
pub(crate) fn backend_not_available(kind: &str, span: Span) -> Diagnostic {
    let detail = format!("This version of Yuba does not support the backend {kind:?}. {OTHER_BACKEND}");
    Diagnostic::error("Backend not available yet", detail).at(span)
}

/// A backend that nobody has.
pub(crate) fn unknown_backend(kind: &str, known: &[&str], span: Span) -> Diagnostic {
    let hint = yuba_syntax::suggestion::did_you_mean(kind, known.iter().copied());
    Diagnostic::error("Unsupported backend type", format!("There is no backend of the type {kind:?}.{hint}")).at(span)
}

/// A backend that `init` has not seen yet.
pub(crate) fn backend_not_initialized(kind: &str) -> Diagnostic {
    let detail = format!(
        "The configuration keeps its state in the backend {kind:?}, and \"yuba init\" has not been run with it here yet. It \
         prepares the backend, and asks whether a state that is here already is to be copied there. Nothing has been changed."
    );
    Diagnostic::error("Backend initialization required, please run \"yuba init\"", detail)
}

/// Arguments for a backend that is not there.
pub(crate) fn missing_backend() -> Diagnostic {
    let detail = "-backend-config gives arguments to a backend, and the configuration has no block \"backend\" to give them to. If \
                  the local backend is meant, write:\n\nterraform {\n  backend \"local\" {}\n}";
    Diagnostic::warning("Missing backend configuration", detail)
}

/// A state that was kept in a backend that we do not have.
pub(crate) fn backend_changed(before: &str, now: Option<&str>, pointer: &Path) -> Diagnostic {
    let detail = format!("{} {}", before_and_now(&format!("the backend {before:?}"), now), not_movable(pointer));
    Diagnostic::error(initialize_again(now), detail)
}

/// The same, said by `init`.
pub(crate) fn backend_not_movable(before: &str, pointer: &Path) -> Diagnostic {
    let place = format!("The state of this working directory was kept in the backend {before:?} so far.");
    let detail = format!("{place} {} \"yuba init -reconfigure\" does that too.", not_movable(pointer));
    Diagnostic::error("Backend configuration changed", detail)
}

fn not_movable(pointer: &Path) -> String {
    format!(
        "This version of Yuba does not have that backend and cannot move the state: \"tofu init -migrate-state\" can. If the \
         state is not needed any more, remove the file {}.",
        pointer.display()
    )
}

/// Quirk: a backend that is gone is told with a comma, another one with a colon.
fn initialize_again(now: Option<&str>) -> &'static str {
    match now {
        None => "Backend initialization required, please run \"yuba init\"",
        Some(_) => "Backend initialization required: please run \"yuba init\"",
    }
}

/// A state that was at another place before.
pub(crate) fn state_elsewhere(before: &str, now: Option<&str>) -> Diagnostic {
    let detail = format!(
        "{} Run \"yuba init -migrate-state\" to bring the state along, or \"yuba init -reconfigure\" to use the new place as \
         it is; or change the configuration back.",
        before_and_now(before, now)
    );
    Diagnostic::error(initialize_again(now), detail)
}

fn before_and_now(before: &str, now: Option<&str>) -> String {
    let now = match now {
        None => "has no backend now".to_owned(),
        Some(now) => format!("names another place in the backend {now:?} now"),
    };
    format!(
        "The state of this working directory was kept in {before} when \"yuba init\" was run last, and the configuration {now}."
    )
}

/// `init` was run with another backend before.
pub(crate) fn backend_configuration_changed(before: &str) -> Diagnostic {
    let detail = format!(
        "The state of this working directory was kept in {before} so far, and the configuration names another place now. To \
         bring the state along run \"yuba init -migrate-state\"; to use the new place as it is, \"yuba init -reconfigure\"."
    );
    Diagnostic::error("Backend configuration changed", detail)
}

/// There is no state where one is needed.
pub(crate) fn no_state() -> Diagnostic {
    let detail = "There is no state here yet. Run this command where a configuration has been applied, or name a state file \
                  with -state.";
    Diagnostic::error("No state file was found", detail)
}

/// Providers whose schemas are needed to show their objects.
pub(crate) fn no_schemas(providers: &[&ProviderSource]) -> Diagnostic {
    let names: String = providers.iter().map(|provider| format!("\n  - {provider}")).collect();
    let detail = format!(
        "To show objects of a provider, its schema has to be known. This version of Yuba has the built-in provider \
         \"terraform\" only, and the state also has objects of:{names}"
    );
    Diagnostic::error("Failed to load plugin schemas", detail)
}

/// A provider that is selected and cannot be used as it is.
pub(crate) fn unusable_provider(provider: &ProviderSource, reason: &str) -> Diagnostic {
    let detail = format!("The provider {provider} cannot be started: {reason}.");
    Diagnostic::error("Provider cannot be used", detail)
}

/// An encrypted state that cannot be read by a command that locks it.
pub(crate) fn not_backed_up(problems: &Diagnostics) -> Diagnostic {
    let detail = format!(
        "Failed to read the state: {}\n\nAdd the \"encryption\" block that the state was written with, or set TF_ENCRYPTION.",
        problems.joined()
    );
    Diagnostic::error("Error acquiring the state lock", detail)
}

/// A provider whose schema `validate` needs first for `user`, a resource or else the provider's own configuration.
pub(crate) fn schema_not_read(provider: &ProviderSource, user: Option<&str>, reason: &Diagnostic) -> Diagnostic {
    let read = match user {
        Some(user) => format!("schema for {user} in"),
        None => "provider configuration schema for".to_owned(),
    };
    let summary =
        format!("failed to read {read} {provider}: failed to instantiate provider \"{provider}\" to obtain schema");
    Diagnostic::error(summary, format!("{}: {}", reason.summary, reason.detail))
}

/// A provider that does not say what it has.
pub(crate) fn schema_not_loaded(provider: &ProviderSource, reason: &Diagnostic) -> Diagnostic {
    let detail =
        format!("Failed to load the schema of provider \"{provider}\".\n\n{}: {}", reason.summary, reason.detail);
    Diagnostic::error("Failed to load plugin schemas", detail)
}

/// An address that means nothing in the state.
pub(crate) fn not_in_state(subject: &TargetSubject) -> Diagnostic {
    let what = match subject {
        TargetSubject::Module(_) => "module",
        TargetSubject::Resource(_) => "resource",
        TargetSubject::Instance(_) => "resource instance",
    };
    let detail = format!(
        "The state has no {what} {subject}. What has been added to the configuration is in the state only after \
         \"yuba apply\"."
    );
    Diagnostic::error(format!("Unknown {what}"), detail)
}

const INVALID_SOURCE: &str = "Invalid source address";
const INVALID_TARGET: &str = "Invalid target address";
const INVALID_MOVE: &str = "Invalid state move request";

/// Nothing to move.
pub(crate) fn nothing_to_move(source: &dyn Display) -> Diagnostic {
    Diagnostic::error(INVALID_SOURCE, format!("{source} cannot be moved: nothing in the state has this address."))
}

/// An instance to move that is not there.
pub(crate) fn not_there_to_move(source: &dyn Display) -> Diagnostic {
    Diagnostic::error(INVALID_SOURCE, format!("The state does not have {source}."))
}

/// A module that would become something else.
pub(crate) fn module_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail = format!("{source} cannot be moved to {target}: a module can become a module only.");
    Diagnostic::error(INVALID_TARGET, detail)
}

/// A resource with keys that would become something else.
pub(crate) fn resource_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail = format!(
        "{source} cannot be moved to {target}: the source is a resource with all its instances, so the target must be a \
         resource without a key."
    );
    Diagnostic::error(INVALID_TARGET, detail)
}

/// An instance that would become something else.
pub(crate) fn instance_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail =
        format!("{source} cannot be moved to {target}: a resource instance can become a resource instance only.");
    Diagnostic::error(INVALID_TARGET, detail)
}

/// Something that is in the way of a move.
pub(crate) fn target_exists(what: &str, target: &dyn Display) -> Diagnostic {
    let detail = format!("Nothing can be moved to {target}: the state has a {what} with this address already.");
    Diagnostic::error(INVALID_TARGET, detail)
}

/// A module that is in the way of a move.
pub(crate) fn module_exists() -> Diagnostic {
    let detail =
        "The state has objects in the target module already. Nothing has been changed; choose another address.";
    Diagnostic::error("Destination module already exists", detail)
}

/// A move of something that no state has.
pub(crate) fn ephemeral_move() -> Diagnostic {
    let detail = "Ephemeral resources are never in a state, so they cannot be moved. Change their names in the \
                  configuration alone.";
    Diagnostic::error(INVALID_MOVE, detail)
}

/// A move from data to managed or back.
pub(crate) fn other_mode(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    let mode = match from.resource.mode {
        ResourceMode::Data => "data",
        _ => "managed",
    };
    let detail = format!("{from} cannot be moved to {to}: a {mode} resource can become a {mode} resource only.");
    Diagnostic::error(INVALID_MOVE, detail)
}

/// A move to another resource type.
pub(crate) fn other_type(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    let detail = format!("{from} cannot be moved to {to}: the resource types differ.");
    Diagnostic::error(INVALID_MOVE, detail)
}

const NO_INSTANCE: &str = "No such resource instance";

/// A state without anything that could be marked.
pub(crate) fn empty_state() -> Diagnostic {
    let detail = "The state has no resource instances at all: nothing has been applied yet, or all has been destroyed.";
    Diagnostic::error(NO_INSTANCE, detail)
}

/// An instance to mark that is not there.
pub(crate) fn no_instance_to_mark(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = format!(
        "The state has no resource instance {addr}. If it was added to the configuration just now, run \"yuba apply\" \
         first to create it."
    );
    Diagnostic::error(NO_INSTANCE, detail)
}

/// An instance to mark that has no current object.
pub(crate) fn no_object_to_mark(addr: &AbsResourceInstance, is_being_replaced: bool) -> Diagnostic {
    let detail = match is_being_replaced {
        true => format!(
            "{addr} is being replaced: its old object is still to be destroyed, and there is no new one yet. Run \
             \"yuba apply\" to finish that first."
        ),
        false => format!("{addr} has no object that could be marked."),
    };
    Diagnostic::error(NO_INSTANCE, detail)
}

/// A mark to take off that is not there.
pub(crate) fn not_tainted(addr: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "Resource instance is not tainted",
        format!("{addr} is not tainted, so there is no mark to take off."),
    )
}

/// A state file to read that cannot be opened.
pub(crate) fn unopenable_state(name: &str, error: &Error) -> Diagnostic {
    let detail = format!("The file {name} cannot be read: {}.", reason(error));
    Diagnostic::error("Failed to open the given state file", detail)
}

/// A name that no workspace can have.
pub(crate) fn invalid_workspace_name(name: &str) -> Diagnostic {
    let detail = format!(
        "{} cannot be the name of a workspace: only characters that need no escaping in a URL are possible, and no slashes.",
        quote(name)
    );
    Diagnostic::error("Invalid workspace name", detail)
}

/// A workspace that is there already.
pub(crate) fn workspace_exists(name: &str) -> Diagnostic {
    let detail = format!("Select it with \"yuba workspace select {name}\", or choose another name.");
    Diagnostic::error(format!("Workspace {} already exists", quote(name)), detail)
}

/// A workspace that is not there.
pub(crate) fn no_workspace(name: &str) -> Diagnostic {
    let detail = "Make it with \"yuba workspace new\", or let \"yuba workspace select\" make it with -or-create.";
    Diagnostic::error(format!("Workspace {} doesn't exist", quote(name)), detail)
}

/// The selected workspace cannot go.
pub(crate) fn current_workspace(name: &str) -> Diagnostic {
    let detail = "The workspace that is selected cannot be deleted. Select another one first.";
    Diagnostic::error(format!("Workspace {} is your active workspace", quote(name)), detail)
}

/// A selection that would have no effect.
pub(crate) fn overridden_select() -> Diagnostic {
    let detail =
        "What this command selects would not count as long as that variable is set. Unset or change it instead.";
    let title = "The selected workspace is overridden using the TF_WORKSPACE environment variable";
    Diagnostic::error(title, detail)
}

/// A new workspace that would not be selected.
pub(crate) fn overridden_new() -> Diagnostic {
    let detail = "A new workspace is selected at once, which would not count as long as that variable has another name in \
                  it. Unset it, or set it to the name of the new workspace.";
    Diagnostic::error("The workspace is overridden using the TF_WORKSPACE environment variable", detail)
}

/// How many objects a message lists.
const SHOWN_OBJECTS: usize = 50;

/// A workspace whose objects would be forgotten.
pub(crate) fn workspace_not_empty(name: &str, state: &State) -> Diagnostic {
    let mut objects = state.instances().flat_map(|(addr, _, instance)| {
        let keys: Vec<_> = instance.objects().map(|(deposed, _)| deposed.cloned()).collect();
        keys.into_iter().map(move |deposed| match deposed {
            None => format!("\n  - {addr}"),
            Some(key) => format!("\n  - {addr} (deposed object {key})"),
        })
    });
    let mut list: String = objects.by_ref().take(SHOWN_OBJECTS).collect();
    let more = objects.count();
    if more > 0 {
        list.push_str(&format!("\n  - and {more} more"));
    }
    let detail = format!(
        "Workspace {} is currently tracking the following resource instances:{list}\n\nThey would still exist after its \
         deletion, and nothing would know of them any more. Destroy them first, or delete the workspace with -force to \
         forget them.",
        quote(name)
    );
    Diagnostic::error("Workspace is not empty", detail)
}

/// A provider without namespace, as before OpenTofu.
pub(crate) fn legacy_provider(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "This configuration refers to the provider {:?} without saying who publishes it, as was usual before Terraform 0.13. \
         Name the provider's source in required_providers.",
        provider.kind
    );
    Diagnostic::error("Invalid legacy provider address", detail)
}

/// Two providers that may have been meant to be one.
pub(crate) fn similar_providers(name: &str, providers: &[EcoString]) -> Diagnostic {
    let detail = format!(
        "There are several providers called {name:?} in this configuration: {}. If that is intended, nothing is wrong; \
         otherwise make the sources in required_providers agree.",
        providers.join(", ")
    );
    Diagnostic::warning("Potential provider misconfiguration", detail)
}

/// A built-in provider that does not exist.
pub(crate) fn no_such_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("{} cannot be used: only the provider \"terraform\" is built in.", provider.for_display());
    Diagnostic::error("Invalid dependency on built-in provider", detail)
}

/// A built-in provider with a version.
pub(crate) fn version_of_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "{} cannot be used in a certain version: it is part of the program. Remove the version constraint.",
        provider.for_display()
    );
    Diagnostic::error("Invalid dependency on built-in provider", detail)
}

/// A version constraint of a provider that cannot be read.
pub(crate) fn invalid_constraint(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid version constraint", format!("This is no version constraint: {reason}.")).at(span)
}

/// The operating system's reason in words that end no sentence.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::StorageFull => "no space is left on the device".to_owned(),
        _ => error.to_string(),
    }
}

/// `a, b and c`
fn list(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

pub(crate) fn already_has_configuration() -> Diagnostic {
    let detail = "A module can be copied into an empty directory only, and this one has configuration files. To prepare the \
                  configuration that is here, leave out -from-module.";
    Diagnostic::error("The working directory already contains files", detail)
}

pub(crate) fn not_empty(dir: &Path, name: &str) -> Diagnostic {
    let detail =
        eco_format!("The directory {} is not empty: it has {name:?}. -from-module needs an empty one.", dir.display());
    Diagnostic::error("Can't populate non-empty directory", detail)
}

pub(crate) fn unreadable_target(dir: &Path, error: &std::io::Error) -> Diagnostic {
    let detail = eco_format!(
        "The directory {} could not be read, so it is unknown whether it is empty: {error}.",
        dir.display()
    );
    Diagnostic::error("Failed to read target directory", detail)
}

/// Results could not be kept while operations ran, but the final state was saved.
pub(crate) fn saved_after_all() -> Diagnostic {
    Diagnostic::warning(
        "State saved before all changes were made",
        "The state has all finished changes. Fix the cause of the error, then apply again to make the other changes.",
    )
}
