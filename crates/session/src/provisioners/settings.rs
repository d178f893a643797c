//! The settings of `ssh` for a connection, as the files it reads.
//!
//! All paths are relative to the room, where `ssh` runs. Nothing of the user's own settings counts: a configuration means
//! the same everywhere.

use std::io;

use super::connection::{Connection, Machine};
use super::room::Room;

/// The files that hold secrets.
const SECRETS: [&str; 6] =
    ["target-key", "target-password", "target-askpass", "bastion-key", "bastion-password", "bastion-askpass"];

/// The keys that an attempt offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Keys and passwords of the connection block. They come first, because machines allow only some attempts.
    Configured,
    /// Keys of the agent too.
    OfAgent,
}

/// Writes all files for an attempt.
pub(super) fn write(room: &Room, connection: &Connection, keys: Keys, identity: Option<&str>) -> io::Result<()> {
    let mut text = machine(room, "target", &connection.target, connection, keys, identity)?;
    text += "  ControlPath control\n  ServerAliveInterval 2\n  ServerAliveCountMax 60\n";
    if let Some(bastion) = &connection.bastion {
        text += "  ProxyCommand env SSH_ASKPASS=./bastion-askpass ssh -F config -E bastion-log -W [%h]:%p -- bastion\n";
        text += &machine(room, "bastion", bastion, connection, keys, identity)?;
    }
    text += "Host *\n  LogLevel ERROR\n  ConnectTimeout 15\n  TCPKeepAlive yes\n  GlobalKnownHostsFile /dev/null\n  \
             CheckHostIP no\n  VerifyHostKeyDNS no\n  UpdateHostKeys no\n  GSSAPIAuthentication no\n  \
             HostbasedAuthentication no\n  NumberOfPasswordPrompts 1\n  \
             PreferredAuthentications publickey,password,keyboard-interactive\n  EscapeChar none\n";
    room.write("config", &text)
}

/// Removes secrets: an open connection no longer needs them.
pub(super) fn forget(room: &Room) {
    for name in SECRETS {
        room.remove(name);
    }
}

