//! Chromium, driven through chromedriver by the WebDriver protocol.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::directory::Directory;
use super::http::request;
use super::process::{Launch, Server};
use crate::has_program;

/// Time that a condition on a page has to become true.
const LIMIT: Duration = Duration::from_secs(30);

/// Names of special keys for [`Browser::press`].
const KEYS: [(&str, char); 7] = [
    ("Tab", '\u{e004}'),
    ("Enter", '\u{e007}'),
    ("Escape", '\u{e00c}'),
    ("Left", '\u{e012}'),
    ("Up", '\u{e013}'),
    ("Right", '\u{e014}'),
    ("Down", '\u{e015}'),
];

/// Color scheme that pages see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScheme {
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// A browser without a window.
#[derive(Debug)]
pub struct Browser {
    driver: Server,
    session: String,
}

/// Whether Chromium and chromedriver are installed.
pub fn has_chromium() -> bool {
    has_program("chromium") && has_program("chromedriver")
}

/// Starts Chromium. `None` if it or chromedriver is not installed.
///
/// # Panics
/// If chromedriver or Chromium does not start.
pub fn chromium() -> Option<Browser> {
    if !has_chromium() {
        return None;
    }
    let launch = |port: u16| Launch::new("chromedriver", "chromedriver".into(), &[&format!("--port={port}")]);
    let ready =
        |port| request(port, "GET", "/status", &[], "").is_some_and(|answer| answer.body.contains("\"ready\":true"));
    let directory = Directory::new("chromium");
    let profile = format!("--user-data-dir={}", directory.file("profile"));
    let driver = Server::start(directory, launch, ready);
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        "--window-size=1400,1000",
        &profile,
    ];
    let capabilities = json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {"args": arguments},
    }}});
    let mut browser = Browser { driver, session: String::new() };
    let created = browser.call("POST", "/session", &capabilities);
    browser.session = format!("/session/{}", created["sessionId"].as_str().unwrap_or_default());
    Some(browser)
}

impl Browser {
    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) {
        self.command("url", &json!({"url": url}));
    }

    /// Opens a file.
    pub fn open_file(&self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// The result of a script: the body of a function.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// The same with arguments.
    pub fn run_with(&self, script: &str, arguments: &[&str]) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": arguments}))
    }

    /// The result of a script as text.
    pub fn text(&self, script: &str) -> String {
        match self.run(script) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// The result of a script that returns a promise.
    pub fn run_async(&self, script: &str) -> Value {
        self.run(&format!("return (async () => {{ {script} }})()"))
    }

    /// Waits until a condition is true.
    ///
    /// # Panics
    /// If it stays false.
    pub fn wait_for(&self, condition: &str) {
        let start = Instant::now();
        while self.run(&format!("return Boolean({condition})")) != Value::Bool(true) {
            assert!(
                start.elapsed() < LIMIT,
                "{condition} stays false:\n{}",
                self.text("return document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys, one after the other: letters, or names like `Enter`.
    pub fn press(&self, keys: &[&str]) {
        let mut actions = Vec::new();
        for key in keys {
            let special = KEYS.iter().find(|(name, _)| name == key).map(|(_, letter)| letter.to_string());
            let value = special.unwrap_or_else(|| (*key).to_owned());
            actions.push(json!({"type": "keyDown", "value": value}));
            actions.push(json!({"type": "keyUp", "value": value}));
        }
        self.command("actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
    }

    /// Changes the size of the page.
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Changes the color scheme that pages see.
    pub fn prefer(&self, scheme: ColorScheme) {
        let value = if scheme == ColorScheme::Dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// A command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    /// Time in milliseconds that the main thread of the page has worked, without the time of other processes.
    ///
    /// # Panics
    /// If the browser does not measure it.
    pub fn worked(&self) -> f64 {
        self.devtools("Performance.enable", &json!({"timeDomain": "threadTicks"}));
        let metrics = self.devtools("Performance.getMetrics", &json!({}));
        let all = metrics["metrics"].as_array().into_iter().flatten();
        let task = all.filter(|metric| metric["name"] == "TaskDuration").find_map(|metric| metric["value"].as_f64());
        task.expect("because Chromium measures tasks") * 1000.0
    }

    /// Messages on the console since the last call, with errors of scripts and violations of policies.
    pub fn console(&self) -> Vec<String> {
        let entries = self.command("se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| format!("{} {}", entry["level"], entry["message"])).collect()
    }

    /// Addresses of all requests for files and to servers since the last call, without those of pages of the browser itself.
    pub fn requests(&self) -> Vec<String> {
        let entries = self.command("se/log", &json!({"type": "performance"}));
        let event = |entry: &Value| -> Option<String> {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().unwrap_or_default().to_owned())
        };
        let is_own =
            |url: &String| ["chrome:", "data:", "about:", "blob:"].iter().any(|scheme| url.starts_with(scheme));
        entries.as_array().into_iter().flatten().filter_map(event).filter(|url| !is_own(url)).collect()
    }

    fn command(&self, name: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}/{name}", self.session), body)
    }

    fn call(&self, method: &str, target: &str, body: &Value) -> Value {
        let headers = [("Content-Type", "application/json")];
        let answer = request(self.driver.port(), method, target, &headers, &body.to_string());
        let answer = answer.unwrap_or_else(|| panic!("{method} {target}: no response of chromedriver"));
        assert_eq!(answer.status, 200, "{method} {target}: {}", answer.body);
        let answer: Value = serde_json::from_str(&answer.body).expect("because chromedriver answers JSON");
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without this Chromium outlives chromedriver. A driver that does not answer is killed with its processes.
        let _ = request(self.driver.port(), "DELETE", &self.session, &[], "");
    }
}
