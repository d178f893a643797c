//! A session of the server: requests that block, with a limit of time.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};
use yuba_net::http::HttpClient;

use super::connect::connect;
use super::errors::{Broken, PgError};
use super::settings::Settings;

/// Limit for one request. Large states over slow connections take their time.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A parameter of a statement with its type.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A session. It ends, with its locks, when it is dropped.
pub(super) struct Session {
    client: Client,
    runtime: HttpClient,
    /// A request found the connection broken. Its later requests fail at once.
    is_broken: AtomicBool,
    /// The process of the server, and when it started, in seconds since 1970.
    pub(super) process: (i32, i64),
    /// The address of this end, unless it is a socket in the file system.
    local: Option<SocketAddr>,
}

impl Session {
    /// Opens a session on the threads of an HTTP client.
    pub(super) fn open(settings: &Settings, runtime: &HttpClient) -> Result<Session, PgError> {
        let (client, local) = blocking(runtime, async { connect(settings).await })?;
        let (runtime, is_broken) = (runtime.clone(), AtomicBool::new(false));
        let mut session = Session { client, runtime, is_broken, process: (0, 0), local };
        let asked = "SELECT pg_backend_pid(), coalesce((SELECT floor(extract(epoch FROM backend_start))::bigint \
                     FROM pg_stat_activity WHERE pid = pg_backend_pid()), 0)";
        let rows = session.query(asked, &[])?;
        let row = rows.first().ok_or_else(no_row)?;
        session.process = (field(row, 0)?, field(row, 1)?);
        Ok(session)
    }

    /// The rows of a statement.
    pub(super) fn query(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, PgError> {
        if self.is_closed() {
            return Err(PgError::Broken(Broken::new("the connection to the server is broken")));
        }
        let done = blocking(&self.runtime, async {
            let rows = self.client.query_typed(statement, parameters);
            match tokio::time::timeout(TIMEOUT, rows).await {
                Ok(rows) => rows.map_err(PgError::from),
                Err(_) => {
                    let seconds = TIMEOUT.as_secs();
                    Err(PgError::Broken(Broken::new(format!("the server did not respond within {seconds} seconds"))))
                }
            }
        });
        if matches!(done, Err(PgError::Broken(_))) {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        done
    }

    /// Runs statements without parameters, one after the other.
    pub(super) fn batch(&self, statements: &str) -> Result<(), PgError> {
        if self.is_closed() {
            return Err(PgError::Broken(Broken::new("the connection to the server is broken")));
        }
        let done = blocking(&self.runtime, async {
            match tokio::time::timeout(TIMEOUT, self.client.batch_execute(statements)).await {
                Ok(done) => done.map_err(PgError::from),
                Err(_) => Err(PgError::Broken(Broken::new("the server did not respond in time"))),
            }
        });
        if matches!(done, Err(PgError::Broken(_))) {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        done
    }

    /// The first field of the only row.
    pub(super) fn value<T>(&self, statement: &str, parameters: &[Parameter<'_>]) -> Result<T, PgError>
    where
        T: for<'a> FromSql<'a>,
    {
        let rows = self.query(statement, parameters)?;
        field(rows.first().ok_or_else(no_row)?, 0)
    }

    /// Whether the server sees the address of this end of the connection, so that nothing is between the two.
    pub(super) fn is_direct(&self) -> Result<bool, PgError> {
        let Some(address) = self.local else { return Ok(false) };
        let asked = "SELECT coalesce(host(inet_client_addr()), ''), coalesce(inet_client_port(), -1)";
        let rows = self.query(asked, &[])?;
        let row = rows.first().ok_or_else(no_row)?;
        let (host, port): (String, i32) = (field(row, 0)?, field(row, 1)?);
        Ok(host.parse() == Ok(address.ip()) && port == i32::from(address.port()))
    }

    /// Whether the connection is known to be broken.
    pub(super) fn is_closed(&self) -> bool {
        self.is_broken.load(Ordering::SeqCst) || self.client.is_closed()
    }
}

fn no_row() -> PgError {
    PgError::Refused("the server returned no row".to_owned())
}

/// A field of a row.
pub(super) fn field<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, PgError> {
    row.try_get(index)
        .map_err(|error| PgError::Refused(format!("the server returned a value of another type: {error}")))
}

fn blocking<T>(runtime: &HttpClient, work: impl Future<Output = Result<T, PgError>>) -> Result<T, PgError> {
    runtime.block_on(work).map_err(|error| PgError::Refused(error.reason))?
}
