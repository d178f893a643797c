//! Diagnostics of `plan`, `apply`, `destroy`, `refresh` and `import` about their flags and arguments.

use std::io;
use std::path::Path;

use yuba_syntax::Diagnostic;
use yuba_value::quote::quote;

yuba_syntax::catalogue! {
    /// `plan`, `apply` or `refresh` is run in a directory without configuration files.
    NO_CONFIGURATION_TO_PLAN = error "no-configuration-to-plan", "No configuration files";
    /// `import` is run in a directory without configuration files.
    NO_CONFIGURATION_TO_IMPORT_TO = error "no-configuration-to-import-to", "No Yuba configuration files";
    /// `-generate-config-out` is used with `-destroy` or `-refresh-only`.
    GENERATE_CONFIG_WITHOUT_IMPORTS = error "generate-config-without-imports", "Invalid generate-config-out flag";
    /// The file of `-generate-config-out` exists.
    GENERATED_FILE_EXISTS = error "generated-file-exists", "Target generated file already exists";
    /// `apply -json` has neither a plan file nor `-auto-approve`.
    APPROVAL_REQUIRED_WITH_JSON = error "approval-required-with-json", "Plan file or auto-approve required";
    /// `-input=false` or `TF_INPUT` disables the prompt that asks for approval.
    APPROVAL_PROMPT_DISABLED = error "approval-prompt-disabled", "Cannot apply without approval";
    /// Standard input ends at the prompt for approval.
    APPROVAL_PROMPT_UNANSWERED = error "approval-prompt-unanswered", "error asking for approval: EOF";
    /// `plan`, `apply`, `destroy` or `refresh` has more arguments than it supports.
    TOO_MANY_ARGUMENTS_TO_PLAN = error "too-many-arguments-to-plan", "Too many command line arguments";
    /// `destroy` is run with `-destroy`.
    DESTROY_FLAG_OF_DESTROY = error "destroy-flag-of-destroy", "Invalid mode option";
    /// Both `-target` and `-exclude` are used.
    TARGET_WITH_EXCLUDE = error "target-with-exclude", "Invalid combination of arguments";
    /// Both `-destroy` and `-refresh-only` are used.
    DESTROY_WITH_REFRESH_ONLY = error "destroy-with-refresh-only", "Incompatible plan mode options";
    /// `-refresh-only` is used with `-refresh=false`.
    REFRESH_ONLY_WITHOUT_REFRESH = error "refresh-only-without-refresh", "Incompatible refresh options";
    /// The address of `-replace` is invalid or names a resource that is not managed.
    INVALID_REPLACE_ADDRESS = error "invalid-replace-address", "Invalid force-replace address {address}";
    /// The file of `-target-file` or `-exclude-file` cannot be read.
    TARGET_FILE_UNREADABLE = error "target-file-unreadable", "Failed to read file";
    /// The value of `-parallelism` is negative.
    INVALID_PARALLELISM = error "invalid-parallelism", "Invalid parallelism value";
    /// The value of `-parallelism` is not a whole number.
    PARALLELISM_NOT_A_NUMBER = error "parallelism-not-a-number", "Failed to parse command-line flags";
    /// `import` does not have exactly two arguments.
    IMPORT_ARGUMENTS = error "import-arguments", "Invalid number of arguments";
    /// The address that `import` should import to is not that of a managed resource.
    IMPORT_TO_UNMANAGED_RESOURCE = error "import-to-unmanaged-resource", "Invalid target resource address";
}

/// `destroying` is the command that destroys everything.
pub(crate) fn no_configuration(destroying: &str) -> Diagnostic {
    let detail = "The directory has no configuration files. Applying an empty configuration destroys all objects.";
    let hint = format!("Change to a directory with .tf files, or run \"{destroying}\" to destroy all objects.");
    Diagnostic::new(&NO_CONFIGURATION_TO_PLAN, detail).hint(hint)
}

pub(crate) fn no_configuration_to_import_to(dir: &str) -> Diagnostic {
    let detail =
        format!("The directory {dir} has no configuration files. The configuration must declare imported resources.");
    Diagnostic::new(&NO_CONFIGURATION_TO_IMPORT_TO, detail)
        .hint("Use -config to name the directory of the configuration.")
}

