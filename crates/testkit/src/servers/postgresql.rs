//! PostgreSQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::certificate::Certificate;
use super::directory::Directory;
use super::process::{Launch, Server};
use super::program::program;

/// A running PostgreSQL, with `fsync` off.
///
/// The superuser `tofu` needs no password. Every other user needs the password that `create user NAME password '...'` sets; the
/// server then asks for SCRAM, or for MD5 where the password was stored so. The user
/// `certified` needs a certificate of [`Certificate::client`]. The server speaks TLS too where `openssl` is installed.
#[derive(Debug)]
pub struct PostgreSql {
    server: Server,
    psql: PathBuf,
    certificate: Option<Certificate>,
}

/// Starts PostgreSQL, as user `postgres` if the test runs as root. `None` if it is not installed, or if root has no such user.
///
/// # Panics
/// If the server does not start.
pub fn postgresql() -> Option<PostgreSql> {
    let (initdb, postgres, psql) = (program("initdb")?, program("postgres")?, program("psql")?);
    let account = Account::for_servers()?;
    let directory = Directory::new("postgresql");
    let certificate = Certificate::new(&directory, &[]);
    account.own(directory.path());
    let data = directory.file("data");
    let initialize = ["-D", &data, "-U", SUPERUSER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"];
    let launch = account.launch(Launch::new("initdb", initdb, &initialize));
    let output = launch.command(directory.path()).output().expect("because the program was found");
    assert!(output.status.success(), "initdb:\n{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(Path::new(&data).join("pg_hba.conf"), AUTHENTICATION).expect("because the test owns the directory");
    let settings = settings(&directory, certificate.as_ref());
    let question = psql.clone();
    let server = Server::start(
        directory,
        |port| {
            let port = format!("port={port}");
            let mut arguments = vec!["-D", &data, "-c", &port];
            arguments.extend(settings.iter().flat_map(|setting| ["-c", setting]));
            account.launch(Launch::new("postgres", postgres.clone(), &arguments))
        },
        move |port| run_psql(&question, port, "postgres", "select 1").is_ok(),
    );
    Some(PostgreSql { server, psql, certificate })
}

/// Name of the superuser.
const SUPERUSER: &str = "tofu";

/// Content of `pg_hba.conf`. Method `md5` uses SCRAM for each password that is stored for it.
const AUTHENTICATION: &str = "local all all trust
hostssl all certified 127.0.0.1/32 cert
host all tofu 127.0.0.1/32 trust
host all all 127.0.0.1/32 md5
";

fn settings(directory: &Directory, certificate: Option<&Certificate>) -> Vec<String> {
    let mut settings = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("unix_socket_directories={}", directory.path().display()),
        "fsync=off".to_owned(),
        "max_connections=200".to_owned(),
    ];
    if let Some(certificate) = certificate {
        settings.push("ssl=on".to_owned());
        settings.push(format!("ssl_cert_file={}", certificate.certificate.display()));
        settings.push(format!("ssl_key_file={}", certificate.key.display()));
        settings.push(format!("ssl_ca_file={}", certificate.authority.display()));
    }
    settings
}

impl PostgreSql {
    /// `postgres://tofu@127.0.0.1:PORT/DATABASE?sslmode=disable`.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}/{database}?sslmode=disable", self.server.port())
    }

    /// The certificate of the server. `None` where `openssl` is missing: the server then speaks no TLS.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Creates a database.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn create_database(&self, name: &str) {
        self.sql("postgres", &format!("create database \"{name}\""));
    }

    /// Runs statements in a database as superuser. Returns the rows, one a line, fields separated by `|`.
    ///
    /// # Panics
    /// If the server refuses a statement.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        match run_psql(&self.psql, self.server.port(), database, statements) {
            Ok(output) => output,
            Err(message) => panic!("{statements}:\n{message}"),
        }
    }
}

impl std::ops::Deref for PostgreSql {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn run_psql(psql: &Path, port: u16, database: &str, statements: &str) -> Result<String, String> {
    let mut command = Command::new(psql);
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", SUPERUSER]);
    command.args(["-p", &port.to_string(), "-d", database, "-c", statements]);
    // Variables such as PGSSLMODE and PGOPTIONS change what it does.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("PGCONNECT_TIMEOUT", "10");
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The account that runs a server which refuses root.
enum Account {
    /// That of the test.
    Own,
    /// The user `postgres`, and the program that changes to it.
    Postgres { user: u32, group: u32, switch: PathBuf },
}

impl Account {
    fn for_servers() -> Option<Account> {
        if id(&["-u"])? != 0 {
            return Some(Account::Own);
        }
        let switch = ["setpriv", "runuser", "su"].into_iter().find_map(program)?;
        Some(Account::Postgres { user: id(&["-u", "postgres"])?, group: id(&["-g", "postgres"])?, switch })
    }

    /// Gives a directory and the files directly in it to the account.
    fn own(&self, directory: &Path) {
        let Account::Postgres { user, group, .. } = self else { return };
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in files.chain([directory.to_owned()]) {
            std::os::unix::fs::chown(path, Some(*user), Some(*group)).expect("because root may give files away");
        }
    }

    /// The command line that runs another one under the account. Each of the three programs hands over its process or its group.
    fn launch(&self, launch: Launch) -> Launch {
        let Account::Postgres { switch, .. } = self else { return launch };
        let name = switch.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let words: &[&str] = match name {
            "setpriv" => &["--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"],
            "runuser" => &["-u", "postgres", "--"],
            // The first argument of the script becomes its name.
            _ => &["-s", "/bin/sh", "postgres", "-c", r#"exec "$0" "$@""#, "--"],
        };
        let mut arguments: Vec<_> = words.iter().map(Into::into).collect();
        arguments.push(launch.program.into());
        arguments.extend(launch.arguments);
        Launch { program: switch.clone(), arguments, ..launch }
    }
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
