//! `connection` blocks: how to reach a machine.

use std::time::Duration;

use ecow::{EcoString, eco_format};
use yuba_value::functions::timestamp::parse_duration;
use yuba_value::quote::quote;

use super::arguments::Arguments;

/// Settings of an SSH connection. No `Debug`: it has secrets.
pub(super) struct Connection {
    pub(super) target: Machine,
    /// The machine that is gone through.
    pub(super) bastion: Option<Machine>,
    /// Whether keys of the agent may be used, and the agent be asked from there.
    pub(super) agent: bool,
    pub(super) agent_identity: Option<EcoString>,
    pub(super) platform: Platform,
    /// Remote path of scripts; `%RAND%` is a number.
    pub(super) script_path: EcoString,
    /// So long attempts are made.
    pub(super) timeout: Duration,
    /// Messages for the user.
    pub(super) note: Option<EcoString>,
}

/// A machine, and the identity of this client.
pub(super) struct Machine {
    /// Without brackets.
    pub(super) host: EcoString,
    pub(super) port: u16,
    pub(super) user: EcoString,
    pub(super) password: Option<EcoString>,
    pub(super) private_key: Option<EcoString>,
    pub(super) certificate: Option<EcoString>,
    pub(super) host_key: Option<EcoString>,
}

/// Whether an SSH agent can be asked for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SshAgent {
    Available,
    Missing,
}

/// Platform of the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Platform {
    Unix,
    Windows,
}

const TIMEOUT: Duration = Duration::from_secs(5 * 60);

impl Connection {
    /// Reads a block.
    pub(super) fn new(block: &Arguments, ssh_agent: SshAgent) -> Result<Connection, EcoString> {
        match block.text("type").map_or("ssh", EcoString::as_str) {
            "ssh" | "" => {}
            "winrm" => {
                return Err("Connections of type \"winrm\" are not supported. To connect to Windows, use \
                            \"ssh\" and target_platform = \"windows\"."
                    .into());
            }
            other => {
                return Err(eco_format!(
                    "Connection type {} is not supported. The only supported type is \"ssh\".",
                    quote(other)
                ));
            }
        }
        if block.filled("proxy_host").is_some() {
            return Err(
                "Proxies (proxy_host) are not supported yet. Use bastion_host to connect through a machine with SSH."
                    .into(),
            );
        }
        let filled = |name: &str| block.filled(name).cloned();
        let Some(host) = filled("host") else { return Err("The host of the connection is empty.".into()) };
        let target = Machine {
            host: word("host", &host)?,
            port: port(block, "port")?.unwrap_or(22),
            user: filled("user").map_or(Ok("root".into()), |user| word("user", &user))?,
            password: filled("password"),
            private_key: filled("private_key"),
            certificate: filled("certificate"),
            host_key: filled("host_key"),
        };
        let bastion = match filled("bastion_host") {
            None => None,
            Some(host) => Some(Machine {
                host: word("bastion_host", &host)?,
                port: port(block, "bastion_port")?.unwrap_or(target.port),
                user: filled("bastion_user")
                    .map_or_else(|| Ok(target.user.clone()), |user| word("bastion_user", &user))?,
                password: filled("bastion_password").or_else(|| target.password.clone()),
                private_key: filled("bastion_private_key").or_else(|| target.private_key.clone()),
                certificate: filled("bastion_certificate").or_else(|| target.certificate.clone()),
                host_key: filled("bastion_host_key"),
            }),
        };
        for machine in std::iter::once(&target).chain(&bastion) {
            machine.check()?;
        }
        let platform = match block.filled("target_platform").map(EcoString::as_str) {
            None | Some("unix") => Platform::Unix,
            Some("windows") => Platform::Windows,
            Some(other) => {
                return Err(eco_format!("target_platform must be \"unix\" or \"windows\", not {}.", quote(other)));
            }
        };
        let agent = block.flag("agent").unwrap_or(ssh_agent == SshAgent::Available);
        if agent && ssh_agent == SshAgent::Missing {
            return Err("The connection uses an SSH agent (agent = true), and SSH_AUTH_SOCK is not set.".into());
        }
        let (timeout, note) = match block.filled("timeout").map(|text| (text, parse_duration(text))) {
            None => (TIMEOUT, None),
            Some((_, Ok(nanos))) => (Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)), None),
            // Quirk: an invalid time is ignored.
            Some((_, Err(problem))) => (TIMEOUT, Some(eco_format!("Using the default timeout 5m: {problem}."))),
        };
        let script_path = filled("script_path").unwrap_or_else(|| match platform {
            Platform::Unix => "/tmp/terraform_%RAND%.sh".into(),
            Platform::Windows => "C:/windows/temp/terraform_%RAND%.cmd".into(),
        });
        let agent_identity = filled("agent_identity");
        Ok(Connection { target, bastion, agent, agent_identity, platform, script_path, timeout, note })
    }

    /// Description of the connection attempt, for the user.
    pub(super) fn announcement(&self) -> Vec<EcoString> {
        let Connection { target, bastion, agent, .. } = self;
        let platform = match self.platform {
            Platform::Unix => "unix",
            Platform::Windows => "windows",
        };
        let facts = |machine: &Machine| {
            eco_format!(
                "  Host: {}\n  User: {}\n  Password: {}\n  Private key: {}\n  Certificate: {}\n  SSH Agent: {agent}\n  \
                 Checking Host Key: {}",
                machine.bracketed(),
                machine.user,
                machine.password.is_some(),
                machine.private_key.is_some(),
                machine.certificate.is_some(),
                machine.host_key.is_some(),
            )
        };
        let first =
            eco_format!("Connecting to remote host via SSH...\n{}\n  Target Platform: {platform}\n", facts(target),);
        let second =
            bastion.as_ref().map(|bastion| eco_format!("Using configured bastion host...\n{}", facts(bastion)));
        std::iter::once(first).chain(second).collect()
    }
}

