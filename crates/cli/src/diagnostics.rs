//! Catalogue of the diagnostics of the command line.

use std::fmt::Display;
use std::io::Error;
use std::path::Path;

use yuba_addrs::{AbsResourceInstance, Hostname};
use yuba_install::login::NoWay;
use yuba_syntax::{Diagnostic, Diagnostics, Severity};
use yuba_value::quote::quote;

yuba_syntax::catalogue! {
    /// The flags of a command cannot be parsed.
    FLAGS_INVALID = error "flags-invalid", "Failed to parse command-line flags";
    /// An option of a command stands before the name of the command.
    FLAG_BEFORE_SUBCOMMAND = error "flag-before-subcommand", "Invalid flags before the subcommand";
    /// A command has more arguments than it supports.
    UNEXPECTED_ARGUMENT = error "unexpected-argument", "Unexpected argument";
    /// A command has fewer or more arguments than it requires.
    ARGUMENT_COUNT_INVALID = error "argument-count-invalid", "Invalid number of arguments";
    /// The argument of `state at` is not a time.
    TIME_INVALID = error "time-invalid", "Invalid time";
    /// The flag `-prefix` of `state pg-grants` cannot begin the name of a role.
    ROLE_PREFIX_INVALID = error "role-prefix-invalid", "Invalid role prefix";
    /// Two flags of a command exclude each other.
    OUTPUT_FORMATS_CONFLICT = error "output-formats-conflict", "Invalid output format";
    /// `-format` names an output format that does not exist.
    OUTPUT_FORMAT_UNKNOWN = error "output-format-unknown", "Invalid output format";
    /// `-format=github` is used with `-json`.
    ANNOTATIONS_WITH_JSON = error "annotations-with-json", "Invalid output format";
    /// The file of `-sarif` cannot be written.
    SARIF_FILE_NOT_WRITTEN = error "sarif-file-not-written", "Failed to write file";
    /// The file of `-json-into` cannot be written.
    JSON_FILE_NOT_WRITTEN = error "json-file-not-written", "Invalid argument";
    /// `fmt` cannot read standard input.
    STANDARD_INPUT_UNREADABLE = error "standard-input-unreadable", "Failed to read file";
    /// A flag that names a backup file is used with a state that is not in a file.
    LOCAL_OPTIONS = error "local-options", "Invalid command line options: {options}";
    /// A prompt for approval received no input: standard input has ended, or the user pressed Ctrl-C.
    NOT_CONFIRMED = error "not-confirmed", "Error asking for confirmation: {reason}";
    /// The prompt of a change to the state received no input: standard input has ended, or the user pressed Ctrl-C.
    NOT_APPROVED = error "not-approved", "Error asking for approval";
    /// The input at a prompt has the wrong type.
    ANSWER_INVALID = error "answer-invalid", "Invalid value";
    /// The path of the current directory cannot be determined.
    CURRENT_DIRECTORY_UNKNOWN = error "current-directory-unknown", "Invalid path";
    /// `force-unlock` is used on a local state without `-force`.
    LOCAL_LOCK_NOT_REMOVABLE = error "local-lock-not-removable", "State locked by another local process";
    /// `init` has both `-backend` and `-cloud`.
    BACKEND_FLAGS_CONFLICT = error "backend-flags-conflict", "Wrong combination of options";
    /// `init` has both `-reconfigure` and a flag that migrates the state.
    MIGRATION_FLAGS_CONFLICT = error "migration-flags-conflict", "Wrong combination of options";
    /// `login` runs where it cannot prompt.
    LOGIN_NOT_INTERACTIVE = error "login-not-interactive", "Login is an interactive command";
    /// The argument of `login` or `logout` is not a valid host name.
    LOGIN_HOSTNAME_INVALID = error "login-hostname-invalid", "Invalid hostname";
    /// The services of a host cannot be discovered.
    LOGIN_DISCOVERY_FAILED = error "login-discovery-failed", "Service discovery failed for {host}";
    /// The credentials of a host are written in a CLI configuration file by hand.
    CREDENTIALS_MANUALLY_CONFIGURED = error "credentials-manually-configured", "Credentials for {host} are manually configured";
    /// A token was obtained and cannot be saved.
    TOKEN_NOT_SAVED = error "token-not-saved", "Failed to save API token";
    /// A stored token cannot be removed.
    TOKEN_NOT_REMOVED = error "token-not-removed", "Failed to remove API token";
    /// A host does not issue tokens in a way that this version supports.
    TOKENS_NOT_SUPPORTED = error "tokens-not-supported", "Host does not support Yuba tokens API";
    /// A host does not support a login that this version supports.
    LOGIN_NOT_SUPPORTED = error "login-not-supported", "Host does not support Yuba login";
    /// The user did not confirm the login.
    LOGIN_CANCELLED = error "login-cancelled", "Login cancelled";
    /// The server that receives the response of a browser cannot be started.
    LOGIN_SERVER_NOT_STARTED = error "login-server-not-started", "Can't start temporary login server";
    /// A host did not issue a token.
    TOKEN_NOT_OBTAINED = error "token-not-obtained", "Failed to obtain auth token";
    /// No token was entered at the prompt.
    TOKEN_NOT_ENTERED = error "token-not-entered", "Failed to retrieve token";
    /// A host rejects the token that was entered.
    TOKEN_INVALID = error "token-invalid", "Token is invalid";
    /// The user of a token cannot be requested from the host.
    TOKEN_USER_UNKNOWN = error "token-user-unknown", "Failed to retrieve user account details";
    /// `metadata functions` runs without `-json`.
    METADATA_NEEDS_JSON = error "metadata-needs-json", "Invalid arguments";
    /// `metadata commands` runs without a form to write, or with several.
    METADATA_NEEDS_FORM = error "metadata-needs-form", "Invalid arguments";
    /// A generated page cannot be written.
    PAGE_NOT_WRITTEN = error "page-not-written", "Failed to write file";
    /// `completion` runs without the name of one shell.
    ONE_SHELL_EXPECTED = error "one-shell-expected", "Invalid number of arguments";
    /// `completion` has no script for a shell.
    SHELL_UNSUPPORTED = error "shell-unsupported", "Unsupported shell";
    /// `output -raw` runs without the name of an output.
    OUTPUT_NAME_REQUIRED = error "output-name-required", "Output name required";
    /// The output given to `output` is not in the state.
    OUTPUT_NOT_FOUND = error "output-not-found", "Output {name} not found";
    /// The state that `output` shows cannot be read.
    OUTPUT_STATE_UNREADABLE = error "output-state-unreadable", "{problem}";
    /// The state has no outputs.
    NO_OUTPUTS = warning "no-outputs", "No outputs found";
    /// The value of an output cannot be written with `-raw`.
    RAW_OUTPUT_UNSUPPORTED = error "raw-output-unsupported", "Unsupported value for raw output";
    /// `providers lock` has both `-fs-mirror` and `-net-mirror`.
    MIRROR_FLAGS_CONFLICT = error "mirror-flags-conflict", "Invalid installation method options";
    /// `providers schema` runs without `-json`.
    SCHEMAS_NEED_JSON = error "schemas-need-json", "Output only in json is allowed";
    /// A state that a command lists or changes cannot be read.
    COMMAND_STATE_UNREADABLE = error "command-state-unreadable", "Error refreshing the state";
    /// The state that a command moves objects from cannot be read.
    SOURCE_STATE_UNREADABLE = error "source-state-unreadable", "Failed to refresh source state";
    /// The state that a command writes to cannot be read.
    DESTINATION_STATE_UNREADABLE = error "destination-state-unreadable", "Failed to refresh destination state";
    /// The state that `state rm` changes cannot be read.
    REMOVAL_STATE_UNREADABLE = error "removal-state-unreadable", "Failed to refresh state";
    /// The state that `state pull` writes cannot be read.
    PULLED_STATE_UNREADABLE = error "pulled-state-unreadable", "Failed to refresh state: {problem}";
    /// The state that `state show` reads cannot be read.
    SHOWN_STATE_UNREADABLE = error "shown-state-unreadable", "error loading state: {problem}";
    /// TF_WORKSPACE is not a valid workspace name.
    SELECTED_WORKSPACE_INVALID = error "selected-workspace-invalid", "Error selecting workspace";
    /// A `state` command cannot save the changed state.
    CHANGED_STATE_NOT_SAVED = error "changed-state-not-saved", "Error saving the state";
    /// `taint` or `untaint` cannot save the changed state.
    CHANGED_STATE_NOT_WRITTEN = error "changed-state-not-written", "Error writing state file";
    /// No object matches the addresses given to `state rm`.
    REMOVAL_WITHOUT_MATCH = error "removal-without-match", "Invalid target address";
    /// A provider address given to `state replace-provider` is invalid.
    REPLACED_PROVIDER_INVALID = error "replaced-provider-invalid", "Invalid \"{from or to}\" provider {address}";
    /// `state replace-provider -json` runs without `-auto-approve`.
    REPLACEMENT_NEEDS_APPROVAL = error "replacement-needs-approval", "Invalid usage";
    /// The address given to `state show` is not the address of a resource instance.
    SHOWN_ADDRESS_INVALID = error "shown-address-invalid", "Error parsing instance address {address}";
    /// The resource instance given to `state show` is not in the state.
    SHOWN_INSTANCE_NOT_FOUND = error "shown-instance-not-found", "No instance found for the given address";
    /// A resource instance cannot be written as JSON or text.
    INSTANCE_NOT_RENDERED = error "instance-not-rendered", "Failed to marshal state to json";
    /// `taint` is given a data resource or an ephemeral resource.
    TAINT_NOT_MANAGED = error "taint-not-managed", "Invalid resource address";
    /// A deleted workspace had objects in its state.
    DELETED_WORKSPACE_HAD_OBJECTS = warning "deleted-workspace-had-objects", "{name} was non-empty";
}

