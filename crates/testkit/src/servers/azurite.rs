//! Azurite: blobs of Azure Storage.

use super::certificate::Certificate;
use super::directory::Directory;
use super::http::{request, tls_request};
use super::process::{Launch, Server};
use super::program::program;

/// Name of the one account.
pub const AZURITE_ACCOUNT: &str = "devstoreaccount1";

/// The key of the account, which Microsoft publishes for emulators.
pub const AZURITE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The protocol that Azurite speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme<'a> {
    /// Plain HTTP.
    Http,
    /// TLS with a certificate for 127.0.0.1, localhost and these DNS names, such as `*.blob.azurite.test`.
    Https(&'a [&'a str]),
}

/// A running Azurite. Requests need a Shared Key signature, which is left to the caller.
#[derive(Debug)]
pub struct Azurite {
    server: Server,
    certificate: Option<Certificate>,
}

/// Starts Azurite. `None` if `azurite-blob` is not installed, or for HTTPS if `openssl` is not.
///
/// # Panics
/// If the server does not start.
pub fn azurite(scheme: Scheme<'_>) -> Option<Azurite> {
    let program = program("azurite-blob")?;
    let directory = Directory::new("azurite");
    let certificate = match scheme {
        Scheme::Http => None,
        Scheme::Https(names) => Some(Certificate::new(&directory, names)?),
    };
    let data = directory.file("data");
    let files =
        certificate.as_ref().map(|made| (made.certificate.display().to_string(), made.key.display().to_string()));
    let launch = |port: u16| {
        let port = port.to_string();
        let mut arguments = vec!["--blobHost", "127.0.0.1", "--blobPort", &port, "--location", &data];
        arguments.extend(["--silent", "--skipApiVersionCheck", "--disableTelemetry"]);
        if let Some((certificate, key)) = &files {
            arguments.extend(["--cert", certificate, "--key", key]);
        }
        Launch::new("azurite-blob", program.clone(), &arguments)
    };
    let ask = if certificate.is_some() { tls_request } else { request };
    // A request without signature is refused, which is an answer too.
    let ready = move |port| ask(port, "GET", "/devstoreaccount1?comp=list", &[], "").is_some();
    Some(Azurite { server: Server::start(directory, launch, ready), certificate })
}

impl Azurite {
    /// The endpoint of the account, in path style.
    pub fn endpoint(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{AZURITE_ACCOUNT}", self.server.address())
    }

    /// The certificate of the server, with [`Scheme::Https`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }
}

impl std::ops::Deref for Azurite {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
