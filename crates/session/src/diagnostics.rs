//! Catalogue of the diagnostics of this crate. Modules, encryption and tests have catalogues of their own.

use std::fmt::Display;
use std::io::{Error, ErrorKind};
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResource, AbsResourceInstance, ProviderSource, ResourceMode, TargetSubject};
use yuba_state::State;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Span};
use yuba_value::quote::quote;

yuba_syntax::catalogue! {
    /// A target of `fmt` does not exist or cannot be accessed.
    FORMAT_TARGET_NOT_FOUND = error "format-target-not-found", "Invalid file or directory path";
    /// A target of `fmt` is a file whose extension has no canonical style.
    FORMAT_EXTENSION_UNSUPPORTED = error "format-extension-unsupported", "Invalid file extension";
    /// A directory that `fmt` formats cannot be read.
    FORMAT_DIRECTORY_UNREADABLE = error "format-directory-unreadable", "Invalid path";
    /// A file that `fmt` formats cannot be opened.
    FORMAT_FILE_NOT_OPENED = error "format-file-not-opened", "Failed to open file";
    /// A file that `fmt` formats cannot be read.
    FORMAT_FILE_UNREADABLE = error "format-file-unreadable", "Failed to read file";
    /// A formatted file cannot be written.
    FORMAT_FILE_NOT_WRITTEN = error "format-file-not-written", "Writing formatted file failed";
    /// A command needs a configuration and the directory has no configuration files.
    NO_CONFIGURATION_FILES = error "no-configuration-files", "No configuration files";
    /// The configuration uses a backend that this version does not support.
    BACKEND_NOT_AVAILABLE = error "backend-not-available", "Backend not available yet";
    /// The configuration uses a backend type that does not exist.
    BACKEND_TYPE_UNKNOWN = error "backend-type-unknown", "Unsupported backend type";
    /// The configuration has a backend and `init` has not run yet.
    BACKEND_NOT_INITIALIZED = error "backend-not-initialized", "Backend initialization required, please run \"yuba init\"";
    /// `-backend-config` is set and the configuration has no `backend` block.
    BACKEND_BLOCK_MISSING = warning "backend-block-missing", "Missing backend configuration";
    /// The working directory was initialized with a backend and the configuration has no `backend` block.
    BACKEND_REMOVED = error "backend-removed", "Backend initialization required, please run \"yuba init\"";
    /// The working directory was initialized with another backend than the configuration has.
    BACKEND_CHANGED = error "backend-changed", "Backend initialization required: please run \"yuba init\"";
    /// `init` runs with another backend than before, and no flag says whether to migrate the state.
    BACKEND_CONFIGURATION_CHANGED = error "backend-configuration-changed", "Backend configuration changed";
    /// A command requires a state and the workspace does not have one.
    STATE_NOT_FOUND = error "state-not-found", "No state file was found";
    /// The schemas of some providers in the state are not available.
    STATE_SCHEMAS_MISSING = error "state-schemas-missing", "Failed to load plugin schemas";
    /// An installed provider cannot be started.
    PROVIDER_NOT_STARTED = error "provider-not-started", "Provider cannot be used";
    /// The state is encrypted and cannot be decrypted, so that it cannot be backed up and locked.
    ENCRYPTED_STATE_NOT_LOCKED = error "encrypted-state-not-locked", "Error acquiring the state lock";
    /// `validate` cannot read the schema of a provider.
    SCHEMA_NOT_READ = error "schema-not-read", "failed to read {schema}: failed to instantiate provider \"{provider}\" to obtain schema";
    /// The schema of a provider cannot be loaded.
    SCHEMA_NOT_LOADED = error "schema-not-loaded", "Failed to load plugin schemas";
    /// An address given to a `state` command is not in the state.
    ADDRESS_NOT_IN_STATE = error "address-not-in-state", "Unknown {kind}";
    /// The source of `state mv` is not in the state.
    MOVE_SOURCE_NOT_FOUND = error "move-source-not-found", "Invalid source address";
    /// The target of `state mv` has another kind of address than the source.
    MOVE_TARGET_MISMATCH = error "move-target-mismatch", "Invalid target address";
    /// The target of `state mv` is already in the state.
    MOVE_TARGET_EXISTS = error "move-target-exists", "Invalid target address";
    /// The target module of `state mv` already contains objects.
    MOVE_TARGET_MODULE_EXISTS = error "move-target-module-exists", "Destination module already exists";
    /// `state mv` is given an ephemeral resource.
    MOVE_OF_EPHEMERAL = error "move-of-ephemeral", "Invalid state move request";
    /// `state mv` would turn a data resource into a managed resource or the reverse.
    MOVE_CHANGES_MODE = error "move-changes-mode", "Invalid state move request";
    /// `state mv` would change the type of a resource.
    MOVE_CHANGES_TYPE = error "move-changes-type", "Invalid state move request";
    /// `taint` or `untaint` runs on a state without resource instances.
    TAINT_STATE_EMPTY = error "taint-state-empty", "No such resource instance";
    /// The resource instance given to `taint` or `untaint` is not in the state.
    TAINT_INSTANCE_NOT_FOUND = error "taint-instance-not-found", "No such resource instance";
    /// The resource instance given to `taint` or `untaint` has no current object.
    TAINT_OBJECT_MISSING = error "taint-object-missing", "No such resource instance";
    /// The resource instance given to `untaint` is not tainted.
    INSTANCE_NOT_TAINTED = error "instance-not-tainted", "Resource instance is not tainted";
    /// A state file named on the command line cannot be opened.
    GIVEN_STATE_NOT_OPENED = error "given-state-not-opened", "Failed to open the given state file";
    /// A state file named on the command line cannot be read.
    GIVEN_STATE_UNREADABLE = error "given-state-unreadable", "Failed to read source state {path}";
    /// The state file given to `workspace new` cannot be read.
    NEW_WORKSPACE_STATE_UNREADABLE = error "new-workspace-state-unreadable", "Error reading the given state";
    /// The state of a new workspace cannot be opened.
    NEW_WORKSPACE_NOT_OPENED = error "new-workspace-not-opened", "Error getting the state manager for the new workspace";
    /// The state of a workspace to delete cannot be read.
    DELETED_WORKSPACE_UNREADABLE = error "deleted-workspace-unreadable", "Failed to refresh state";
    /// `init` cannot read the state to find out which providers it needs.
    INIT_STATE_UNREADABLE = error "init-state-unreadable", "Error refreshing state";
    /// `providers` cannot read the state.
    REQUIREMENTS_STATE_UNREADABLE = error "requirements-state-unreadable", "Failed refreshing the state";
    /// `providers schema` cannot read the state.
    SCHEMAS_STATE_UNREADABLE = error "schemas-state-unreadable", "Failed to load state";
    /// A workspace name contains characters that are not allowed.
    NEW_WORKSPACE_NAME_INVALID = error "new-workspace-name-invalid", "Invalid workspace name";
    /// The name given to `workspace new` is the name of an existing workspace.
    WORKSPACE_EXISTS = error "workspace-exists", "Workspace {name} already exists";
    /// The workspace given on the command line does not exist.
    WORKSPACE_NOT_FOUND = error "workspace-not-found", "Workspace {name} doesn't exist";
    /// `workspace delete` is given the selected workspace.
    WORKSPACE_IS_SELECTED = error "workspace-is-selected", "Workspace {name} is your active workspace";
    /// `workspace select` runs while TF_WORKSPACE is set.
    WORKSPACE_SELECT_OVERRIDDEN = error "workspace-select-overridden", "The selected workspace is overridden using the TF_WORKSPACE environment variable";
    /// `workspace new` runs while TF_WORKSPACE is set to another name.
    WORKSPACE_NEW_OVERRIDDEN = error "workspace-new-overridden", "The workspace is overridden using the TF_WORKSPACE environment variable";
    /// `workspace delete` is given a workspace whose state tracks objects.
    WORKSPACE_NOT_EMPTY = error "workspace-not-empty", "Workspace is not empty";
    /// A provider is referred to without a namespace, as before Terraform 0.13.
    LEGACY_PROVIDER_ADDRESS = error "legacy-provider-address", "Invalid legacy provider address";
    /// Modules use the same provider name with different source addresses.
    SIMILAR_PROVIDERS = warning "similar-providers", "Potential provider misconfiguration";
    /// The configuration requires a built-in provider that does not exist.
    BUILT_IN_PROVIDER_UNKNOWN = error "built-in-provider-unknown", "Invalid dependency on built-in provider";
    /// The configuration has a version constraint for a built-in provider.
    BUILT_IN_PROVIDER_VERSION = error "built-in-provider-version", "Invalid dependency on built-in provider";
    /// The version constraint of a provider cannot be parsed.
    PROVIDER_CONSTRAINT_INVALID = error "provider-constraint-invalid", "Invalid version constraint";
    /// `-from-module` is used in a directory that has configuration files.
    FROM_MODULE_WITH_CONFIGURATION = error "from-module-with-configuration", "The working directory already contains files";
    /// `-from-module` is used in a directory that is not empty.
    FROM_MODULE_TARGET_NOT_EMPTY = error "from-module-target-not-empty", "Can't populate non-empty directory";
    /// The target directory of `-from-module` cannot be read.
    FROM_MODULE_TARGET_UNREADABLE = error "from-module-target-unreadable", "Failed to read target directory";
    /// The state could not be saved while changes were applied, but was saved at the end.
    STATE_SAVED_LATE = warning "state-saved-late", "State saved before all changes were made";
    /// The manifest of installed modules cannot be written.
    MODULE_MANIFEST_NOT_WRITTEN = error "module-manifest-not-written", "Failed to update module manifest";
    /// The manifest of installed modules cannot be read.
    MODULE_MANIFEST_UNREADABLE = error "module-manifest-unreadable", "Failed to read modules manifest file";
}

