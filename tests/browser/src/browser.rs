//! A browser: Chromium by `ChromeDriver`, through the WebDriver protocol.
//!
//! Input: a file. Output: the page's text, look and requests. Each browser has its own profile and
//! driver, and ends with the value that holds it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use crate::picture::Picture;

/// The advice without a browser.
const INSTALL: &str = "these tests need Chromium and ChromeDriver; on Debian and Ubuntu: \
                       apt-get install chromium chromium-driver fonts-dejavu-core";

/// The arguments of Chromium: without them it sends other network requests.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// The most bytes of an answer: a screenshot of a long page.
const MOST: u64 = 256 << 20;

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    agent: Agent,
    session: String,
    _profile: tempfile::TempDir,
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

impl Browser {
    /// A browser that shows nothing yet.
    ///
    /// # Panics
    /// There is no Chromium or no `ChromeDriver`, or they do not start.
    pub fn new() -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = driver.unwrap_or_else(|e| panic!("chromedriver: {e}; {INSTALL}"));
        let stdout = driver.stdout.take().expect("it is piped");
        let port =
            BufReader::new(stdout).lines().map_while(Result::ok).find_map(|line| port(&line));
        let port = port.unwrap_or_else(|| panic!("chromedriver names no port; {INSTALL}"));
        let config = Agent::config_builder().http_status_as_error(false).build();
        let (agent, session) = (config.into(), format!("http://127.0.0.1:{port}/session"));
        let mut browser = Self { driver, agent, session, _profile: profile };
        let id = browser.ask("", &browser.wanted());
        let id = id["sessionId"].as_str().unwrap_or_else(|| panic!("no browser: {id}; {INSTALL}"));
        browser.session = format!("{}/{id}", browser.session);
        browser.width(1200);
        // The start page of a new window sends many requests before it is left.
        browser.ask("/url", &json!({ "url": "about:blank" }));
        browser.requests();
        browser.console();
        browser
    }

    fn wanted(&self) -> Value {
        let profile = format!("--user-data-dir={}", self._profile.path().display());
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([profile.as_str()]).collect();
        json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } })
    }

    /// The reply to `command`.
    fn ask(&self, command: &str, parameters: &Value) -> Value {
        let url = format!("{}{command}", self.session);
        let answer = self.agent.post(&url).header("content-type", "application/json");
        let mut answer = answer.send(parameters.to_string()).expect("the driver answers");
        let status = answer.status();
        let text = answer.body_mut().with_config().limit(MOST).read_to_string();
        let text = text.expect("the driver answers in full");
        let value: Value = serde_json::from_str(&text).expect("the driver answers with JSON");
        assert!(status.is_success(), "{command} {parameters}: {}", value["value"]["message"]);
        value["value"].clone()
    }

    /// A command of Chromium's own protocol.
    pub fn chromium(&self, command: &str, parameters: &Value) -> Value {
        self.ask("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Makes the page as wide as that, in its own pixels.
    pub fn width(&self, width: u32) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Shows the page in this theme, on a screen or on paper.
    pub fn look(&self, dark: bool, paper: bool) {
        let theme = if dark { "dark" } else { "light" };
        let medium = if paper { "print" } else { "screen" };
        let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        let look = json!({ "media": medium, "features": features });
        self.chromium("Emulation.setEmulatedMedia", &look);
    }

    /// Runs the scripts of pages opened from now on, or does not.
    pub fn scripts(&self, run: bool) {
        self.chromium("Emulation.setScriptExecutionDisabled", &json!({ "value": !run }));
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&self, file: &Path) {
        self.ask("/url", &json!({ "url": format!("file://{}", file.display()) }));
    }

    /// The result of a function's body, run in the page.
    pub fn say(&self, body: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// As [`Browser::say`], of a page whose scripts do not run.
    pub fn inspect(&self, body: &str) -> Value {
        let expression = format!("(() => {{ {body} }})()");
        let asked = json!({ "expression": expression, "returnByValue": true });
        self.chromium("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// Clicks the first element that `selector` finds and that has a text beginning with `text`,
    /// like a real click: copying needs one.
    ///
    /// # Panics
    /// There is none.
    pub fn click(&self, selector: &str, text: &str) {
        let find = format!(
            "const found = [...document.querySelectorAll({})].find((e) => \
             e.textContent.trim().startsWith({})); found.scrollIntoView({{ block: 'center' }}); \
             const box = found.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2];",
            json!(selector),
            json!(text)
        );
        let place = self.say(&find);
        for what in ["mousePressed", "mouseReleased"] {
            let (x, y) = (&place[0], &place[1]);
            let event = json!({ "type": what, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.chromium("Input.dispatchMouseEvent", &event);
        }
    }

    /// The console output of the page and the browser since the last call.
    pub fn console(&self) -> Vec<String> {
        let told = self.ask("/se/log", &json!({ "type": "browser" }));
        let lines = told.as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| line["message"].to_string()).collect()
    }

    /// The addresses that were asked for since the last time, the page's own among them.
    pub fn requests(&self) -> Vec<String> {
        let told = self.ask("/se/log", &json!({ "type": "performance" }));
        let lines = told.as_array().cloned().unwrap_or_default();
        let request = |line: &Value| {
            let message: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let sent = message["message"]["method"] == "Network.requestWillBeSent";
            let url = message["message"]["params"]["request"]["url"].as_str()?;
            sent.then(|| url.to_owned())
        };
        lines.iter().filter_map(request).collect()
    }

    /// The role and the name of each node of the accessibility tree that is not ignored.
    pub fn heard(&self) -> Vec<(String, String)> {
        let tree = self.chromium("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let told = nodes.iter().filter(|node| node["ignored"] == false);
        told.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }

    /// The page as a picture, as far down as `height`.
    pub fn picture(&self, width: u32, height: u32) -> Picture {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.chromium("Page.captureScreenshot", &asked);
        let data = shot["data"].as_str().expect("a screenshot has data");
        Picture::read(&STANDARD.decode(data).expect("the data are base64"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser when the session does.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port in "ChromeDriver was started successfully on port 37573."
fn port(line: &str) -> Option<u16> {
    line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
}
