//! What whoever uses plugins decides: where schemas are kept, whether connections are encrypted, where logs go, and
//! where a provider comes from.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ecow::EcoString;
use yuba_net::Environment;

use crate::log::LogSink;
use crate::reattach::Reattach;

/// How long a provider may take until it says where it listens.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How all plugins are dealt with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A directory where schemas are kept from run to run. Made when the first is kept.
    pub schema_cache: Option<PathBuf>,
    /// Connections are encrypted and both sides show certificates.
    pub tls: bool,
    /// Where logs go.
    pub log: LogSink,
    /// Environment variables and directories. Processes inherit those of this process as they are.
    pub environment: Environment,
    /// The version of the language, which providers are told when they are configured.
    pub language_level: EcoString,
    /// How long a provider may take until it says where it listens.
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

/// Where a provider comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Supply {
    /// A program to start.
    Package {
        /// The program.
        executable: PathBuf,
        /// The hash of the package it is from, such as `h1:...`: what schemas are kept under. Without it they are not kept.
        hash: Option<EcoString>,
    },
    /// A process that somebody else has started.
    Reattach(Reattach),
}

/// Where a provider listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// A socket file.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
}

impl Address {
    /// By the name of the network and the address in it; what is wrong otherwise, a sentence part.
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
