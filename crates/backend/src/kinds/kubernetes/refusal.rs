//! Responses that refuse a request, in words: missing permissions, namespaces, size limits, certificates.

use serde_json::Value as Json;
use yuba_net::http::{Request, Response};

use super::api::{Api, Resource};
use crate::kit::requests::unexpected;
use crate::kit::store::{StoreError, StoreErrorKind};

/// The `Status` object of a response.
fn status(response: &Response) -> Option<Json> {
    let json: Json = serde_json::from_slice(&response.body).ok()?;
    (json.get("kind").and_then(Json::as_str) == Some("Status")).then_some(json)
}

/// Whether the API server itself has written a response, not a proxy on the way.
pub(super) fn is_status(response: &Response) -> bool {
    status(response).is_some()
}

/// A request without response, with advice about certificates.
pub(super) fn unreachable(error: StoreError) -> StoreError {
    const UNKNOWN: &str = "the certificate of the host is signed by an unknown authority";
    match error.reason.split_once(UNKNOWN) {
        Some((request, _)) => StoreError {
            reason: format!(
                "{request}{UNKNOWN}. Set \"cluster_ca_certificate\", or certificate-authority of the cluster in the kubeconfig file, \
                 to the authority of the cluster"
            ),
            ..error
        },
        None if error.kind == StoreErrorKind::Transient && error.reason.contains("invalid peer certificate") => {
            StoreError {
                kind: StoreErrorKind::Lasting,
                reason: format!(
                    "{}. Set \"host\" to a name in the certificate, or tls-server-name of the cluster in the kubeconfig file",
                    error.reason
                ),
                ..error
            }
        }
        None => error,
    }
}

/// A response that the API server was not expected to send.
pub(super) fn refused(api: &Api, verb: &str, resource: Resource, request: &Request, response: &Response) -> StoreError {
    let namespace = &api.namespace;
    let said = status(response);
    let text =
        |pointer: &str| said.as_ref().and_then(|said| said.pointer(pointer)).and_then(Json::as_str).unwrap_or_default();
    let message = text("/message");
    let error = match message.is_empty() {
        true => unexpected(request, response),
        false => {
            let (method, url, status) = (&request.method, yuba_net::http::shown(&request.url), response.status_text());
            StoreError::lasting(format!(
                "{method} {url}: the server responded \"{status}\": {}",
                message.trim_end_matches('.')
            ))
        }
    };
    let advice = match response.status {
        401 => Some(
            "The credentials are missing, wrong or expired. Check the user of the kubeconfig file, \"token\", \
             \"client_certificate\" or the exec plugin"
                .to_owned(),
        ),
        403 => Some(permissions(verb, resource, namespace)),
        404 if text("/details/kind") == "namespaces" => Some(format!(
            "The namespace \"{namespace}\" does not exist. Create it with `kubectl create namespace {namespace}`, or change \"namespace\""
        )),
        404 => Some("The path does not exist. Check \"host\"".to_owned()),
        413 => Some(too_large(request)),
        422 if message.contains("Too long") && message.contains("data") => Some(too_large(request)),
        _ => None,
    };
    match advice {
        Some(advice) => StoreError { reason: format!("{}. {advice}", error.reason), ..error },
        None => error,
    }
}

/// The size limit of Secrets.
fn too_large(request: &Request) -> String {
    let sent = request.body.as_ref().map_or(0, Vec::len);
    format!(
        "A Secret stores at most 1048576 bytes, and the compressed state is larger: the request has {sent} bytes. Split the configuration \
         into several states, or use another backend"
    )
}

/// The permission that a request needs, and a command that grants all.
fn permissions(verb: &str, resource: Resource, namespace: &str) -> String {
    let (name, group) = match resource {
        Resource::Secrets => ("secrets", ""),
        Resource::Leases => ("leases", "coordination.k8s.io"),
    };
    format!(
        "The request needs the verb \"{verb}\" on the resource \"{name}\" of the API group \"{group}\" in the namespace \"{namespace}\". The \
         backend needs a Role with these rules: {{apiGroups: [\"\"], resources: [secrets], verbs: [get, list, create, update, delete]}} and \
         {{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, delete]}}. Create it with `kubectl create role \
         state --namespace {namespace} --verb=get,list,create,update,delete --resource=secrets,leases.coordination.k8s.io`, and bind it \
         with `kubectl create rolebinding state --namespace {namespace} --role=state --user=NAME`"
    )
}
