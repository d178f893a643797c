//! AWS: credentials as OpenTofu's backends find them, signed requests, regions and endpoints.
//!
//! [`Aws::new`] reads arguments, environment variables and shared files and decides where credentials come from. It sends no
//! request. [`Aws::sign`] obtains credentials when they are first needed and renews temporary ones before they expire, so a
//! long apply does not outlive them.
//!
//! Invariant: credentials are sent to the service that issues or checks them, over a client that follows no redirects.
//! Not here: the requests of S3, DynamoDB and KMS, which their users write.

mod bucket;
mod connection;
mod failure;
mod metadata;
mod moment;
mod process;
mod profile;
mod service;
mod sign;
mod source;
mod sso;
mod sts;
#[cfg(test)]
mod tests;
mod xml;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use bucket::{Bucket, BucketStyle, S3Address};
pub use connection::AwsConnection;
pub use failure::AwsFailure;
pub use metadata::{MetadataAddress, MetadataSettings, MetadataUse};
pub use moment::Moment;
use profile::Profiles;
pub use profile::SharedFiles;
pub use service::{Cryptography, Endpoint, Origin, Partition, Service, Stack, is_region};
use source::Source;
pub use sts::CallerIdentity;
pub use xml::Element;

use crate::http::{HttpClient, Request, Response};
use crate::{Environment, Secret};

/// Reads a file.
pub type Reader<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;
/// Reads files as long as credentials are used: tokens in files change.
pub type FileReader = Arc<dyn Fn(&Path) -> io::Result<Vec<u8>> + Send + Sync>;

/// Temporary credentials are renewed this many seconds before they expire.
const RENEWAL: i64 = 300;
/// A clock that differs by less does not make signatures invalid.
const TOLERATED_SKEW: i64 = 240;

/// Arguments of a backend, key provider or module address. Everything may be left out.
#[derive(Clone, Debug, Default)]
pub struct AwsSettings {
    /// The region of requests.
    pub region: Option<String>,
    /// Credentials that are written down.
    pub access_key: Option<String>,
    /// The secret of `access_key`.
    pub secret_key: Option<Secret>,
    /// The session token of `access_key`.
    pub token: Option<Secret>,
    /// The profile in shared files.
    pub profile: Option<String>,
    /// Shared files.
    pub files: SharedFiles,
    /// Roles that are assumed one after the other, with the credentials found otherwise.
    pub roles: Vec<AssumeRole>,
    /// The role that is assumed with a token of an identity provider.
    pub web_identity: Option<WebIdentity>,
    /// The metadata service of EC2 instances.
    pub metadata: MetadataSettings,
    /// Endpoints that arguments name.
    pub endpoints: BTreeMap<Service, String>,
    /// The region of requests to STS.
    pub sts_region: Option<String>,
    /// Whether endpoints have IPv6 addresses, too.
    pub stack: Stack,
    /// Whether endpoints use validated cryptography.
    pub cryptography: Cryptography,
}

/// A role to assume.
#[derive(Clone, Debug, Default)]
pub struct AssumeRole {
    /// Its ARN.
    pub arn: String,
    /// Lifetime of credentials.
    pub duration: Option<Duration>,
    /// The identifier that the trust policy of the role may require.
    pub external_id: Option<String>,
    /// A policy that restricts the role further.
    pub policy: Option<String>,
    /// Managed policies that restrict the role further.
    pub policy_arns: Vec<String>,
    /// The name of the session.
    pub session_name: Option<String>,
    /// The source identity that the session passes on to further roles.
    pub source_identity: Option<String>,
    /// Tags of the session.
    pub tags: BTreeMap<String, String>,
    /// Tags that further sessions inherit.
    pub transitive_tags: Vec<String>,
}

/// A role to assume with a token of an identity provider.
#[derive(Clone, Debug, Default)]
pub struct WebIdentity {
    /// The ARN of the role.
    pub arn: String,
    /// Lifetime of credentials.
    pub duration: Option<Duration>,
    /// A policy that restricts the role further.
    pub policy: Option<String>,
    /// Managed policies that restrict the role further.
    pub policy_arns: Vec<String>,
    /// The name of the session.
    pub session_name: Option<String>,
    /// The token.
    pub token: Option<Secret>,
    /// A file with the token, read each time credentials are renewed.
    pub token_file: Option<String>,
}

/// Credentials of a moment.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsCredentials {
    /// The identifier of the key.
    pub access_key: String,
    /// The key that signs.
    pub secret_key: Secret,
    /// The token of temporary credentials.
    pub token: Option<Secret>,
    /// Their expiry; none if they do not expire.
    pub expires: Option<Moment>,
}

