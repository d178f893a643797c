//! Credentials of requests: fixed ones, a token file that is replaced from time to time, or an exec plugin.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;
use yuba_net::Secret;
use yuba_net::http::Request;
use yuba_net::trust::ClientIdentity;

use super::exec::{Exec, ExecCredential};
use crate::files::StateFiles;
use crate::kit::store::StoreErrorKind;

/// Who sends a request.
#[derive(Debug)]
pub(super) enum Credentials {
    /// The client certificate says it, or nothing.
    Anonymous,
    Basic(String, Secret),
    Token(Secret),
    TokenFile(TokenFile),
    Plugin(Plugin),
}

/// A file that another process replaces before its token expires.
pub(super) struct TokenFile {
    file: PathBuf,
    files: Arc<dyn StateFiles>,
    /// The token that was read last.
    last: Mutex<Secret>,
}

impl fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenFile").field(&self.file).finish()
    }
}

/// A plugin with its last output.
#[derive(Debug)]
pub(super) struct Plugin {
    exec: Exec,
    cluster: Json,
    last: Mutex<Option<Arc<ExecCredential>>>,
    /// Whether the plugin has returned credentials before.
    has_worked: AtomicBool,
}

/// Whether a request that the server rejects can be repeated with new credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// New credentials may be accepted.
    Possible,
    Impossible,
}

impl Credentials {
    pub(super) fn token_file(file: PathBuf, token: Secret, files: Arc<dyn StateFiles>) -> Credentials {
        Credentials::TokenFile(TokenFile { file, files, last: Mutex::new(token) })
    }

    pub(super) fn plugin(exec: Exec, cluster: Json) -> Credentials {
        Credentials::Plugin(Plugin { exec, cluster, last: Mutex::new(None), has_worked: AtomicBool::new(false) })
    }

    /// The request with credentials, and the client certificate of a plugin. The error is part of a sentence.
    pub(super) fn applied(&self, request: Request) -> Result<(Request, Option<ClientIdentity>), String> {
        Ok(match self {
            Credentials::Anonymous => (request, None),
            Credentials::Basic(user, password) => {
                (Request { basic: Some((user.clone(), password.clone())), ..request }, None)
            }
            Credentials::Token(token) => (request.with_token(Some(token.clone())), None),
            Credentials::TokenFile(file) => (request.with_token(Some(file.token())), None),
            Credentials::Plugin(plugin) => {
                let credential = plugin.credential()?;
                (request.with_token(credential.token.clone()), credential.identity.clone())
            }
        })
    }

    /// Whether credentials that are not available may be available later: a plugin that has worked before may work again.
    pub(super) fn failure(&self) -> StoreErrorKind {
        match self {
            Credentials::Plugin(plugin) if plugin.has_worked.load(Ordering::Relaxed) => StoreErrorKind::Transient,
            _ => StoreErrorKind::Lasting,
        }
    }

    /// Forgets credentials that the server has rejected.
    pub(super) fn rejected(&self) -> Renewal {
        match self {
            Credentials::Plugin(plugin) => {
                *plugin.last() = None;
                Renewal::Possible
            }
            _ => Renewal::Impossible,
        }
    }
}

impl TokenFile {
    /// The token in the file now. A file that cannot be read is being replaced.
    fn token(&self) -> Secret {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(content) = self.files.read(&self.file) {
            let token = String::from_utf8_lossy(&content).trim().to_owned();
            if !token.is_empty() {
                *last = Secret::new(token);
            }
        }
        last.clone()
    }
}

impl Plugin {
    fn last(&self) -> MutexGuard<'_, Option<Arc<ExecCredential>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last output, unless it has expired. The lock is held while the plugin runs: it may ask a person to sign in.
    fn credential(&self) -> Result<Arc<ExecCredential>, String> {
        let mut last = self.last();
        if let Some(credential) = last.as_ref().filter(|credential| !credential.is_expired()) {
            return Ok(Arc::clone(credential));
        }
        let credential = Arc::new(self.exec.run(&self.cluster)?);
        self.has_worked.store(true, Ordering::Relaxed);
        *last = Some(Arc::clone(&credential));
        Ok(credential)
    }
}
