//! Diagnostics about the CLI configuration.

use std::io;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_syntax::Diagnostic;

use super::syntax::LineColumn;

yuba_syntax::catalogue! {
    /// A CLI configuration file has a syntax error or an invalid value.
    CLI_CONFIG_INVALID = error "cli-config-invalid", "Error parsing {path}: At {location}: {reason}";
    /// A CLI configuration file or the directory with such files cannot be read.
    CLI_CONFIG_UNREADABLE = error "cli-config-unreadable", "Error reading {path}: {reason}";
    /// The CLI configuration file that an environment variable names cannot be read.
    CLI_CONFIG_NOT_OPENED = warning "cli-config-not-opened", "Unable to open CLI configuration file";
    /// A CLI configuration file has a setting or block that does not exist.
    CLI_CONFIG_SETTING_UNKNOWN = warning "cli-config-setting-unknown", "Unknown CLI configuration setting";
    /// The CLI configuration has two blocks of a type that may occur once.
    CLI_CONFIG_BLOCK_REPEATED = error "cli-config-block-repeated", "No more than one {block} block may be specified";
    /// A CLI configuration file has two `registry_protocols` blocks.
    REGISTRY_PROTOCOLS_REPEATED = error "registry-protocols-repeated", "Duplicate registry_protocols block";
    /// A `registry_protocols` block has an invalid value.
    REGISTRY_PROTOCOLS_INVALID = error "registry-protocols-invalid", "Invalid registry_protocols block";
    /// A `host` or `credentials` block has an invalid hostname as its label.
    CLI_CONFIG_HOSTNAME_INVALID = error "cli-config-hostname-invalid", "The {block} {label} block has an invalid hostname: {reason}";
    /// The plugin cache directory cannot be opened.
    PLUGIN_CACHE_UNREADABLE = error "plugin-cache-unreadable", "The specified plugin cache dir {path} cannot be opened: {reason}";
    /// The CLI configuration has two `oci_credentials` blocks with one label.
    OCI_CREDENTIALS_REPEATED = error "oci-credentials-repeated", "Duplicate oci_credentials block for {label}";
    /// An `oci_credentials` block is invalid.
    OCI_CREDENTIALS_INVALID = error "oci-credentials-invalid", "Invalid oci_credentials block";
    /// An `oci_default_credentials` block is invalid.
    OCI_DEFAULT_CREDENTIALS_INVALID = error "oci-default-credentials-invalid", "Invalid oci_default_credentials block";
    /// A `provider_installation` block is invalid as a whole.
    PROVIDER_INSTALLATION_INVALID = error "provider-installation-invalid", "Invalid provider_installation block";
    /// A block inside of `provider_installation` is invalid.
    INSTALLATION_METHOD_INVALID = error "installation-method-invalid", "Invalid provider_installation method block";
    /// The repository template of an `oci_mirror` block is invalid.
    OCI_MIRROR_TEMPLATE_INVALID = error "oci-mirror-template-invalid", "Invalid oci_mirror repository template";
    /// A `dev_overrides` block names an invalid provider source.
    DEV_OVERRIDE_INVALID = error "dev-override-invalid", "Invalid provider installation dev overrides";
}

pub(super) fn malformed(path: &Path, location: LineColumn, reason: &str) -> Diagnostic {
    let title = eco_format!("Error parsing {}: At {location}: {reason}", path.display());
    Diagnostic::new(&CLI_CONFIG_INVALID, "").titled(title)
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let title = eco_format!("Error reading {}: {error}", path.display());
    Diagnostic::new(&CLI_CONFIG_UNREADABLE, "").titled(title)
}

pub(super) fn unopened(file: &Path, error: &io::Error) -> Diagnostic {
    let file = file.display();
    let detail = match error.kind() {
        io::ErrorKind::NotFound => {
            eco_format!("The CLI configuration file {file} does not exist. Yuba continues without CLI configuration.")
        }
        _ => eco_format!("Failed to read the CLI configuration file {file}: {error}."),
    };
    Diagnostic::new(&CLI_CONFIG_NOT_OPENED, detail)
}