/// Flags that cannot be parsed. OpenTofu prints the same message.
pub(crate) fn invalid_flags(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&FLAGS_INVALID, message.into())
}

pub(crate) fn flag_before_subcommand(flag: &str, command: &str) -> Diagnostic {
    let detail = format!(
        "{flag:?} stands before the subcommand {command:?}. Only -chdir, -help and -version are supported there."
    );
    Diagnostic::new(&FLAG_BEFORE_SUBCOMMAND, detail).hint("Put the options of the subcommand after its name.")
}

/// An argument for a command that takes none.
pub(crate) fn no_arguments_expected() -> Diagnostic {
    Diagnostic::new(&UNEXPECTED_ARGUMENT, "This command takes no arguments.").hint("Did you mean to use -chdir?")
}

/// The same, with the title of the commands that show something.
pub(crate) fn no_arguments_expected_to_show() -> Diagnostic {
    no_arguments_expected().titled(TOO_MANY)
}

const TOO_MANY: &str = "Too many command line arguments";

pub(crate) fn too_many_outputs() -> Diagnostic {
    Diagnostic::new(&UNEXPECTED_ARGUMENT, "This command takes at most one argument: the name of an output.")
        .hint("To show all outputs, omit the name.")
}

pub(crate) fn one_host_expected() -> Diagnostic {
    let detail = "This command requires exactly one argument: the name of a host, such as registry.example.com.";
    Diagnostic::new(&UNEXPECTED_ARGUMENT, detail)
}