fn machine(
    room: &Room,
    name: &str,
    machine: &Machine,
    connection: &Connection,
    keys: Keys,
    identity: Option<&str>,
) -> io::Result<String> {
    let Machine { host, port, user, password, private_key, certificate, host_key } = machine;
    let shown = host.replace("%", "%%");
    let mut text = format!("Host {name}\n  HostName \"{shown}\"\n  Port {port}\n  User \"{user}\"\n");
    match host_key {
        Some(key) => {
            let host = host.to_lowercase();
            let (key, places) = (key.trim(), format!("{host},[{host}]:{port}"));
            // A key of the machine, or of who signs keys of machines.
            room.write(&format!("{name}-known"), &format!("{places} {key}\n@cert-authority {places} {key}\n"))?;
            text += &format!("  StrictHostKeyChecking yes\n  UserKnownHostsFile {name}-known\n");
        }
        None => text += "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n",
    }
    match password {
        Some(password) => {
            room.write(&format!("{name}-password"), &format!("{password}\n"))?;
            room.write_program(&format!("{name}-askpass"), &format!("#!/bin/sh\nexec cat {name}-password\n"))?;
            text += "  BatchMode no\n";
        }
        None => text += "  BatchMode yes\n  PasswordAuthentication no\n  KbdInteractiveAuthentication no\n",
    }
    let mut files = Vec::new();
    if let Some(key) = private_key {
        room.write(&format!("{name}-key"), &format!("{}\n", key.trim_end()))?;
        files.push(format!("{name}-key"));
        if let Some(certificate) = certificate {
            room.write(&format!("{name}-certificate"), &format!("{}\n", certificate.trim()))?;
            text += &format!("  CertificateFile {name}-certificate\n");
        }
    }
    if let Some(identity) = identity.filter(|_| keys == Keys::OfAgent) {
        room.write("identity.pub", &format!("{identity}\n"))?;
        files.push("identity.pub".to_owned());
    }
    if files.is_empty() {
        files.push("none".to_owned());
    }
    for file in files {
        text += &format!("  IdentityFile {file}\n");
    }
    if connection.agent {
        text += &format!("  IdentitiesOnly {}\n  ForwardAgent yes\n", if keys == Keys::OfAgent { "no" } else { "yes" });
    } else {
        text += "  IdentitiesOnly yes\n  IdentityAgent none\n";
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::arguments::Arguments;
    use super::super::connection::SshAgent;
    use super::*;

    #[test]
    fn settings_say_all_that_matters() {
        let block = r#"{"host": "fe80::1%eth0", "port": 2222, "host_key": "ssh-ed25519 AAAA", "bastion_host": "Gate.Example",
            "private_key": "-----BEGIN X-----\n-----END X-----\n\n", "certificate": "x-cert-v01@openssh.com AAAA",
            "bastion_password": "hidden", "bastion_host_key": "ssh-rsa BBBB"}"#;
        let block = yuba_value::json::decode_implied(block).expect("because tests write JSON");
        let connection =
            Connection::new(&Arguments::new(&block), SshAgent::Available).expect("because it is well written");
        let room = Room::new(&std::env::temp_dir()).expect("because the directory for temporary files is writable");
        let list = || {
            let mut names: Vec<_> = std::fs::read_dir(room.path()).into_iter().flatten().flatten().collect();
            names.sort_by_key(std::fs::DirEntry::file_name);
            names.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let read = |name: &str| std::fs::read_to_string(room.path().join(name)).unwrap_or_default();
        write(&room, &connection, Keys::OfAgent, Some("ssh-rsa CCCC me")).expect("because the room is ours");
        expect![[r#"
            Host target
              HostName "fe80::1%%eth0"
              Port 2222
              User "root"
              StrictHostKeyChecking yes
              UserKnownHostsFile target-known
              BatchMode yes
              PasswordAuthentication no
              KbdInteractiveAuthentication no
              CertificateFile target-certificate
              IdentityFile target-key
              IdentityFile identity.pub
              IdentitiesOnly no
              ForwardAgent yes
              ControlPath control
              ServerAliveInterval 2
              ServerAliveCountMax 60
              ProxyCommand env SSH_ASKPASS=./bastion-askpass ssh -F config -E bastion-log -W [%h]:%p -- bastion
            Host bastion
              HostName "Gate.Example"
              Port 2222
              User "root"
              StrictHostKeyChecking yes
              UserKnownHostsFile bastion-known
              BatchMode no
              CertificateFile bastion-certificate
              IdentityFile bastion-key
              IdentityFile identity.pub
              IdentitiesOnly no
              ForwardAgent yes
            Host *
              LogLevel ERROR
              ConnectTimeout 15
              TCPKeepAlive yes
              GlobalKnownHostsFile /dev/null
              CheckHostIP no
              VerifyHostKeyDNS no
              UpdateHostKeys no
              GSSAPIAuthentication no
              HostbasedAuthentication no
              NumberOfPasswordPrompts 1
              PreferredAuthentications publickey,password,keyboard-interactive
              EscapeChar none
        "#]]
        .assert_eq(&read("config"));
        expect![[r#"
            fe80::1%eth0,[fe80::1%eth0]:2222 ssh-ed25519 AAAA
            @cert-authority fe80::1%eth0,[fe80::1%eth0]:2222 ssh-ed25519 AAAA
            gate.example,[gate.example]:2222 ssh-rsa BBBB
            @cert-authority gate.example,[gate.example]:2222 ssh-rsa BBBB
        "#]]
        .assert_eq(&(read("target-known") + &read("bastion-known")));
        expect![[r#"
            #!/bin/sh
            exec cat bastion-password
            hidden
            -----BEGIN X-----
            -----END X-----
        "#]]
        .assert_eq(&(read("bastion-askpass") + &read("bastion-password") + &read("target-key")));
        expect!["bastion-askpass bastion-certificate bastion-key bastion-known bastion-password config identity.pub target-certificate target-key target-known"].assert_eq(&list());
        forget(&room);
        expect!["bastion-certificate bastion-known config identity.pub target-certificate target-known"]
            .assert_eq(&list());
    }
}
