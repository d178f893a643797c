//! Credential flows against strict hosts: a request that the published API does not describe is refused.

mod certificates;
mod logins;
mod managed;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use yuba_testkit::{Asked, Host, Reply, Route, Tunnel};

use super::*;
use crate::Secret;
use crate::http::{HttpSettings, Proxies};
use crate::trust::{Authorities, TlsSettings};

const TENANT: &str = "11111111-2222-3333-4444-555555555555";

/// Hosts of the internet, on this machine.
struct Internet {
    host: Host,
    tunnel: Tunnel,
}

impl Internet {
    /// All host names lead to one host, which distinguishes them by the header `Host`.
    fn new(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Internet {
        let host = Host::start(answer);
        let address = host.address();
        Internet { host, tunnel: Tunnel::start(move |_| Some(Route::Plain(address))) }
    }

    fn outside(&self, variables: &[(&str, &str)], files: &[(&str, &[u8])]) -> Outside {
        let files: BTreeMap<String, Vec<u8>> =
            files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect();
        let read = move |path: &Path| {
            files.get(&path.display().to_string()).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        };
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::new(variables, None, std::env::temp_dir());
        let options = ClientOptions {
            tls: TlsSettings {
                authorities: Authorities::Only(self.tunnel.authority().as_bytes().to_vec()),
                ..TlsSettings::default()
            },
            proxies: Some(Proxies { https: Some(self.tunnel.url()), ..Proxies::default() }),
            ..ClientOptions::default()
        };
        let settings = HttpSettings { retries: 0, ..HttpSettings::default() };
        Outside::new(&HttpClient::new(settings).with_options(options), environment, Arc::new(read))
    }

    /// Requests as `METHOD host/path`, without those of other tests.
    fn requests(&self) -> Vec<String> {
        let line =
            |asked: &Asked| format!("{} {}{}", asked.method, asked.header("host").unwrap_or_default(), asked.path());
        self.host.asked().iter().map(line).collect()
    }
}

/// The fields of a form or a query.
fn fields(text: &str) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://host/?{text}")).expect("because forms are queries");
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn query(asked: &Asked) -> BTreeMap<String, String> {
    fields(asked.target.split_once('?').map_or("", |(_, query)| query))
}

fn expected(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A response of a login endpoint.
fn token(text: &str) -> Reply {
    Reply::json(&format!(r#"{{"token_type":"Bearer","expires_in":3599,"access_token":"{text}"}}"#))
}

fn wrong(reason: &dyn std::fmt::Debug) -> Reply {
    Reply {
        status: 400,
        ..Reply::json(&format!(
            r#"{{"error":"invalid_request","error_description":"{}"}}"#,
            format!("{reason:?}").replace('"', "'")
        ))
    }
}

fn public() -> AzureCloud {
    AzureCloud::named("").expect("because the public cloud has no name")
}

fn secret(text: &str) -> Option<Secret> {
    Some(Secret::new(text))
}

/// Settings of an application.
fn application() -> IdentitySettings {
    IdentitySettings { tenant_id: TENANT.to_owned(), client_id: "app".to_owned(), ..IdentitySettings::default() }
}

#[test]
fn clouds_have_their_names() {
    assert_eq!(AzureCloud::named("public"), AzureCloud::named(""));
    assert_eq!(AzureCloud::named("dod").map(|cloud| cloud.storage_suffix), Some("core.usgovcloudapi.net".to_owned()));
    assert_eq!(
        AzureCloud::named("china").map(|cloud| cloud.login.to_string()),
        Some("https://login.chinacloudapi.cn/".to_owned())
    );
    assert_eq!(AzureCloud::named("german"), None);
}

#[test]
fn a_metadata_host_describes_a_cloud() {
    let internet = Internet::new(|asked| match (asked.header("host"), asked.target.as_str()) {
        (Some("stack.example"), "/metadata/endpoints?api-version=2023-11-01") => Reply::json(
            r#"{"authentication":{"loginEndpoint":"https://login.stack.example/adfs","audiences":["https://management.stack.example/id"]},
                "resourceManager":"https://management.stack.example/","suffixes":{"storage":"stack.example"}}"#,
        ),
        (Some("plain.example"), _) => Reply::json(
            r#"{"authentication":{"loginEndpoint":"http://login.example/","audiences":["a"]},"resourceManager":"https://m.example/","suffixes":{"storage":"s"}}"#,
        ),
        _ => Reply::json("{}"),
    });
    let outside = internet.outside(&[], &[]);
    let cloud = AzureCloud::of_metadata_host(&outside, "stack.example").expect("because the host describes it");
    assert_eq!(cloud.login.as_str(), "https://login.stack.example/adfs");
    assert_eq!(cloud.resource_manager_scope(), "https://management.stack.example/id/.default");
    assert_eq!(cloud.storage_suffix, "stack.example");
    let error =
        |host: &str| AzureCloud::of_metadata_host(&outside, host).expect_err("because it is not a cloud").reason;
    assert_eq!(error("plain.example"), "the login endpoint of plain.example is not an https URL");
    assert_eq!(error("other.example"), "the metadata of other.example contain no valid login endpoint");
    assert_eq!(error("a/b"), "\"a/b\" is not a valid host name");
}

#[test]
fn the_resource_manager_has_the_key_of_an_account() {
    let internet = Internet::new(|asked| match (asked.header("host"), asked.path()) {
        (Some("login.microsoftonline.com"), _) => match fields(&asked.body).get("scope").map(String::as_str) {
            Some("https://management.core.windows.net//.default") => token("for the manager"),
            other => wrong(&other),
        },
        (
            Some("management.azure.com"),
            "/subscriptions/sub/resourceGroups/a%20group/providers/Microsoft.Storage/storageAccounts/acc/listKeys",
        ) => {
            let is_fine = asked.method == "POST"
                && asked.header("content-length") == Some("0")
                && asked.header("authorization") == Some("Bearer for the manager")
                && query(asked) == expected(&[("api-version", "2024-01-01")]);
            match is_fine {
                true => {
                    Reply::json(r#"{"keys":[{"keyName":"key1","value":"a2V5","permissions":"FULL"},{"value":"x"}]}"#)
                }
                false => wrong(asked),
            }
        }
        _ => Reply {
            status: 403,
            ..Reply::json(
                r#"{"error":{"code":"AuthorizationFailed","message":"The client does not have authorization."}}"#,
            )
        },
    });
    let outside = internet.outside(&[], &[]);
    let settings = IdentitySettings { client_secret: secret("s"), ..application() };
    let tokens = settings.select(&public(), &outside).expect("because the settings are complete");
    let account = StorageAccount { subscription: "sub", resource_group: "a group", name: "acc" };
    assert_eq!(account_key(&tokens, &account), Ok(Secret::new("a2V5")));
    let denied =
        account_key(&tokens, &StorageAccount { name: "other", ..account }).expect_err("because it is another account");
    assert_eq!(
        denied.reason,
        "POST https://management.azure.com/subscriptions/sub/resourceGroups/a%20group/providers/Microsoft.Storage/storageAccounts/other/listKeys?...: \
         the server responded \"403 Forbidden\": AuthorizationFailed: The client does not have authorization. The identity needs the permission \
         Microsoft.Storage/storageAccounts/listKeys/action on storage account other. Assign the role \"Storage Account Key Operator Service \
         Role\", or set use_azuread_auth = true"
    );
    assert!(!denied.may_pass);
}
