//! Error responses of S3 and DynamoDB as reasons that say what to do.

use yuba_net::aws::{Aws, AwsFailure, Partition, Service};
use yuba_net::http::{Request, Response, shown};

use crate::kit::store::{StoreError, StoreErrorKind};

/// The request that failed, for people.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    /// The permission that it needs, such as `s3:PutObject`.
    pub(super) permission: &'a str,
    /// Where the permission is needed: the ARN without partition, such as `s3:::bucket/key`.
    pub(super) resource: &'a str,
    /// The bucket or table.
    pub(super) container: &'a str,
    pub(super) service: Service,
}

/// Why a request without response, or without credentials, failed.
pub(super) fn of_aws(error: &yuba_net::aws::AwsError) -> StoreError {
    let kind = if error.may_pass { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
    StoreError::new(kind, format!("failed to obtain AWS credentials: {error}"))
}

/// The reason of an error response: the request, the code, and what to do.
pub(super) fn refused(aws: &Aws, request: &Request, response: &Response, call: &Call<'_>) -> StoreError {
    let failure = AwsFailure::of(response);
    let is_adjusted = failure.is_about_clocks() && aws.adjust_clock(response);
    let passes = response.may_pass() || failure.may_pass() || is_adjusted;
    let kind = if passes { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
    let advice = advice(aws, response, &failure, call).map(|advice| format!("; {advice}")).unwrap_or_default();
    let target = request.headers.iter().find(|(name, _)| name == "x-amz-target");
    let action = target.and_then(|(_, target)| target.rsplit_once('.')).map(|(_, action)| format!(" ({action})"));
    let url = shown(&request.url);
    let (method, action) = (&request.method, action.unwrap_or_default());
    let mut error = StoreError::new(kind, format!("{method} {url}{action}: {}{advice}", failure.shown(response)));
    let pause = response.header("retry-after").and_then(|text| text.trim().parse().ok());
    error.retry_after = pause.map(std::time::Duration::from_secs);
    error
}

fn advice(aws: &Aws, response: &Response, failure: &AwsFailure, call: &Call<'_>) -> Option<String> {
    if let Some(advice) = failure.advice(response) {
        return Some(advice);
    }
    let name = call.container;
    let region = aws.region().unwrap_or_default();
    let other = failure.region.as_deref().filter(|other| *other != region);
    Some(match (failure.code.as_str(), response.status, other) {
        ("NoSuchBucket", _, _) => {
            format!("the bucket \"{name}\" does not exist; create it, or correct the arguments bucket and region")
        }
        ("ResourceNotFoundException", _, _) if call.service == Service::DynamoDb => format!(
            "the DynamoDB table \"{name}\" does not exist in {region}; create it with the partition key LockID of type \
             String, or correct dynamodb_table"
        ),
        ("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" | "TemporaryRedirect", _, _)
        | ("", 301 | 307 | 308, _)
        | ("", 400, Some(_)) => match other {
            Some(other) => format!("the bucket \"{name}\" is in the region {other}; set region = \"{other}\""),
            None if failure.code.is_empty() => return None,
            None => format!("the bucket \"{name}\" is in another region than {region}; correct the argument region"),
        },
        ("AccessDenied" | "AccessDeniedException" | "AllAccessDisabled", _, _) | ("", 403, _) => {
            let partition = Partition::of_region(region).id;
            let more = match call.permission {
                "s3:GetObject" => {
                    format!(" and s3:ListBucket on arn:{partition}:s3:::{name}, without which a missing object counts as denied")
                }
                _ => String::new(),
            };
            let (permission, resource) = (call.permission, call.resource);
            format!("the credentials need {permission} on arn:{partition}:{resource}{more}")
        }
        ("InvalidRequest" | "InvalidArgument" | "", 400, _) if call.service == Service::S3 => {
            "if the object is encrypted with a customer key, set encrypt and sse_customer_key as they were when it was written"
                .to_owned()
        }
        ("ValidationException", _, _) => format!("check that the partition key of the table \"{name}\" is LockID of type String"),
        ("NotImplemented" | "InvalidBucketState", _, _) | ("", 501, _) => {
            "the server does not support this request".to_owned()
        }
        _ => return None,
    })
}
