//! Logins of applications and of the Azure CLI, and the order of identities.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const LOGIN: &str = "/11111111-2222-3333-4444-555555555555/oauth2/v2.0/token";

/// A login endpoint that accepts one form.
fn login(asked: &Asked, form: &[(&str, &str)]) -> Option<Reply> {
    let is_endpoint = asked.header("host") == Some("login.microsoftonline.com") && asked.target == LOGIN;
    let is_form = asked.header("content-type") == Some("application/x-www-form-urlencoded");
    (is_endpoint && asked.method == "POST" && is_form).then(|| match fields(&asked.body) == expected(form) {
        true => token("access"),
        false => wrong(&fields(&asked.body)),
    })
}

#[test]
fn a_client_secret_gets_a_token_for_each_scope_once() {
    let internet = Internet::new(|asked| match login(asked, &[]) {
        Some(_) => {
            let mut form = fields(&asked.body);
            let scope = form.remove("scope").unwrap_or_default();
            let rest =
                expected(&[("grant_type", "client_credentials"), ("client_id", "app"), ("client_secret", "s&=ü")]);
            if form == rest { token(&scope) } else { wrong(&form) }
        }
        None => wrong(asked),
    });
    let outside = internet.outside(&[], &[("id", b"app"), ("secret", "s&=ü".as_bytes())]);
    let settings = IdentitySettings {
        client_id: String::new(),
        client_id_file: "id".to_owned(),
        client_secret_file: "secret".to_owned(),
        ..application()
    };
    let tokens = settings.select(&public(), &outside).expect("because the files have everything");
    assert_eq!(tokens.method(), IdentityKind::ClientSecret);
    for scope in ["one/.default", "two/.default", "one/.default"] {
        assert_eq!(tokens.token(scope), Ok(Secret::new(scope)));
    }
    assert_eq!(internet.requests().len(), 2);
    let other = tokens.token_in(Some("66666666-2222-3333-4444-555555555555"), "one/.default");
    assert!(other.expect_err("because the tenant is another").reason.contains("requires a token of tenant 66666666"));
}