/// All errors of a step as one, with the title of a command.
pub fn under(code: &'static Code, problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(code, problems.joined())
}

/// The same diagnostic for a value from the command line, which has no location in a file.
pub(crate) fn without_location(problem: Diagnostic) -> Diagnostic {
    Diagnostic { subject: None, context: None, ..problem }
}

/// A target of `fmt` that does not exist.
pub(crate) fn no_such_target(name: &str, error: &Error) -> Diagnostic {
    let detail = match error.kind() {
        ErrorKind::NotFound => format!("File or directory {name} does not exist."),
        _ => format!("Failed to access {name}: {}.", reason(error)),
    };
    Diagnostic::new(&FORMAT_TARGET_NOT_FOUND, detail)
}

/// A file of a kind that has no canonical style.
pub(crate) fn not_formattable(name: &str, endings: &[&str]) -> Diagnostic {
    let more = match name.ends_with(".json") {
        true => " Configuration in JSON syntax has no canonical style.",
        false => "",
    };
    let detail = format!("Cannot format {name}: supported file extensions are {}.{more}", list(endings));
    Diagnostic::new(&FORMAT_EXTENSION_UNSUPPORTED, detail)
}

/// A directory whose entries cannot be listed.
pub(crate) fn unreadable_directory(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&FORMAT_DIRECTORY_UNREADABLE, format!("Failed to read directory {name}: {}.", reason(error)))
}

