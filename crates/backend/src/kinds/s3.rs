//! `backend "s3"`: states are objects of a bucket; locks are objects beside them or rows of a DynamoDB table.
//!
//! Layout, equal to OpenTofu's: `KEY`, `PREFIX/WORKSPACE/KEY`, the lock `KEY.tflock`, and in the table the rows
//! `BUCKET/KEY` (lock) and `BUCKET/KEY-md5` (digest of the state).

mod check;
mod failure;
mod object;
mod settings;
mod store;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, NestedAttribute, Nesting};
use yuba_value::Type;

use crate::kit::arguments::{Argument, ArgumentSchema};

pub(super) use check::check;
pub(crate) use check::check_roles;
pub(super) use settings::open;

/// Deprecated arguments of a role, and their successors.
const OLD_ROLE: [(&str, &str); 8] = [
    ("role_arn", "assume_role.role_arn"),
    ("session_name", "assume_role.session_name"),
    ("external_id", "assume_role.external_id"),
    ("assume_role_duration_seconds", "assume_role.duration"),
    ("assume_role_policy", "assume_role.policy"),
    ("assume_role_policy_arns", "assume_role.policy_arns"),
    ("assume_role_tags", "assume_role.tags"),
    ("assume_role_transitive_tag_keys", "assume_role.transitive_tag_keys"),
];

fn text(name: &'static str, description: &'static str) -> Argument {
    Argument::optional(name, Type::string()).described(description)
}

fn switch(name: &'static str, description: &'static str) -> Argument {
    Argument::optional(name, Type::bool()).described(description)
}

fn texts(name: &'static str, description: &'static str) -> Argument {
    Argument::optional(name, Type::set(Type::string())).described(description)
}

fn tags(name: &'static str, description: &'static str) -> Argument {
    Argument::optional(name, Type::map(Type::string())).described(description)
}

fn object(name: &'static str, attributes: impl IntoIterator<Item = (&'static str, Attribute)>) -> Argument {
    let attributes: BTreeMap<_, _> = attributes.into_iter().map(|(name, attribute)| (name.into(), attribute)).collect();
    let nested = AttributeType::Nested(NestedAttribute { nesting: Nesting::Single, attributes });
    Argument::of(name, Attribute { ty: nested, ..Attribute::optional(Type::string()) })
}

/// All arguments of OpenTofu 1.12.
pub(super) fn schema() -> ArgumentSchema {
    ArgumentSchema::new(
        location().into_iter().chain(credentials()).chain(connection()).chain(new_roles()).chain(old_roles()),
    )
}

fn location() -> Vec<Argument> {
    vec![
        Argument::required("bucket", Type::string()).described("The bucket."),
        Argument::required("key", Type::string()).described("The key of the state of the default workspace."),
        text("region", "The region of the bucket and the lock table."),
        text("workspace_key_prefix", "The beginning of the keys of all other workspaces.").or_empty(),
        switch("encrypt", "Whether S3 encrypts states and locks."),
        text("kms_key_id", "The KMS key that S3 encrypts with."),
        text("sse_customer_key", "The key that S3 encrypts with, in Base64.").secret(),
        text("acl", "The canned ACL of states and locks."),
        tags("state_tags", "Tags of states."),
        tags("lock_tags", "Tags of lock objects."),
        text("dynamodb_table", "The table of locks and digests."),
        switch("use_lockfile", "Whether locks are objects beside states."),
        switch("skip_s3_checksum", "Whether uploads have no checksums."),
        switch("use_path_style", "Whether the bucket is in the path of URLs."),
        switch("force_path_style", "Deprecated: use use_path_style."),
    ]
}

