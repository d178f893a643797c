//! Settings of plugins: the cache of schemas, encryption of connections, the target of logs, and the source of a
//! provider.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ecow::EcoString;
use yuba_net::Environment;

use crate::log::LogSink;
use crate::reattach::Reattach;

/// Default time for a provider to report its address.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Settings of all plugins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A directory that caches schemas from run to run. Created with the first entry.
    pub schema_cache: Option<PathBuf>,
    /// Connections are encrypted and both sides show certificates.
    pub tls: bool,
    /// Target of logs.
    pub log: LogSink,
    /// Environment variables and directories. Processes inherit those of this process as they are.
    pub environment: Environment,
    /// The version of the language, which is passed to providers when they are configured.
    pub language_level: EcoString,
    /// Time for a provider to report its address.
    pub start_timeout: Duration,
}

impl Settings {
    /// No cache, encrypted connections, no logs.
    pub fn new(language_level: impl Into<EcoString>) -> Settings {
        Settings {
            schema_cache: None,
            tls: true,
            log: LogSink::off(),
            environment: Environment::default(),
            language_level: language_level.into(),
            start_timeout: START_TIMEOUT,
        }
    }
}

/// Source of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Supply {
    /// An executable to start.
    Package {
        /// The executable.
        executable: PathBuf,
        /// The hash of its package, such as `h1:...`: the key of cached schemas. Without it they are not cached.
        hash: Option<EcoString>,
    },
    /// An attached process.
    Reattach(Reattach),
}

/// Address of a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// A socket file.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
}

impl Address {
    /// By the name of the network and the address in it; otherwise the error, part of a sentence.
    pub(crate) fn parse(network: &str, address: &str) -> Result<Address, EcoString> {
        match network {
            "unix" if address.is_empty() => Err("the path of the socket is empty".into()),
            "unix" => Ok(Address::Unix(address.into())),
            "tcp" => match address.parse() {
                Ok(address) => Ok(Address::Tcp(address)),
                Err(_) => Err(ecow::eco_format!("{address:?} is not an address with a port")),
            },
            _ => Err(ecow::eco_format!("the network {network:?} is neither \"unix\" nor \"tcp\"")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "{}", path.display()),
            Address::Tcp(address) => write!(f, "{address}"),
        }
    }
}