/// A file that cannot be opened.
pub(crate) fn unopenable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&FORMAT_FILE_NOT_OPENED, format!("Failed to open {name}: {}.", reason(error)))
}

/// A file that cannot be read.
pub(crate) fn unreadable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&FORMAT_FILE_UNREADABLE, format!("Failed to read {name}: {}.", reason(error)))
}

/// A formatted file that cannot be written.
pub(crate) fn unwritable_file(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&FORMAT_FILE_NOT_WRITTEN, format!("Failed to write {name}: {}.", reason(error)))
}

/// A directory without configuration.
pub(crate) fn no_configuration(dir: &str) -> Diagnostic {
    Diagnostic::new(&NO_CONFIGURATION_FILES, format!("Directory {dir} contains no configuration files."))
}

/// The action where the state is in a backend that is not supported. It is the same for every command.
fn other_backend(kind: &str) -> String {
    let compatible = match kind {
        "oss" | "cos" => {
            "Use OpenTofu with this backend, or migrate the state with OpenTofu to a backend that both support, such as \
                          \"s3\" or \"http\".\n\n"
        }
        _ => "",
    };
    format!("{compatible}{OTHER_BACKEND}")
}

const OTHER_BACKEND: &str = "To store the state in a local file instead, add a file backend_override.tf with the following \
                             lines and run \"yuba init\":\n\n    terraform {\n      backend \"local\" {}\n    }\n\nCommands \
                             that do not use the state, such as \"yuba validate\", need only the modules and providers that \
                             \"yuba init -backend=false\" installs.";