/// Another number of arguments than the command requires: `one argument: the path of a state file`.
pub(crate) fn argument_count(required: &str) -> Diagnostic {
    Diagnostic::new(&ARGUMENT_COUNT_INVALID, format!("This command requires {required}."))
}

pub(crate) fn time_invalid(given: &str) -> Diagnostic {
    let detail =
        format!("\"{given}\" is not a time in RFC 3339, like 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00.");
    Diagnostic::new(&TIME_INVALID, detail)
}

pub(crate) fn role_prefix_invalid(given: &str) -> Diagnostic {
    let detail = format!("-prefix is \"{given}\". Use letters, digits, \"_\" and \"-\".");
    Diagnostic::new(&ROLE_PREFIX_INVALID, detail)
}

pub(crate) fn lock_id_expected() -> Diagnostic {
    argument_count("exactly one argument: the ID of a lock").titled("Wrong number of arguments")
}

pub(crate) fn mirror_directory_expected() -> Diagnostic {
    argument_count("exactly one argument: the directory to copy packages to").titled("Wrong number of arguments")
}

pub(crate) fn workspace_expected() -> Diagnostic {
    argument_count("exactly one argument: the name of a workspace").titled("Invalid arguments list")
}

pub(crate) fn instance_to_taint_expected() -> Diagnostic {
    argument_count("exactly one argument: the address of a resource instance").titled("Invalid arguments")
}