#[test]
fn a_token_that_expires_is_renewed() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let internet = Internet::new(|_| {
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        Reply::json(&format!(r#"{{"access_token":"t{number}","expires_in":"0"}}"#))
    });
    let settings = IdentitySettings { client_secret: secret("s"), ..application() };
    let tokens = settings.select(&public(), &internet.outside(&[], &[])).expect("because the settings are complete");
    assert_eq!((tokens.token("a"), tokens.token("a")), (Ok(Secret::new("t0")), Ok(Secret::new("t1"))));
}

#[test]
fn a_validity_without_end_is_a_long_one() {
    for validity in ["18446744073709551615", "9223372036854775807"] {
        for name in ["expires_in", "expires_on"] {
            let body = format!(r#"{{"access_token":"t","{name}":"{validity}"}}"#);
            let internet = Internet::new(move |_| Reply::json(&body));
            let settings = IdentitySettings { client_secret: secret("s"), ..application() };
            let tokens = settings.select(&public(), &internet.outside(&[], &[])).expect("the settings are complete");
            assert_eq!((tokens.token("a"), tokens.token("a")), (Ok(Secret::new("t")), Ok(Secret::new("t"))));
            assert_eq!(internet.requests().len(), 1);
        }
    }
}

#[test]
fn a_refused_login_is_explained_without_the_secret() {
    let internet = Internet::new(|_| Reply {
        status: 401,
        ..Reply::json(
            r#"{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided.\r\nTrace ID: x"}"#,
        )
    });
    let settings = IdentitySettings { client_secret: secret("hidden"), ..application() };
    let tokens = settings.select(&public(), &internet.outside(&[], &[])).expect("because the settings are complete");
    let error = tokens.token("a").expect_err("because the login is refused");
    let expected = format!(
        "POST https://login.microsoftonline.com{LOGIN}: the server responded \"401 Unauthorized\": invalid_client: AADSTS7000215: Invalid client \
         secret provided. The client secret is wrong. Use the value of the secret, not its ID"
    );
    assert_eq!(error, AzureError { reason: expected, may_pass: false });
    assert!(!format!("{tokens:?} {settings:?}").contains("hidden"));
}

#[test]
fn a_login_follows_no_redirect() {
    let internet = Internet::new(|asked| match asked.header("host") {
        Some("login.microsoftonline.com") => Reply::status(307).with("Location", "https://elsewhere.example/token"),
        _ => token("stolen"),
    });
    let settings = IdentitySettings { client_secret: secret("s"), ..application() };
    let tokens = settings.select(&public(), &internet.outside(&[], &[])).expect("because the settings are complete");
    assert!(tokens.token("a").expect_err("because it is redirected").reason.contains("307 Temporary Redirect"));
    assert_eq!(internet.requests(), [format!("POST login.microsoftonline.com{LOGIN}")]);
}

const ASSERTION: [(&str, &str); 4] = [
    ("grant_type", "client_credentials"),
    ("client_id", "app"),
    ("scope", "https://storage.azure.com/.default"),
    ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
];

#[test]
fn github_actions_get_a_new_id_token_for_each_access_token() {
    let internet = Internet::new(|asked| {
        if asked.header("host") == Some("token.actions.example") {
            let is_fine = asked.method == "GET"
                && asked.path() == "/idtoken"
                && query(asked) == expected(&[("v", "2.0"), ("audience", "api://AzureADTokenExchange")])
                && asked.header("authorization") == Some("Bearer request token")
                && asked.header("accept") == Some("application/json; api-version=2.0");
            return if is_fine { Reply::json(r#"{"count":1,"value":"id token"}"#) } else { wrong(asked) };
        }
        let form = [&ASSERTION[..], &[("client_assertion", "id token")]].concat();
        login(asked, &form).unwrap_or_else(|| wrong(asked))
    });
    let settings = IdentitySettings {
        use_oidc: true,
        oidc_request_url: "https://token.actions.example/idtoken?v=2.0".to_owned(),
        oidc_request_token: secret("request token"),
        ..application()
    };
    let tokens = settings.select(&public(), &internet.outside(&[], &[])).expect("because the settings are complete");
    assert_eq!(tokens.method(), IdentityKind::OpenIdConnect);
    assert_eq!(tokens.token(STORAGE_SCOPE), Ok(Secret::new("access")));
    let (id, login) = ("GET token.actions.example/idtoken", format!("POST login.microsoftonline.com{LOGIN}"));
    assert_eq!(internet.requests(), [id, id, &login]);
}

#[test]
fn azure_pipelines_exchange_a_service_connection() {
    let internet = Internet::new(|asked| {
        if asked.header("host") == Some("vstoken.example") {
            let is_fine = asked.method == "POST"
                && asked.header("content-length") == Some("0")
                && query(asked) == expected(&[("api-version", "7.1"), ("serviceConnectionId", "connection")])
                && asked.header("authorization") == Some("Bearer system token")
                && asked.header("x-tfs-fedauthredirect") == Some("Suppress");
            return if is_fine { Reply::json(r#"{"oidcToken":"id token"}"#) } else { wrong(asked) };
        }
        let form = [&ASSERTION[..], &[("client_assertion", "id token")]].concat();
        login(asked, &form).unwrap_or_else(|| wrong(asked))
    });
    let outside = internet.outside(&[("SYSTEM_OIDCREQUESTURI", "https://vstoken.example/oidctoken")], &[]);
    let settings = IdentitySettings {
        use_oidc: true,
        service_connection_id: "connection".to_owned(),
        oidc_request_token: secret("system token"),
        ..application()
    };
    let tokens = settings.select(&public(), &outside).expect("because the settings are complete");
    assert_eq!((tokens.method(), tokens.token(STORAGE_SCOPE)), (IdentityKind::AzureDevOps, Ok(Secret::new("access"))));
}

#[test]
fn id_tokens_come_from_files_and_from_pods() {
    let internet = Internet::new(|asked| {
        let form = [&ASSERTION[..], &[("client_assertion", "from the file")]].concat();
        login(asked, &form).unwrap_or_else(|| wrong(asked))
    });
    let path = "/var/run/token";
    let variables = [("AZURE_CLIENT_ID", "app"), ("AZURE_TENANT_ID", TENANT), ("AZURE_FEDERATED_TOKEN_FILE", path)];
    let outside = internet.outside(&variables, &[(path, b"from the file")]);
    let by_file = IdentitySettings { use_oidc: true, oidc_token_file: path.to_owned(), ..application() };
    let by_pod = IdentitySettings { use_workload_identity: true, ..IdentitySettings::default() };
    for (settings, method) in [(by_file, IdentityKind::OpenIdConnect), (by_pod, IdentityKind::WorkloadIdentity)] {
        let tokens = settings.select(&public(), &outside).expect("because the settings are complete");
        assert_eq!((tokens.method(), tokens.token(STORAGE_SCOPE)), (method, Ok(Secret::new("access"))));
    }
    let differs = IdentitySettings {
        use_oidc: true,
        oidc_token: secret("another"),
        oidc_token_file: path.to_owned(),
        ..application()
    };
    let refused = differs.select(&public(), &outside).expect_err("because the tokens differ");
    let reasons = &refused[3].reasons;
    assert_eq!(
        reasons[..],
        ["The ID token is not available: The ID token and the file with the ID token are different. Set one of them"]
    );
}

#[test]
fn every_identity_that_lacks_something_is_listed_in_order() {
    let internet = Internet::new(|asked| wrong(asked));
    let refused = IdentitySettings { use_cli: true, ..IdentitySettings::default() }
        .select(&public(), &internet.outside(&[("PATH", "/nonexistent")], &[]))
        .expect_err("because nothing is set");
    let methods: Vec<IdentityKind> = refused.iter().map(|refused| refused.method).collect();
    use IdentityKind::{
        AzureCli, AzureDevOps, ClientCertificate, ClientSecret, ManagedIdentity, OpenIdConnect, WorkloadIdentity,
    };
    let order =
        [ClientCertificate, ClientSecret, AzureDevOps, OpenIdConnect, ManagedIdentity, WorkloadIdentity, AzureCli];
    assert_eq!(methods, order);
    assert_eq!(
        refused[1].reasons,
        [
            "The argument tenant_id (or ARM_TENANT_ID) is not set",
            "A client ID is required",
            "A client secret is required",
        ]
    );
    assert_eq!(refused[6].reasons, ["The executable az is not in PATH. Install the Azure CLI"]);
    assert!(internet.requests().is_empty());
    let hostile = IdentitySettings { tenant_id: "a/../b".to_owned(), client_secret: secret("s"), ..application() };
    let refused = hostile.select(&public(), &internet.outside(&[], &[])).expect_err("because the tenant is invalid");
    assert!(refused[1].reasons[0].starts_with("The tenant ID \"a/../b\" is not valid."));
}

#[cfg(unix)]
#[test]
fn the_azure_cli_runs_with_the_environment_of_the_caller() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = std::env::temp_dir().join(format!("yuba-az-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("because the directory for temporary files is writable");
    let script = "#!/bin/sh\n[ \"$AZURE_CONFIG_DIR\" = /config ] && [ -z \"$HOME\" ] || { echo 'Please run az login.' >&2; exit 1; }\n\
                  case \"$*\" in\n'account show -o json') echo '{\"id\":\"sub\"}';;\n\
                  'account get-access-token -o json --resource https://storage.azure.com --tenant t.example --subscription My Sub')\n\
                  echo '{\"accessToken\":\"from az\",\"expiresOn\":\"2030-01-01 00:00:00.000000\",\"expires_on\":1893456000}';;\n\
                  *) echo \"unexpected: $*\" >&2; exit 2;;\nesac\n";
    let program = directory.join("az");
    std::fs::write(&program, script).expect("because the directory is writable");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("because the file is ours");
    let path = format!("{}:/usr/bin:/bin", directory.display());
    let internet = Internet::new(|asked| wrong(asked));
    let outside = internet.outside(&[("PATH", &path), ("AZURE_CONFIG_DIR", "/config")], &[]);
    let settings = IdentitySettings {
        use_cli: true,
        tenant_id: "t.example".to_owned(),
        subscription_id: "My Sub".to_owned(),
        ..IdentitySettings::default()
    };
    let tokens = settings.select(&public(), &outside).expect("because the account is signed in");
    assert_eq!((tokens.method(), tokens.token(STORAGE_SCOPE)), (IdentityKind::AzureCli, Ok(Secret::new("from az"))));
    let without = IdentitySettings { use_cli: true, ..IdentitySettings::default() };
    assert_eq!(
        without.select(&public(), &outside).map(|tokens| tokens.subscription().to_owned()).ok(),
        Some("sub".to_owned())
    );
    let refused =
        without.select(&public(), &internet.outside(&[("PATH", &path)], &[])).expect_err("because az refuses");
    let reason = "`az account show` failed (exit status: 1): Please run az login";
    assert_eq!(refused[6].reasons, [reason]);
    std::fs::remove_dir_all(&directory).expect("because the directory is ours");
}
