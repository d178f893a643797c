//! Failures of requests to PostgreSQL: by kind for the caller, and in words with what to do.

use std::error::Error as _;
use std::io;

use tokio_postgres::error::SqlState;
use tokio_rustls::rustls::{self, CertificateError};

use super::settings::{Server, Settings};

/// Why a request failed.
#[derive(Debug)]
pub(super) enum PgError {
    /// The connection is gone or was never there.
    Broken(Broken),
    /// The server responded with an error.
    Server(ServerError),
    /// The request cannot succeed.
    Refused(String),
    /// The run has ended: another one has taken its locks, or a user has ended it.
    RunEnded,
}

/// Why a connection is gone.
#[derive(Debug)]
pub(super) struct Broken {
    reason: String,
}

impl Broken {
    pub(super) fn new(reason: impl Into<String>) -> Broken {
        Broken { reason: reason.into() }
    }
}

/// An error that the server reported.
#[derive(Debug)]
pub(super) struct ServerError {
    pub(super) code: SqlState,
    /// Its message, and what this backend adds.
    reason: String,
}

impl PgError {
    /// The second half of a sentence.
    pub(super) fn reason(&self) -> &str {
        match self {
            PgError::Broken(broken) => &broken.reason,
            PgError::Server(error) => &error.reason,
            PgError::Refused(reason) => reason,
            PgError::RunEnded => "the session of this run has ended, and another run has taken its locks",
        }
    }

    /// Whether the same request may succeed later.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            PgError::Broken(_) => true,
            PgError::Server(error) => passes(&error.code),
            PgError::Refused(_) | PgError::RunEnded => false,
        }
    }

    /// Whether the server reported this code.
    pub(super) fn is(&self, code: &SqlState) -> bool {
        matches!(self, PgError::Server(error) if error.code == *code)
    }

    /// A failure to start a session, with what to do about it.
    pub(super) fn of_start(error: tokio_postgres::Error, settings: &Settings, server: &Server) -> PgError {
        let mut found = PgError::from(error);
        if let PgError::Refused(reason) = &mut found
            && reason.contains("password missing")
        {
            *reason =
                "the server asks for a password, and none is set. Set PGPASSWORD or use a password file".to_owned();
        }
        let is_password = found.is(&SqlState::INVALID_PASSWORD) || server.password.is_none();
        let hint = match &found {
            PgError::Server(error) if error.code == SqlState::INVALID_CATALOG_NAME => {
                let database = settings.database.as_deref().unwrap_or(&settings.user);
                Some(format!("Create it with `CREATE DATABASE {}`", super::layout::quoted(database)))
            }
            PgError::Server(_) | PgError::Refused(_) if is_password => settings.ignored_passwords.clone(),
            _ => None,
        };
        if let (Some(hint), PgError::Server(ServerError { reason, .. }) | PgError::Refused(reason)) = (hint, &mut found)
        {
            *reason = format!("{reason}. {hint}");
        }
        found
    }

    /// A failed handshake.
    pub(super) fn of_tls(error: &io::Error, server: &Server) -> PgError {
        let name = &server.name;
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let Some(inner) = inner else { return PgError::Broken(Broken::new(format!("TLS handshake: {error}"))) };
        let rustls::Error::InvalidCertificate(fault) = inner else {
            return PgError::Refused(format!("TLS handshake: {inner}"));
        };
        PgError::Refused(match fault {
            CertificateError::UnknownIssuer => {
                "an unknown authority signed the certificate of the server. Set sslrootcert to the file of that authority"
                    .to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate of the server is not valid for the host \"{name}\": {inner}")
            }
            _ => format!("the certificate of the server was refused: {inner}"),
        })
    }
}

/// Classes and codes of failures that end by themselves.
fn passes(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // 08: connection. 40: serialization failure, deadlock. 53: out of memory or connections. 57P: shutdown, start.
    ["08", "40"].contains(&class)
        || code.code().starts_with("57P")
        || [&SqlState::TOO_MANY_CONNECTIONS, &SqlState::OUT_OF_MEMORY, &SqlState::LOCK_NOT_AVAILABLE].contains(&code)
}

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> PgError {
        let Some(server) = error.as_db_error() else {
            let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            let is_io = error.source().is_some_and(|source| source.is::<io::Error>());
            return match error.is_closed() || is_io {
                true => {
                    PgError::Broken(Broken::new(format!("the connection to the server is broken ({error}{source})")))
                }
                false => PgError::Refused(format!("{error}{source}")),
            };
        };
        let code = server.code().clone();
        let message = server.message();
        let reason = format!("the server responded \"{message}\" (SQLSTATE {})", code.code());
        // The server ends the session after these.
        let is_end = code.code().starts_with("57P") && code != SqlState::CANNOT_CONNECT_NOW;
        match is_end {
            true => PgError::Broken(Broken::new(reason)),
            false => PgError::Server(ServerError { reason, code }),
        }
    }
}
