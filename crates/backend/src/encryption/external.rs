//! The method `external`: an external process encrypts and decrypts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value as Json};

use super::program::Conversation;
use crate::kit::requests::STATE_LIMIT;

/// The commands of the method, each an executable with its arguments.
#[derive(Clone, Debug)]
pub struct Commands {
    /// Encrypts.
    pub encrypt: Vec<String>,
    /// Decrypts.
    pub decrypt: Vec<String>,
}

impl Commands {
    /// Errors in the arguments.
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, command) in [("encrypt_command", &self.encrypt), ("decrypt_command", &self.decrypt)] {
            match command.first() {
                None => return Err(format!("The argument \"{name}\" must not be empty.")),
                Some(program) if program.is_empty() => {
                    return Err(format!("The first element of \"{name}\" must be the name of an executable."));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn encrypt(&self, key: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
        let encrypted = run(&self.encrypt, key, content)?;
        match encrypted.is_empty() {
            true => Err(format!("{} returned nothing", named(&self.encrypt))),
            false => Ok(encrypted),
        }
    }

    pub(super) fn decrypt(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, String> {
        if data.is_empty() {
            return Err("the encrypted data is empty, so it is damaged".to_owned());
        }
        run(&self.decrypt, key, data)
    }
}

fn named(command: &[String]) -> String {
    format!("the external encryption method {}", command.first().map(String::as_str).unwrap_or_default())
}

/// Sends a payload with a key to an external process and returns the payload of its response.
fn run(command: &[String], key: &[u8], payload: &[u8]) -> Result<Vec<u8>, String> {
    let mut input = Map::new();
    if !key.is_empty() {
        input.insert("key".to_owned(), BASE64.encode(key).into());
    }
    input.insert("payload".to_owned(), BASE64.encode(payload).into());
    let conversation = Conversation {
        name: named(command),
        command,
        magic: "OpenTofu-External-Encryption-Method",
        input: Json::Object(input).to_string().into_bytes(),
        limit: STATE_LIMIT * 2,
    };
    let answer = conversation.run()?;
    let only_payload = answer.as_object().filter(|object| object.keys().all(|name| name == "payload"));
    let payload = only_payload.and_then(|object| object.get("payload")?.as_str());
    let payload = payload.and_then(|text| BASE64.decode(text).ok());
    payload.ok_or_else(|| format!("{}: its output must have \"payload\" in Base64 as its only member", named(command)))
}