pub(crate) fn unknown_format(format: &str) -> Diagnostic {
    Diagnostic::new(
        &OUTPUT_FORMAT_UNKNOWN,
        format!("-format={format} is not supported. The formats are \"text\" and \"github\"."),
    )
}

pub(crate) fn annotations_with_json() -> Diagnostic {
    let detail =
        "-format=github adds lines to the text output, and -json replaces the text output. Use only one of them.";
    Diagnostic::new(&ANNOTATIONS_WITH_JSON, detail)
}

pub(crate) fn sarif_file_not_written(path: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&SARIF_FILE_NOT_WRITTEN, format!("Failed to write {path}: {error}."))
}

pub(crate) fn json_flags_conflict() -> Diagnostic {
    Diagnostic::new(&OUTPUT_FORMATS_CONFLICT, "-json and -json-into are mutually exclusive.").hint("Use one of them.")
}

pub(crate) fn raw_and_json() -> Diagnostic {
    Diagnostic::new(&OUTPUT_FORMATS_CONFLICT, "-raw and -json are mutually exclusive.").hint("Use one of them.")
}

pub(crate) fn json_file_not_written(name: &str, error: &Error) -> Diagnostic {
    Diagnostic::new(&JSON_FILE_NOT_WRITTEN, format!("Failed to write the file {name:?} of -json-into: {error}."))
}

pub(crate) fn standard_input_unreadable(error: &Error) -> Diagnostic {
    Diagnostic::new(&STANDARD_INPUT_UNREADABLE, format!("Failed to read standard input: {error}."))
}

pub(crate) fn current_directory_unknown(error: &Error) -> Diagnostic {
    Diagnostic::new(&CURRENT_DIRECTORY_UNKNOWN, format!("Failed to determine the current directory: {error}."))
}

pub(crate) fn local_lock_not_removable() -> Diagnostic {
    let detail = "Another process cannot unlock a local state: the lock ends with the process that acquired it.";
    Diagnostic::new(&LOCAL_LOCK_NOT_REMOVABLE, detail)
        .hint("Use -force to remove the lock file of a process that was killed.")
}

pub(crate) fn backend_flags_conflict() -> Diagnostic {
    Diagnostic::new(&BACKEND_FLAGS_CONFLICT, "-backend and -cloud are two names of one option, and both are set.")
        .hint("Use one of them.")
}

pub(crate) fn migration_flags_conflict() -> Diagnostic {
    let detail = "-reconfigure ignores the old backend, and -migrate-state copies the states from it.";
    Diagnostic::new(&MIGRATION_FLAGS_CONFLICT, detail).hint("Use one of them.")
}

pub(crate) fn login_not_interactive() -> Diagnostic {
    let detail = "This command prompts for input and opens a page in a browser, so it requires -input and does not support \
                  -json.";
    Diagnostic::new(&LOGIN_NOT_INTERACTIVE, detail).hint(
        "In automation, write the token to a CLI configuration file or set an environment variable such as \
         TF_TOKEN_registry_example_com.",
    )
}

