//! A login with a browser that is a thread.

use std::time::Duration;

use yuba_addrs::Hostname;
use yuba_net::http::HttpSettings;
use yuba_testkit::{Host as Fake, Reply, Sandbox};

use super::*;
use crate::Hosts;

fn found(sandbox: &Sandbox, services: &str) -> (Hosts, Result<Way, NoWay>) {
    sandbox.write(".tofurc", format!("host \"h.example\" {{ services = {services} }}"));
    let environment = [("HOME", sandbox.dir().display().to_string())].into_iter().collect();
    let settings = HttpSettings { retries: 0, timeout: Duration::from_secs(5), ..HttpSettings::default() };
    let hosts = Hosts::new(environment).with_limits(settings);
    let name = Hostname::parse("h.example").expect("it is one");
    let way = way(&hosts.services().host(&name).expect("it is overridden"));
    (hosts, way)
}

#[test]
fn a_code_of_the_browser_is_exchanged_for_a_token() {
    let fake = Fake::start(|asked| match asked.path() {
        "/token" => Reply::json(r#"{"access_token": "t0ken"}"#),
        _ => Reply::status(404),
    });
    let sandbox = Sandbox::new("", "");
    let services = format!(
        r#"{{ "login.v1" = {{ client = "cli", authz = "{}", token = "{}", ports = [20000, 29999], scopes = ["a", "b"] }} }}"#,
        fake.url("/authz"),
        fake.url("/token"),
    );
    let (hosts, way) = found(&sandbox, &services);
    let Ok(Way::Code(oauth)) = way else { panic!("{way:?}") };
    let flow = CodeFlow::start(&oauth).expect("a port is free");
    let page = flow.page();
    let argument = |name: &str| page.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    assert_eq!(argument("code_challenge_method").as_deref(), Some("S256"));
    assert_eq!(argument("scope").as_deref(), Some("a b"));
    let callback = argument("redirect_uri").expect("there is one");
    let state = argument("state").expect("there is one");
    let browser = std::thread::spawn(move || {
        let client = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() });
        let get = |query: String| {
            let url = Url::parse(&format!("{callback}?{query}")).expect("it is a URL");
            client.get(&Request::new(url)).map(|response| response.status)
        };
        // Another process takes the first port.
        [get("code=evil&state=guess".to_owned()), get(format!("code=c0de&state={state}"))]
    });
    let token = flow.finish(hosts.services().client()).expect("the host gives one");
    assert_eq!(token.reveal(), "t0ken");
    assert_eq!(browser.join().expect("it does not panic"), [Ok(400), Ok(200)]);
    let asked = fake.asked();
    let sent: Vec<(String, String)> = Url::parse(&format!("x:?{}", asked[0].body)).map_or_else(
        |_| Vec::new(),
        |url| url.query_pairs().map(|(key, value)| (key.into_owned(), value.into_owned())).collect(),
    );
    let get =
        |name: &str| sent.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default();
    assert_eq!((get("grant_type"), get("code"), get("client_id")), ("authorization_code", "c0de", "cli"));
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier").as_bytes()));
    assert_eq!(argument("code_challenge"), Some(challenge));
}

#[test]
fn a_host_may_refuse_and_may_answer_like_a_form() {
    let fake = Fake::start(|_| Reply::ok("token_type=bearer&access_token=t%2Bk").with("content-type", "text/plain"));
    let sandbox = Sandbox::new("", "");
    let services = format!(
        r#"{{ "login.v1" = {{ client = "cli", authz = "{}", token = "{}", ports = [20000, 29999] }} }}"#,
        fake.url("/authz"),
        fake.url("/token"),
    );
    let (hosts, way) = found(&sandbox, &services);
    let Ok(Way::Code(oauth)) = way else { panic!("{way:?}") };
    let check = |query: &'static str, expect: &str| {
        let flow = CodeFlow::start(&oauth).expect("a port is free");
        let url = format!("{}?state={}&{query}", flow.callback, flow.state);
        let browser = std::thread::spawn(move || {
            let client = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() });
            client.get(&Request::new(Url::parse(&url).expect("it is a URL"))).map(|response| response.status)
        });
        let token = flow.finish(hosts.services().client());
        assert_eq!(token.map_or_else(|reason| reason, |token| token.reveal().to_owned()), expect);
        assert_eq!(browser.join().expect("it does not panic"), Ok(200));
    };
    check("error=access_denied", "the host says \"access_denied\"");
    check("error=access_denied&error_description=not+today", "the host says \"not today\"");
    check("code=c", "t+k");
}

#[test]
fn what_hosts_offer() {
    let sandbox = Sandbox::new("", "");
    let check = |services: &str, expect: &str| {
        let (_, way) = found(&sandbox, services);
        assert!(format!("{way:?}").contains(expect), "{services}: {way:?}");
    };
    check("{}", "NotOffered");
    check(r#"{ "tfe.v2" = "https://t.example/api/v2/" }"#, "/app/settings/tokens");
    check(r#"{ "login.v2" = { client = "x" } }"#, "TooNew");
    check(r#"{ "login.v1" = { client = "x", token = "/t" } }"#, "\\\"authz\\\" is missing");
    check(
        r#"{ "login.v1" = { client = "x", authz = "/a", token = "/t", ports = [80, 90] } }"#,
        "\\\"ports\\\" must be",
    );
    check(r#"{ "login.v1" = { client = "x", token = "/t", grant_types = ["password"] } }"#, "OtherGrants");
    check(r#"{ "login.v1" = { client = "x", authz = "ftp://x/", token = "/t" } }"#, "neither http nor https");
}