pub(super) fn unknown_setting(path: &Path, location: LineColumn, name: &str, similar: Option<&str>) -> Diagnostic {
    let path = path.display();
    let detail = eco_format!("{path}, at {location}: ignoring {name:?}, which is neither a setting nor a block.");
    let problem = Diagnostic::new(&CLI_CONFIG_SETTING_UNKNOWN, detail);
    match similar {
        Some(similar) => problem.hint(eco_format!("Did you mean {similar:?}?")),
        None => problem,
    }
}

pub(super) fn several(block: &str) -> Diagnostic {
    let title = eco_format!("No more than one {block} block may be specified");
    Diagnostic::new(&CLI_CONFIG_BLOCK_REPEATED, "").titled(title)
}

pub(super) fn repeated_registry_protocols(path: &Path, first: LineColumn) -> Diagnostic {
    let detail = format!("{} already has this block at {first}. Yuba uses the first one.", path.display());
    Diagnostic::new(&REGISTRY_PROTOCOLS_REPEATED, detail)
}

pub(super) fn invalid_registry_protocols(path: &Path, location: LineColumn, reason: &str) -> Diagnostic {
    Diagnostic::new(&REGISTRY_PROTOCOLS_INVALID, format!("{}, at {location}: {reason}.", path.display()))
}

pub(super) fn invalid_hostname(block: &str, given: &str, reason: &str) -> Diagnostic {
    let title = eco_format!("The {block} {given:?} block has an invalid hostname: {reason}");
    Diagnostic::new(&CLI_CONFIG_HOSTNAME_INVALID, "").titled(title)
}

pub(super) fn unreadable_plugin_cache(dir: &Path, error: &io::Error) -> Diagnostic {
    let title = eco_format!("The specified plugin cache dir {} cannot be opened: {error}", dir.display());
    Diagnostic::new(&PLUGIN_CACHE_UNREADABLE, "").titled(title)
}

pub(super) fn repeated_oci_credentials(prefix: &str) -> Diagnostic {
    let title = eco_format!("Duplicate oci_credentials block for {prefix:?}");
    Diagnostic::new(&OCI_CREDENTIALS_REPEATED, "").titled(title)
}

pub(super) fn invalid_oci_credentials(location: LineColumn, reason: &str) -> Diagnostic {
    Diagnostic::new(&OCI_CREDENTIALS_INVALID, eco_format!("The block oci_credentials at {location} {reason}."))
}

pub(super) fn invalid_oci_default_credentials(location: LineColumn, reason: &str) -> Diagnostic {
    let detail = eco_format!("The block oci_default_credentials at {location} {reason}.");
    Diagnostic::new(&OCI_DEFAULT_CREDENTIALS_INVALID, detail)
}

pub(super) fn invalid_installation(detail: EcoString) -> Diagnostic {
    Diagnostic::new(&PROVIDER_INSTALLATION_INVALID, detail)
}

pub(super) fn method_not_a_block(location: LineColumn) -> Diagnostic {
    let detail = eco_format!("The entry of provider_installation at {location} must be a block.");
    Diagnostic::new(&INSTALLATION_METHOD_INVALID, detail)
}

pub(super) fn method_with_labels(location: LineColumn) -> Diagnostic {
    let detail = eco_format!("The block in provider_installation at {location} must not have labels.");
    Diagnostic::new(&INSTALLATION_METHOD_INVALID, detail)
}

pub(super) fn invalid_method(kind: &str, location: LineColumn, reason: &str) -> Diagnostic {
    Diagnostic::new(&INSTALLATION_METHOD_INVALID, eco_format!("The block {kind} at {location} is invalid: {reason}."))
}

pub(super) fn invalid_template(location: LineColumn, reason: &str) -> Diagnostic {
    let detail = eco_format!("The repository_template of the block oci_mirror at {location} is invalid: {reason}.");
    Diagnostic::new(&OCI_MIRROR_TEMPLATE_INVALID, detail)
}

pub(super) fn invalid_override(location: LineColumn, reason: &str) -> Diagnostic {
    Diagnostic::new(&DEV_OVERRIDE_INVALID, eco_format!("At {location} in dev_overrides: {reason}"))
}