pub(crate) fn hostname_invalid(given: &str, reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&LOGIN_HOSTNAME_INVALID, format!("{given:?} is not a valid host name: {reason}."))
}

pub(crate) fn discovery_failed(host: &Hostname, reason: &str) -> Diagnostic {
    let mut chars = reason.chars();
    let reason: String = chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
    Diagnostic::new(&LOGIN_DISCOVERY_FAILED, format!("{reason}."))
        .titled(format!("Service discovery failed for {host}"))
}

/// Credentials that are written by hand, for a command that would `log in` or `log out`.
pub(crate) fn manually_configured(host: &Hostname, action: &str) -> Diagnostic {
    Diagnostic::new(
        &CREDENTIALS_MANUALLY_CONFIGURED,
        "The credentials of this host are configured in a CLI configuration file that Yuba does not change.",
    )
    .titled(format!("Credentials for {host} are manually configured"))
    .hint(format!("To {action}, revoke the token and remove its block from that file."))
}

pub(crate) fn token_not_saved(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TOKEN_NOT_SAVED, format!("The host issued a token, and saving it failed: {reason}."))
}

pub(crate) fn token_not_removed(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TOKEN_NOT_REMOVED, format!("Failed to remove the token: {reason}."))
}

/// A host that does not support any way to log in.
pub(crate) fn login_not_possible(host: &Hostname, reason: &NoWay) -> Diagnostic {
    match reason {
        NoWay::NotOffered => Diagnostic::new(&TOKENS_NOT_SUPPORTED, format!("Host {host} does not issue tokens.")),
        NoWay::TooNew => Diagnostic::new(
            &TOKENS_NOT_SUPPORTED,
            format!("Host {host} requires a newer version of the login protocol than this version of Yuba supports."),
        ),
        NoWay::OtherGrants => Diagnostic::new(
            &LOGIN_NOT_SUPPORTED,
            format!("Host {host} supports no OAuth grant type that this version of Yuba supports."),
        ),
        NoWay::Wrong(reason) => {
            Diagnostic::new(&LOGIN_NOT_SUPPORTED, format!("Host {host} does not support login: {reason}."))
        }
    }
}

pub(crate) fn login_cancelled() -> Diagnostic {
    Diagnostic::new(&LOGIN_CANCELLED, "The login was not confirmed. No token was requested.")
}

pub(crate) fn login_server_not_started(reason: &dyn Display) -> Diagnostic {
    let detail = format!("Failed to start the local server that receives the response of the browser: {reason}.");
    Diagnostic::new(&LOGIN_SERVER_NOT_STARTED, detail)
}

pub(crate) fn token_not_obtained(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TOKEN_NOT_OBTAINED, format!("The host did not issue a token: {reason}."))
}

pub(crate) fn token_not_read(error: &Error) -> Diagnostic {
    Diagnostic::new(&TOKEN_NOT_ENTERED, format!("Failed to read the token from standard input: {error}."))
}

pub(crate) fn token_not_entered() -> Diagnostic {
    Diagnostic::new(&TOKEN_NOT_ENTERED, "The entered token is empty.")
}

pub(crate) fn token_invalid(host: &Hostname) -> Diagnostic {
    Diagnostic::new(&TOKEN_INVALID, format!("Host {host} rejects this token."))
}

pub(crate) fn token_user_unknown(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TOKEN_USER_UNKNOWN, format!("Failed to request the user of the token: {reason}."))
}

pub(crate) fn metadata_needs_json() -> Diagnostic {
    Diagnostic::new(&METADATA_NEEDS_JSON, "The `yuba metadata functions` command supports JSON output only.")
        .hint("Add the `-json` flag.")
}

pub(crate) fn metadata_needs_form() -> Diagnostic {
    Diagnostic::new(&METADATA_NEEDS_FORM, "The `yuba metadata commands` command writes one form.")
        .hint("Add one of the options -json, -man=DIR and -markdown=DIR.")
}