/// A `backend` block with the label `cloud`.
pub(crate) fn cloud_is_a_block(span: Span) -> Diagnostic {
    let detail = "Backend type \"cloud\" does not exist.";
    Diagnostic::new(&BACKEND_TYPE_UNKNOWN, detail).hint("Use a \"cloud\" block instead of this block.").at(span)
}

/// A backend that OpenTofu supports and this version does not.
pub(crate) fn backend_not_available(kind: &str, span: Span) -> Diagnostic {
    let detail = match kind {
        "oss" => {
            "This version of Yuba does not support the backend \"oss\": its locks are rows of Alibaba Cloud Tablestore, and no emulator of \
             that service exists to test them against."
        }
        "cos" => {
            "This version of Yuba does not support the backend \"cos\": its locks are tags of Tencent Cloud's tag service, and no emulator \
             of that service exists to test them against."
        }
        kind => &format!("This version of Yuba does not support the backend {kind:?}."),
    };
    Diagnostic::new(&BACKEND_NOT_AVAILABLE, detail).hint(other_backend(kind)).at(span)
}

/// Advice for backends that earlier versions of the language had.
const REMOVED_BACKENDS: [(&str, &str); 6] = [
    ("artifactory", MOVE_REMOVED),
    ("azure", "Use \"azurerm\": it reads the same blobs."),
    ("etcd", MOVE_REMOVED),
    ("etcdv3", MOVE_REMOVED),
    ("manta", MOVE_REMOVED),
    ("swift", MOVE_REMOVED),
];

const MOVE_REMOVED: &str = "Copy the states with \"state pull\" of the version that wrote them, configure another backend, and save them \
                            with \"yuba state push\".";

/// A backend that does not exist.
pub(crate) fn unknown_backend(kind: &str, known: &[&str], span: Span) -> Diagnostic {
    if let Some((_, advice)) = REMOVED_BACKENDS.iter().find(|(name, _)| *name == kind) {
        let detail = format!("OpenTofu and Yuba no longer have the backend {kind:?}.");
        return Diagnostic::new(&BACKEND_TYPE_UNKNOWN, detail).hint(*advice).at(span);
    }
    let hint = yuba_syntax::suggestion::did_you_mean(kind, known.iter().copied());
    let detail = format!("Backend type {kind:?} does not exist.");
    Diagnostic::new(&BACKEND_TYPE_UNKNOWN, detail).hint(hint.trim_start()).at(span)
}

/// A backend that `init` has not prepared yet.
pub(crate) fn backend_not_initialized(kind: &str) -> Diagnostic {
    let detail = format!(
        "The configuration stores its state in the backend {kind:?}, and this working directory is not initialized for it."
    );
    let hint = "Run \"yuba init\", which prepares the backend and asks whether to copy an existing state to it.";
    Diagnostic::new(&BACKEND_NOT_INITIALIZED, detail).hint(hint)
}

/// `-backend-config` without a backend.
pub(crate) fn missing_backend() -> Diagnostic {
    let detail = "-backend-config sets arguments of a backend, and the configuration has no \"backend\" block.";
    let hint = "To use the local backend, add:\n\nterraform {\n  backend \"local\" {}\n}";
    Diagnostic::new(&BACKEND_BLOCK_MISSING, detail).hint(hint)
}

/// The working directory was initialized with a backend that this version does not support.
pub(crate) fn backend_changed(before: &str, now: Option<&str>, pointer: &Path) -> Diagnostic {
    let detail = format!("{} {}", before_and_now(&format!("the backend {before:?}"), now), NOT_MIGRATABLE);
    Diagnostic::new(changed(now), detail).hint(migrate_elsewhere(pointer))
}

