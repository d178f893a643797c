//! Diagnostics about AWS: arguments of the backend `s3`, credentials and accounts. They never show credentials.

use ecow::{EcoString, eco_format};
use yuba_net::aws::{AwsError, AwsErrorKind};
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The `bucket` argument of the `s3` backend is an empty string or cannot be used.
    S3_BUCKET_INVALID = error "s3-bucket-invalid", "Invalid bucket value";
    /// The `key` argument of the `s3` backend is empty, or starts or ends with a slash.
    S3_KEY_INVALID = error "s3-key-invalid", "Invalid key value";
    /// Neither an argument nor the environment sets the region of the `s3` backend.
    S3_REGION_MISSING = error "s3-region-missing", "Missing region value";
    /// The `region` argument of the `s3` backend is not a known region.
    S3_REGION_INVALID = error "s3-region-invalid", "Invalid region value";
    /// The `s3` backend has a KMS key and a customer key.
    S3_ENCRYPTION_KEYS_CONFLICT = error "s3-encryption-keys-conflict", "Invalid encryption configuration";
    /// The `kms_key_id` argument is neither a key nor an alias.
    KMS_KEY_ID_INVALID = error "kms-key-id-invalid", "Invalid KMS Key ID";
    /// The `kms_key_id` argument is an ARN of something other than a key or alias.
    KMS_KEY_ARN_INVALID = error "kms-key-arn-invalid", "Invalid KMS Key ARN";
    /// The `workspace_key_prefix` argument starts or ends with a slash.
    S3_WORKSPACE_PREFIX_INVALID = error "s3-workspace-prefix-invalid", "Invalid workspace_key_prefix value";
    /// Two arguments of a backend exclude each other.
    BACKEND_ARGUMENTS_EXCLUSIVE = error "backend-arguments-exclusive", "Invalid Attribute Combination";
    /// An argument of a backend is deprecated.
    BACKEND_PARAMETER_DEPRECATED = warning "backend-parameter-deprecated", "Deprecated Parameter";
    /// Several arguments of a backend are deprecated.
    BACKEND_PARAMETERS_DEPRECATED = warning "backend-parameters-deprecated", "Deprecated Parameters";
    /// Deprecated arguments of a role are set together with `assume_role`.
    BACKEND_PARAMETERS_CONFLICT = error "backend-parameters-conflict", "Conflicting Parameters";
    /// An argument of a nested object of a backend is missing.
    BACKEND_VALUE_MISSING = error "backend-value-missing", "Missing Required Value";
    /// An argument of a backend is not a duration, or too short or too long.
    BACKEND_DURATION_INVALID = error "backend-duration-invalid", "Invalid Duration";
    /// An argument of a nested object of a backend is blank.
    BACKEND_VALUE_BLANK = error "backend-value-blank", "Invalid Value";
    /// An argument of a backend is not an ARN.
    ARN_INVALID = error "arn-invalid", "Invalid ARN";
    /// An argument of a backend is the ARN of something other than a policy.
    POLICY_ARN_INVALID = error "policy-arn-invalid", "Invalid IAM Policy ARN";
    /// The `retry_mode` argument has an unknown value.
    RETRY_MODE_INVALID = error "retry-mode-invalid", "Invalid retry mode";
    /// The `sse_customer_key` argument is not a key in Base64.
    S3_CUSTOMER_KEY_INVALID = error "s3-customer-key-invalid", "Invalid sse_customer_key value";
    /// The environment variable `AWS_SSE_CUSTOMER_KEY` is not a key in Base64.
    S3_CUSTOMER_KEY_VARIABLE_INVALID = error "s3-customer-key-variable-invalid", "Invalid AWS_SSE_CUSTOMER_KEY value";
    /// No source has AWS credentials.
    AWS_CREDENTIALS_MISSING = error "aws-credentials-missing", "No valid credential sources found";
    /// An IAM role cannot be assumed.
    AWS_ROLE_NOT_ASSUMED = error "aws-role-not-assumed", "Cannot assume IAM Role";
    /// An IAM role cannot be assumed with a web identity.
    AWS_WEB_IDENTITY_REFUSED = error "aws-web-identity-refused", "Cannot assume IAM Role with web identity";
    /// A role with web identity has no ARN or no token.
    AWS_WEB_IDENTITY_INCOMPLETE = error "aws-web-identity-incomplete", "Assume Role With Web Identity";
    /// Settings of AWS contradict each other, or a shared file cannot be read.
    AWS_CONFIGURATION_INVALID = error "aws-configuration-invalid", "Invalid AWS configuration";
    /// AWS does not accept the credentials.
    AWS_CREDENTIALS_REFUSED = error "aws-credentials-refused", "validating provider credentials";
    /// The account of the credentials is not allowed.
    AWS_ACCOUNT_REFUSED = error "aws-account-refused", "Invalid account ID";
}