pub(crate) fn page_not_written(path: &Path, error: &Error) -> Diagnostic {
    Diagnostic::new(&PAGE_NOT_WRITTEN, format!("Failed to write {}: {error}.", path.display()))
        .hint("Check that the directory exists and is writable.")
}

pub(crate) fn one_shell_expected(shells: &[&str]) -> Diagnostic {
    Diagnostic::new(&ONE_SHELL_EXPECTED, format!("The command requires the name of one shell: {}.", shells.join(", ")))
}

pub(crate) fn shell_unsupported(shell: &str, shells: &[&str]) -> Diagnostic {
    let supported = shells.join(", ");
    Diagnostic::new(
        &SHELL_UNSUPPORTED,
        format!("Yuba has no completion script for {}. Supported shells: {supported}.", quote(shell)),
    )
}

pub(crate) fn output_name_required() -> Diagnostic {
    Diagnostic::new(&OUTPUT_NAME_REQUIRED, "-raw writes the value of one output.").hint("Add the name of an output.")
}

pub(crate) fn output_not_found(name: &str) -> Diagnostic {
    Diagnostic::new(&OUTPUT_NOT_FOUND, "The state contains no output with this name.")
        .titled(format!("Output {} not found", quote(name)))
        .hint("If the output was added to the configuration recently, run \"yuba apply\" to store its value in the state.")
}

/// Quirk: the title of a single problem contains all of it.
pub(crate) fn output_state_unreadable(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&OUTPUT_STATE_UNREADABLE, "").titled(problems.joined())
}

pub(crate) fn no_outputs() -> Diagnostic {
    // People and scripts know this text.
    let detail = "The state file either has no outputs defined, or all the defined outputs are empty. Please define an \
                  output in your configuration with the `output` keyword and run `yuba refresh` for it to become \
                  available. If you are using interpolation, please verify the interpolated value is not empty. You can \
                  use the `yuba console` command to assist.";
    Diagnostic::new(&NO_OUTPUTS, detail)
}

pub(crate) fn raw_type_unsupported(name: &str, kind: &str) -> Diagnostic {
    let detail = format!("-raw supports strings, numbers and bools, and the output {} is {kind}.", quote(name));
    Diagnostic::new(&RAW_OUTPUT_UNSUPPORTED, detail).hint("Use -json for values of other types.")
}

pub(crate) fn raw_null_unsupported(name: &str) -> Diagnostic {
    let detail = format!("The output {} is null, which -raw does not support.", quote(name));
    Diagnostic::new(&RAW_OUTPUT_UNSUPPORTED, detail)
}

pub(crate) fn mirror_flags_conflict() -> Diagnostic {
    Diagnostic::new(&MIRROR_FLAGS_CONFLICT, "-fs-mirror and -net-mirror are mutually exclusive.")
        .hint("Use one of them.")
}

pub(crate) fn schemas_need_json() -> Diagnostic {
    Diagnostic::new(&SCHEMAS_NEED_JSON, "\"yuba providers schema\" supports JSON output only.")
        .hint("Add the -json flag.")
}

/// Quirk: the title contains all of the problem.
pub(crate) fn pulled_state_unreadable(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&PULLED_STATE_UNREADABLE, "").titled(format!("Failed to refresh state: {}", problems.joined()))
}

/// Quirk: the title contains all of the problem.
pub(crate) fn shown_state_unreadable(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&SHOWN_STATE_UNREADABLE, "").titled(format!("error loading state: {}", problems.joined()))
}

pub(crate) fn selected_workspace_invalid(name: &str) -> Diagnostic {
    let detail = format!(
        "The environment variable TF_WORKSPACE is set to {}, which is not a valid workspace name.",
        quote(name)
    );
    Diagnostic::new(&SELECTED_WORKSPACE_INVALID, detail)
}

pub(crate) fn changed_state_not_saved(problems: &Diagnostics) -> Diagnostic {
    Diagnostic::new(&CHANGED_STATE_NOT_SAVED, format!("The stored state was not changed. {}", problems.joined()))
}

