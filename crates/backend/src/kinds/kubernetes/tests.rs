//! Tests of the kubernetes backend without a server. Those on a real API server are in `tests/servers/kubernetes.rs`.

mod connections;
mod plugins;
mod requests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value as Json;
use yuba_net::Environment;
use yuba_net::http::{Request, Url};

use super::arguments::schema;
use super::connection::{Connection, Outside, connection};
use crate::files::{Disk, StateFiles};
use crate::kit::arguments::Arguments;

/// A directory of a test, removed with its value.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("yuba-kubernetes-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the directory for temporary files can be written");
        Directory(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("the directory can be written");
        }
        std::fs::write(&path, text).expect("the directory can be written");
        path
    }

    /// A shell script that can be executed.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The connection of arguments, environment variables and the service account in a directory.
fn connect(arguments: &Json, variables: &[(&str, &str)], account: &Path) -> Result<Connection, String> {
    let variables: Environment = variables.iter().copied().collect();
    let arguments = Arguments::of_json(&schema(), arguments);
    let arguments = arguments.resolved(&schema(), &variables).expect("the variables have the right types");
    let files: Arc<dyn StateFiles> = Arc::new(Disk);
    connection(&arguments, &Outside { variables: &variables, files: &files, account })
}

/// Server, and the credentials of a request: a token, or a user with a password.
fn used(connection: &Connection) -> String {
    let request = Request::new(Url::parse("https://localhost/").expect("it is a URL"));
    let (request, identity) = connection.credentials.applied(request).expect("the credentials are available");
    let token = request.token.map(|token| format!(" token {}", token.reveal())).unwrap_or_default();
    let basic = request.basic.map(|(user, password)| format!(" user {user}:{}", password.reveal())).unwrap_or_default();
    let identity = identity.map(|_| " certificate").unwrap_or_default();
    format!("{}{token}{basic}{identity}", connection.base)
}