/// The same, reported by `init`.
pub(crate) fn backend_not_movable(before: &str, pointer: &Path) -> Diagnostic {
    let detail = format!("The state of this working directory is stored in the backend {before:?}. {NOT_MIGRATABLE}");
    let hint = format!("{} \"yuba init -reconfigure\" removes it too.", migrate_elsewhere(pointer));
    Diagnostic::new(&BACKEND_CONFIGURATION_CHANGED, detail).hint(hint)
}

const NOT_MIGRATABLE: &str = "This version of Yuba does not support that backend and cannot migrate the state.";

fn migrate_elsewhere(pointer: &Path) -> String {
    format!(
        "Run \"tofu init -migrate-state\" to migrate the state. If the state is no longer needed, remove the file {}.",
        pointer.display()
    )
}

/// Quirk: the title has a comma if the configuration no longer has a backend, and a colon if it has another one.
fn changed(now: Option<&str>) -> &'static Code {
    match now {
        None => &BACKEND_REMOVED,
        Some(_) => &BACKEND_CHANGED,
    }
}

/// A state that is stored at another location than the configuration says.
pub(crate) fn state_elsewhere(before: &str, now: Option<&str>) -> Diagnostic {
    Diagnostic::new(changed(now), before_and_now(before, now)).hint(
        "Run \"yuba init -migrate-state\" to migrate the state, run \"yuba init -reconfigure\" to use the new location without \
         the old state, or revert the configuration.",
    )
}

fn before_and_now(before: &str, now: Option<&str>) -> String {
    let now = match now {
        None => "has no backend".to_owned(),
        Some(now) => format!("sets another location in the backend {now:?}"),
    };
    format!(
        "The last \"yuba init\" in this working directory used {before} for the state. The configuration now {now}."
    )
}

/// `init` runs with another backend than before.
pub(crate) fn backend_configuration_changed(before: &str) -> Diagnostic {
    let detail = format!(
        "The state of this working directory is stored in {before}, and the configuration now sets another location."
    );
    let hint = "Run \"yuba init -migrate-state\" to migrate the state, or \"yuba init -reconfigure\" to use the new location \
                without the old state.";
    Diagnostic::new(&BACKEND_CONFIGURATION_CHANGED, detail).hint(hint)
}

/// A command that needs a state finds none.
pub(crate) fn no_state() -> Diagnostic {
    Diagnostic::new(&STATE_NOT_FOUND, "The selected workspace has no state yet.")
        .hint("Run this command in a directory whose configuration has been applied, or set -state to a state file.")
}

/// Providers whose schemas are needed to show their objects.
pub(crate) fn no_schemas(providers: &[&ProviderSource]) -> Diagnostic {
    let names: String = providers.iter().map(|provider| format!("\n  - {provider}")).collect();
    let detail = format!("The state contains objects of these providers, and their schemas are not available:{names}");
    Diagnostic::new(&STATE_SCHEMAS_MISSING, detail).hint("Run \"yuba init\" to install the providers.")
}

/// A provider that is selected and cannot be started.
pub(crate) fn unusable_provider(provider: &ProviderSource, reason: &str) -> Diagnostic {
    Diagnostic::new(&PROVIDER_NOT_STARTED, format!("Failed to start provider {provider}: {reason}."))
}

/// An encrypted state that cannot be read by a command that locks it.
pub(crate) fn not_backed_up(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&ENCRYPTED_STATE_NOT_LOCKED, format!("Failed to read the state: {}", problems.joined()))
        .hint("Add the \"encryption\" block that the state was written with, or set TF_ENCRYPTION.")
}

/// A provider whose schema `validate` needs first for `user`, a resource or else the provider's own configuration.
pub(crate) fn schema_not_read(provider: &ProviderSource, user: Option<&str>, reason: &Diagnostic) -> Diagnostic {
    let read = match user {
        Some(user) => format!("schema for {user} in"),
        None => "provider configuration schema for".to_owned(),
    };
    let summary =
        format!("failed to read {read} {provider}: failed to instantiate provider \"{provider}\" to obtain schema");
    Diagnostic::new(&SCHEMA_NOT_READ, format!("{}: {}", reason.summary, reason.explanation())).titled(summary)
}