pub(crate) fn generates_nothing() -> Diagnostic {
    let detail = "-generate-config-out writes configuration for imported objects. Plans with -destroy or -refresh-only import \
                  no objects.";
    Diagnostic::new(&GENERATE_CONFIG_WITHOUT_IMPORTS, detail)
}

pub(crate) fn generated_file_exists(path: &Path) -> Diagnostic {
    let detail = format!("The file {} exists.", path.display());
    Diagnostic::new(&GENERATED_FILE_EXISTS, detail).hint("Choose another file for the generated configuration.")
}

pub(crate) fn approval_required_with_json() -> Diagnostic {
    Diagnostic::new(&APPROVAL_REQUIRED_WITH_JSON, "-json disables the prompt that asks for approval.")
        .hint("Use -auto-approve, or apply a saved plan.")
}

pub(crate) fn approval_prompt_disabled() -> Diagnostic {
    let detail = "The prompt that asks for approval is disabled by -input=false or TF_INPUT.";
    Diagnostic::new(&APPROVAL_PROMPT_DISABLED, detail).hint("Use -auto-approve, or apply a saved plan.")
}

pub(crate) fn approval_prompt_unanswered() -> Diagnostic {
    let detail = "Standard input ended before the prompt received a response.";
    Diagnostic::new(&APPROVAL_PROMPT_UNANSWERED, detail).hint("Use -auto-approve, or apply a saved plan.")
}

pub(crate) fn several_plan_files() -> Diagnostic {
    Diagnostic::new(&TOO_MANY_ARGUMENTS_TO_PLAN, "The command takes at most one plan file.")
}

pub(crate) fn takes_no_arguments() -> Diagnostic {
    Diagnostic::new(&TOO_MANY_ARGUMENTS_TO_PLAN, "The command takes no arguments.")
        .hint("Use -chdir to change the working directory.")
}

pub(crate) fn destroys_anyway() -> Diagnostic {
    Diagnostic::new(&DESTROY_FLAG_OF_DESTROY, "\"yuba destroy\" always destroys.").hint("Remove -destroy.")
}

pub(crate) fn target_with_exclude() -> Diagnostic {
    Diagnostic::new(&TARGET_WITH_EXCLUDE, "-target and -exclude cannot be used together.").hint("Remove one of them.")
}

pub(crate) fn destroy_with_refresh_only() -> Diagnostic {
    Diagnostic::new(&DESTROY_WITH_REFRESH_ONLY, "-destroy and -refresh-only cannot be used together.")
        .hint("Remove one of them.")
}

pub(crate) fn refresh_only_without_refresh() -> Diagnostic {
    let detail = "-refresh-only only reads existing objects, and -refresh=false skips that.";
    Diagnostic::new(&REFRESH_ONLY_WITHOUT_REFRESH, detail).hint("Remove one of them.")
}

pub(crate) fn invalid_replace(text: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&INVALID_REPLACE_ADDRESS, reason).titled(format!("Invalid force-replace address {text:?}"))
}

pub(crate) fn target_file_unreadable(flag: &str, path: &str, error: &io::Error) -> Diagnostic {
    let detail = format!("Failed to read the file {path} of -{flag}: {error}.");
    Diagnostic::new(&TARGET_FILE_UNREADABLE, detail)
}

pub(crate) fn negative_parallelism(text: &str) -> Diagnostic {
    let detail = format!("-parallelism requires a number above zero, not {text}.");
    Diagnostic::new(&INVALID_PARALLELISM, detail)
}

pub(crate) fn parallelism_not_a_number(text: &str) -> Diagnostic {
    let detail = format!("invalid value {} for flag -parallelism: it must be a whole number", quote(text));
    Diagnostic::new(&PARALLELISM_NOT_A_NUMBER, detail)
}

pub(crate) fn import_arguments() -> Diagnostic {
    let detail = "The command requires the address of a resource instance and the id of the object.";
    Diagnostic::new(&IMPORT_ARGUMENTS, detail)
}

/// `kind` is the kind of the resource, with an article.
pub(crate) fn import_to_unmanaged(address: &str, kind: &str) -> Diagnostic {
    let detail = format!("{address} is {kind}. Objects can be imported to managed resources only.");
    Diagnostic::new(&IMPORT_TO_UNMANAGED_RESOURCE, detail)
}
