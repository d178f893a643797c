//! Certificates for servers on loopback, made by the `openssl` command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::directory::Directory;

/// A certificate for 127.0.0.1 and localhost, signed by an authority of its own.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Certificate of the authority, as PEM.
    pub authority: PathBuf,
    /// Certificate of the server, as PEM.
    pub certificate: PathBuf,
    /// Private key of the server, as PEM.
    pub key: PathBuf,
}

impl Certificate {
    /// Creates a certificate of a client with a common name, signed by the same authority. Returns its file and that of its key.
    ///
    /// # Panics
    /// If `openssl` fails.
    pub fn client(&self, name: &str) -> (PathBuf, PathBuf) {
        let directory = self.authority.parent().expect("because it is a file in a directory");
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "request.cnf"];
        let file = |end: &str| format!("client-{name}.{end}");
        let subject = format!("/CN={name}");
        let request = ["req", "-new", "-subj", &subject, "-keyout", &file("key"), "-out", &file("csr")];
        openssl(directory, &[&request[..], &key].concat());
        let signed = ["x509", "-req", "-in", &file("csr"), "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
        openssl(directory, &[&signed[..], &["-days", "2", "-out", &file("crt")]].concat());
        (directory.join(file("crt")), directory.join(file("key")))
    }

    /// Creates the files in the directory of a server. `names` are further DNS names. `None` where `openssl` is missing.
    ///
    /// # Panics
    /// If `openssl` fails.
    pub(crate) fn new(directory: &Directory, names: &[&str]) -> Option<Certificate> {
        super::program::program("openssl")?;
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "request.cnf"];
        let alternatives: String = names.iter().map(|name| format!(",DNS:{name}")).collect();
        directory.write("request.cnf", REQUEST);
        let extensions = "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,DNS:localhost";
        directory.write("server.ext", &format!("{extensions}{alternatives}\n"));
        let in_directory = |arguments: &[&str]| openssl(directory.path(), arguments);
        let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=Authority of a test", "-extensions", "authority"];
        in_directory(&[&authority[..], &key, &["-keyout", "ca.key", "-out", "ca.crt"]].concat());
        let request = ["req", "-new", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
        in_directory(&[&request[..], &key].concat());
        let signed = ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
        in_directory(&[&signed[..], &["-days", "2", "-extfile", "server.ext", "-out", "server.crt"]].concat());
        let file = |name: &str| directory.path().join(name);
        Some(Certificate { authority: file("ca.crt"), certificate: file("server.crt"), key: file("server.key") })
    }
}

/// Settings of the requests, so that the machine's own are ignored.
const REQUEST: &str = "[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
";

/// Runs `openssl` in a directory.
///
/// # Panics
/// If it fails, with its error output.
pub(crate) fn openssl(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("openssl");
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let output = command.output().expect("because the program was found");
    assert!(output.status.success(), "openssl {arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}
