//! The address of the Cloud Storage API.

use yuba_net::google::DEFAULT_UNIVERSE;
use yuba_net::http::Url;
use yuba_syntax::Diagnostic;

use super::given;
use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;

/// The path of the API on Google's hosts.
const PATH: &str = "/storage/v1/";

/// Where requests go.
#[derive(Debug)]
pub(super) struct Endpoint {
    base: Url,
    origin: Origin,
    /// Whether STORAGE_EMULATOR_HOST names an emulator, which gets no credentials.
    pub(super) is_emulator: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Google,
    Configured,
}

impl Endpoint {
    /// The endpoint of the arguments, of STORAGE_EMULATOR_HOST, of the universe domain, or Google's.
    pub(super) fn of(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Endpoint, Diagnostic> {
        let universe = given(arguments, "universe_domain").unwrap_or_else(|| DEFAULT_UNIVERSE.to_owned());
        let google = format!("https://storage.{universe}{PATH}");
        let emulator = environment.variables.get("STORAGE_EMULATOR_HOST");
        let parse = |argument: &str, text: &str| {
            let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            url.ok_or_else(|| diagnostics::gcs_endpoint_invalid(argument, text))
        };
        let (base, origin) = match (given(arguments, "storage_custom_endpoint"), emulator) {
            (Some(custom), _) => {
                let full = if custom.contains("://") { custom.clone() } else { format!("https://{custom}{PATH}") };
                (with_path(parse("storage_custom_endpoint", &full)?), Origin::Configured)
            }
            (None, Some(host)) => {
                let full = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
                let mut url = parse("STORAGE_EMULATOR_HOST", &full)?;
                url.set_path(PATH);
                (url, Origin::Configured)
            }
            (None, None) => (parse("universe_domain", &google)?, Origin::Google),
        };
        Ok(Endpoint { base, origin, is_emulator: emulator.is_some() })
    }

    /// Scheme and host, where it is not Google's.
    pub(super) fn custom_host(&self) -> Option<String> {
        (self.origin == Origin::Configured).then(|| self.base.origin().ascii_serialization())
    }

    /// The objects of a bucket.
    pub(super) fn objects(&self, bucket: &str) -> Url {
        // The last part of the path is replaced, so that a URL that ends with `/storage/v1/b` works, too.
        self.below(self.base.join("b").unwrap_or_else(|_| self.base.clone()), bucket)
    }

    /// Uploads have a path of their own, whatever the path of the API is.
    pub(super) fn uploads(&self, bucket: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/upload{PATH}b"));
        self.below(url, bucket)
    }

    fn below(&self, mut url: Url, bucket: &str) -> Url {
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(bucket).push("o");
        }
        url.set_query(None);
        url
    }
}

/// A URL without path, or with the path of the API but no slash behind it, means the API.
fn with_path(mut url: Url) -> Url {
    if matches!(url.path(), "" | "/" | "/storage/v1") {
        url.set_path(PATH);
    }
    url
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yuba_net::Environment;

    use super::*;
    use crate::kit::BackendEnvironment;

    fn endpoint(custom: &str, variables: &[(&str, &str)]) -> Result<Endpoint, Diagnostic> {
        let arguments = Arguments::of_json(
            &super::super::schema(),
            &json!({ "bucket": "b", "storage_custom_endpoint": custom, "universe_domain": "" }),
        );
        let variables: Environment = variables.iter().copied().collect();
        Endpoint::of(&arguments, &BackendEnvironment::new(variables, "data"))
    }

    #[test]
    fn endpoints_are_resolved_as_opentofu_resolves_them() {
        let cases = [
            ("", "https://storage.googleapis.com/storage/v1/b/x/o", "https://storage.googleapis.com"),
            ("http://h:1/storage/v1/", "http://h:1/storage/v1/b/x/o", "http://h:1"),
            ("http://h:1/storage/v1", "http://h:1/storage/v1/b/x/o", "http://h:1"),
            ("https://h/storage/v1/b", "https://h/storage/v1/b/x/o", "https://h"),
            ("http://h", "http://h/storage/v1/b/x/o", "http://h"),
            ("h:8", "https://h:8/storage/v1/b/x/o", "https://h:8"),
            ("https://h/proxy/storage/v1/", "https://h/proxy/storage/v1/b/x/o", "https://h"),
        ];
        for (custom, objects, host) in cases {
            let endpoint = endpoint(custom, &[]).expect("it is a URL");
            assert_eq!(endpoint.objects("x").as_str(), objects);
            assert_eq!(endpoint.uploads("x").as_str(), format!("{host}/upload/storage/v1/b/x/o"));
            assert_eq!(endpoint.custom_host().is_some(), !custom.is_empty());
            assert!(!endpoint.is_emulator);
        }
        assert!(endpoint("ftp://h/", &[]).is_err());
        assert!(endpoint("http://", &[]).is_err());
    }

    #[test]
    fn an_emulator_of_the_environment_gets_no_credentials() {
        let emulated = endpoint("", &[("STORAGE_EMULATOR_HOST", "localhost:9")]).expect("it is a host");
        assert_eq!(emulated.objects("x").as_str(), "http://localhost:9/storage/v1/b/x/o");
        assert!(emulated.is_emulator);
        let both = endpoint("http://h/", &[("STORAGE_EMULATOR_HOST", "http://localhost:9")]).expect("both are URLs");
        assert_eq!((both.objects("x").as_str(), both.is_emulator), ("http://h/storage/v1/b/x/o", true));
    }
}
