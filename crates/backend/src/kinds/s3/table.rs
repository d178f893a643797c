//! Requests for rows of the DynamoDB table: the lock and the digest of a state.

use serde_json::{Value as Json, json};
use yuba_net::aws::{Aws, AwsFailure, Service};
use yuba_net::http::{Method, Request, Response, Url};

use super::failure::{Call, of_aws, refused};
use crate::kit::requests::respond;
use crate::kit::store::StoreError;

/// The end of the name of a row with a digest.
const DIGEST: &str = "-md5";

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) aws: Aws,
    /// Its name or ARN.
    pub(super) name: String,
}

/// How a conditional request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conditional {
    Done,
    /// The condition failed.
    Refused,
}

impl Table {
    fn send(&self, action: &'static str, body: &Json) -> Result<(Request, Response), StoreError> {
        let endpoint = self.aws.endpoint(Service::DynamoDb);
        let url = Url::parse(&format!("{}/", endpoint.url)).map_err(|error| {
            StoreError::lasting(format!("the DynamoDB endpoint {} is not a URL: {error}", endpoint.url))
        })?;
        let body = Some(body.to_string().into_bytes());
        let request = Request { method: Method::POST, body, ..Request::new(url) }
            .with_header("content-type", "application/x-amz-json-1.0")
            .with_header("x-amz-target", format!("DynamoDB_20120810.{action}"));
        let signed = self.aws.sign(request.clone(), Service::DynamoDb).map_err(|error| of_aws(&error))?;
        Ok((request, respond(self.aws.client(), signed)?))
    }

    fn refused(&self, request: &Request, response: &Response, permission: &str) -> StoreError {
        let name = self.name.rsplit_once("table/").map_or(self.name.as_str(), |(_, name)| name);
        let resource = format!("dynamodb:*:*:table/{name}");
        let call = Call { permission, resource: &resource, container: name, service: Service::DynamoDb };
        refused(&self.aws, request, response, &call)
    }

    /// An attribute of a row; none if there is no such row. A row without the attribute has an empty one.
    fn get(&self, row: &str, attribute: &str) -> Result<Option<String>, StoreError> {
        let body = json!({
            "TableName": self.name,
            "Key": {"LockID": {"S": row}},
            "ProjectionExpression": format!("LockID, {attribute}"),
            "ConsistentRead": true,
        });
        let (request, response) = self.send("GetItem", &body)?;
        if !response.is_success() {
            return Err(self.refused(&request, &response, "dynamodb:GetItem"));
        }
        let json: Json = serde_json::from_slice(&response.body)
            .map_err(|_| StoreError::lasting("the response of DynamoDB GetItem is not JSON"))?;
        let item = json.get("Item").filter(|item| item.as_object().is_some_and(|item| !item.is_empty()));
        let text = |item: &Json| item.get(attribute)?.get("S")?.as_str().map(str::to_owned);
        Ok(item.map(|item| text(item).unwrap_or_default()))
    }

    /// The content of the lock of a state; none if it is not locked.
    pub(super) fn lock(&self, row: &str) -> Result<Option<String>, StoreError> {
        self.get(row, "Info")
    }

    /// Adds the row of a lock, unless the state is locked.
    pub(super) fn put_lock(&self, row: &str, info: &str) -> Result<Conditional, StoreError> {
        let body = json!({
            "TableName": self.name,
            "Item": {"LockID": {"S": row}, "Info": {"S": info}},
            "ConditionExpression": "attribute_not_exists(LockID)",
        });
        let (request, response) = self.send("PutItem", &body)?;
        self.conditional(&request, &response, "dynamodb:PutItem")
    }

    /// Removes the row of a lock that still has this content.
    pub(super) fn delete_lock(&self, row: &str, info: &str) -> Result<Conditional, StoreError> {
        let body = json!({
            "TableName": self.name,
            "Key": {"LockID": {"S": row}},
            "ConditionExpression": "Info = :info",
            "ExpressionAttributeValues": {":info": {"S": info}},
        });
        let (request, response) = self.send("DeleteItem", &body)?;
        self.conditional(&request, &response, "dynamodb:DeleteItem")
    }

    fn conditional(&self, request: &Request, response: &Response, permission: &str) -> Result<Conditional, StoreError> {
        if response.is_success() {
            return Ok(Conditional::Done);
        }
        match AwsFailure::of(response).code.as_str() {
            "ConditionalCheckFailedException" => Ok(Conditional::Refused),
            _ => Err(self.refused(request, response, permission)),
        }
    }

    /// The digest of a state, if its row exists and has a valid digest.
    pub(super) fn digest(&self, row: &str) -> Result<Option<String>, StoreError> {
        let digest = self.get(&format!("{row}{DIGEST}"), "Digest")?;
        let is_digest = |text: &String| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        Ok(digest.map(|digest| digest.to_ascii_lowercase()).filter(is_digest))
    }

    /// Writes the digest of a state.
    pub(super) fn put_digest(&self, row: &str, digest: &str) -> Result<(), StoreError> {
        let item = json!({"LockID": {"S": format!("{row}{DIGEST}")}, "Digest": {"S": digest}});
        let (request, response) = self.send("PutItem", &json!({"TableName": self.name, "Item": item}))?;
        match response.is_success() {
            true => Ok(()),
            false => Err(self.refused(&request, &response, "dynamodb:PutItem")),
        }
    }

    /// Removes the digest of a state.
    pub(super) fn delete_digest(&self, row: &str) -> Result<(), StoreError> {
        let body = json!({"TableName": self.name, "Key": {"LockID": {"S": format!("{row}{DIGEST}")}}});
        let (request, response) = self.send("DeleteItem", &body)?;
        match response.is_success() {
            true => Ok(()),
            false => Err(self.refused(&request, &response, "dynamodb:DeleteItem")),
        }
    }
}