/// A provider whose schema cannot be loaded.
pub(crate) fn schema_not_loaded(provider: &ProviderSource, reason: &Diagnostic) -> Diagnostic {
    let detail = format!(
        "Failed to load the schema of provider \"{provider}\".\n\n{}: {}",
        reason.summary,
        reason.explanation()
    );
    Diagnostic::new(&SCHEMA_NOT_LOADED, detail)
}

/// An address that is not in the state.
pub(crate) fn not_in_state(subject: &TargetSubject) -> Diagnostic {
    let what = match subject {
        TargetSubject::Module(_) => "module",
        TargetSubject::Resource(_) => "resource",
        TargetSubject::Instance(_) => "resource instance",
    };
    Diagnostic::new(&ADDRESS_NOT_IN_STATE, format!("The state contains no {what} {subject}."))
        .titled(format!("Unknown {what}"))
        .hint("If it was added to the configuration recently, run \"yuba apply\" to create it.")
}

/// A source of a move that is not in the state.
pub(crate) fn nothing_to_move(source: &dyn Display) -> Diagnostic {
    Diagnostic::new(
        &MOVE_SOURCE_NOT_FOUND,
        format!("Cannot move {source}: the state contains no object at this address."),
    )
}

/// A resource instance to move that is not in the state.
pub(crate) fn not_there_to_move(source: &dyn Display) -> Diagnostic {
    Diagnostic::new(&MOVE_SOURCE_NOT_FOUND, format!("The state does not contain {source}."))
}

/// A module whose target is not a module.
pub(crate) fn module_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail = format!("Cannot move {source} to {target}: a module can only be moved to a module address.");
    Diagnostic::new(&MOVE_TARGET_MISMATCH, detail)
}

/// A resource with several instances whose target is not a resource.
pub(crate) fn resource_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail = format!(
        "Cannot move {source} to {target}: the source is a resource with all its instances, so the target must be a \
         resource address without an instance key."
    );
    Diagnostic::new(&MOVE_TARGET_MISMATCH, detail)
}

/// A resource instance whose target is not a resource instance.
pub(crate) fn instance_to_other(source: &dyn Display, target: &dyn Display) -> Diagnostic {
    let detail = format!(
        "Cannot move {source} to {target}: a resource instance can only be moved to a resource instance address."
    );
    Diagnostic::new(&MOVE_TARGET_MISMATCH, detail)
}

/// A target of a move that is already in the state.
pub(crate) fn target_exists(what: &str, target: &dyn Display) -> Diagnostic {
    let detail = format!("Cannot move to {target}: the state already contains a {what} at this address.");
    Diagnostic::new(&MOVE_TARGET_EXISTS, detail)
}

/// A target module that already contains objects.
pub(crate) fn module_exists() -> Diagnostic {
    Diagnostic::new(
        &MOVE_TARGET_MODULE_EXISTS,
        "The target module already contains objects. The state was not changed.",
    )
    .hint("Choose another target address.")
}

/// A move of an ephemeral resource.
pub(crate) fn ephemeral_move() -> Diagnostic {
    Diagnostic::new(&MOVE_OF_EPHEMERAL, "Ephemeral resources are not stored in the state and cannot be moved.")
        .hint("Rename the resource in the configuration only.")
}

/// A move from data to managed or back.
pub(crate) fn other_mode(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    let mode = match from.resource.mode {
        ResourceMode::Data => "data",
        _ => "managed",
    };
    let detail =
        format!("Cannot move {from} to {to}: a {mode} resource can only be moved to a {mode} resource address.");
    Diagnostic::new(&MOVE_CHANGES_MODE, detail)
}

/// A move to another resource type.
pub(crate) fn other_type(from: &AbsResource, to: &AbsResource) -> Diagnostic {
    Diagnostic::new(&MOVE_CHANGES_TYPE, format!("Cannot move {from} to {to}: the resource types differ."))
}

/// A state without anything that could be tainted.
pub(crate) fn empty_state() -> Diagnostic {
    Diagnostic::new(&TAINT_STATE_EMPTY, "The state contains no resource instances.")
}

