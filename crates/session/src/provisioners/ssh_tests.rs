//! `file` and `remote-exec` with a real machine: this one, through an SSH server of its own.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ecow::EcoString;
use expect_test::{Expect, expect};
use yuba_engine::{ProvisionOrder, Provisioners as _};
use yuba_value::json;

use super::LocalProvisioners;
use super::room::Room;

struct Server {
    child: Child,
    port: u16,
    user: String,
    room: Room,
}

impl Server {
    fn start() -> Result<Server, String> {
        let program =
            ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"].into_iter().map(Path::new).find(|p| p.exists());
        let Some(program) = program else { return Err("no sshd on this machine".to_owned()) };
        let room = Room::new(&std::env::temp_dir()).map_err(|problem| problem.to_string())?;
        for (name, passphrase) in [("host", ""), ("me", ""), ("other", ""), ("locked", "secret")] {
            let args = ["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", name];
            run(Command::new("ssh-keygen").args(args).current_dir(room.path()))?;
        }
        let user = run(Command::new("id").arg("-un"))?.trim().to_owned();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(|problem| problem.to_string())?.port();
        let dir = room.path().display();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {dir}/host\nAuthorizedKeysFile {dir}/me.pub\nPidFile none\n\
             StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 50\n"
        );
        room.write("sshd", &config).map_err(|problem| problem.to_string())?;
        run(Command::new(program).arg("-t").arg("-f").arg(room.path().join("sshd")))?;
        let mut command = Command::new(program);
        command.arg("-D").arg("-e").arg("-f").arg(room.path().join("sshd"));
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|problem| problem.to_string())?;
        let mut log = BufReader::new(child.stderr.take().expect("because it is piped"));
        let mut line = String::new();
        let _ = log.read_line(&mut line);
        // It must not block when it has much to say.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        match line.contains("listening") {
            true => Ok(Server { child, port, user, room }),
            false => {
                let _ = child.wait();
                Err(line)
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|problem| problem.to_string())
    }

    /// An order, in whose texts `{room}` is the room, and `{file NAME}` what is in a file there.
    fn order(&self, kind: &str, config: &str, connection: &str) -> ProvisionOrder {
        let fill = |text: &str| {
            let mut text = text.replace("{room}", &self.room.path().display().to_string());
            for name in ["me", "other", "locked", "host.pub", "other.pub"] {
                text = text.replace(&format!("{{file {name}}}"), &self.read(name).replace('\n', "\\n"));
            }
            json::decode_implied(&text).expect("because tests write JSON")
        };
        let (port, user) = (self.port, &self.user);
        let connection = format!(
            r#"{{"host": "127.0.0.1", "port": {port}, "user": "{user}", "agent": false, "timeout": "0s"{connection}}}"#
        );
        ProvisionOrder { kind: kind.into(), config: fill(config), connection: fill(&connection), hidden: None }
    }

    fn check(&self, kind: &str, config: &str, connection: &str, expect: &Expect) {
        let said = RefCell::new(String::new());
        let output = |text: EcoString| *said.borrow_mut() += &format!("| {}\n", text.trim_end());
        let door = LocalProvisioners::of_tests(Arc::default());
        let result = futures_executor::block_on(door.run(self.order(kind, config, connection), &output));
        let result = result.map_or_else(|problem| format!("failed: {problem}\n"), |()| "done\n".to_owned());
        let text = said.into_inner() + &result;
        let text = text.replace(&format!(":{}", self.port), ":PORT").replace(&self.user, "USER");
        expect.assert_eq(&text.replace(&self.room.path().display().to_string(), "ROOM"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|problem| format!("{command:?}: {problem}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

const KEY: &str = r#", "private_key": "{file me}""#;

#[test]
fn machines_are_reached() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    std::thread::scope(|scope| {
        for check in [scripts, files, ways, stops] {
            let server = &server;
            scope.spawn(move || check(server));
        }
    });
}

fn scripts(server: &Server) {
    let script = r#", "script_path": "{room}/a script.sh""#;
    let both = format!("{KEY}{script}");
    server.check(
        "remote-exec",
        r#"{"inline": ["echo out", "echo err >&2", "test -t 1 && head -1 \"$0\""]}"#,
        &both,
        &expect![[r#"
            | Connecting to remote host via SSH...
              Host: 127.0.0.1
              User: USER
              Password: false
              Private key: true
              Certificate: false
              SSH Agent: false
              Checking Host Key: false
              Target Platform: unix
            | Connected!
            | out
            | err
            | #!/bin/sh
            done
        "#]],
    );
    assert_eq!(server.read("a script.sh"), "");
    server.check(
        "remote-exec",
        r#"{"inline": ["echo once", "exit 3"]}"#,
        &both,
        &expect![[r#"
        | Connecting to remote host via SSH...
          Host: 127.0.0.1
          User: USER
          Password: false
          Private key: true
          Certificate: false
          SSH Agent: false
          Checking Host Key: false
          Target Platform: unix
        | Connected!
        | once
        failed: The script "ROOM/a script.sh" failed: exit status 3.
    "#]],
    );
    let _ = server.room.write_program("mine", "#!/usr/bin/env sh\necho mine\n");
    server.check(
        "remote-exec",
        r#"{"scripts": ["{room}/mine", "{room}/mine"]}"#,
        &both,
        &expect![[r#"
        | Connecting to remote host via SSH...
          Host: 127.0.0.1
          User: USER
          Password: false
          Private key: true
          Certificate: false
          SSH Agent: false
          Checking Host Key: false
          Target Platform: unix
        | Connected!
        | mine
        | mine
        done
    "#]],
    );
    server.check(
        "remote-exec",
        r#"{"script": "{room}/nowhere"}"#,
        &both,
        &expect![[r#"
        failed: Failed to read the script "ROOM/nowhere": No such file or directory (os error 2).
    "#]],
    );
    let lost = format!(r#"{KEY}, "script_path": "{{room}}/nowhere/script.sh""#);
    server.check(
        "remote-exec",
        r#"{"inline": ["true"]}"#,
        &lost,
        &expect![[r#"
        | Connecting to remote host via SSH...
          Host: 127.0.0.1
          User: USER
          Password: false
          Private key: true
          Certificate: false
          SSH Agent: false
          Checking Host Key: false
          Target Platform: unix
        | Connected!
        failed: Failed to copy a script to the machine: scp: ROOM/nowhere: No such file or directory.
    "#]],
    );
}

fn files(server: &Server) {
    server.check(
        "file",
        r#"{"content": "text\n", "destination": "{room}/it's"}"#,
        KEY,
        &expect![[r#"
        done
    "#]],
    );
    assert_eq!(server.read("it's"), "text\n");
    let _ = std::fs::create_dir_all(server.path("source/deep"));
    let _ = server.room.write("source/deep/file", &"long\n".repeat(100_000));
    server.check(
        "file",
        r#"{"source": "{room}/source/deep/file", "destination": "{room}/copy"}"#,
        KEY,
        &expect![[r#"
        done
    "#]],
    );
    assert_eq!(server.read("copy").len(), 500_000);
    server.check(
        "file",
        r#"{"source": "{room}/source", "destination": "{room}/new"}"#,
        KEY,
        &expect![[r#"
        done
    "#]],
    );
    assert_eq!(server.read("new/deep/file").len(), 500_000);
    server.check(
        "file",
        r#"{"source": "{room}/source", "destination": "{room}/new"}"#,
        KEY,
        &expect![[r#"
        done
    "#]],
    );
    assert_eq!(server.read("new/source/deep/file").len(), 500_000);
    server.check(
        "file",
        r#"{"source": "{room}/source/deep/", "destination": "{room}/new"}"#,
        KEY,
        &expect![[r#"
        done
    "#]],
    );
    assert_eq!(server.read("new/file").len(), 500_000);
    server.check(
        "file",
        r#"{"content": "", "destination": "{room}/nowhere/file"}"#,
        KEY,
        &expect![[r#"
        failed: Failed to write "ROOM/nowhere/file" on the machine: scp: ROOM/nowhere: No such file or directory.
    "#]],
    );
    server.check(
        "file",
        r#"{"source": "{room}/nowhere", "destination": "{room}/file"}"#,
        KEY,
        &expect![[r#"
        failed: Failed to read the source "ROOM/nowhere": No such file or directory (os error 2).
    "#]],
    );
}

fn ways(server: &Server) {
    let config = r#"{"content": "", "destination": "{room}/way"}"#;
    let known = format!(r#"{KEY}, "host_key": "{{file host.pub}}""#);
    server.check(
        "file",
        config,
        &known,
        &expect![[r#"
        done
    "#]],
    );
    let unknown = format!(r#"{KEY}, "host_key": "{{file other.pub}}""#);
    server.check("file", config, &unknown, &expect![[r#"
        failed: Failed to connect within 0 seconds. The last attempt: USER@127.0.0.1:PORT: the key of the machine is not the host key of the connection.
    "#]]);
    let port = server.port;
    let bastion = format!(r#"{known}, "bastion_host": "localhost", "bastion_port": {port}"#);
    server.check(
        "file",
        config,
        &bastion,
        &expect![[r#"
        done
    "#]],
    );
    let bastion = format!(r#"{bastion}, "bastion_host_key": "{{file other.pub}}""#);
    server.check("file", config, &bastion, &expect![[r#"
        failed: Failed to connect within 0 seconds. The last attempt: bastion USER@localhost:PORT: the key of the machine is not the host key of the connection.
    "#]]);
    server.check("file", config, r#", "private_key": "{file other}""#, &expect![[r#"
        failed: Failed to connect within 0 seconds. The last attempt: USER@127.0.0.1:PORT: USER@127.0.0.1: Permission denied (publickey,keyboard-interactive).
    "#]]);
    server.check("file", config, r#", "private_key": "{file locked}""#, &expect![[r#"
        failed: The private key of the connection is protected by a passphrase. Use a key without one, or add the key to an SSH agent and omit it here.
    "#]]);
    server.check(
        "file",
        config,
        r#", "private_key": "-----BEGIN A-----\nsecret\n-----END A-----""#,
        &expect![[r#"
        failed: The private key of the connection is damaged or has an unknown type.
    "#]],
    );
    server.check("file", config, "", &expect![[r#"
        failed: Failed to connect within 0 seconds. The last attempt: USER@127.0.0.1:PORT: USER@127.0.0.1: Permission denied (publickey,keyboard-interactive).
    "#]]);
    let closed = format!(r#"{KEY}, "port": 1"#);
    server.check("file", config, &closed, &expect![[r#"
        failed: Failed to connect within 0 seconds. The last attempt: USER@127.0.0.1:1: ssh: connect to host 127.0.0.1 port 1: Connection refused.
    "#]]);
}

fn stops(server: &Server) {
    let both = format!(r#"{KEY}, "script_path": "{{room}}/script.sh""#);
    let stop = Arc::new(AtomicBool::new(false));
    let door = LocalProvisioners::of_tests(Arc::clone(&stop));
    let output = |text: EcoString| stop.store(text.trim() == "now", Ordering::Relaxed);
    let order = server.order("remote-exec", r#"{"inline": ["echo now", "sleep 100"]}"#, &both);
    let result = futures_executor::block_on(door.run(order, &output));
    assert!(result.is_err_and(|problem| problem.ends_with("it was stopped.")));
}