pub(crate) fn s3_bucket_empty() -> Diagnostic {
    Diagnostic::new(&S3_BUCKET_INVALID, "The argument \"bucket\" of the s3 backend must not be empty.")
}

pub(crate) fn s3_bucket_unusable(reason: &AwsError) -> Diagnostic {
    Diagnostic::new(&S3_BUCKET_INVALID, eco_format!("The s3 backend cannot use the bucket: {reason}."))
}

pub(crate) fn s3_key_empty() -> Diagnostic {
    Diagnostic::new(&S3_KEY_INVALID, "The argument \"key\" of the s3 backend must not be empty.")
}

pub(crate) fn s3_key_slashes(key: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"key\" is \"{key}\". It must neither start nor end with a slash.");
    Diagnostic::new(&S3_KEY_INVALID, detail)
}

pub(crate) fn s3_region_missing() -> Diagnostic {
    Diagnostic::new(&S3_REGION_MISSING, "The s3 backend requires the region of its bucket.")
        .hint("Set the argument \"region\", or the environment variable AWS_REGION or AWS_DEFAULT_REGION.")
}

pub(crate) fn s3_region_unknown(region: &str) -> Diagnostic {
    let detail = eco_format!("\"{region}\" is not a known AWS region.");
    let hint = "For a new region, or a server that is not AWS, set skip_region_validation = true.";
    Diagnostic::new(&S3_REGION_INVALID, detail).hint(hint)
}

pub(crate) fn s3_encryption_keys_conflict(customer_key: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"kms_key_id\" encrypts with a key of KMS and {customer_key} with a key of the customer. Set one of them."
    );
    Diagnostic::new(&S3_ENCRYPTION_KEYS_CONFLICT, detail)
}

pub(crate) fn kms_key_id_invalid(id: &str) -> Diagnostic {
    let detail = eco_format!("\"{id}\" is neither the ID of a KMS key nor an alias such as \"alias/name\".");
    Diagnostic::new(&KMS_KEY_ID_INVALID, detail)
}

pub(crate) fn kms_key_arn_invalid(arn: &str) -> Diagnostic {
    Diagnostic::new(&KMS_KEY_ARN_INVALID, eco_format!("\"{arn}\" is not the ARN of a KMS key or alias."))
}

pub(crate) fn s3_workspace_prefix_invalid(prefix: &str) -> Diagnostic {
    let detail = eco_format!(
        "The argument \"workspace_key_prefix\" is \"{prefix}\". It must neither start nor end with a slash."
    );
    Diagnostic::new(&S3_WORKSPACE_PREFIX_INVALID, detail)
}

pub(crate) fn exclusive_arguments(names: &[&str]) -> Diagnostic {
    Diagnostic::new(&BACKEND_ARGUMENTS_EXCLUSIVE, eco_format!("Set only one of {}.", names.join(", ")))
}

pub(crate) fn deprecated_argument(name: &str, successor: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"{name}\" is deprecated. Use \"{successor}\".");
    Diagnostic::new(&BACKEND_PARAMETER_DEPRECATED, detail)
}

/// One line for each argument: `  * role_arn -> assume_role.role_arn`.
fn successors(arguments: &[(&str, &str)]) -> String {
    let width = arguments.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> =
        arguments.iter().map(|(name, successor)| format!("  * {name:<width$} -> {successor}")).collect();
    lines.join("\n")
}

pub(crate) fn deprecated_arguments(arguments: &[(&str, &str)]) -> Diagnostic {
    let detail = eco_format!("These arguments are deprecated. Replace them:\n{}", successors(arguments));
    Diagnostic::new(&BACKEND_PARAMETERS_DEPRECATED, detail)
}

