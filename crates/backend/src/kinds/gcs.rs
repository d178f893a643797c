//! `backend "gcs"`: states as objects in a bucket of Google Cloud Storage.
//!
//! The state of workspace WS is `PREFIX/WS.tfstate`. Its lock is the object `PREFIX/WS.tflock`, created on the condition that it
//! does not exist. The lock ID that users see is the generation of that object, which the server assigns.

mod endpoint;
mod failures;
mod objects;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use yuba_net::Secret;
use yuba_net::google::{self, CLOUD_PLATFORM, GoogleSettings, Impersonate, ReadFile};
use yuba_net::http::{ClientOptions, Redirects};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::Type;

use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::store::{
    Beginning, LockCheck, LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal,
    Write,
};
use crate::lock::{LockHolder, LockRefusal};
use endpoint::Endpoint;
use objects::{Conditional, EncryptionKey, Object, Objects, Protection};

const FULL_CONTROL: &str = "https://www.googleapis.com/auth/devstorage.full_control";
const READ_WRITE: &str = "https://www.googleapis.com/auth/devstorage.read_write";

pub(super) fn schema() -> ArgumentSchema {
    let text = |name: &'static str| Argument::optional(name, Type::string());
    ArgumentSchema::new([
        Argument::required("bucket", Type::string()).described("The name of the bucket."),
        text("prefix").described("The directory in the bucket that states are stored in."),
        text("credentials")
            .from_environment(&["GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"])
            .secret()
            .described("The path or the JSON content of a credential file."),
        text("access_token")
            .from_environment(&["GOOGLE_OAUTH_ACCESS_TOKEN"])
            .secret()
            .described("An OAuth 2.0 access token, used instead of credentials. It is not renewed."),
        text("impersonate_service_account")
            .from_environment(&["GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"])
            .described("The email address of a service account to impersonate."),
        Argument::optional("impersonate_service_account_delegates", Type::list(Type::string()))
            .described("Service accounts between the credentials and the impersonated account, in order."),
        text("encryption_key")
            .from_environment(&["GOOGLE_ENCRYPTION_KEY"])
            .secret()
            .described("A customer-supplied encryption key: 32 bytes in base64, or the path of a file with it."),
        text("kms_encryption_key")
            .from_environment(&["GOOGLE_KMS_ENCRYPTION_KEY"])
            .described("The resource name of a Cloud KMS key that Cloud Storage encrypts states with."),
        text("storage_custom_endpoint")
            .from_environment(&["GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"])
            .described("The URL of the Cloud Storage API, with its path."),
        text("universe_domain")
            .from_environment(&["GOOGLE_BACKEND_UNIVERSE_DOMAIN"])
            .described("The domain of the services of a sovereign cloud."),
    ])
}

pub(super) fn check(arguments: &Arguments) -> Diagnostics {
    match given(arguments, "encryption_key").is_some() && given(arguments, "kms_encryption_key").is_some() {
        true => diagnostics::gcs_key_conflict().into(),
        false => Diagnostics::new(),
    }
}

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    let problems = check(arguments);
    if problems.has_errors() {
        return Err(problems);
    }
    let files = Arc::clone(&environment.files);
    let read: ReadFile = Arc::new(move |path| files.read(path));
    let endpoint = Endpoint::of(arguments, environment)?;
    let key = encryption_key(arguments, environment, &read)?;
    let client = environment.services.client();
    let source = match endpoint.is_emulator {
        // An emulator gets no credentials.
        true => None,
        false => {
            let settings = credentials(arguments, environment, &read)?;
            let found = google::find(&settings, &environment.variables, client, read);
            Some(found.map_err(|error| diagnostics::gcs_credentials_unusable(&error.reason))?)
        }
    };
    // A redirect to another host would carry the encryption key along.
    let options = ClientOptions { redirects: Redirects::Return, ..ClientOptions::default() };
    let objects = Objects {
        client: client.with_options(options),
        source,
        bucket: given(arguments, "bucket").unwrap_or_default(),
        endpoint,
    };
    let protection = match (key, given(arguments, "kms_encryption_key")) {
        (Some(key), _) => Protection::Supplied(key),
        (None, Some(name)) => Protection::Managed(name),
        (None, None) => Protection::Default,
    };
    let directory = clean(arguments.text("prefix").unwrap_or_default().trim_start_matches('/'));
    Ok(Arc::new(Gcs { objects, directory, protection }))
}