fn credentials() -> Vec<Argument> {
    vec![
        text("access_key", "The access key.").secret(),
        text("secret_key", "The secret key.").secret(),
        text("token", "The session token of the access key.").secret(),
        text("profile", "The profile in shared files."),
        text("shared_credentials_file", "Deprecated: use shared_credentials_files."),
        texts("shared_credentials_files", "Credentials files."),
        texts("shared_config_files", "Configuration files."),
        switch("skip_credentials_validation", "Whether STS is not asked if the credentials are valid."),
        switch("skip_requesting_account_id", "Whether the account is not looked up."),
        switch("skip_metadata_api_check", "Whether the metadata service of EC2 is not asked."),
        switch("skip_region_validation", "Whether region may be an unknown region."),
        text("ec2_metadata_service_endpoint", "The address of the metadata service of EC2.")
            .from_environment(&["AWS_EC2_METADATA_SERVICE_ENDPOINT"]),
        text("ec2_metadata_service_endpoint_mode", "IPv4 or IPv6.")
            .from_environment(&["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]),
        texts("allowed_account_ids", "The only accounts to use."),
        texts("forbidden_account_ids", "Accounts not to use."),
    ]
}

fn connection() -> Vec<Argument> {
    let endpoint = || Attribute::optional(Type::string());
    vec![
        object("endpoints", ["s3", "iam", "sts", "dynamodb"].map(|service| (service, endpoint()))),
        text("endpoint", "Deprecated: use endpoints.s3."),
        text("dynamodb_endpoint", "Deprecated: use endpoints.dynamodb."),
        text("iam_endpoint", "Deprecated: use endpoints.iam."),
        text("sts_endpoint", "Deprecated: use endpoints.sts."),
        text("sts_region", "The region of requests to STS."),
        switch("use_dualstack_endpoint", "Whether endpoints have IPv6 addresses, too."),
        switch("use_fips_endpoint", "Whether endpoints use cryptography validated by FIPS 140."),
        text("retry_mode", "standard or adaptive."),
        Argument::optional("max_retries", Type::number()).described("Number of attempts of a request."),
        text("custom_ca_bundle", "A file with certificate authorities.").from_environment(&["AWS_CA_BUNDLE"]),
        switch("insecure", "Whether certificates of hosts are not verified."),
        text("http_proxy", "The proxy for http URLs.").or_empty(),
        text("https_proxy", "The proxy for https URLs.").or_empty(),
        text("no_proxy", "Hosts without proxy."),
    ]
}

/// Arguments of roles, which the key provider `aws_kms` has too.
pub(crate) fn new_roles() -> Vec<Argument> {
    let text_attribute = || Attribute::optional(Type::string());
    let texts_attribute = || Attribute::optional(Type::set(Type::string()));
    let secret = Attribute { sensitive: true, ..text_attribute() };
    vec![
        object(
            "assume_role",
            [
                // OpenTofu requires it, too, but says so with a message of its own.
                ("role_arn", text_attribute()),
                ("duration", text_attribute()),
                ("external_id", text_attribute()),
                ("policy", text_attribute()),
                ("policy_arns", texts_attribute()),
                ("session_name", text_attribute()),
                ("tags", Attribute::optional(Type::map(Type::string()))),
                ("transitive_tag_keys", texts_attribute()),
            ],
        ),
        object(
            "assume_role_with_web_identity",
            [
                ("role_arn", text_attribute()),
                ("web_identity_token", secret),
                ("web_identity_token_file", text_attribute()),
                ("session_name", text_attribute()),
                ("policy", text_attribute()),
                ("policy_arns", texts_attribute()),
                ("duration", text_attribute()),
            ],
        ),
    ]
}

fn old_roles() -> Vec<Argument> {
    vec![
        text("role_arn", "Deprecated: use assume_role.role_arn."),
        text("session_name", "Deprecated: use assume_role.session_name."),
        text("external_id", "Deprecated: use assume_role.external_id."),
        Argument::optional("assume_role_duration_seconds", Type::number())
            .described("Deprecated: use assume_role.duration."),
        text("assume_role_policy", "Deprecated: use assume_role.policy."),
        texts("assume_role_policy_arns", "Deprecated: use assume_role.policy_arns."),
        tags("assume_role_tags", "Deprecated: use assume_role.tags."),
        texts("assume_role_transitive_tag_keys", "Deprecated: use assume_role.transitive_tag_keys."),
    ]
}
