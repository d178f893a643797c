//! Addresses of buckets and objects.

use super::sign::{Slashes, decode, encode};
use super::{Aws, AwsError, Endpoint, Origin, Partition, Service};
use crate::http::Url;

/// A bucket at its endpoint.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Its name, or the ARN of an access point.
    pub name: String,
    /// The region in signatures.
    pub region: String,
    /// The URL up to the key, without a slash at its end.
    base: String,
}

/// Position of the name of a bucket in a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BucketStyle {
    /// In the host name, where its characters allow it.
    #[default]
    Host,
    /// In the path.
    Path,
}

impl Bucket {
    /// A bucket at the endpoint of a configuration.
    pub fn new(aws: &Aws, name: &str, style: BucketStyle) -> Result<Bucket, AwsError> {
        Bucket::at(&aws.endpoint(Service::S3), name, style)
    }

    /// A bucket at an endpoint.
    pub fn at(endpoint: &Endpoint, name: &str, style: BucketStyle) -> Result<Bucket, AwsError> {
        if name.starts_with("arn:") {
            return Bucket::of_access_point(endpoint, name);
        }
        if name.ends_with("--x-s3") && endpoint.origin == Origin::Default {
            return Err(AwsError::configuration(format!(
                "\"{name}\" is a directory bucket of S3 Express One Zone, which this version does not support; use a general \
                 purpose bucket"
            )));
        }
        let wrong = |reason: &str| AwsError::configuration(format!("the S3 endpoint {} {reason}", endpoint.url));
        let url = Url::parse(&endpoint.url).map_err(|_| wrong("is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must start with http:// or https://"));
        }
        let host = url.host_str().ok_or_else(|| wrong("has no host name"))?;
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        // A certificate of `*.s3.amazonaws.com` does not cover names with dots.
        let is_host_name = is_label(name) || (url.scheme() == "http" && name.split('.').all(is_label));
        let path = url.path().trim_end_matches('/');
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let scheme = url.scheme();
        let base = match style == BucketStyle::Host && is_host_name && !is_address {
            true => format!("{scheme}://{name}.{host}{port}{path}"),
            false => format!("{scheme}://{host}{port}{path}/{}", encode(name.as_bytes(), Slashes::Encoded)),
        };
        Ok(Bucket { name: name.to_owned(), region: endpoint.region.clone(), base })
    }

    fn of_access_point(endpoint: &Endpoint, arn: &str) -> Result<Bucket, AwsError> {
        let wrong = |reason: &str| AwsError::configuration(format!("the bucket {arn} {reason}"));
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let [_, _, "s3", region, account, resource] = parts[..] else {
            return Err(wrong("is not the ARN of an S3 access point"));
        };
        let name = resource.strip_prefix("accesspoint").and_then(|name| name.strip_prefix(['/', ':']));
        let Some(name) = name.filter(|name| is_label(name)) else {
            return Err(wrong("is not the ARN of an S3 access point"));
        };
        if region.is_empty() {
            return Err(wrong("is a multi-region access point, which this version does not support"));
        }
        if region != endpoint.region {
            return Err(wrong(&format!("is in the region {region}; set region = \"{region}\"")));
        }
        let host = match endpoint.origin {
            Origin::Default => {
                format!("{name}-{account}.s3-accesspoint.{region}.{}", Partition::of_region(region).suffix)
            }
            Origin::Custom => {
                let host = endpoint.url.split_once("://").map_or(endpoint.url.as_str(), |(_, host)| host);
                format!("{name}-{account}.{host}")
            }
        };
        Ok(Bucket { name: arn.to_owned(), region: region.to_owned(), base: format!("https://{host}") })
    }

    /// The URL of the bucket itself.
    pub fn url(&self) -> Result<Url, AwsError> {
        self.object("")
    }

    /// The URL of an object.
    pub fn object(&self, key: &str) -> Result<Url, AwsError> {
        let text = format!("{}/{}", self.base, encode(key.as_bytes(), Slashes::Kept));
        let url = Url::parse(&text)
            .map_err(|error| AwsError::configuration(format!("{} is not a URL: {error}", self.base)))?;
        // Scheme, nothing, host, and the path.
        if text.splitn(4, '/').nth(3) != url.path().strip_prefix('/') {
            return Err(AwsError::configuration(format!(
                "the key \"{key}\" has \".\" or \"..\" between slashes, which no URL can contain; use another key"
            )));
        }
        Ok(url)
    }
}

/// An object or prefix, as a URL of AWS or of another server names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Address {
    /// The bucket.
    pub bucket: String,
    /// The key or prefix.
    pub key: String,
    /// The region; none if the URL does not name one.
    pub region: Option<String>,
    /// The endpoint, if it is not AWS.
    pub endpoint: Option<String>,
}

impl S3Address {
    /// Reads `https://s3-REGION.amazonaws.com/BUCKET/KEY`, `https://BUCKET.s3.REGION.amazonaws.com/KEY` and the other forms of
    /// AWS, or `https://HOST/BUCKET/KEY`. None if bucket or key are missing.
    pub fn parse(url: &Url) -> Option<S3Address> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).ok().filter(|text| !text.is_empty());
        let path = url.path().strip_prefix('/')?;
        let in_path = || {
            let (bucket, key) = path.split_once('/')?;
            Some((text(decode(bucket))?, text(decode(key))?))
        };
        let host = url.host_str()?;
        let Some(suffix) = Partition::suffix_of_host(host) else {
            let (bucket, key) = in_path()?;
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            let endpoint = Some(format!("{}://{host}{port}", url.scheme()));
            return Some(S3Address { bucket, key, region: None, endpoint });
        };
        let labels: Vec<&str> = host.strip_suffix(suffix)?.strip_suffix('.')?.split('.').collect();
        let at = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-"))?;
        let region = match labels.get(at)?.strip_prefix("s3-").filter(|region| *region != "fips") {
            Some(region) => Some(region),
            None => labels.get(at + 1..)?.iter().copied().find(|label| *label != "dualstack"),
        };
        let (bucket, key) = match labels.get(..at)? {
            [] => in_path()?,
            bucket => (bucket.join("."), text(decode(path))?),
        };
        let region = Some(region.unwrap_or("us-east-1").to_owned());
        Some(S3Address { bucket, key, region, endpoint: None })
    }
}

