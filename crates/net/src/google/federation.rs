//! Workload identity federation: a token of another identity provider is exchanged for one of Google.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::file::Reader;
use super::{GoogleError, Requests, Token, exchange};
use crate::Secret;
use crate::http::{Request, Url, shown};

/// The Security Token Service, unless the file names another endpoint.
const TOKEN_URL: &str = "https://sts.googleapis.com/v1/token";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// An identity outside of Google Cloud.
pub(super) struct Federation {
    /// The pool and provider that accept the identity.
    audience: String,
    subject_token_type: String,
    token_url: Url,
    client: Option<(String, Secret)>,
    /// The project that a user of a workforce pool is billed to.
    user_project: Option<String>,
    scopes: Vec<String>,
    subject: Subject,
    format: Format,
}

/// Source of the token of the other provider.
enum Subject {
    File(PathBuf),
    Url(Url, Vec<(String, String)>),
}

/// Format of the token of the other provider.
enum Format {
    Text,
    /// A JSON object with the token in this field.
    Field(String),
}

impl Federation {
    /// The identity that a credential file describes.
    pub(super) fn read(reader: Reader<'_>, scopes: &[String]) -> Result<Federation, GoogleError> {
        let url = reader.optional("token_url").unwrap_or(TOKEN_URL);
        let secret = |name: &str| reader.optional(name).map(Secret::new);
        let source = Reader { file: &reader.file["credential_source"], ..reader };
        let audience = reader.text("audience")?.to_owned();
        let user_project = reader.optional("workforce_pool_user_project").map(str::to_owned);
        if user_project.is_some() && !audience.contains("/workforcePools/") {
            return Err(reader.wrong("\"workforce_pool_user_project\" requires an audience of a workforce pool"));
        }
        Ok(Federation {
            audience,
            subject_token_type: reader.text("subject_token_type")?.to_owned(),
            token_url: exchange::endpoint(url, &format!("\"token_url\" in {}", reader.origin))?,
            client: reader.optional("client_id").map(str::to_owned).zip(secret("client_secret")),
            user_project: user_project.filter(|_| reader.optional("client_id").is_none()),
            scopes: scopes.to_vec(),
            subject: subject(source)?,
            format: format(source)?,
        })
    }

    pub(super) fn token(&self, requests: &Requests) -> Result<Token, GoogleError> {
        let subject_token = self.subject_token(requests)?;
        let scope = self.scopes.join(" ");
        let options = self.user_project.as_ref().map(|project| json!({ "userProject": project }).to_string());
        let mut form = vec![
            ("audience", self.audience.as_str()),
            ("grant_type", GRANT),
            ("requested_token_type", ACCESS_TOKEN),
            ("scope", &scope),
            ("subject_token", subject_token.reveal()),
            ("subject_token_type", &self.subject_token_type),
        ];
        form.extend(options.as_ref().map(|options| ("options", options.as_str())));
        let mut request = Request::form(self.token_url.clone(), &form);
        request.basic.clone_from(&self.client);
        exchange::token(&requests.http, request)
    }

    /// The token of the other provider. It is read each time, because the other provider renews it.
    fn subject_token(&self, requests: &Requests) -> Result<Secret, GoogleError> {
        let (origin, content) = match &self.subject {
            Subject::File(path) => {
                let origin = path.display().to_string();
                let failed = |error| GoogleError::lasting(format!("failed to read the token file {origin}: {error}"));
                (origin.clone(), (requests.read)(path).map_err(failed)?)
            }
            Subject::Url(url, headers) => {
                let headers = headers.iter().cloned();
                let request =
                    headers.fold(Request::new(url.clone()), |request, (name, value)| request.with_header(name, value));
                (shown(url), exchange::send(&requests.direct, request)?.body)
            }
        };
        let text = String::from_utf8_lossy(&content);
        match &self.format {
            Format::Text => Ok(Secret::new(text.trim())),
            Format::Field(name) => {
                let document: Json = serde_json::from_str(&text).unwrap_or_default();
                let token = document.get(name).and_then(Json::as_str);
                let missing =
                    || GoogleError::lasting(format!("{origin} is not a JSON object with the string {name:?}"));
                token.map(Secret::new).ok_or_else(missing)
            }
        }
    }
}

fn subject(source: Reader<'_>) -> Result<Subject, GoogleError> {
    if let Some(environment) = source.optional("environment_id") {
        return Err(source.wrong(&format!(
            "the credential source {environment:?} is not supported. Use a source with \"file\" or \"url\""
        )));
    }
    if let Some(path) = source.optional("file") {
        return Ok(Subject::File(PathBuf::from(path)));
    }
    if let Some(url) = source.optional("url") {
        let headers = source.file["headers"].as_object().into_iter().flatten();
        let headers = headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let url = exchange::endpoint(url, &format!("\"credential_source.url\" in {}", source.origin))?;
        return Ok(Subject::Url(url, headers.collect()));
    }
    let refused = ["executable", "certificate"].into_iter().find(|name| source.file.get(name).is_some());
    Err(match refused {
        Some(name) => source.wrong(&format!(
            "a credential source with {name:?} is not supported. Use a source with \"file\" or \"url\""
        )),
        None => source.wrong("\"credential_source\" has neither \"file\" nor \"url\""),
    })
}

fn format(source: Reader<'_>) -> Result<Format, GoogleError> {
    let format = Reader { file: &source.file["format"], ..source };
    match format.optional("type").unwrap_or("text") {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Field(format.text("subject_token_field_name")?.to_owned())),
        other => {
            Err(source.wrong(&format!("the format {other:?} of \"credential_source\" is not \"text\" or \"json\"")))
        }
    }
}
