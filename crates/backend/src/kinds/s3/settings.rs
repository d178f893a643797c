//! From arguments and environment variables to an open store.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use yuba_net::aws::{Bucket, BucketStyle, is_region};
use yuba_net::{Environment, Secret};
use yuba_syntax::Diagnostics;

use super::object::{Checksums, Encryption, Objects};
use super::store::{Consistency, Layout, S3Store};
use super::table::Table;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;
use crate::kit::store::Store;
use crate::{aws, diagnostics};

pub(in crate::kinds) fn open(
    arguments: &Arguments,
    environment: &BackendEnvironment,
) -> Result<Arc<dyn Store>, Diagnostics> {
    let variables = &environment.variables;
    check_region(arguments, variables)?;
    let encryption = encryption(arguments, variables)?;
    let connected = aws::connect(arguments, environment)?;
    aws::check_account(arguments, &connected)?;

    let name = arguments.text("bucket").unwrap_or_default();
    let path_style = ["use_path_style", "force_path_style"].iter().any(|name| arguments.is_on(name));
    let style = if path_style { BucketStyle::Path } else { BucketStyle::Host };
    let unusable = |error| Diagnostics::from(diagnostics::s3_bucket_unusable(&error));
    let bucket = Bucket::new(&connected, &name, style).map_err(unusable)?;
    let objects = Objects {
        aws: connected.clone(),
        bucket,
        encryption,
        acl: arguments.text("acl"),
        checksums: if arguments.is_on("skip_s3_checksum") { Checksums::Off } else { Checksums::Sha256 },
    };
    let table = arguments.text("dynamodb_table").map(|table| Table { aws: connected, name: table.into() });
    Ok(Arc::new(S3Store::new(
        objects,
        table,
        Layout {
            key: arguments.text("key").unwrap_or_default().into(),
            prefix: arguments.text("workspace_key_prefix").map_or_else(|| "env:".to_owned(), Into::into),
            has_lock_objects: arguments.is_on("use_lockfile"),
            state_tags: arguments.text_map("state_tags"),
            lock_tags: arguments.text_map("lock_tags"),
        },
        aws::retries(arguments, environment),
        Consistency::default(),
    )))
}

fn check_region(arguments: &Arguments, variables: &Environment) -> Result<(), Diagnostics> {
    match arguments.text("region") {
        Some(region) if !arguments.is_on("skip_region_validation") && !is_region(&region) => {
            Err(diagnostics::s3_region_unknown(&region).into())
        }
        Some(_) => Ok(()),
        None if aws::has_region(variables) => Ok(()),
        None => Err(diagnostics::s3_region_missing().into()),
    }
}

/// How S3 encrypts. Keys are checked even where `encrypt` is off, as OpenTofu does.
fn encryption(arguments: &Arguments, variables: &Environment) -> Result<Encryption, Diagnostics> {
    let decoded = |text: &str| -> Result<Secret, &'static str> {
        if text.len() != 44 {
            return Err("must have 44 characters: 32 bytes in Base64");
        }
        let bytes = BASE64.decode(text).map_err(|_| "is not Base64")?;
        let is_complete = bytes.len() == 32;
        is_complete.then(|| Secret::new(text)).ok_or("must have 44 characters: 32 bytes in Base64")
    };
    let variable = variables.get("AWS_SSE_CUSTOMER_KEY");
    let kms_key = arguments.text("kms_key_id");
    let customer_key = match (arguments.text("sse_customer_key"), variable) {
        (Some(text), _) => Some(decoded(&text).map_err(diagnostics::invalid_customer_key)?),
        (None, Some(_)) if kms_key.is_some() => {
            return Err(diagnostics::s3_encryption_keys_conflict("AWS_SSE_CUSTOMER_KEY").into());
        }
        (None, Some(text)) => Some(decoded(text).map_err(diagnostics::invalid_customer_key_variable)?),
        (None, None) => None,
    };
    Ok(match (arguments.is_on("encrypt"), kms_key, customer_key) {
        (false, _, _) => Encryption::Bucket,
        (true, Some(key), _) => Encryption::Kms(key.into()),
        (true, None, Some(key)) => Encryption::Customer(key),
        (true, None, None) => Encryption::S3,
    })
}
