//! kube-apiserver with etcd: the API of Kubernetes without nodes.

use std::path::{Path, PathBuf};

use super::certificate::{Certificate, openssl};
use super::directory::Directory;
use super::http::{Answer, request, tls_request};
use super::ports::free_port;
use super::process::{Launch, Server};
use super::program::program;

/// A running API server. Signals and restarts reach the API server; etcd stores the data until the handle is dropped.
#[derive(Debug)]
pub struct Kubernetes {
    server: Server,
    certificate: Certificate,
    // Dropped after the API server.
    _etcd: Server,
}

/// The token of a user who may do everything.
const TOKEN: &str = "token-of-a-test";

/// The token of a user without any permission.
const STRANGER: &str = "token-of-a-stranger";

/// Name of the kubeconfig in the directory of the server.
const KUBECONFIG: &str = "kubeconfig";

/// Starts etcd and kube-apiserver. `None` if one of them or `openssl` is not installed.
///
/// # Panics
/// If a server does not start.
pub fn kubernetes() -> Option<Kubernetes> {
    let (program, etcd) = (program("kube-apiserver")?, program("etcd")?);
    let directory = Directory::new("kubernetes");
    let certificate = Certificate::new(&directory, &[])?;
    openssl(directory.path(), &["genrsa", "-out", "sa.key", "2048"]);
    openssl(directory.path(), &["rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub"]);
    directory.write("tokens.csv", &format!("{TOKEN},tofu,tofu,system:masters\n{STRANGER},stranger,stranger\n"));
    let etcd = start_etcd(&etcd);
    let storage = format!("--etcd-servers=http://{}", etcd.address());
    let launch = |port: u16| {
        let port = format!("--secure-port={port}");
        Launch::new("kube-apiserver", program.clone(), &[ARGUMENTS, &[&storage, &port]].concat())
    };
    let ready = |port| {
        // The namespace appears after the server calls itself ready.
        let succeeds = |path| ask(port, "GET", path, "").is_some_and(|answer| answer.status == 200);
        succeeds("/readyz") && succeeds("/api/v1/namespaces/default")
    };
    let server = Server::start(directory, launch, ready);
    let text = kubeconfig(server.port(), &certificate.authority);
    std::fs::write(server.directory().join(KUBECONFIG), text).expect("because the directory of the server is writable");
    Some(Kubernetes { server, certificate, _etcd: etcd })
}

/// Files are relative to the directory of the server.
const ARGUMENTS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--cert-dir=certs",
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=sa.pub",
    "--service-account-signing-key-file=sa.key",
    "--token-auth-file=tokens.csv",
    "--client-ca-file=ca.crt",
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
];

fn start_etcd(program: &Path) -> Server {
    let launch = |port: u16| {
        let (clients, peers) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{}", free_port()));
        let cluster = format!("default={peers}");
        let flags = [
            ("--listen-client-urls", &clients),
            ("--advertise-client-urls", &clients),
            ("--listen-peer-urls", &peers),
            ("--initial-advertise-peer-urls", &peers),
            ("--initial-cluster", &cluster),
        ];
        let mut arguments = vec!["--data-dir", "data", "--unsafe-no-fsync"];
        arguments.extend(flags.iter().flat_map(|(flag, value)| [*flag, value.as_str()]));
        Launch::new("etcd", program.to_owned(), &arguments)
    };
    let ready = |port| request(port, "GET", "/health", &[], "").is_some_and(|answer| answer.status == 200);
    Server::start(Directory::new("etcd"), launch, ready)
}

fn kubeconfig(port: u16, authority: &Path) -> String {
    let authority = authority.display();
    format!(
        "apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:{port}
    certificate-authority: {authority}
users:
- name: test
  user:
    token: {TOKEN}
contexts:
- name: test
  context:
    cluster: test
    user: test
"
    )
}

fn ask(port: u16, method: &str, target: &str, body: &str) -> Option<Answer> {
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    tls_request(port, method, target, &headers, body)
}

impl Kubernetes {
    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// The path of a kubeconfig file with one context, `test`.
    pub fn kubeconfig(&self) -> PathBuf {
        self.server.directory().join(KUBECONFIG)
    }

    /// The bearer token of a user who may do everything.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The bearer token of the user `stranger`, who may do nothing.
    pub fn token_of_a_stranger(&self) -> &'static str {
        STRANGER
    }

    /// Certificate and key of a client who may do everything, as PEM.
    ///
    /// # Panics
    /// If `openssl` fails.
    pub fn client_certificate(&self) -> (String, String) {
        let directory = self.server.directory();
        let request = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config"];
        let files =
            ["request.cnf", "-subj", "/O=system:masters/CN=client", "-keyout", "client.key", "-out", "client.csr"];
        openssl(directory, &[&request[..], &files].concat());
        let signed = ["x509", "-req", "-in", "client.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
        let extensions = "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=clientAuth\n";
        std::fs::write(directory.join("client.ext"), extensions)
            .expect("because the directory of the server is writable");
        openssl(directory, &[&signed[..], &["-days", "2", "-extfile", "client.ext", "-out", "client.crt"]].concat());
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).expect("because openssl has written it");
        (read("client.crt"), read("client.key"))
    }

    /// The certificate of the server.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Sends a request with the token.
    ///
    /// # Panics
    /// If the server does not respond.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = ask(self.server.port(), method, target, body);
        answer.unwrap_or_else(|| panic!("{method} {target}: no response of kube-apiserver"))
    }
}

impl std::ops::Deref for Kubernetes {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
