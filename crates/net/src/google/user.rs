//! Users: a refresh token, as `gcloud auth application-default login` stores it, is exchanged for an access token.

use super::{GoogleError, Requests, Token, exchange};
use crate::Secret;
use crate::http::{Request, Url};

/// A user with a refresh token.
pub(super) struct AuthorizedUser {
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) refresh_token: Secret,
    pub(super) token_url: Url,
    pub(super) client: ClientAuthentication,
}

/// Credentials of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAuthentication {
    /// By fields of the form, for users of Google.
    InForm,
    /// By the Authorization header, for users of a workforce pool.
    InHeader,
}

impl AuthorizedUser {
    pub(super) fn token(&self, requests: &Requests) -> Result<Token, GoogleError> {
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", self.refresh_token.reveal())];
        if self.client == ClientAuthentication::InForm {
            form.extend([("client_id", self.client_id.as_str()), ("client_secret", self.client_secret.reveal())]);
        }
        let mut request = Request::form(self.token_url.clone(), &form);
        if self.client == ClientAuthentication::InHeader {
            request.basic = Some((self.client_id.clone(), self.client_secret.clone()));
        }
        exchange::token(&requests.http, request)
    }
}
