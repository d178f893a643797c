//! Errors in arguments of the right types.

use std::time::Duration;

use yuba_syntax::Diagnostics;

use super::OLD_ROLE;
use crate::aws::{arn_resource, duration, is_key_id, is_key_resource};
use crate::diagnostics;
use crate::kit::arguments::Arguments;

const SHORTEST_SESSION: Duration = Duration::from_secs(15 * 60);
const LONGEST_SESSION: Duration = Duration::from_secs(12 * 60 * 60);

pub(in crate::kinds) fn check(arguments: &Arguments) -> Diagnostics {
    let mut problems = Diagnostics::new();
    location(arguments, &mut problems);
    keys(arguments, &mut problems);
    let is_set = |name: &str| !arguments.get(name).is_null();
    exclusive(arguments, &["shared_credentials_file", "shared_credentials_files"], &mut problems);
    if is_set("shared_credentials_file") {
        problems.push(diagnostics::deprecated_argument("shared_credentials_file", "shared_credentials_files"));
    }
    if is_set("force_path_style") {
        problems.push(diagnostics::deprecated_argument("force_path_style", "use_path_style"));
    }
    exclusive(arguments, &["force_path_style", "use_path_style"], &mut problems);
    check_roles(arguments, &mut problems);
    exclusive(arguments, &["allowed_account_ids", "forbidden_account_ids"], &mut problems);
    if let Some(mode) = arguments.text("retry_mode").filter(|mode| !matches!(mode.as_str(), "standard" | "adaptive")) {
        problems.push(diagnostics::invalid_retry_mode(&mode));
    }
    let endpoints = arguments.object("endpoints");
    for (service, old) in
        [("s3", "endpoint"), ("iam", "iam_endpoint"), ("sts", "sts_endpoint"), ("dynamodb", "dynamodb_endpoint")]
    {
        let is_new_set = endpoints.as_ref().is_some_and(|endpoints| !endpoints.get(service).is_null());
        if is_new_set && is_set(old) {
            problems.push(diagnostics::exclusive_arguments(&[&format!("endpoints.{service}"), old]));
        }
    }
    problems
}

/// A missing bucket or key is reported elsewhere: `-backend-config` may still set it.
fn location(arguments: &Arguments, problems: &mut Diagnostics) {
    let has_outer_slash = |text: &str| text.starts_with('/') || text.ends_with('/');
    if arguments.text("bucket").is_some_and(|bucket| bucket.is_empty()) {
        problems.push(diagnostics::s3_bucket_empty());
    }
    match arguments.text("key") {
        Some(key) if key.is_empty() => problems.push(diagnostics::s3_key_empty()),
        Some(key) if has_outer_slash(&key) => problems.push(diagnostics::s3_key_slashes(&key)),
        _ => {}
    }
    if let Some(prefix) = arguments.text("workspace_key_prefix").filter(|prefix| has_outer_slash(prefix)) {
        problems.push(diagnostics::s3_workspace_prefix_invalid(&prefix));
    }
}

fn keys(arguments: &Arguments, problems: &mut Diagnostics) {
    let given = |name: &str| arguments.text(name).filter(|text| !text.is_empty());
    let Some(key) = given("kms_key_id") else { return };
    if given("sse_customer_key").is_some() {
        problems.push(diagnostics::s3_encryption_keys_conflict("\"sse_customer_key\""));
    }
    match arn_resource(&key) {
        Some(resource) if !is_key_resource(resource) => problems.push(diagnostics::kms_key_arn_invalid(&key)),
        None if !is_key_id(&key) => problems.push(diagnostics::kms_key_id_invalid(&key)),
        _ => {}
    }
}

fn exclusive(arguments: &Arguments, names: &[&str], problems: &mut Diagnostics) {
    if names.iter().filter(|name| !arguments.get(name).is_null()).count() > 1 {
        problems.push(diagnostics::exclusive_arguments(names));
    }
}

/// Arguments of roles, old and new.
pub(crate) fn check_roles(arguments: &Arguments, problems: &mut Diagnostics) {
    let old: Vec<(&str, &str)> = OLD_ROLE.iter().copied().filter(|(name, _)| !arguments.get(name).is_null()).collect();
    match arguments.object("assume_role") {
        Some(role) => {
            if role.text("role_arn").is_none_or(|arn| arn.is_empty()) {
                problems.push(diagnostics::missing_value("assume_role.role_arn"));
            }
            session("assume_role", &role, &["external_id", "policy", "session_name"], problems);
            if !old.is_empty() {
                problems.push(diagnostics::conflicting_arguments(&old));
            }
        }
        None if !old.is_empty() => problems.push(diagnostics::deprecated_arguments(&old)),
        None => {}
    }
    if let Some(role) = arguments.object("assume_role_with_web_identity") {
        exclusive(&role, &["web_identity_token", "web_identity_token_file"], problems);
        session("assume_role_with_web_identity", &role, &["session_name", "policy"], problems);
    }
}

/// Arguments that both kinds of roles have.
fn session(object: &str, role: &Arguments, not_blank: &[&str], problems: &mut Diagnostics) {
    if let Some(text) = role.text("duration") {
        let name = format!("{object}.duration");
        match duration(&text) {
            Err(reason) => problems.push(diagnostics::invalid_duration(&name, &text, reason)),
            Ok(found) if !(SHORTEST_SESSION..=LONGEST_SESSION).contains(&found) => {
                problems.push(diagnostics::invalid_duration(&name, &text, "it must be between 15m and 12h"));
            }
            Ok(_) => {}
        }
    }
    for name in not_blank {
        if role.text(name).is_some_and(|text| text.trim().is_empty()) {
            problems.push(diagnostics::blank_value(&format!("{object}.{name}")));
        }
    }
    for arn in role.texts("policy_arns") {
        let name = format!("{object}.policy_arns");
        match arn_resource(&arn) {
            None => {
                problems.push(diagnostics::invalid_arn(&name, &arn));
                break;
            }
            Some(resource) if !resource.starts_with("policy/") => {
                problems.push(diagnostics::invalid_policy_arn(&name, &arn));
            }
            Some(_) => {}
        }
    }
}