pub(crate) fn removal_without_match() -> Diagnostic {
    Diagnostic::new(&REMOVAL_WITHOUT_MATCH, "No matching objects found.")
        .hint("Run \"yuba state list\" to list the addresses in the state.")
}

/// An invalid provider address; `which` is `from` or `to`.
pub(crate) fn replaced_provider_invalid(which: &str, text: &str, problem: &Diagnostic) -> Diagnostic {
    Diagnostic::new(&REPLACED_PROVIDER_INVALID, format!("{}: {}", problem.summary, problem.explanation()))
        .titled(format!("Invalid \"{which}\" provider {}", quote(text)))
}

pub(crate) fn replacement_needs_approval() -> Diagnostic {
    Diagnostic::new(&REPLACEMENT_NEEDS_APPROVAL, "-json disables the prompt for approval.").hint("Add -auto-approve.")
}

const SHOW_INSTANCE: &str = "Run \"yuba state list\" to list the addresses in the state, and give one of them.";

pub(crate) fn shown_address_invalid(address: &str) -> Diagnostic {
    Diagnostic::new(&SHOWN_ADDRESS_INVALID, "This command requires the address of one resource instance.")
        .titled(format!("Error parsing instance address {}", quote(address)))
        .hint(SHOW_INSTANCE)
}

pub(crate) fn shown_instance_not_found() -> Diagnostic {
    Diagnostic::new(&SHOWN_INSTANCE_NOT_FOUND, "The state contains no resource instance with this address.")
        .hint(SHOW_INSTANCE)
}

pub(crate) fn instance_not_rendered(addr: &AbsResourceInstance, reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&INSTANCE_NOT_RENDERED, format!("Failed to render {addr}: {reason}."))
}

pub(crate) fn taint_not_managed(addr: &AbsResourceInstance) -> Diagnostic {
    let detail = format!("Cannot taint {addr}: only managed resources can be replaced.");
    Diagnostic::new(&TAINT_NOT_MANAGED, detail)
}

/// The same problem as a warning, where `-allow-missing` allows it.
pub(crate) fn missing_instance_allowed(problem: Diagnostic, addr: &AbsResourceInstance) -> Diagnostic {
    let detail = format!("The state contains no resource instance {addr}. The state was not changed.").into();
    Diagnostic { detail, hint: None, ..problem }.with_severity(Severity::Warning)
}

pub(crate) fn deleted_workspace_had_objects(name: &str) -> Diagnostic {
    let detail = "Objects recorded in the deleted state may still exist. Yuba no longer tracks them.";
    Diagnostic::new(&DELETED_WORKSPACE_HAD_OBJECTS, detail).titled(format!("{} was non-empty", quote(name)))
}

/// The input at a prompt for an argument of a backend.
pub(crate) fn invalid_answer(reason: &str) -> Diagnostic {
    Diagnostic::new(&ANSWER_INVALID, format!("The entered value is invalid: {reason}."))
}

/// Flags about backup files for a state that is not in a file.
pub(crate) fn options_of_local_states(options: &[&str]) -> Diagnostic {
    let detail =
        "-backup and -backup-out set backup files of local states, and the state is stored in a remote backend.";
    Diagnostic::new(&LOCAL_OPTIONS, detail)
        .titled(format!("Invalid command line options: {}", options.join(", ")))
        .hint("Remove these options, or name a local state file with -state.")
}

/// A prompt for approval without input.
pub(crate) fn not_confirmed(reason: &str) -> Diagnostic {
    Diagnostic::new(&NOT_CONFIRMED, "The prompt received no input. Nothing was changed.")
        .titled(format!("Error asking for confirmation: {reason}"))
        .hint("Use -force to continue without a prompt.")
}

/// The prompt of a change to the state without input.
pub(crate) fn not_approved(reason: &str) -> Diagnostic {
    Diagnostic::new(&NOT_APPROVED, format!("The prompt received no input: {reason}. The state is unchanged."))
        .hint("Use -auto-approve to continue without a prompt.")
}
