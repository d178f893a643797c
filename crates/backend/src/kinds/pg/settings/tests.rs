//! Tests of the settings of connections. What lib/pq does was observed with OpenTofu or read from its documentation.

use super::*;
use crate::files::Disk;

fn read_with(text: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let environment = Environment::new(variables, Some("/nonexistent".into()), "/tmp".into());
    read(text, &environment, &Disk)
}

fn servers(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let settings = read_with(text, variables).unwrap_or_else(|error| panic!("{text}: {error}"));
    settings.servers.iter().map(Server::shown).collect()
}

#[test]
fn servers_are_named_by_the_string_the_environment_or_the_default() {
    assert_eq!(servers("", &[]), ["localhost:5432"]);
    assert_eq!(servers("", &[("PGHOST", "db"), ("PGPORT", "5433")]), ["db:5433"]);
    assert_eq!(servers("postgres://other", &[("PGHOST", "db"), ("PGPORT", "5433")]), ["other:5433"]);
    assert_eq!(servers("host=a,b port=1,2", &[]), ["a:1", "b:2"]);
    assert_eq!(servers("host=a,b port=7", &[]), ["a:7", "b:7"]);
    assert_eq!(servers("hostaddr=::1", &[]), ["[::1]:5432"]);
    assert_eq!(servers("host=/run/pg port=7", &[]), ["/run/pg/.s.PGSQL.7"]);
}

#[test]
fn user_database_and_password_have_an_order() {
    let variables = [("PGUSER", "env"), ("PGDATABASE", "envdb"), ("PGPASSWORD", "envpw"), ("USER", "login")];
    let settings = read_with("postgres://h", &variables).expect("it is valid");
    assert_eq!((settings.user.as_str(), settings.database.as_deref()), ("env", Some("envdb")));
    assert_eq!(settings.servers[0].password.as_ref().map(Secret::reveal), Some("envpw"));
    let settings = read_with("postgres://me:pw@h/mydb", &variables).expect("it is valid");
    assert_eq!((settings.user.as_str(), settings.database.as_deref()), ("me", Some("mydb")));
    assert_eq!(settings.servers[0].password.as_ref().map(Secret::reveal), Some("pw"));
    assert_eq!(read_with("", &variables[3..]).expect("it is valid").user, "login");
}

#[test]
fn tls_is_on_unless_it_is_disabled() {
    let tls = |text: &str| read_with(text, &[]).expect("it is valid").tls;
    assert!(tls("postgres://h").is_some(), "the default is require");
    assert!(tls("postgres://h?sslmode=disable").is_none());
    assert!(tls("host=/run/pg").is_none(), "sockets have no TLS");
    assert_eq!(tls("host=h sslnegotiation=direct").map(|tls| tls.start), Some(TlsStart::Direct));
    assert_eq!(tls("host=h sslsni=0").map(|tls| tls.config.enable_sni), Some(false));
    // Quirk of lib/pq: with require a file that does not exist is ignored, elsewhere it is an error.
    assert!(tls("host=h sslrootcert=/nonexistent").is_some());
    let error = read_with("host=h sslmode=verify-ca sslrootcert=/nonexistent", &[]).err().expect("there is no file");
    assert!(error.contains("/nonexistent"), "{error}");
}

#[test]
fn settings_of_the_server_become_options() {
    let options = |text: &str| read_with(text, &[]).expect("it is valid").options;
    assert_eq!(options("host=h"), None);
    assert_eq!(options("host=h options='-c geqo=off'"), Some("-c geqo=off".to_owned()));
    assert_eq!(options(r"search_path='a b\\c' tz=UTC"), Some(r"-c search_path=a\ b\\c -c timezone=UTC".to_owned()));
}

#[test]
fn unsupported_settings_are_refused_by_name() {
    for (text, variables, named) in [
        ("sslmode=prefer", &[][..], "sslmode"),
        ("sslmode=allow", &[], "sslmode"),
        ("", &[("PGSSLMODE", "prefer")], "sslmode"),
        ("sslcrl=x", &[], "sslcrl"),
        ("service=x", &[], "service"),
        ("krbsrvname=x", &[], "krbsrvname"),
        ("channel_binding=require", &[], "channel_binding"),
        ("", &[("PGSERVICE", "x")], "PGSERVICE"),
        ("", &[("PGREQUIREPEER", "x")], "PGREQUIREPEER"),
        ("client_encoding=latin1", &[], "client_encoding"),
        ("datestyle=German", &[], "datestyle"),
        ("target_session_attrs=x", &[], "target_session_attrs"),
        ("load_balance_hosts=x", &[], "load_balance_hosts"),
        ("connect_timeout=x", &[], "connect_timeout"),
        ("port=x", &[], "port"),
        ("port=1,2,3 host=a,b", &[], "port"),
        ("hostaddr=x", &[], "hostaddr"),
        ("host=@abstract", &[], "host"),
        ("host=a sslinline=true sslcert=x", &[], "sslkey"),
        ("bad-name=x", &[], "bad-name"),
    ] {
        let error = read_with(text, variables).err().unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(error.contains(named), "{text}: {error}");
    }
}

#[test]
#[cfg(unix)]
fn a_password_file_is_used_unless_others_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = yuba_testkit::Sandbox::new("", "");
    let file = sandbox.dir().join("pass");
    let lines = "# comment\nother:*:*:*:no\nh:5432:d\\:b:ann:p\\:w\\\\\nlocalhost:*:*:*:local\n*:*:*:*:any\n";
    std::fs::write(&file, lines).expect("the sandbox can be written");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    mode(0o600);
    let path = file.to_str().expect("it is Unicode");
    let password = |text: &str| {
        let settings = read_with(text, &[("PGPASSFILE", path)]).expect("it is valid");
        settings.servers[0].password.as_ref().map(|password| password.reveal().to_owned())
    };
    assert_eq!(password("host=h dbname=d:b user=ann"), Some(r"p:w\".to_owned()));
    assert_eq!(password("host=/run/pg"), Some("local".to_owned()));
    assert_eq!(password("host=h dbname=d:b user=bob"), Some("any".to_owned()));
    assert_eq!(password("host=h password=own"), Some("own".to_owned()));
    mode(0o640);
    let settings = read_with("host=h", &[("PGPASSFILE", path)]).expect("it is valid");
    assert!(settings.servers[0].password.is_none());
    assert!(settings.ignored_passwords.is_some_and(|reason| reason.contains("chmod 600")));
}
