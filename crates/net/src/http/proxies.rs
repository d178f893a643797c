//! Proxies of a client, instead of those of the environment.

use std::fmt;

use super::{Url, shown};

/// Proxies by the scheme of the requested URL.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` URLs. An empty one stands for no proxy.
    pub http: Option<String>,
    /// For `https` URLs. An empty one stands for no proxy.
    pub https: Option<String>,
    /// Hosts without proxy, separated by commas, as in `NO_PROXY`.
    pub except: String,
}

/// Without users and passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |proxy: &Option<String>| {
            proxy.as_ref().map(|proxy| Url::parse(proxy).map_or_else(|_| "...".to_owned(), |url| shown(&url)))
        };
        let (http, https) = (shown(&self.http), shown(&self.https));
        f.debug_struct("Proxies").field("http", &http).field("https", &https).field("except", &self.except).finish()
    }
}

impl Proxies {
    pub(super) fn of_reqwest(&self) -> Result<Vec<reqwest::Proxy>, String> {
        let is_set = |proxy: &&str| !proxy.is_empty();
        let http = self.http.as_deref().filter(is_set).map(reqwest::Proxy::http);
        let https = self.https.as_deref().filter(is_set).map(reqwest::Proxy::https);
        let except = reqwest::NoProxy::from_string(&self.except);
        // The error of a proxy may show its password.
        let proxy = |proxy: Result<reqwest::Proxy, _>| {
            let proxy = proxy.map_err(|_| "the URL of the proxy is not valid".to_owned())?;
            Ok(proxy.no_proxy(except.clone()))
        };
        http.into_iter().chain(https).map(proxy).collect()
    }
}
