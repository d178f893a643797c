//! Messages of commands: text for people, lines of JSON for tools, or both.

use yuba_install::providers::installing;
use yuba_session::backend::Refusal;
use yuba_session::install::{InitEvent, Report};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};
use yuba_value::functions::timestamp::Timestamp;
use yuba_view::json::JsonValue;
use yuba_view::messages_json::{self, MessageLevel};
use yuba_view::progress;
use yuba_view::snippet::Excerpts;

use crate::commands::validate::signature;
use crate::commands::version::LANGUAGE_LEVEL;
use crate::downloads::Downloads;
use crate::exit::{Failure, Outcome};
use crate::json_into::{JsonInto, JsonSettings};
use crate::terminal::Terminal;

/// Targets of messages.
pub(crate) struct Messages<'t> {
    terminal: &'t mut Terminal,
    json: bool,
    into: Option<JsonInto>,
    downloads: Downloads,
}

impl<'t> Messages<'t> {
    /// For these flags. Opens the file of `-json-into`.
    pub(crate) fn new(terminal: &'t mut Terminal, json: &JsonSettings) -> Result<Messages<'t>, Failure> {
        let mut messages = Messages::silent(terminal, json)?;
        messages.line(&greeting());
        Ok(messages)
    }

    /// The same for a command whose JSON is one document: it prints no messages for tools.
    pub(crate) fn silent(terminal: &'t mut Terminal, json: &JsonSettings) -> Result<Messages<'t>, Failure> {
        let into = JsonInto::open(json)?;
        Ok(Messages { json: json.is_on, into, terminal, downloads: Downloads::default() })
    }

    /// Whether a file is to get JSON.
    pub(crate) fn wants_json_file(&self) -> bool {
        self.into.is_some()
    }

    /// Writes to the file that gets JSON.
    pub(crate) fn json_file(&mut self, text: &str) {
        if let Some(into) = &mut self.into {
            into.write(text);
        }
    }

    /// Prints text for people and a message for tools.
    pub(crate) fn say(&mut self, human: &str, program: &str) {
        if !self.json {
            self.terminal.out(human);
        }
        self.line(&messages_json::line(MessageLevel::Info, program, &now(), Vec::new()));
    }

    /// Prints text for people only.
    pub(crate) fn show(&mut self, human: &str) {
        if !self.json {
            self.terminal.out(human);
        }
    }

    /// A line that reports success, for people.
    pub(crate) fn success(&self, text: &str) -> String {
        format!("{} {}", self.terminal.coloured("32;1", "Success!"), self.terminal.bold(text))
    }

    /// Prints the same line for people and tools.
    pub(crate) fn tell(&mut self, text: &str) {
        // Tools get it without the full stop.
        self.say(&format!("{text}\n"), text.strip_suffix('.').unwrap_or(text));
    }

    /// Prints text for people and a message with more members for tools.
    pub(crate) fn say_with(&mut self, human: &str, program: &str, members: Vec<(&str, JsonValue)>) {
        if !self.json {
            self.terminal.out(human);
        }
        self.line(&messages_json::line(MessageLevel::Info, program, &now(), members));
    }

    /// Prompts for approval, which only `yes` gives. The error says why no input was read.
    pub(crate) fn confirm(&mut self, question: &str, description: &str) -> Result<bool, String> {
        let question = format!("{}\n  {description}\n\n  {} ", self.bold(question), self.bold("Enter a value:"));
        self.terminal.out(&question);
        self.terminal.flush();
        let answer = crate::typing::interruptible_line()?;
        self.terminal.out("\n");
        Ok(answer.trim_end() == "yes")
    }

    /// Reports that the lock of a state takes long.
    pub(crate) fn locking(&mut self) {
        let text = "Acquiring state lock. This may take a few moments...";
        self.say_with(&format!("{text}\n"), text, vec![("type", JsonValue::from("state_lock_acquire"))]);
        self.terminal.flush();
    }

    /// Reports diagnostics about a state on standard error, as standard output contains data.
    pub(crate) fn note(&mut self, notes: &Diagnostics) {
        if !self.json {
            self.terminal.report_aside(notes, &Sources::new());
        }
        self.line(&diagnostic_lines(notes.iter(), &Sources::new()));
    }

    /// Reports diagnostics.
    pub(crate) fn diagnostics(&mut self, problems: &Diagnostics, sources: &Sources) {
        if !self.json {
            self.terminal.report(problems, sources);
        }
        self.line(&diagnostic_lines(problems.iter(), sources));
    }

    /// The end of a command: reports why it failed.
    pub(crate) fn conclude(mut self, done: Result<(), Refusal>) -> Outcome {
        match done {
            Ok(()) => Ok(0),
            Err(refusal) => {
                self.diagnostics(&refusal.problems, &refusal.sources);
                Ok(1)
            }
        }
    }

    /// The terminal, for data.
    pub(crate) fn terminal(&mut self) -> &mut Terminal {
        self.terminal
    }

    /// Prints an error: text for people on standard error, and a message for tools.
    pub(crate) fn complain(&mut self, human: &str, program: &str) {
        if !self.json {
            self.terminal.err(human);
        }
        self.line(&messages_json::line(MessageLevel::Error, program, &now(), Vec::new()));
    }

    /// In bold letters, for people.
    pub(crate) fn bold(&self, text: &str) -> String {
        self.terminal.bold(text)
    }

    /// Prints what happens to the backend of a `cloud` block.
    fn cloud_event(&mut self, event: &InitEvent) {
        match event {
            InitEvent::CloudBackend => {
                let text = "Initializing cloud backend...";
                self.say(&format!("\n{}\n", self.bold(text)), text);
            }
            InitEvent::CloudChanged => {
                let text = "Cloud backend configuration has changed";
                self.say(&format!("{text}.\n"), text);
            }
            InitEvent::CloudEntered(before) => {
                let text = format!("Migrating from backend {before:?} to cloud backend");
                self.say(&format!("{text}.\n"), &text);
            }
            InitEvent::CloudLeft(now) => {
                let text = match now {
                    Some(now) => format!("Migrating from cloud backend to backend {now:?}."),
                    None => "Migrating from cloud backend to local state.".to_owned(),
                };
                self.say(&format!("{text}\n"), &text);
            }
            InitEvent::WorkspacesMigrated(all, selected) => {
                let text = "Migration complete! Your workspaces are as follows:";
                let line = |name: &String| format!("{} {name}\n", if name == selected { "*" } else { " " });
                let list: String = all.iter().map(line).collect();
                self.say(&format!("{}\n{list}\n", self.bold(text)), &format!("{text} {}", all.join(", ")));
            }
            _ => {}
        }
    }

    fn backend_event(&mut self, event: &InitEvent) {
        match event {
            InitEvent::Backend => {
                let text = "Initializing the backend...";
                self.say(&format!("\n{}\n", self.bold(text)), text);
            }
            InitEvent::BackendChanged => {
                let text = "Backend configuration changed!";
                let more = "The arguments of the backend differ from those of the last initialization. Yuba looks for states in \
                            both locations.";
                let wrapped = yuba_view::wrap::wrap(more, 78);
                self.say(
                    &format!("{}\n\n{wrapped}\n", self.bold(text)),
                    &format!("{text} {}", more.trim_end_matches('.')),
                );
            }
            InitEvent::BackendTypeChanged(before, now) => {
                let text = format!("Yuba detected that the backend type changed from {before:?} to {now:?}.");
                self.say(&format!("\n{text}\n"), &text);
            }
            InitEvent::Unconfiguring(kind) => {
                let text = format!("Yuba has detected you're unconfiguring your previously set {kind:?} backend");
                self.say(&format!("{text}.\n"), &text);
            }
            InitEvent::BackendUnset(kind) => {
                let text = format!("Successfully unset the backend {kind:?}. Yuba will now operate locally");
                let human = self.terminal.coloured("32", &format!("{text}."));
                self.say(&format!("\n\n{human}\n"), &text);
            }
            InitEvent::BackendReady(kind) => {
                let text = format!("Successfully configured the backend {kind:?}!");
                let more = ["Yuba will automatically", "use this backend unless the backend configuration changes"];
                let human = self.terminal.coloured("32", &format!("{text} {}.", more.join("\n")));
                self.say(&format!("\n{human}\n"), &format!("{text} {}", more.join(" ")));
            }
            _ => {}
        }
    }

    /// Prints the progress of an installation.
    pub(crate) fn event(&mut self, event: &InitEvent) {
        match event {
            InitEvent::Backend
            | InitEvent::BackendChanged
            | InitEvent::BackendTypeChanged(..)
            | InitEvent::Unconfiguring(_)
            | InitEvent::BackendUnset(_)
            | InitEvent::BackendReady(_) => self.backend_event(event),
            InitEvent::CloudBackend
            | InitEvent::CloudChanged
            | InitEvent::CloudEntered(_)
            | InitEvent::CloudLeft(_)
            | InitEvent::WorkspacesMigrated(..) => self.cloud_event(event),
            InitEvent::InvalidAnswer(reason) => {
                self.diagnostics(&crate::diagnostics::invalid_answer(reason).into(), &Sources::new());
            }
            InitEvent::Migrating => {}
            InitEvent::Locking => self.locking(),
            InitEvent::Modules { upgrade } => {
                let text = if *upgrade { "Upgrading modules..." } else { "Initializing modules..." };
                self.say(&format!("{}\n", self.bold(text)), text);
            }
            InitEvent::Copying(source) => {
                let text = format!("Copying configuration from {source:?}...");
                self.say(&format!("{} from {source:?}...\n\n", self.bold("Copying configuration")), &text);
            }
            InitEvent::Downloading { path, package, version } => {
                let version = version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
                let text = format!("Downloading {package}{version} for {path}...");
                self.say(&format!("{text}\n"), &text);
                self.terminal.flush();
                // Git and ssh can prompt on the terminal.
                let what = format!("{path}: still downloading");
                if !self.json {
                    self.terminal.remind(move |since| progress::waiting(&what, since));
                }
            }
            InitEvent::Module { path, dir } => {
                self.say(&format!("- {path} in {dir}\n"), &format!("installing {path} in {dir}"))
            }
            InitEvent::Providers => {
                let text = "Initializing provider plugins...";
                self.say(&format!("\n{}\n", self.bold(text)), text);
            }
            InitEvent::BuiltIn(provider) => self.item(&format!("{provider} is built in to Yuba")),
            InitEvent::Provider(event) => self.provider(event),
            InitEvent::LockFileCreated => {
                let text =
                    "Yuba has created a lock file .terraform.lock.hcl to record the provider selections it made above.";
                let next = "Include this file in your version control repository so that the same selections are made when \
                            you run \"yuba init\" in the future.";
                self.paragraph(text, next);
            }
            InitEvent::LockFileChanged => {
                let text = "Yuba has made some changes to the provider dependency selections recorded in the \
                            .terraform.lock.hcl file.";
                let next = "Review those changes and commit them to your version control system if they represent changes you \
                            intended to make.";
                self.paragraph(text, next);
            }
        }
    }

    /// Shows on a terminal for how long something takes, until the next message.
    pub(crate) fn working(&mut self, what: String) {
        if !self.json {
            self.terminal.watch(move |since, _| vec![progress::waiting(&what, since)]);
        }
    }

    /// Prints a fact and the next step that follows from it.
    fn paragraph(&mut self, fact: &str, next: &str) {
        let text = if self.terminal.shows_next_steps() { format!("{fact} {next}") } else { fact.to_owned() };
        self.say(&format!("\n{}\n", yuba_view::wrap::wrap(&text, 78)), &text);
    }

    /// Prints the progress of the installation of a provider.
    fn provider(&mut self, event: &installing::InstallEvent) {
        use installing::InstallEvent;
        if let InstallEvent::Progress { provider, received, total } = event {
            if !self.json && self.terminal.redraws() {
                let lines = self.downloads.update(provider.kind.to_string(), *received, *total, self.terminal.size());
                if let Some(lines) = lines {
                    self.terminal.show_live(&lines);
                }
            }
            return;
        }
        let text = match event {
            InstallEvent::Reusing(provider) => {
                format!("Reusing previous version of {} from the dependency lock file", provider.for_display())
            }
            InstallEvent::Finding(provider, constraints) if constraints.is_empty() => {
                format!("Finding latest version of {}...", provider.for_display())
            }
            InstallEvent::Finding(provider, constraints) => {
                format!("Finding {} versions matching {:?}...", provider.for_display(), constraints.to_string())
            }
            InstallEvent::Present { provider, version, in_cache: false } => {
                format!("Using previously-installed {} v{version}", provider.for_display())
            }
            InstallEvent::Present { provider, version, in_cache: true } => {
                let provider = provider.for_display();
                format!("Detected previously-installed {provider} v{version} in the shared cache directory")
            }
            InstallEvent::Installing { provider, version, to_cache } => {
                let to = if *to_cache { " to the shared cache directory" } else { "" };
                format!("Installing {} v{version}{to}...", provider.for_display())
            }
            InstallEvent::FromCache(provider, version) => {
                format!("Using {} v{version} from the shared cache directory", provider.for_display())
            }
            InstallEvent::Waiting(dir) => format!("Waiting for lock on cache directory {}", dir.display()),
            InstallEvent::Installed { provider, version, verdict, keys, is_signing_skipped } => {
                self.downloads.done(&provider.kind);
                let provider = provider.for_display();
                if *is_signing_skipped {
                    let text = format!(
                        "Installed {provider} v{version}. Signature validation was skipped due to the registry not containing \
                         GPG keys for this provider"
                    );
                    return self.item_at(MessageLevel::Warn, &text, &text);
                }
                let (bold, plain) = match keys.is_empty() {
                    true => (String::new(), String::new()),
                    false => (format!(", key ID {}", self.bold(keys)), format!(", key ID {keys}")),
                };
                let human = format!("Installed {provider} v{version} ({verdict}{bold})");
                return self.item_at(
                    MessageLevel::Info,
                    &human,
                    &format!("Installed {provider} v{version} ({verdict}{plain})"),
                );
            }
            InstallEvent::Signed => {
                let text = "Providers are signed by their developers.";
                let more = "If you'd like to know more about provider signing, you can read about it here:";
                let link = "https://opentofu.org/docs/cli/plugins/signing/";
                return self.say(&format!("\n{text}\n{more}\n{link}\n"), &format!("{text} {more} {link}"));
            }
            InstallEvent::Progress { .. } => return,
        };
        self.item(&text);
    }

    fn item_at(&mut self, level: MessageLevel, human: &str, program: &str) {
        if !self.json {
            self.terminal.out(&format!("- {human}\n"));
            self.terminal.flush();
        }
        self.line(&messages_json::line(level, program, &now(), Vec::new()));
    }

    fn item(&mut self, text: &str) {
        self.item_at(MessageLevel::Info, text, text);
    }

    /// Reports the diagnostics of an installation.
    pub(crate) fn report(&mut self, report: &Report) {
        if !self.json {
            self.terminal.report(&report.problems, &report.sources);
        }
        self.line(&diagnostic_lines(report.repeated.iter().chain(report.problems.iter()), &report.sources));
    }

    fn line(&mut self, line: &str) {
        if self.json {
            self.terminal.out(line);
        }
        if let Some(into) = &mut self.into {
            into.write(line);
        }
    }
}

/// The first message for tools.
pub(crate) fn greeting() -> String {
    let name = format!("Yuba {}", env!("CARGO_PKG_VERSION"));
    messages_json::version(&name, LANGUAGE_LEVEL, &now())
}

/// Writes a failure for tools before any other message.
pub(crate) fn tell_programs(terminal: &mut Terminal, problems: &Diagnostics, sources: &Sources) {
    terminal.out(&greeting());
    terminal.out(&diagnostic_lines(problems.iter(), sources));
}

/// A message for each problem, for tools.
pub(crate) fn diagnostic_lines<'p>(problems: impl Iterator<Item = &'p Diagnostic>, sources: &Sources) -> String {
    let excerpts = Excerpts::new(sources);
    problems.map(|problem| messages_json::diagnostic(problem, &excerpts, &signature, &now())).collect()
}

/// The time, in the form of messages.
pub(crate) fn now() -> String {
    let now = yuba_session::world::now();
    let time = Timestamp::from_unix(now.seconds, 0).to_string();
    format!("{}.{:06}Z", time.trim_end_matches('Z'), now.nanos / 1000)
}