/// An instance to taint that is not in the state.
pub(crate) fn no_instance_to_mark(addr: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::new(&TAINT_INSTANCE_NOT_FOUND, format!("The state contains no resource instance {addr}."))
        .hint("If it was added to the configuration recently, run \"yuba apply\" to create it.")
}

/// An instance to taint whose replacement is not finished.
pub(crate) fn replacement_unfinished(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = format!(
        "{addr} is being replaced: its old object is not destroyed yet, and its new object is not created yet."
    );
    Diagnostic::new(&TAINT_OBJECT_MISSING, detail).hint("Run \"yuba apply\" to finish the replacement.")
}

/// An instance to taint that has no current object.
pub(crate) fn no_object_to_mark(addr: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::new(&TAINT_OBJECT_MISSING, format!("{addr} has no object that could be marked as tainted."))
}

/// An instance to untaint that is not tainted.
pub(crate) fn not_tainted(addr: &AbsResourceInstance) -> Diagnostic {
    Diagnostic::new(&INSTANCE_NOT_TAINTED, format!("{addr} is not marked as tainted. The state was not changed."))
}

/// A state file that cannot be opened.
pub(crate) fn unopenable_state(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&GIVEN_STATE_NOT_OPENED, format!("Failed to read {name}: {}.", reason(error)))
}

/// A state file that can be opened and not parsed.
pub(crate) fn unreadable_given_state(name: &str, problems: &Diagnostics) -> Diagnostic {
    under(&GIVEN_STATE_UNREADABLE, problems).titled(format!("Failed to read source state {}", quote(name)))
}

/// A name that no workspace can have.
pub(crate) fn invalid_workspace_name(name: &str) -> Diagnostic {
    let detail = format!(
        "Workspace name {} is invalid. A name contains only characters that need no escaping in a URL, and no slashes.",
        quote(name)
    );
    Diagnostic::new(&NEW_WORKSPACE_NAME_INVALID, detail)
}

/// A new workspace that already exists.
pub(crate) fn workspace_exists(name: &str) -> Diagnostic {
    Diagnostic::new(&WORKSPACE_EXISTS, "")
        .titled(format!("Workspace {} already exists", quote(name)))
        .hint(format!("Run \"yuba workspace select {name}\" to select it, or choose another name."))
}

/// A workspace that does not exist.
pub(crate) fn no_workspace(name: &str) -> Diagnostic {
    let hint =
        "Run \"yuba workspace new\" to create it, or \"yuba workspace select -or-create\" to create and select it.";
    Diagnostic::new(&WORKSPACE_NOT_FOUND, "").titled(format!("Workspace {} doesn't exist", quote(name))).hint(hint)
}

/// The selected workspace is to be deleted.
pub(crate) fn current_workspace(name: &str) -> Diagnostic {
    Diagnostic::new(&WORKSPACE_IS_SELECTED, "The selected workspace cannot be deleted.")
        .titled(format!("Workspace {} is your active workspace", quote(name)))
        .hint("Select another workspace first.")
}

/// A selection that would have no effect.
pub(crate) fn overridden_select() -> Diagnostic {
    Diagnostic::new(&WORKSPACE_SELECT_OVERRIDDEN, "TF_WORKSPACE overrides the selection of this command.")
        .hint("Unset TF_WORKSPACE, or set it to the name of the workspace.")
}

/// A new workspace that would not be selected.
pub(crate) fn overridden_new() -> Diagnostic {
    let detail = "This command selects the workspace that it creates, and TF_WORKSPACE overrides that selection with another \
                  workspace.";
    Diagnostic::new(&WORKSPACE_NEW_OVERRIDDEN, detail)
        .hint("Unset TF_WORKSPACE, or set it to the name of the new workspace.")
}

/// Number of objects that a message lists.
const SHOWN_OBJECTS: usize = 50;

