//! Packages in git repositories, fetched with the executable `git`.
//!
//! Invariant: no part of an address can become an option of git, and git never prompts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use yuba_net::Environment;
use yuba_net::http::{Url, shown};

use super::address::take_argument;
use super::files::create_parent;

/// Maximum number of characters of the output of git in an error.
const LONGEST_MESSAGE: usize = 4000;

/// Clones a repository into a directory that does not exist, at the wanted state, with its submodules.
pub(super) fn fetch(url: &Url, into: &Path, environment: &Environment) -> Result<(), String> {
    let mut url = url.clone();
    if !matches!(url.scheme(), "git" | "ssh" | "git+ssh" | "http" | "https" | "file") {
        return Err(format!("git cannot be used with {:?} here", url.scheme()));
    }
    let reference = take_argument(&mut url, "ref").filter(|reference| !reference.is_empty());
    let depth = take_argument(&mut url, "depth").and_then(|depth| depth.parse::<u32>().ok()).filter(|depth| *depth > 0);
    let key = take_argument(&mut url, "sshkey").filter(|key| !key.is_empty());
    if let Some(reference) = &reference
        && (reference.starts_with('-') || reference.chars().any(char::is_control))
    {
        return Err(format!("{reference:?} is not a valid git reference"));
    }
    create_parent(into)?;
    let key = key.map(|key| KeyFile::write(&key, &environment.temporary(), into)).transpose()?;
    let git = Git { environment, key: key.as_ref(), url: &url };
    let mut clone = git.command(None);
    clone.arg("clone").arg("--quiet");
    if let Some(depth) = depth {
        clone.arg(format!("--depth={depth}"));
        if let Some(reference) = &reference {
            clone.arg(format!("--branch={reference}"));
        }
    }
    clone.arg("--").arg(url.as_str()).arg(into);
    git.run(clone).map_err(|reason| match (&reference, depth) {
        (Some(reference), Some(_)) if is_commit(reference) => {
            format!("{reason}. With \"depth\", \"ref\" must be the name of a branch or tag")
        }
        _ => reason,
    })?;
    if let Some(reference) = &reference {
        let commit = git.resolve(into, reference)?;
        let mut checkout = git.command(Some(into));
        checkout.args(["checkout", "--quiet", "--detach"]).arg(commit);
        git.run(checkout)?;
    }
    if into.join(".gitmodules").exists() {
        let mut submodules = git.command(Some(into));
        submodules.args(["submodule", "--quiet", "update", "--init", "--recursive"]);
        if let Some(depth) = depth {
            submodules.arg(format!("--depth={depth}"));
        }
        git.run(submodules)?;
    }
    Ok(())
}

fn is_commit(reference: &str) -> bool {
    (7..=40).contains(&reference.len()) && reference.bytes().all(|b| b.is_ascii_hexdigit())
}

struct Git<'a> {
    environment: &'a Environment,
    key: Option<&'a KeyFile>,
    url: &'a Url,
}

impl Git<'_> {
    fn command(&self, dir: Option<&Path>) -> Command {
        let mut command = Command::new("git");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("GIT_TERMINAL_PROMPT", "0");
        // In a hook of git, these variables would lead to the repository of the hook.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        if let Some(KeyFile(key)) = self.key {
            let ssh = self.environment.get("GIT_SSH_COMMAND").unwrap_or("ssh");
            // Quotes as shells need them; our own path has no quotes in it.
            command.env("GIT_SSH_COMMAND", format!("{ssh} -i '{}'", key.display()));
        }
        if let Some(dir) = dir {
            command.current_dir(dir);
        }
        command
    }

    fn run(&self, mut command: Command) -> Result<String, String> {
        let verb = command.get_args().next().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default();
        let output = command.output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "this source requires git, which is not installed; install \
                 it in a directory of PATH"
                .to_owned(),
            _ => format!("failed to start git: {error}"),
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        let mut message = message.trim().trim_end_matches('.').to_owned();
        let password = self.url.password().filter(|secret| !secret.is_empty());
        if let Some(secret) = password {
            message = message.replace(secret, "(secret)");
        }
        // Hosts accept a token as the name of the user, in place of a password.
        let is_token = matches!(password, None | Some("x-oauth-basic")) && !self.url.username().is_empty();
        if is_token && matches!(self.url.scheme(), "http" | "https") {
            for end in ["@", ":"] {
                message = message.replace(&format!("{}{end}", self.url.username()), &format!("(secret){end}"));
            }
        }
        if let Some((at, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(at);
        }
        Err(format!("\"git {verb}\" failed for {}: {message}", shown(self.url)))
    }

    /// The commit that a name stands for: a name as it is, a branch of the origin, a tag.
    fn resolve(&self, dir: &Path, reference: &str) -> Result<String, String> {
        let names =
            [reference.to_owned(), format!("refs/remotes/origin/{reference}"), format!("refs/tags/{reference}")];
        for name in names {
            let mut command = self.command(Some(dir));
            command.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]).arg(format!("{name}^{{commit}}"));
            if let Ok(commit) = self.run(command) {
                return Ok(commit.trim().to_owned());
            }
        }
        Err(format!("{} has neither a branch nor a tag nor a commit {reference:?}", shown(self.url)))
    }
}

/// A private key file with restricted permissions, for as long as it is needed.
struct KeyFile(PathBuf);

impl KeyFile {
    fn write(encoded: &str, temporary: &Path, beside: &Path) -> Result<KeyFile, String> {
        let raw = base64::engine::general_purpose::STANDARD.decode(encoded.replace(' ', "+"));
        let raw = raw.map_err(|_| "the argument \"sshkey\" is not a key in Base64".to_owned())?;
        let mut random = [0; 8];
        getrandom::fill(&mut random)
            .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
        let name = format!("yuba-key-{:016x}", u64::from_ne_bytes(random));
        let dir = Some(temporary.to_owned()).filter(|dir| !dir.to_string_lossy().contains('\''));
        let path = dir.unwrap_or_else(|| beside.parent().unwrap_or(Path::new(".")).to_owned()).join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&path).and_then(|mut file| file.write_all(&raw));
        let file = KeyFile(path);
        written.map_err(|error| format!("the key for ssh could not be written: {error}"))?;
        Ok(file)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
