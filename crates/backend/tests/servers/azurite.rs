//! The suite over `azurerm` on Azurite. Host names of the public cloud lead to it through a proxy of the test; those of the cloud in China
//! lead through a relay, too, for outages.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use serde_json::{Value as Json, json};
use yuba_net::azure::{SharedKey, http_date};
use yuba_net::http::{ClientOptions, HttpClient, HttpSettings, Method, Proxies, Request, Response, Url};
use yuba_net::trust::{Authorities, TlsSettings};
use yuba_testkit::servers::{AZURITE_ACCOUNT, AZURITE_KEY, Azurite, Scheme, azurite, is_installed};
use yuba_testkit::{Relay, Route, Tunnel};

use crate::Started;
use crate::subject::{Lazy, OUTAGE, Subject};

struct Blobs {
    server: Azurite,
    tunnel: Tunnel,
    relay: Relay,
    more: Json,
    /// A server without TLS, for the test of cuts. The proxy decrypts for it.
    plain: OnceLock<Azurite>,
}

const CONTAINER: &str = "states";

impl Blobs {
    /// A request as the owner of the account.
    fn send(&self, method: Method, path: &str, body: Option<&[u8]>) -> Response {
        self.send_with(self.client_options(), method, path, &[], body)
    }

    fn send_with(
        &self,
        options: ClientOptions,
        method: Method,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: Option<&[u8]>,
    ) -> Response {
        let url = Url::parse(&format!("https://{AZURITE_ACCOUNT}.blob.core.windows.net/{path}"))
            .expect("because it is a URL");
        let mut request = Request { method, body: body.map(<[u8]>::to_vec), ..Request::new(url) }
            .with_header("x-ms-date", http_date(std::time::SystemTime::now()))
            .with_header("x-ms-version", "2019-07-07");
        if body.is_some_and(|body| !body.is_empty()) {
            request = request.with_header("x-ms-blob-type", "BlockBlob");
        }
        request = headers.iter().copied().fold(request, |request, (name, value)| request.with_header(name, value));
        let key = SharedKey::new(AZURITE_ACCOUNT, AZURITE_KEY).expect("because it is base64");
        let authorization = key.authorization(&request);
        let client = HttpClient::new(HttpSettings::default()).with_options(options);
        client.get(&request.with_header("authorization", authorization)).expect("because the server runs")
    }
}

impl Subject for Blobs {
    fn kind(&self) -> &'static str {
        "azurerm"
    }
    fn arguments(&self, state: &str) -> Json {
        let mut arguments = json!({
            "storage_account_name": AZURITE_ACCOUNT, "container_name": CONTAINER, "key": format!("dir/{state}.tfstate"),
            "access_key": AZURITE_KEY, "timeout_seconds": 5,
        });
        if state.starts_with(OUTAGE) {
            arguments["environment"] = json!("china");
        }
        for (name, value) in self.more.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        arguments
    }
    fn client_options(&self) -> ClientOptions {
        let certificate = self.server.certificate().expect("because it was started with one");
        let authority = std::fs::read(&certificate.authority).expect("because the server has its file");
        ClientOptions {
            tls: TlsSettings { authorities: Authorities::Only(authority), ..TlsSettings::default() },
            proxies: Some(Proxies { https: Some(self.tunnel.url()), ..Proxies::default() }),
            ..ClientOptions::default()
        }
    }
    fn server_of(&self, _state: &str) -> Option<String> {
        let plain = self.plain.get_or_init(|| {
            let plain = azurite(Scheme::Http).expect("because it is installed");
            let address = plain.address().parse().expect("because servers have addresses");
            let path = format!("{CONTAINER}?restype=container");
            let made = self.send_with(self.client_options_at(address), Method::PUT, &path, &[], Some(b""));
            assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
            plain
        });
        Some(plain.address())
    }
    fn client_options_at(&self, relay: SocketAddr) -> ClientOptions {
        // The proxy lives as long as the process.
        let tunnel = Tunnel::start(move |_| Some(Route::Plain(relay)));
        let authority = tunnel.authority().as_bytes().to_vec();
        ClientOptions {
            tls: TlsSettings { authorities: Authorities::Only(authority), ..TlsSettings::default() },
            proxies: Some(Proxies { https: Some(tunnel.url()), ..Proxies::default() }),
            ..ClientOptions::default()
        }
    }
    fn release_nameless_lock(&self, state: &str) -> bool {
        let plain = self.plain.get().expect("the test of cuts uses it").address();
        let options = self.client_options_at(plain.parse().expect("because servers have addresses"));
        let path = format!("{CONTAINER}/dir%2F{state}.tfstate?comp=lease");
        let headers = [("x-ms-lease-action", "break"), ("x-ms-lease-break-period", "0")];
        self.send_with(options, Method::PUT, &path, &headers, Some(b"")).status == 202
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        let response = self.send(Method::PUT, &format!("{CONTAINER}/dir%2F{state}.tfstate"), Some(content));
        assert_eq!(response.status, 201, "{}", String::from_utf8_lossy(&response.body));
        true
    }
    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }
    fn resume(&self) {
        self.relay.resume();
    }
}

fn start(more: Json) -> Option<Started> {
    let server = azurite(Scheme::Https(&["*.blob.core.windows.net", "*.blob.core.chinacloudapi.cn"]))?;
    let address = server.address().parse().expect("because servers have addresses");
    let relay = Relay::to(server.address());
    let relayed = relay.address();
    let tunnel = Tunnel::start(move |host| {
        Some(Route::Tls(if host.ends_with(".chinacloudapi.cn") { relayed } else { address }))
    });
    let blobs = Blobs { server, tunnel, relay, more, plain: OnceLock::new() };
    assert_eq!(blobs.send(Method::PUT, &format!("{CONTAINER}?restype=container"), Some(b"")).status, 201);
    Some(Arc::new(blobs))
}

pub(crate) fn subjects() -> Vec<Lazy> {
    let installed = is_installed("azurite");
    vec![
        Lazy::new("azurerm on azurite", "azurite", installed, || start(json!({}))).with_cuts(),
        Lazy::new("azurerm on azurite with snapshots", "azurite", installed, || start(json!({"snapshot": true})))
            .with_cuts(),
    ]
}