/// A string argument that is not empty.
fn given(arguments: &Arguments, name: &str) -> Option<String> {
    arguments.text(name).filter(|text| !text.is_empty()).map(String::from)
}

/// A secret argument that is not empty.
fn secret(arguments: &Arguments, name: &str) -> Option<Secret> {
    arguments.secret(name).filter(|secret| !secret.reveal().is_empty())
}

fn credentials(
    arguments: &Arguments,
    environment: &BackendEnvironment,
    read: &ReadFile,
) -> Result<GoogleSettings, Diagnostic> {
    let access_token = secret(arguments, "access_token");
    let credentials = match secret(arguments, "credentials").filter(|_| access_token.is_none()) {
        None => None,
        Some(value) => {
            let content = google::path_or_content(&value, &environment.variables, read)
                .map_err(|error| diagnostics::gcs_credentials_not_read(&error))?;
            if serde_json::from_str::<serde_json::Value>(content.reveal()).is_err() {
                return Err(diagnostics::gcs_credentials_invalid());
            }
            Some(content)
        }
    };
    let impersonate = given(arguments, "impersonate_service_account").map(|account| {
        let delegates = arguments.texts("impersonate_service_account_delegates");
        let delegates = delegates.into_iter().map(String::from).collect();
        Impersonate { account, delegates, scopes: vec![READ_WRITE], endpoint: None }
    });
    let universe_domain = given(arguments, "universe_domain");
    Ok(GoogleSettings {
        access_token,
        credentials,
        impersonate,
        scopes: vec![FULL_CONTROL, CLOUD_PLATFORM],
        universe_domain,
    })
}

fn encryption_key(
    arguments: &Arguments,
    environment: &BackendEnvironment,
    read: &ReadFile,
) -> Result<Option<EncryptionKey>, Diagnostic> {
    let Some(value) = secret(arguments, "encryption_key") else { return Ok(None) };
    let content = google::path_or_content(&value, &environment.variables, read);
    let content = content.map_err(|error| diagnostics::gcs_key_not_read(&error))?;
    let text: String = content.reveal().chars().filter(|character| !matches!(character, '\n' | '\r')).collect();
    let key = BASE64.decode(text).map_err(|_| diagnostics::gcs_key_invalid("it is not valid base64"))?;
    match key.len() {
        32 => Ok(Some(EncryptionKey::new(&key))),
        length => Err(diagnostics::gcs_key_invalid(&format!("it has {length} bytes"))),
    }
}

/// A relative path without empty parts, `.` and `..` inside, as OpenTofu joins the prefix and the name of an object.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

const STATE: &str = ".tfstate";
const LOCK: &str = ".tflock";

/// States in a bucket.
#[derive(Debug)]
struct Gcs {
    objects: Objects,
    /// Without a slash at either end; empty for the root of the bucket.
    directory: String,
    /// How state objects are encrypted. Quirk: lock objects are not, as in OpenTofu.
    protection: Protection,
}

impl Gcs {
    fn object(&self, workspace: &str, suffix: &str) -> String {
        match self.directory.is_empty() {
            true => format!("{workspace}{suffix}"),
            false => format!("{}/{workspace}{suffix}", self.directory),
        }
    }

    fn url(&self, object: &str) -> String {
        format!("gs://{}/{object}", self.objects.bucket)
    }

    /// The lock object with what it says; none if the state is not locked.
    fn present_lock(&self, workspace: &str) -> Result<Option<(LockHolder, String)>, StoreError> {
        let name = self.object(workspace, LOCK);
        let Some(object) = self.objects.read(&name, &Protection::Default)? else { return Ok(None) };
        let holder = LockHolder::from_json(&object.content);
        let written_id = holder.as_ref().map(|holder| holder.id.clone()).unwrap_or_default();
        let holder = holder.unwrap_or_else(|| self.unreadable_lock(&name, &object));
        Ok(Some((LockHolder { id: object.generation, ..holder }, written_id)))
    }

    /// A lock object that no version of OpenTofu or Yuba has written.
    fn unreadable_lock(&self, name: &str, object: &Object) -> LockHolder {
        let begin: String = String::from_utf8_lossy(&object.content).chars().take(40).collect();
        LockHolder {
            id: object.generation.clone(),
            operation: String::new(),
            info: format!(
                "an unknown process wrote the lock: its {} bytes are not lock information: {begin:?}",
                object.content.len()
            ),
            who: String::new(),
            version: String::new(),
            created: None,
            path: self.url(name),
        }
    }
}

