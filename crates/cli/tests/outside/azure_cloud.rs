//! Azurite at `https://devstoreaccount1.blob.core.windows.net`, to which a proxy of the test leads.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use yuba_testkit::servers::{AZURITE_ACCOUNT, AZURITE_KEY, Azurite, Scheme, azurite};
use yuba_testkit::{Relay, Route, Tunnel};

/// Azurite, and the way to it.
pub(crate) struct Cloud {
    _server: Azurite,
    tunnel: Tunnel,
    authority: PathBuf,
}

impl Cloud {
    /// Starts a server with the container `states`. The relay between the proxy, which decrypts, and the server records requests.
    pub(crate) fn start() -> (Cloud, Relay) {
        let server = azurite(Scheme::Http).expect("because Azurite is installed");
        let relay = Relay::to(server.address());
        let address = relay.address();
        let tunnel = Tunnel::start(move |_| Some(Route::Plain(address)));
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("yuba-azurite-{}-{}.crt", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let authority = std::env::temp_dir().join(name);
        std::fs::write(&authority, tunnel.authority()).expect("because the directory for temporary files is writable");
        let cloud = Cloud { _server: server, tunnel, authority };
        cloud.create_container();
        (cloud, relay)
    }

    /// Environment variables of commands.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        let key = ("ARM_ACCESS_KEY", AZURITE_KEY.to_owned());
        [key, ("SSL_CERT_FILE", self.authority.display().to_string()), ("HTTPS_PROXY", self.tunnel.url())]
    }

    /// Creates the container with a request as the owner of the account.
    fn create_container(&self) {
        use yuba_net::azure::{SharedKey, http_date};
        use yuba_net::http::{ClientOptions, HttpClient, HttpSettings, Method, Proxies, Request, Url};
        use yuba_net::trust::{Authorities, TlsSettings};
        let authorities = Authorities::Only(std::fs::read(&self.authority).expect("because the server has its file"));
        let options = ClientOptions {
            tls: TlsSettings { authorities, ..TlsSettings::default() },
            proxies: Some(Proxies { https: Some(self.tunnel.url()), ..Proxies::default() }),
            ..ClientOptions::default()
        };
        let url = format!("https://{AZURITE_ACCOUNT}.blob.core.windows.net/states?restype=container");
        let url = Url::parse(&url).expect("because it is a URL");
        let request = Request { method: Method::PUT, body: Some(Vec::new()), ..Request::new(url) }
            .with_header("x-ms-date", http_date(std::time::SystemTime::now()))
            .with_header("x-ms-version", "2019-07-07");
        let key = SharedKey::new(AZURITE_ACCOUNT, AZURITE_KEY).expect("because it is base64");
        let authorization = key.authorization(&request);
        let client = HttpClient::new(HttpSettings::default()).with_options(options);
        let created = client.get(&request.with_header("authorization", authorization));
        assert_eq!(created.expect("because the server runs").status, 201);
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}
