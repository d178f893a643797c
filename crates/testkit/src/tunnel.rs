//! A proxy for https on this machine: host names of the internet lead to servers of a test.
//!
//! Programs use it through `HTTPS_PROXY`. Connections are passed on as they are to servers with TLS, or decrypted for a
//! [`Host`](crate::Host), with certificates that the proxy signs itself.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Target of connections to a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// A server with TLS of its own.
    Tls(SocketAddr),
    /// A [`Host`](crate::Host) without TLS. Requests keep their `Host` header.
    Plain(SocketAddr),
}

/// The proxy. Its threads end with the process.
pub struct Tunnel {
    address: SocketAddr,
    authority: String,
}

/// Decides by host name.
type Routes = dyn Fn(&str) -> Option<Route> + Send + Sync;

impl Tunnel {
    /// Starts a proxy with these routes. Other hosts are refused.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn start(routes: impl Fn(&str) -> Option<Route> + Send + Sync + 'static) -> Tunnel {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("because the machine has free ports");
        let address = listener.local_addr().expect("because it is bound");
        let mut params = CertificateParams::new(Vec::new()).expect("because there are no names in it");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("because the system has random bytes");
        let authority = params.self_signed(&key).expect("because the parameters are valid").pem();
        let issuer = Arc::new(Issuer::new(params, key));
        let routes: Arc<Routes> = Arc::new(routes);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (issuer, routes) = (Arc::clone(&issuer), Arc::clone(&routes));
                std::thread::spawn(move || connect(stream, &issuer, &*routes));
            }
        });
        Tunnel { address, authority }
    }

    /// The URL for `HTTPS_PROXY`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The certificate of the authority of the proxy, as PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

fn connect(mut client: TcpStream, issuer: &Issuer<'_, KeyPair>, routes: &Routes) -> io::Result<()> {
    client.set_read_timeout(Some(Duration::from_secs(120)))?;
    let head = head(&mut client)?;
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let host = target.rsplit_once(':').map_or(target, |(host, _)| host).to_owned();
    let server = routes(&host).map(|route| match route {
        Route::Tls(address) | Route::Plain(address) => (route, TcpStream::connect(address)),
    });
    let Some((route, Ok(server))) = server else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    match route {
        Route::Tls(_) => pass_on(client, server),
        Route::Plain(_) => decrypt(client, server, configuration(&host, issuer)),
    }
}

/// The request up to the empty line, byte by byte: what follows belongs to TLS.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && bytes.len() < 8192 {
        stream.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn pass_on(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    let back = std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (client, server);
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

fn configuration(host: &str, issuer: &Issuer<'_, KeyPair>) -> Arc<ServerConfig> {
    let key = KeyPair::generate().expect("because the system has random bytes");
    let params = CertificateParams::new([host.to_owned()]).expect("because clients connect to valid names");
    let certificate = params.signed_by(&key, issuer).expect("because the parameters are valid");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("because it is a key");
    let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let built = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key));
    Arc::new(built.expect("because certificate and key belong together"))
}

/// Requests and responses one after the other, as a [`Host`](crate::Host) answers them.
fn decrypt(client: TcpStream, server: TcpStream, configuration: Arc<ServerConfig>) -> io::Result<()> {
    let connection = ServerConnection::new(configuration).map_err(io::Error::other)?;
    let mut client = BufReader::new(StreamOwned::new(connection, client));
    let mut server = BufReader::new(server);
    loop {
        let request = message(&mut client, HeadOnly::No)?;
        if request.is_empty() {
            return Ok(());
        }
        server.get_mut().write_all(&request)?;
        let is_head = if request.starts_with(b"HEAD ") { HeadOnly::Yes } else { HeadOnly::No };
        let response = message(&mut server, is_head)?;
        if response.is_empty() {
            return Ok(());
        }
        client.get_mut().write_all(&response)?;
        client.get_mut().flush()?;
    }
}

/// Whether a message has headers only, whatever they say about its length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadOnly {
    Yes,
    No,
}

/// A message with its content. Empty at the end of the connection.
pub(crate) fn message(stream: &mut BufReader<impl Read>, head_only: HeadOnly) -> io::Result<Vec<u8>> {
    let (mut bytes, mut length, mut is_chunked) = (Vec::new(), 0, false);
    loop {
        let mut line = Vec::new();
        // Clients often end connections without saying so.
        if stream.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
            return Ok(Vec::new());
        }
        bytes.extend_from_slice(&line);
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        is_chunked |= text.starts_with("transfer-encoding:") && text.contains("chunked");
        if text.trim().is_empty() {
            break;
        }
    }
    if head_only == HeadOnly::No && is_chunked {
        chunks(stream, &mut bytes)?;
    } else if head_only == HeadOnly::No {
        let start = bytes.len();
        bytes.resize(start + length, 0);
        stream.read_exact(&mut bytes[start..])?;
    }
    Ok(bytes)
}

/// Content in chunks, up to and with the empty line after the last one.
fn chunks(stream: &mut BufReader<impl Read>, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut is_last = false;
    loop {
        let start = bytes.len();
        stream.read_until(b'\n', bytes)?;
        let line = String::from_utf8_lossy(&bytes[start..]).into_owned();
        if is_last || line.is_empty() {
            match line.trim().is_empty() {
                true => return Ok(()),
                false => continue,
            }
        }
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(io::Error::other)?;
        is_last = size == 0;
        if !is_last {
            let start = bytes.len();
            bytes.resize(start + size + 2, 0);
            stream.read_exact(&mut bytes[start..])?;
        }
    }
}