/// Whether a name can be one part of a host name: 3 to 63 lower case letters, digits and dashes.
fn is_label(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (3..=63).contains(&name.len()) && name.bytes().all(is_allowed) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_the_host_or_in_the_path() {
        use BucketStyle::{Host, Path};
        let aws = ("https://s3.eu-west-1.amazonaws.com", Origin::Default);
        let local = |url: &'static str| (url, Origin::Custom);
        for ((endpoint, origin), bucket, style, expected) in [
            (aws, "state", Host, "https://state.s3.eu-west-1.amazonaws.com/env%3A/a%20b/%C3%A9%2B"),
            (aws, "state", Path, "https://s3.eu-west-1.amazonaws.com/state/env%3A/a%20b/%C3%A9%2B"),
            (aws, "with.dot", Host, "https://s3.eu-west-1.amazonaws.com/with.dot/env%3A/a%20b/%C3%A9%2B"),
            (aws, "UPPER", Host, "https://s3.eu-west-1.amazonaws.com/UPPER/env%3A/a%20b/%C3%A9%2B"),
            (local("http://127.0.0.1:9000"), "state", Host, "http://127.0.0.1:9000/state/env%3A/a%20b/%C3%A9%2B"),
            (local("http://minio:9000"), "state", Host, "http://state.minio:9000/env%3A/a%20b/%C3%A9%2B"),
            (local("http://minio/base"), "state", Path, "http://minio/base/state/env%3A/a%20b/%C3%A9%2B"),
            (
                aws,
                "arn:aws:s3:eu-west-1:123456789012:accesspoint/team",
                Host,
                "https://team-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/env%3A/a%20b/%C3%A9%2B",
            ),
        ] {
            let endpoint = Endpoint { url: endpoint.to_owned(), region: "eu-west-1".to_owned(), origin };
            let bucket = Bucket::at(&endpoint, bucket, style).expect("it is a bucket");
            assert_eq!(bucket.object("env:/a b/é+").expect("it is a URL").as_str(), expected);
        }
    }

    #[test]
    fn addresses_of_objects() {
        let aws = |bucket: &str, key: &str, region: &str| {
            let region = Some(region.to_owned());
            Some(S3Address { bucket: bucket.to_owned(), key: key.to_owned(), region, endpoint: None })
        };
        for (url, expected) in [
            ("https://s3.amazonaws.com/b/k.zip", aws("b", "k.zip", "us-east-1")),
            ("https://s3-eu-west-1.amazonaws.com/b/d/k%20x.zip", aws("b", "d/k x.zip", "eu-west-1")),
            ("https://s3.eu-west-1.amazonaws.com/b/k.zip", aws("b", "k.zip", "eu-west-1")),
            ("https://b.s3-eu-west-1.amazonaws.com/k.zip", aws("b", "k.zip", "eu-west-1")),
            ("https://b.c.s3.eu-west-1.amazonaws.com/k.zip", aws("b.c", "k.zip", "eu-west-1")),
            ("https://b.s3.dualstack.eu-west-1.amazonaws.com/k", aws("b", "k", "eu-west-1")),
            ("https://b.s3.cn-north-1.amazonaws.com.cn/k", aws("b", "k", "cn-north-1")),
            ("https://s3.amazonaws.com/b", None),
            ("https://b.s3.eu-west-1.amazonaws.com/", None),
            ("https://ec2.amazonaws.com/b/k", None),
            ("https://s3.notamazonaws.com/b/k", None),
            (
                "http://127.0.0.1:9000/b/k",
                Some(S3Address {
                    bucket: "b".to_owned(),
                    key: "k".to_owned(),
                    region: None,
                    endpoint: Some("http://127.0.0.1:9000".to_owned()),
                }),
            ),
        ] {
            assert_eq!(S3Address::parse(&Url::parse(url).expect("it is a URL")), expected, "{url}");
        }
    }

    #[test]
    fn impossible_buckets_and_keys_are_refused() {
        let endpoint =
            Endpoint { url: "https://s3".to_owned(), region: "eu-west-1".to_owned(), origin: Origin::Default };
        for name in ["x--x-s3", "arn:aws:s3::1:accesspoint/mrap", "arn:aws:s3:us-east-1:1:accesspoint/abc", "arn:x"] {
            assert!(Bucket::at(&endpoint, name, BucketStyle::Host).is_err(), "{name}");
        }
        let ftp = Endpoint { url: "ftp://s3".to_owned(), ..endpoint.clone() };
        assert!(Bucket::at(&ftp, "state", BucketStyle::Host).is_err());
        let bucket = Bucket::at(&endpoint, "state", BucketStyle::Host).expect("it is a bucket");
        assert!(bucket.object("a/../b").is_err() && bucket.object("a//b").is_ok());
    }
}
