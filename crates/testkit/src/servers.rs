//! Real servers on loopback, for tests of backends and key providers.
//!
//! Each function starts one server on a free port in a temporary directory, waits until the server answers, and returns a handle.
//! It returns `None` where the server is not installed, so that a test can report itself as ignored. `cargo xtask servers install`
//! installs them. Dropping the handle kills the server and removes its directory; if the test process dies first, a guard does both.
//!
//! ```no_run
//! let Some(postgres) = yuba_testkit::servers::postgresql() else { return };
//! postgres.create_database("tofu_state");
//! assert_eq!(postgres.sql("tofu_state", "select 1 + 1"), "2");
//! ```
//!
//! Invariant: a server that is installed but does not answer is a panic with its log, never `None`.

mod azurite;
mod certificate;
mod chromium;
mod consul;
mod digest;
mod directory;
mod fake_gcs;
mod fault;
mod http;
mod http_lock;
mod kubernetes;
mod lock_json;
mod moto;
mod ports;
mod postgresql;
mod process;
mod program;
mod s3;
mod tfe;
mod vault_transit;

pub use azurite::{AZURITE_ACCOUNT, AZURITE_KEY, Azurite, Scheme, azurite};
pub use certificate::Certificate;
pub use chromium::{Browser, ColorScheme, chromium, has_chromium};
pub use consul::{Consul, consul};
pub use fake_gcs::{FakeGcs, fake_gcs};
pub use fault::{Fault, On};
pub use http::{Answer, request};
pub use http_lock::{HttpLockServer, Logged, http_lock_server};
pub use kubernetes::{Kubernetes, kubernetes};
pub use moto::{Moto, moto};
pub use postgresql::{PostgreSql, postgresql};
pub use process::Server;
pub use program::{is_installed, is_required};
pub use s3::{S3Server, minio, versitygw};
pub use tfe::{Mode, TfeServer, TfeVariable, TfeWorkspace, tfe_server};
pub use vault_transit::{VaultTransit, vault_transit};