/// A workspace to delete whose state tracks objects.
pub(crate) fn workspace_not_empty(name: &str, state: &State) -> Diagnostic {
    let mut objects = state.instances().flat_map(|(addr, _, instance)| {
        let keys: Vec<_> = instance.objects().map(|(deposed, _)| deposed.cloned()).collect();
        keys.into_iter().map(move |deposed| match deposed {
            None => format!("\n  - {addr}"),
            Some(key) => format!("\n  - {addr} (deposed object {key})"),
        })
    });
    let mut list: String = objects.by_ref().take(SHOWN_OBJECTS).collect();
    match objects.count() {
        0 => {}
        1 => list.push_str("\n  - and 1 more object"),
        more => list.push_str(&format!("\n  - and {more} more objects")),
    }
    let detail = format!(
        "Workspace {} is currently tracking the following resource instances:{list}\n\nThe objects would continue to exist \
         after the deletion, and Yuba would no longer track them.",
        quote(name)
    );
    Diagnostic::new(&WORKSPACE_NOT_EMPTY, detail)
        .hint("Destroy them first, or use -force to delete the workspace without destroying them.")
}

/// A provider without namespace, as before OpenTofu.
pub(crate) fn legacy_provider(provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "The configuration refers to provider {:?} without a namespace. Provider addresses require one since Terraform 0.13.",
        provider.kind
    );
    Diagnostic::new(&LEGACY_PROVIDER_ADDRESS, detail).hint("Set the source of the provider in required_providers.")
}

/// Providers with one name and different sources.
pub(crate) fn similar_providers(name: &str, providers: &[EcoString]) -> Diagnostic {
    let detail = format!("This configuration uses several providers with the name {name:?}: {}.", providers.join(", "));
    Diagnostic::new(&SIMILAR_PROVIDERS, detail)
        .hint("If this is not intended, set the same source for all of them in required_providers.")
}

/// A built-in provider that does not exist.
pub(crate) fn no_such_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("{} does not exist. The only built-in provider is \"terraform\".", provider.for_display());
    Diagnostic::new(&BUILT_IN_PROVIDER_UNKNOWN, detail)
}

/// A built-in provider with a version.
pub(crate) fn version_of_built_in(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("{} is built in to Yuba and does not support version constraints.", provider.for_display());
    Diagnostic::new(&BUILT_IN_PROVIDER_VERSION, detail).hint("Remove the version constraint.")
}

/// A version constraint of a provider that cannot be parsed.
pub(crate) fn invalid_constraint(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&PROVIDER_CONSTRAINT_INVALID, format!("Failed to parse the version constraint: {reason}.")).at(span)
}

/// The operating system's reason, as the end of a sentence.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::StorageFull => "no space left on the device".to_owned(),
        _ => error.to_string(),
    }
}

/// `a, b and c`
fn list(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub(crate) fn already_has_configuration() -> Diagnostic {
    let detail =
        "-from-module copies a module into an empty directory, and this directory contains configuration files.";
    Diagnostic::new(&FROM_MODULE_WITH_CONFIGURATION, detail)
        .hint("To initialize the configuration in this directory, omit -from-module.")
}

pub(crate) fn not_empty(dir: &Path, name: &str) -> Diagnostic {
    let detail = eco_format!("-from-module requires an empty directory, and {} contains {name:?}.", dir.display());
    Diagnostic::new(&FROM_MODULE_TARGET_NOT_EMPTY, detail)
}

pub(crate) fn unreadable_target(dir: &Path, error: &Error) -> Diagnostic {
    let detail = eco_format!("Failed to read {} to check that it is empty: {error}.", dir.display());
    Diagnostic::new(&FROM_MODULE_TARGET_UNREADABLE, detail)
}

/// The state could not be saved while operations ran, but the final state was saved.
pub(crate) fn saved_after_all() -> Diagnostic {
    Diagnostic::new(&STATE_SAVED_LATE, "The state contains all finished changes.")
        .hint("Fix the cause of the error, then apply again to make the other changes.")
}

/// The manifest of modules cannot be written.
pub(crate) fn manifest_not_written(path: &Path, error: &Error) -> Diagnostic {
    let detail = eco_format!("Failed to write the manifest of installed modules {}: {error}.", path.display());
    Diagnostic::new(&MODULE_MANIFEST_NOT_WRITTEN, detail)
}

/// The manifest of modules cannot be read.
pub(crate) fn manifest_unreadable(path: &Path, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to read the manifest of installed modules {}: {reason}.", path.display());
    Diagnostic::new(&MODULE_MANIFEST_UNREADABLE, detail).hint("Delete the file and run \"yuba init\".")
}