impl Machine {
    /// The host as part of addresses with ports.
    pub(super) fn bracketed(&self) -> EcoString {
        if self.host.contains(':') { eco_format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// For messages: who we are, and where.
    pub(super) fn address(&self) -> EcoString {
        eco_format!("{}@{}:{}", self.user, self.bracketed(), self.port)
    }

    fn check(&self) -> Result<(), EcoString> {
        let Machine { private_key, certificate, host_key, .. } = self;
        if private_key.as_ref().is_some_and(|key| !key.contains("-----BEGIN ")) {
            return Err(
                "The private key of the connection is invalid. It must be the content of a file in PEM format, not its path."
                    .into(),
            );
        }
        if certificate.as_ref().is_some_and(|text| !kind(text).contains("-cert-v01@")) {
            return Err("The certificate of the connection is invalid. It must be a line such as \
                        \"ssh-ed25519-cert-v01@openssh.com AAAA...\". Omit it if keys are not signed."
                .into());
        }
        let is_key = |key: &EcoString| key.split_whitespace().count() >= 2 && key.trim().lines().count() == 1;
        if host_key.as_ref().is_some_and(|key| !is_key(key)) {
            return Err(
                "The host key of the connection is invalid. It must be a line such as \"ssh-ed25519 AAAA...\".".into(),
            );
        }
        Ok(())
    }
}

fn kind(key: &str) -> &str {
    key.split_whitespace().next().unwrap_or_default()
}

fn port(block: &Arguments, name: &str) -> Result<Option<u16>, EcoString> {
    let Some(number) = block.get(name).and_then(|value| value.as_number()) else { return Ok(None) };
    match number.to_u64().and_then(|number| u16::try_from(number).ok()) {
        // Quirk: 0 is the port that is not written.
        Some(0) => Ok(None),
        Some(port) => Ok(Some(port)),
        None => Err(eco_format!("The {name} of the connection must be a whole number from 1 to 65535.")),
    }
}

/// A name that can stand in the settings of SSH and does not look like an option.
fn word(name: &str, text: &EcoString) -> Result<EcoString, EcoString> {
    let text = match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) if name.ends_with("host") => EcoString::from(inner),
        _ => text.clone(),
    };
    let odd =
        |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '$' | ';' | '|' | '<' | '>');
    if text.is_empty() || text.starts_with('-') || text.contains(odd) {
        return Err(eco_format!("The {name} of the connection is invalid: {}.", quote(&text)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(block: &str, expect: &Expect) {
        let block = yuba_value::json::decode_implied(block).expect("because tests write JSON");
        let said = match Connection::new(&Arguments::new(&block), SshAgent::Missing) {
            Err(problem) => problem.to_string(),
            Ok(found) => {
                let ways = std::iter::once(&found.target).chain(&found.bastion).map(Machine::address);
                let ways = ways.collect::<Vec<_>>().join(" by ");
                let note = found.note.as_deref().unwrap_or_default();
                let announced = found.announcement().join("\n");
                format!("{ways} within {:?} by {} {note}\n{announced}", found.timeout, found.script_path)
            }
        };
        expect.assert_eq(&said);
    }

    #[test]
    fn blocks_say_where_and_who() {
        check(
            r#"{"host": "example.com", "user": null}"#,
            &expect![[r#"
            root@example.com:22 within 300s by /tmp/terraform_%RAND%.sh 
            Connecting to remote host via SSH...
              Host: example.com
              User: root
              Password: false
              Private key: false
              Certificate: false
              SSH Agent: false
              Checking Host Key: false
              Target Platform: unix
        "#]],
        );
        check(
            r#"{"host": "::1", "port": 2222, "user": "me", "password": "hidden", "timeout": "30s", "bastion_host": "gate",
                "target_platform": "windows", "host_key": "ssh-ed25519 AAAA"}"#,
            &expect![[r#"
                me@[::1]:2222 by me@gate:2222 within 30s by C:/windows/temp/terraform_%RAND%.cmd 
                Connecting to remote host via SSH...
                  Host: [::1]
                  User: me
                  Password: true
                  Private key: false
                  Certificate: false
                  SSH Agent: false
                  Checking Host Key: true
                  Target Platform: windows

                Using configured bastion host...
                  Host: gate
                  User: me
                  Password: true
                  Private key: false
                  Certificate: false
                  SSH Agent: false
                  Checking Host Key: false"#]],
        );
        check(
            r#"{"host": "[::1]", "timeout": "soon", "port": 0}"#,
            &expect![[r#"
                root@[::1]:22 within 300s by /tmp/terraform_%RAND%.sh Using the default timeout 5m: "soon" is not a valid duration: a number is expected before each unit; it looks like "1h30m" or "-2.5s".
                Connecting to remote host via SSH...
                  Host: [::1]
                  User: root
                  Password: false
                  Private key: false
                  Certificate: false
                  SSH Agent: false
                  Checking Host Key: false
                  Target Platform: unix
            "#]],
        );
    }

    #[test]
    fn blocks_that_lead_nowhere() {
        check(r#"{"host": ""}"#, &expect!["The host of the connection is empty."]);
        check(
            r#"{"host": "-oProxyCommand=x"}"#,
            &expect![[r#"The host of the connection is invalid: "-oProxyCommand=x"."#]],
        );
        check(r#"{"host": "a", "user": "b\nc"}"#, &expect![[r#"The user of the connection is invalid: "b\nc"."#]]);
        check(
            r#"{"host": "a", "type": "winrm"}"#,
            &expect![[
                r#"Connections of type "winrm" are not supported. To connect to Windows, use "ssh" and target_platform = "windows"."#
            ]],
        );
        check(
            r#"{"host": "a", "type": "telnet"}"#,
            &expect![[r#"Connection type "telnet" is not supported. The only supported type is "ssh"."#]],
        );
        check(
            r#"{"host": "a", "port": 70000}"#,
            &expect!["The port of the connection must be a whole number from 1 to 65535."],
        );
        check(
            r#"{"host": "a", "proxy_host": "p"}"#,
            &expect![
                "Proxies (proxy_host) are not supported yet. Use bastion_host to connect through a machine with SSH."
            ],
        );
        check(
            r#"{"host": "a", "agent": true}"#,
            &expect!["The connection uses an SSH agent (agent = true), and SSH_AUTH_SOCK is not set."],
        );
        check(
            r#"{"host": "a", "target_platform": "beos"}"#,
            &expect![[r#"target_platform must be "unix" or "windows", not "beos"."#]],
        );
        check(
            r#"{"host": "a", "private_key": "~/.ssh/id"}"#,
            &expect![
                "The private key of the connection is invalid. It must be the content of a file in PEM format, not its path."
            ],
        );
        check(
            r#"{"host": "a", "certificate": "ssh-ed25519 AAAA"}"#,
            &expect![[
                r#"The certificate of the connection is invalid. It must be a line such as "ssh-ed25519-cert-v01@openssh.com AAAA...". Omit it if keys are not signed."#
            ]],
        );
        check(
            r#"{"host": "a", "host_key": "AAAA"}"#,
            &expect![[
                r#"The host key of the connection is invalid. It must be a line such as "ssh-ed25519 AAAA..."."#
            ]],
        );
    }
}
