//! Managed identities of the platforms.

use super::*;

/// The token that a host gives to the identity of an environment.
fn token_of(
    answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    settings: &IdentitySettings,
    variables: impl Fn(&str) -> Vec<(&'static str, String)>,
    files: &[(&str, &[u8])],
) -> Result<Secret, AzureError> {
    let internet = Internet::new(answer);
    let endpoint = internet.host.url("/msi/token");
    let variables = variables(&endpoint);
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let settings = IdentitySettings {
        use_managed_identity: true,
        managed_identity_endpoint: settings.managed_identity_endpoint.replace("ENDPOINT", &endpoint),
        ..settings.clone()
    };
    let outside = internet.outside(&variables, files);
    let tokens =
        settings.select(&public(), &outside).map_err(|refused| AzureError::lasting(refused[4].reasons.join(". ")))?;
    assert_eq!(tokens.method(), Method::ManagedIdentity);
    tokens.token(STORAGE_SCOPE)
}

/// Responds with a token if a request is as described.
fn strict(asked: &Asked, method: &str, query_pairs: &[(&str, &str)], headers: &[(&str, &str)]) -> Reply {
    let is_fine = asked.method == method
        && asked.path() == "/msi/token"
        && query(asked) == expected(query_pairs)
        && headers.iter().all(|(name, value)| asked.header(name) == Some(*value));
    match is_fine {
        true => {
            Reply::json(r#"{"access_token":"managed","expires_on":"4102444800","resource":"r","token_type":"Bearer"}"#)
        }
        false => wrong(asked),
    }
}

const RESOURCE: (&str, &str) = ("resource", "https://storage.azure.com");

#[test]
fn virtual_machines_ask_the_metadata_service() {
    let answer = |asked: &Asked| {
        let pairs = [("api-version", "2018-02-01"), RESOURCE, ("client_id", "user assigned")];
        strict(asked, "GET", &pairs, &[("metadata", "true")])
    };
    let settings = IdentitySettings {
        client_id: "user assigned".to_owned(),
        managed_identity_endpoint: "ENDPOINT".to_owned(),
        ..IdentitySettings::default()
    };
    assert_eq!(token_of(answer, &settings, |_| Vec::new(), &[]), Ok(Secret::new("managed")));
    let refused = token_of(
        |_| Reply {
            status: 400,
            ..Reply::json(r#"{"error":"invalid_request","error_description":"Identity not found"}"#)
        },
        &settings,
        |_| Vec::new(),
        &[],
    );
    let error = refused.expect_err("because the identity is not assigned");
    assert!(
        error.reason.ends_with(
            "invalid_request: Identity not found. Check that the identity user assigned is assigned to this machine"
        ),
        "{error}"
    );
    let updating = token_of(|_| Reply::status(410), &settings, |_| Vec::new(), &[]).expect_err("because of the status");
    assert!(updating.may_pass, "{updating}");
}

#[test]
fn app_service_names_its_endpoint() {
    let answer = |asked: &Asked| {
        strict(asked, "GET", &[("api-version", "2019-08-01"), RESOURCE], &[("x-identity-header", "hidden")])
    };
    let variables =
        |endpoint: &str| vec![("IDENTITY_ENDPOINT", endpoint.to_owned()), ("IDENTITY_HEADER", "hidden".to_owned())];
    assert_eq!(token_of(answer, &IdentitySettings::default(), variables, &[]), Ok(Secret::new("managed")));
}

#[test]
fn cloud_shell_takes_a_form() {
    let answer = |asked: &Asked| match fields(&asked.body) == expected(&[RESOURCE]) {
        true => strict(asked, "POST", &[], &[("metadata", "true")]),
        false => wrong(asked),
    };
    let variables = |endpoint: &str| vec![("MSI_ENDPOINT", endpoint.to_owned())];
    assert_eq!(token_of(answer, &IdentitySettings::default(), variables, &[]), Ok(Secret::new("managed")));
    let user = IdentitySettings { client_id: "x".to_owned(), ..IdentitySettings::default() };
    let error = token_of(answer, &user, variables, &[]).expect_err("because it has one identity");
    assert_eq!(error.reason, "Cloud Shell has one managed identity. Remove client_id and ARM_CLIENT_ID");
}

#[test]
fn machine_learning_has_a_secret_and_a_default_identity() {
    let answer = |asked: &Asked| {
        let pairs = [("api-version", "2017-09-01"), RESOURCE, ("clientid", "default")];
        strict(asked, "GET", &pairs, &[("secret", "hidden")])
    };
    let variables = |endpoint: &str| {
        let secret = ("MSI_SECRET", "hidden".to_owned());
        vec![("MSI_ENDPOINT", endpoint.to_owned()), secret, ("DEFAULT_IDENTITY_CLIENT_ID", "default".to_owned())]
    };
    assert_eq!(token_of(answer, &IdentitySettings::default(), variables, &[]), Ok(Secret::new("managed")));
}

#[test]
fn azure_arc_proves_that_it_can_read_a_file() {
    let challenged = |path: &'static str| {
        move |asked: &Asked| match asked.header("authorization") {
            None => Reply::status(401).with("WWW-Authenticate", &format!("Basic realm={path}")),
            Some(_) => {
                let headers = [("metadata", "true"), ("authorization", "Basic from the file")];
                strict(asked, "GET", &[("api-version", "2020-06-01"), RESOURCE], &headers)
            }
        }
    };
    let variables =
        |endpoint: &str| vec![("IDENTITY_ENDPOINT", endpoint.to_owned()), ("IMDS_ENDPOINT", "http://x".to_owned())];
    let path = "/var/opt/azcmagent/tokens/1.key";
    let files: [(&str, &[u8]); 2] = [(path, b"from the file"), ("/etc/shadow.key", b"from the file")];
    let settings = IdentitySettings::default();
    assert_eq!(token_of(challenged(path), &settings, variables, &files), Ok(Secret::new("managed")));
    let error = token_of(challenged("/etc/shadow.key"), &settings, variables, &files);
    let reason = error.expect_err("because the file is elsewhere").reason;
    assert!(reason.contains("the agent of Azure Arc named a file outside of /var/opt/azcmagent/tokens"), "{reason}");
    let up = token_of(challenged("/var/opt/azcmagent/tokens/../x.key"), &settings, variables, &files);
    assert!(up.expect_err("because the file is elsewhere").reason.contains("outside of"));
}