/// Nothing of the key.
impl fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsCredentials").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// Failed step of finding credentials or of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwsErrorKind {
    /// No source has credentials.
    NoCredentials,
    /// A role cannot be assumed.
    AssumeRole,
    /// A role cannot be assumed with a token of an identity provider.
    WebIdentity,
    /// Arguments or files contradict each other or are incomplete.
    Configuration,
    /// A request failed.
    Request,
}

/// A failure. The reason is the second half of a sentence and contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsError {
    /// The failed step.
    pub kind: AwsErrorKind,
    /// The reason.
    pub reason: String,
    /// Whether it may succeed later.
    pub may_pass: bool,
}

impl AwsError {
    fn new(kind: AwsErrorKind, reason: impl Into<String>) -> AwsError {
        AwsError { kind, reason: reason.into(), may_pass: false }
    }

    fn configuration(reason: impl Into<String>) -> AwsError {
        AwsError::new(AwsErrorKind::Configuration, reason)
    }

    fn no_credentials(reason: impl Into<String>) -> AwsError {
        AwsError::new(AwsErrorKind::NoCredentials, reason)
    }

    /// The same as a failure of another part.
    #[must_use]
    fn with_kind(self, kind: AwsErrorKind) -> AwsError {
        AwsError { kind, ..self }
    }
}

impl fmt::Display for AwsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for AwsError {}

/// Environment of finding credentials.
struct Session {
    settings: AwsSettings,
    environment: Environment,
    client: HttpClient,
    /// For addresses of the machine itself, which no proxy reaches.
    direct: HttpClient,
    read: FileReader,
    profiles: Profiles,
    profile: String,
    region: Option<String>,
    /// Seconds by which the clocks of AWS are ahead of ours.
    skew: AtomicI64,
}

/// Credentials and endpoints of one configuration. Clones share credentials.
#[derive(Clone)]
pub struct Aws(Arc<Inner>);

struct Inner {
    session: Session,
    source: Source,
    current: Mutex<Option<AwsCredentials>>,
}

impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aws").field("region", &self.0.session.region).finish_non_exhaustive()
    }
}

impl Aws {
    /// Decides where credentials come from. The client is one of [`AwsConnection::client`]: it follows no redirects.
    pub fn new(
        settings: AwsSettings,
        environment: &Environment,
        client: HttpClient,
        read: FileReader,
    ) -> Result<Aws, AwsError> {
        let profiles = Profiles::read(&settings.files, environment, &*read)?;
        let named = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].iter().find_map(|name| environment.get(name));
        let named = settings.profile.as_deref().filter(|name| !name.is_empty()).or(named);
        if let Some(name) = named.filter(|name| profiles.profile(name).is_none()) {
            return Err(AwsError::configuration(format!(
                "the profile \"{name}\" is not in the shared configuration and credentials files"
            )));
        }
        let profile = named.unwrap_or("default").to_owned();
        let of_environment = || ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| environment.get(name));
        let of_profile = || profiles.profile(&profile)?.get("region").map(String::as_str);
        let region = settings.region.as_deref().filter(|region| !region.is_empty());
        let region = region.or_else(of_environment).or_else(of_profile).map(str::to_owned);
        let direct = AwsConnection::direct(&client);
        let environment = environment.clone();
        let skew = AtomicI64::new(0);
        let session = Session { settings, environment, client, direct, read, profiles, profile, region, skew };
        let source = session.source()?;
        Ok(Aws(Arc::new(Inner { session, source, current: Mutex::default() })))
    }

    /// The region of requests: that of the argument, the environment or the profile.
    pub fn region(&self) -> Option<&str> {
        self.0.session.region.as_deref()
    }

    /// The client of requests.
    pub fn client(&self) -> &HttpClient {
        &self.0.session.client
    }

    /// Endpoint of a service.
    pub fn endpoint(&self, service: Service) -> Endpoint {
        self.0.session.endpoint(service)
    }

    /// Present credentials. Temporary ones are renewed before they expire.
    pub fn credentials(&self) -> Result<AwsCredentials, AwsError> {
        let session = &self.0.session;
        let mut current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        let now = session.now();
        let lasts = |credentials: &&AwsCredentials| credentials.expires.is_none_or(|end| end > now.plus(RENEWAL));
        if let Some(credentials) = current.as_ref().filter(lasts) {
            return Ok(credentials.clone());
        }
        match self.0.source.retrieve(session) {
            Ok(credentials) => Ok(current.insert(credentials).clone()),
            // Renewing starts early, so that a service that is down for a while does no harm.
            Err(error) => match current.as_ref().filter(|known| known.expires.is_some_and(|end| end > now)) {
                Some(credentials) => {
                    tracing::debug!(reason = %error, "AWS credentials were not renewed; the present ones still last");
                    Ok(credentials.clone())
                }
                None => Err(error),
            },
        }
    }

    /// Signs a request to a service at its endpoint.
    pub fn sign(&self, request: Request, service: Service) -> Result<Request, AwsError> {
        let region = self.endpoint(service).region;
        self.sign_for(request, service, &region)
    }

    /// Signs a request to a service in a region.
    pub fn sign_for(&self, request: Request, service: Service, region: &str) -> Result<Request, AwsError> {
        let credentials = self.credentials()?;
        let moment = self.0.session.now();
        Ok(sign::sign(request, &credentials, sign::Scope { service: service.signing_name(), region, moment }))
    }

    /// Compares clocks after a refused signature. Returns true if they differ so much that signing again with the time of the
    /// server helps.
    pub fn adjust_clock(&self, response: &Response) -> bool {
        self.0.session.learn_clock(response)
    }

    /// The account and the user or role of the credentials.
    pub fn identity(&self) -> Result<CallerIdentity, AwsError> {
        let credentials = self.credentials()?;
        self.0.session.identity(&credentials)
    }

    /// The account of the credentials, found like OpenTofu does where STS is not to be asked first: by the metadata of the
    /// instance, IAM, and STS in the end.
    pub fn account(&self) -> Result<String, AwsError> {
        let credentials = self.credentials()?;
        if let Source::Metadata = self.0.source
            && let Some(account) = self.0.session.instance_account()
        {
            return Ok(account);
        }
        match self.0.session.account_of_user(&credentials) {
            Some(account) => Ok(account),
            None => self.0.session.identity(&credentials).map(|identity| identity.account),
        }
    }
}

