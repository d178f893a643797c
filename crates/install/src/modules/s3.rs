//! Packages in buckets of S3: archives, and prefixes whose objects are the files of a directory.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use yuba_net::Secret;
use yuba_net::aws::{Aws, AwsConnection, AwsFailure, AwsSettings, Bucket, BucketStyle, Element, S3Address, Service};
use yuba_net::http::{Request, Url, shown};

use super::Fetcher;
use super::address::Address;
use super::checksum::Checksum;
use super::files::create_parent;
use super::web::Partial;
use crate::archive::{Format, Limits, unpack};

/// The most objects of a directory.
const MOST_OBJECTS: usize = 20_000;

/// Downloads an archive, or all objects below a prefix.
pub(super) fn fetch(fetcher: &Fetcher, mut address: Address, into: &Path) -> Result<(), String> {
    let format = address.take_format()?;
    let checksum = address.take("checksum").filter(|given| !given.is_empty());
    let checksum = checksum.map(|given| Checksum::parse(&given)).transpose()?;
    let version = address.take("version").filter(|version| !version.is_empty());
    let source = Source::open(fetcher, &mut address)?;
    match format {
        Some(format) => source.archive(version.as_deref(), format, checksum.as_ref(), into),
        None if checksum.is_some() => {
            Err("the argument \"checksum\" requires an archive; add the argument \"archive\" \
                                           to say what kind it is"
                .to_owned())
        }
        None => source.directory(into),
    }
}

struct Source {
    aws: Aws,
    bucket: Bucket,
    key: String,
}

impl Source {
    fn open(fetcher: &Fetcher, address: &mut Address) -> Result<Source, String> {
        let mut take = |name: &str| address.take(name).filter(|value| !value.is_empty());
        let (region, profile) = (take("region"), take("aws_profile"));
        let (access_key, secret_key) = (take("aws_access_key_id"), take("aws_access_key_secret").map(Secret::new));
        let token = take("aws_access_token").map(Secret::new);
        let object = S3Address::parse(&address.url).ok_or_else(|| {
            format!(
                "{} does not name a bucket and a key of S3, as in s3::https://s3-REGION.amazonaws.com/BUCKET/KEY",
                shown(&address.url)
            )
        })?;
        let settings = AwsSettings {
            region: object.region.or(region).or_else(|| Some("us-east-1".to_owned())),
            access_key,
            secret_key,
            token,
            profile,
            endpoints: object.endpoint.into_iter().map(|endpoint| (Service::S3, endpoint)).collect(),
            ..AwsSettings::default()
        };
        let read = Arc::new(|path: &Path| std::fs::read(path));
        let environment = &fetcher.environment;
        let ca_bundle = environment.get("AWS_CA_BUNDLE").map(str::to_owned);
        let connection = AwsConnection { ca_bundle, ..AwsConnection::default() };
        let failed = |error: yuba_net::aws::AwsError| format!("S3: {error}");
        let client = connection.client(fetcher.services.client(), environment, &*read).map_err(failed)?;
        let aws = Aws::new(settings, environment, client, read).map_err(failed)?;
        let bucket = Bucket::new(&aws, &object.bucket, BucketStyle::Path).map_err(failed)?;
        Ok(Source { aws, bucket, key: object.key })
    }

    fn url(&self, key: &str) -> Result<Url, String> {
        self.bucket.object(key).map_err(|error| error.reason)
    }

    fn sign(&self, url: Url) -> Result<Request, String> {
        let signed = self.aws.sign_for(Request::new(url), Service::S3, &self.bucket.region);
        signed.map_err(|error| format!("failed to obtain AWS credentials: {error}"))
    }

    fn refused(&self, response: &yuba_net::http::Response, url: &Url, permission: &str) -> String {
        let failure = AwsFailure::of(response);
        let advice = failure.advice(response).or_else(|| match failure.code.as_str() {
            "AccessDenied" => Some(format!("the credentials need {permission} on the bucket {}", self.bucket.name)),
            _ => failure.region.as_ref().map(|region| format!("the bucket is in the region {region}")),
        });
        let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
        format!("{}: {}{advice}", shown(url), failure.shown(response))
    }

    fn download(&self, key: &str, version: Option<&str>, file: &Path) -> Result<(), String> {
        let mut url = self.url(key)?;
        if let Some(version) = version {
            url.query_pairs_mut().append_pair("versionId", version);
        }
        let request = self.sign(url.clone())?;
        let response = self.aws.client().download(&request, file, &mut |_, _| {}).map_err(|error| error.to_string())?;
        match response.is_success() {
            true => Ok(()),
            // The content of an error is not downloaded; it is small and names the code.
            false => {
                let said = self.aws.client().get(&self.sign(url.clone())?.at_most(1 << 20));
                let response = said.unwrap_or(response);
                Err(self.refused(&response, &url, "s3:GetObject"))
            }
        }
    }

    fn archive(
        &self,
        version: Option<&str>,
        format: Format,
        checksum: Option<&Checksum>,
        into: &Path,
    ) -> Result<(), String> {
        let file = Partial::beside(into)?;
        self.download(&self.key, version, &file.0)?;
        if let Some(checksum) = checksum {
            checksum.check(&file.0)?;
        }
        let url = self.url(&self.key)?;
        unpack(&file.0, format, into, Limits::default()).map_err(|error| format!("{}: {error}", shown(&url)))
    }

    /// Downloads every object below the prefix. Objects whose names end with a slash stand for directories.
    fn directory(&self, into: &Path) -> Result<(), String> {
        let prefix = format!("{}/", self.key.trim_end_matches('/'));
        let keys = self.list(&prefix)?;
        let mut is_empty = true;
        for key in keys.iter().filter(|key| !key.ends_with('/')) {
            let name = key.strip_prefix(&prefix).unwrap_or(key);
            let path = Path::new(name);
            let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            if !is_plain || name.contains('\\') {
                return Err(format!("the object {key:?} has a name that cannot be a file of a module"));
            }
            let file: PathBuf = into.join(path);
            create_parent(&file)?;
            self.download(key, None, &file)?;
            is_empty = false;
        }
        match is_empty {
            false => Ok(()),
            true => Err(format!(
                "the bucket {} has no objects below {prefix:?}. A single object must be an archive: add the argument \
                 \"archive\" if its name does not have the extension of one",
                self.bucket.name
            )),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>, String> {
        let mut keys: Vec<String> = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut url = self.bucket.url().map_err(|error| error.reason)?;
            url.query_pairs_mut().append_pair("list-type", "2").append_pair("prefix", prefix);
            if let Some(token) = &after {
                url.query_pairs_mut().append_pair("continuation-token", token);
            }
            let request = self.sign(url.clone())?;
            let response = self.aws.client().get(&request).map_err(|error| error.to_string())?;
            if !response.is_success() {
                return Err(self.refused(&response, &url, "s3:ListBucket"));
            }
            let list = Element::parse(&String::from_utf8_lossy(&response.body))
                .ok_or_else(|| format!("{}: the response is not a list of objects", shown(&url)))?;
            keys.extend(list.all("Contents").filter_map(|object| object.text_of("Key")).map(str::to_owned));
            if keys.len() > MOST_OBJECTS {
                return Err(format!(
                    "{prefix:?} has more than {MOST_OBJECTS} objects, which is the limit for a module"
                ));
            }
            let is_last = list.text_of("IsTruncated").is_none_or(|text| text.trim() != "true");
            after = list.text_of("NextContinuationToken").map(str::to_owned).filter(|_| !is_last);
            if after.is_none() {
                return Ok(keys);
            }
        }
    }
}