impl Store for Gcs {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let prefix = match self.directory.is_empty() {
            true => String::new(),
            false => format!("{}/", self.directory),
        };
        let names = self.objects.list(&prefix)?;
        let names = names.iter().filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(STATE));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let object = self.objects.read(&self.object(workspace, STATE), &self.protection)?;
        Ok(object.map(|object| Stored { content: object.content, version: StoreVersion(object.generation) }))
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let name = self.object(workspace, STATE);
        let generation = match write.precondition {
            Precondition::Absent => "0",
            Precondition::Version(version) => version.0.as_str(),
        };
        match self.objects.create(&name, write.content, generation, &self.protection)? {
            Conditional::Done(generation) => Ok(StoreVersion(generation)),
            Conditional::Refused => {
                let reason = format!("the generation of {} is no longer {generation}", self.url(&name));
                Err(StoreError::new(StoreErrorKind::Conflict, reason))
            }
        }
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        // An object that is gone was deleted by a request whose response was lost.
        self.objects.delete(&self.object(workspace, STATE), None).map(drop)
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        let name = self.object(workspace, LOCK);
        let holder = LockHolder { path: self.url(&name), ..holder.clone() };
        let created = self.objects.create(&name, holder.to_json().as_bytes(), "0", &Protection::Default);
        if let Conditional::Done(generation) = created.map_err(LockRefusal::Store)? {
            return Ok(Some(LockId(generation)));
        }
        match self.present_lock(workspace).map_err(LockRefusal::Store)? {
            // The response to an attempt before was lost.
            Some((present, id)) if id == holder.id => Ok(Some(LockId(present.id))),
            Some((present, _)) => Err(LockRefusal::Held { holder: Some(Box::new(present)), pid: None }),
            None => {
                let reason = format!("another process released the lock {} a moment ago", self.url(&name));
                Err(LockRefusal::Store(StoreError::transient(reason)))
            }
        }
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        if id.0.parse::<i64>().is_err() {
            let reason = format!("a lock ID of the backend \"gcs\" is a number, not {:?}", id.0);
            return Err(UnlockRefusal::Failed(StoreError::lasting(reason)));
        }
        // Some servers ignore the condition of a deletion, so it is compared before, too.
        let present = |refused: Refused| match (self.present_lock(workspace), refused) {
            (Err(error), _) => Err(UnlockRefusal::Failed(error)),
            (Ok(None), _) => Err(UnlockRefusal::NotLocked),
            (Ok(Some((holder, _))), Refused::No) if holder.id == id.0 => Ok(()),
            (Ok(Some((holder, _))), _) => Err(UnlockRefusal::OtherLock(Some(Box::new(holder)))),
        };
        present(Refused::No)?;
        let deleted = self.objects.delete(&self.object(workspace, LOCK), Some(&id.0));
        match deleted.map_err(UnlockRefusal::Failed)? {
            Conditional::Done(()) => Ok(()),
            Conditional::Refused => present(Refused::Yes),
        }
    }

    /// The ID of the lock is the generation of its object, and the object has the ID of the holder.
    fn abandon_lock(&self, workspace: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        match self.present_lock(workspace).map_err(UnlockRefusal::Failed)? {
            Some((present, id)) if id == holder.id => self.unlock(workspace, &LockId(present.id)),
            _ => Err(UnlockRefusal::NotLocked),
        }
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        let name = self.object(workspace, LOCK);
        Ok(match self.objects.generation(&name)? {
            Some(generation) if generation == id.0 => LockCheck::Held,
            Some(generation) => LockCheck::Lost(format!("another process holds the lock {generation}")),
            None => LockCheck::Lost(format!("the lock object {} was deleted", self.url(&name))),
        })
    }

    fn describe(&self, workspace: &str) -> String {
        let url = self.url(&self.object(workspace, STATE));
        match self.objects.endpoint.custom_host() {
            Some(host) => format!("{url} at {host}"),
            None => url,
        }
    }

    /// Quirk: the default workspace starts with an empty state too, as in OpenTofu.
    fn beginning(&self, _workspace: &str) -> Beginning {
        Beginning::EmptyState
    }
}

/// Whether the server refused to delete a lock object.
#[derive(Clone, Copy)]
enum Refused {
    No,
    Yes,
}