impl Session {
    /// The time of AWS as far as known.
    fn now(&self) -> Moment {
        Moment::now().plus(self.skew.load(Ordering::Relaxed))
    }

    fn learn_clock(&self, response: &Response) -> bool {
        let Some(server) = response.header("date").and_then(Moment::parse_http) else { return false };
        let skew = server.0 - Moment::now().0;
        let differs = (skew - self.skew.load(Ordering::Relaxed)).abs() > TOLERATED_SKEW;
        if differs {
            self.skew.store(skew, Ordering::Relaxed);
        }
        differs
    }

    /// Endpoint of a service: by argument, variable or profile for the service, then for all services.
    fn endpoint(&self, service: Service) -> Endpoint {
        let settings = &self.settings;
        let own_region = settings.sts_region.as_deref().filter(|_| service == Service::Sts);
        let region = own_region.or(self.region.as_deref()).unwrap_or("us-east-1");
        self.endpoint_in(service, region)
    }

    fn endpoint_in(&self, service: Service, region: &str) -> Endpoint {
        let settings = &self.settings;
        let variable = |name: &str| self.environment.get(name);
        let is_ignored =
            variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let (of_profile, all_of_profile) = self.profiles.endpoint(&self.profile, service.variable());
        let configured = || {
            variable(&format!("AWS_ENDPOINT_URL_{}", service.variable()))
                .or(of_profile)
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or(all_of_profile)
        };
        let custom = settings.endpoints.get(&service).map(String::as_str);
        let custom = custom.or_else(|| if is_ignored { None } else { configured() });
        let usual = service::default_endpoint(service, region, self.stack(), self.cryptography());
        match custom {
            None => usual,
            Some(url) => {
                let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
                Endpoint { url: url.trim_end_matches('/').to_owned(), origin: Origin::Custom, ..usual }
            }
        }
    }

    fn is_on(&self, variable: &str, argument: &str) -> bool {
        let of_profile = || self.profiles.profile(&self.profile)?.get(argument).map(String::as_str);
        self.environment.get(variable).or_else(of_profile).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn stack(&self) -> Stack {
        match self.settings.stack == Stack::Dual || self.is_on("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint") {
            true => Stack::Dual,
            false => Stack::Single,
        }
    }

    fn cryptography(&self) -> Cryptography {
        let is_fips = self.settings.cryptography == Cryptography::Fips;
        match is_fips || self.is_on("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint") {
            true => Cryptography::Fips,
            false => Cryptography::Standard,
        }
    }
}