pub(crate) fn conflicting_arguments(arguments: &[(&str, &str)]) -> Diagnostic {
    let detail = "The argument \"assume_role\" excludes these deprecated arguments. Replace them";
    Diagnostic::new(&BACKEND_PARAMETERS_CONFLICT, eco_format!("{detail}:\n{}", successors(arguments)))
}

pub(crate) fn missing_value(name: &str) -> Diagnostic {
    Diagnostic::new(&BACKEND_VALUE_MISSING, eco_format!("The backend requires the argument \"{name}\"."))
}

pub(crate) fn invalid_duration(name: &str, value: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(&BACKEND_DURATION_INVALID, eco_format!("The argument \"{name}\" is \"{value}\": {reason}."))
}

pub(crate) fn blank_value(name: &str) -> Diagnostic {
    Diagnostic::new(&BACKEND_VALUE_BLANK, eco_format!("The argument \"{name}\" must not be empty or only spaces."))
}

pub(crate) fn invalid_arn(name: &str, value: &str) -> Diagnostic {
    Diagnostic::new(&ARN_INVALID, eco_format!("The argument \"{name}\" contains \"{value}\", which is not an ARN."))
}

pub(crate) fn invalid_policy_arn(name: &str, value: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"{name}\" contains \"{value}\", which is not the ARN of an IAM policy.");
    Diagnostic::new(&POLICY_ARN_INVALID, detail)
}

pub(crate) fn invalid_retry_mode(value: &str) -> Diagnostic {
    let detail = eco_format!("The argument \"retry_mode\" is \"{value}\". It can be \"standard\" or \"adaptive\".");
    Diagnostic::new(&RETRY_MODE_INVALID, detail)
}

pub(crate) fn invalid_customer_key(reason: &str) -> Diagnostic {
    Diagnostic::new(&S3_CUSTOMER_KEY_INVALID, eco_format!("The argument \"sse_customer_key\" {reason}."))
}

pub(crate) fn invalid_customer_key_variable(reason: &str) -> Diagnostic {
    let detail = eco_format!("The environment variable AWS_SSE_CUSTOMER_KEY {reason}.");
    Diagnostic::new(&S3_CUSTOMER_KEY_VARIABLE_INVALID, detail)
}

pub(crate) fn web_identity_incomplete(reason: &str) -> Diagnostic {
    Diagnostic::new(&AWS_WEB_IDENTITY_INCOMPLETE, EcoString::from(reason))
}

pub(crate) fn aws_failed(error: &AwsError) -> Diagnostic {
    match error.kind {
        AwsErrorKind::NoCredentials => {
            let hint = "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.";
            Diagnostic::new(&AWS_CREDENTIALS_MISSING, eco_format!("Failed to obtain AWS credentials: {error}."))
                .hint(hint)
        }
        AwsErrorKind::AssumeRole => {
            let hint =
                "Check the ARN, and that the trust policy of the role allows sts:AssumeRole for these credentials.";
            Diagnostic::new(&AWS_ROLE_NOT_ASSUMED, eco_format!("Failed to obtain AWS credentials: {error}.")).hint(hint)
        }
        AwsErrorKind::WebIdentity => {
            let hint =
                "Check the ARN, the token, and that the trust policy of the role allows sts:AssumeRoleWithWebIdentity.";
            Diagnostic::new(&AWS_WEB_IDENTITY_REFUSED, eco_format!("Failed to obtain AWS credentials: {error}."))
                .hint(hint)
        }
        AwsErrorKind::Configuration => {
            Diagnostic::new(&AWS_CONFIGURATION_INVALID, eco_format!("The AWS settings cannot be used: {error}."))
        }
        AwsErrorKind::Request => {
            let hint = "For servers without STS, set skip_credentials_validation = true.";
            Diagnostic::new(&AWS_CREDENTIALS_REFUSED, eco_format!("Failed to check the AWS credentials: {error}."))
                .hint(hint)
        }
    }
}

pub(crate) fn account_refused(account: &str) -> Diagnostic {
    let detail = eco_format!(
        "The credentials belong to the AWS account \"{account}\", which allowed_account_ids or forbidden_account_ids exclude."
    );
    Diagnostic::new(&AWS_ACCOUNT_REFUSED, detail)
}
