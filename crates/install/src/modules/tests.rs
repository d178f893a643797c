//! Packages from hosts and repositories of this machine.

use std::io::{Cursor, Write as _};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use yuba_addrs::{Hostname, RegistryModule, RemoteModule};
use yuba_net::http::HttpSettings;
use yuba_testkit::{Host, Reply, Sandbox};

use super::*;
use crate::Hosts;

/// The clients of hosts, with files of a home directory.
fn hosts(sandbox: &Sandbox) -> Hosts {
    let environment = [("HOME", sandbox.dir().display().to_string())].into_iter().collect();
    let settings = HttpSettings {
        retries: 0,
        stall: Duration::from_secs(5),
        timeout: Duration::from_secs(5),
        ..HttpSettings::default()
    };
    Hosts::new(environment).with_limits(settings)
}

fn package(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        writer.start_file(*path, zip::write::SimpleFileOptions::default()).expect("in memory");
        writer.write_all(text.as_bytes()).expect("in memory");
    }
    writer.finish().expect("in memory").into_inner()
}

fn content(dir: &Path) -> String {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.retain(|name| name != ".git");
    names.sort();
    names.join(" ")
}

/// Fetches a package; returns the names of its files, or the error.
fn fetch(sandbox: &Sandbox, source: &str) -> String {
    let remote = match RemoteModule::parse(source) {
        Ok(remote) => remote,
        Err(error) => return format!("{error:?}"),
    };
    let into = sandbox.dir().join("modules").join("x");
    let fetched = hosts(sandbox).fetcher().fetch(&remote.package, &into);
    let left: Vec<_> = std::fs::read_dir(sandbox.dir().join("modules")).into_iter().flatten().flatten().collect();
    let text = match fetched {
        Ok(()) => {
            assert_eq!(left.len(), 1, "{left:?}");
            content(&into)
        }
        Err(reason) => {
            assert!(left.is_empty(), "something is left behind: {left:?}");
            reason
        }
    };
    files::remove(&into);
    text
}

#[test]
fn archives_and_pages_of_hosts() {
    let zip = package(&[("main.tf", ""), ("sub/deep.tf", "")]);
    let sum = Sha256::digest(&zip).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let lists = format!("{sum}  x.zip\n{sum}  other\n");
    let host = Host::start(move |asked| match asked.path() {
        "/sums" => Reply::ok(lists.clone()),
        "/wrong-sums" => Reply::ok(format!("SHA256 (x.zip) = {}\n", "0".repeat(64))),
        "/x.zip" | "/plain" => Reply::ok(zip.clone()),
        "/header" => Reply::status(204).with("X-Terraform-Get", "./x.zip//sub"),
        "/meta" => Reply::ok("<html><head><meta name=\"terraform-get\" content=\"/x.zip\"></head></html>"),
        "/loop" => Reply::ok("").with("X-Terraform-Get", "/loop"),
        "/local" => Reply::ok("").with("X-Terraform-Get", "file:///etc"),
        "/local-git" => Reply::ok("").with("X-Terraform-Get", "git::file:///srv/repository"),
        "/local-path" => Reply::ok("").with("X-Terraform-Get", "git::/srv/repository"),
        "/local-archive" => Reply::ok("").with("X-Terraform-Get", "file::https://example.com/x.zip"),
        "/nothing" => Reply::ok("hello"),
        "/netrc.zip" if asked.header("authorization") == Some("Basic dTpw") => Reply::ok(zip.clone()),
        "/netrc.zip" => Reply::status(401),
        "/broken.zip" => Reply::ok("PK not"),
        _ => Reply::status(404),
    });
    let sandbox = Sandbox::new("", "");
    sandbox.write(".netrc", "machine 127.0.0.1 login u password p\n");
    let check = |path: &str, expect: &str| {
        let actual = fetch(&sandbox, &host.url(path)).replace(&host.name(), "host");
        assert_eq!(actual, expect, "{path}");
    };
    check("/x.zip", "main.tf sub");
    check("/plain?archive=zip", "main.tf sub");
    check(&format!("/x.zip?checksum=sha256:{sum}"), "main.tf sub");
    let wrong = sum.replace(&sum[..1], "f");
    check(
        &format!("/x.zip?checksum={wrong}"),
        &format!("the checksum of what was downloaded is {sum}, but it should be {wrong}"),
    );
    let listed = |list: &str| format!("checksum=file:{}", host.url(list));
    check(&format!("/x.zip?{}", listed("/sums")), "main.tf sub");
    let refused = format!("the checksum of what was downloaded is {sum}, but it should be {}", "0".repeat(64));
    check(&format!("/x.zip?{}", listed("/wrong-sums")), &refused);
    check(&format!("/plain?archive=zip&{}", listed("/sums")), "http://host/sums has no checksum for plain");
    check(&format!("/x.zip?{}", listed("/none")), "http://host/none responded with \"404 Not Found\"");
    let elsewhere = "a list of checksums for an archive of a host has an http or https address, not \"/etc/passwd\"";
    check("/x.zip?checksum=file:/etc/passwd", elsewhere);
    check("/header", "deep.tf");
    check("/meta", "main.tf sub");
    check("/netrc.zip", "main.tf sub");
    check("/loop", "http://host/loop names another address, after 10 addresses that did the same");
    for local in ["/local", "/local-git", "/local-path", "/local-archive"] {
        check(local, "a host must not redirect to a file of this machine");
    }
    let nothing = "http://host/nothing?... is neither an archive nor a page that names the package: it has no header \
                   \"X-Terraform-Get\" and no meta tag \"terraform-get\"";
    check("/nothing", nothing);
    check("/gone.zip", "http://host/gone.zip responded with \"404 Not Found\"");
    assert!(fetch(&sandbox, &host.url("/broken.zip")).contains("the archive is damaged"));
    assert!(fetch(&sandbox, &host.url("/x.gz")).contains("cannot contain the files of a module"));
}

/// A subdirectory that is a link out of the package is not copied.
#[cfg(unix)]
#[test]
fn subdirectories_of_packages_do_not_lead_out() {
    let sandbox = Sandbox::new("", "//- repo/main.tf\n//- repo/in/deep.tf\n//- private/secret.tf\n");
    let repo = sandbox.dir().join("repo");
    for (target, name) in [("../private", "out"), ("/etc", "absolute"), ("in", "inside")] {
        std::os::unix::fs::symlink(target, repo.join(name)).expect("it is ours");
    }
    assert_eq!(files::find_subdir_inside(&repo, "in"), Ok("in".into()));
    assert_eq!(files::find_subdir_inside(&repo, "inside"), Ok("inside".into()));
    for out in ["out", "o*", "absolute"] {
        let reason = format!("the subdirectory {out:?} leads out of the package");
        assert_eq!(files::find_subdir_inside(&repo, out), Err(reason));
    }
}

#[test]
fn a_package_comes_once() {
    let zip = package(&[("main.tf", ""), (".hidden", "")]);
    let host = Host::start(move |_| Reply::ok(zip.clone()));
    let sandbox = Sandbox::new("", "");
    let mut fetcher = hosts(&sandbox).fetcher();
    let [one, two] = ["one", "two"].map(|name| sandbox.dir().join(name));
    let address = host.url("/x.zip");
    assert_eq!([fetcher.fetch(&address, &one), fetcher.fetch(&address, &two)], [Ok(()), Ok(())]);
    assert_eq!((content(&one).as_str(), content(&two).as_str(), host.asked().len()), (".hidden main.tf", "main.tf", 1));
}

#[test]
fn other_kinds_are_refused_clearly() {
    let sandbox = Sandbox::new("", "");
    for (source, expect) in [
        ("gcs::https://example.com/storage/v1/b/k.zip", "is not an address of Google Cloud Storage"),
        ("gcs::https://www.googleapis.com/storage/v1/b", "is not an address of Google Cloud Storage"),
        ("hg::https://example.com/x", "Mercurial"),
        ("nfs::https://example.com/x", "downloads from \"nfs\" are not supported"),
        ("git::ext::sh", "git cannot be used with \"ext\""),
        ("git::https://127.0.0.1:1/x?ref=--upload-pack=x", "is not a valid git reference"),
    ] {
        let actual = fetch(&sandbox, source);
        assert!(actual.contains(expect), "{source}: {actual}");
    }
    let scp_like = Address::parse("git::ssh://git@example.com:a/b").map(drop);
    assert!(scp_like.is_err_and(|reason| reason.contains("leave out \"ssh://\"")));
}

#[test]
fn files_of_this_machine() {
    let sandbox = Sandbox::new("", "//- dir/main.tf\n");
    sandbox.write("x.zip", package(&[("a.tf", "")]));
    let path = |name: &str| sandbox.dir().join(name).display().to_string();
    assert_eq!(fetch(&sandbox, &path("x.zip")), "a.tf");
    assert_eq!(fetch(&sandbox, &path("dir")), "main.tf");
    assert!(fetch(&sandbox, &path("nowhere")).contains("could not be read"));
    #[cfg(unix)]
    for (target, name) in [("main.tf", "in"), ("../x.zip", "out"), ("nowhere", "broken"), ("/etc", "absolute")] {
        std::os::unix::fs::symlink(target, sandbox.dir().join("dir").join(name)).expect("it is ours");
    }
    let copy = sandbox.dir().join("copy");
    assert_eq!(copy_directory(&sandbox.dir().join("dir"), &copy), Ok(()));
    assert_eq!(content(&copy), if cfg!(unix) { "in main.tf" } else { "main.tf" });
    assert_eq!(find_subdir(&sandbox.dir(), "d*"), Ok("dir".into()));
    assert!(find_subdir(&sandbox.dir(), "*").is_err_and(|reason| reason.contains("several")));
    assert!(find_subdir(&sandbox.dir(), "nowhere").is_err());
}

/// Runs git in a directory, with nothing of the user's; whether there is git.
fn git(dir: &Path, args: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]);
    command.args(["-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"]);
    command.args(args).current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn git_repositories() {
    let sandbox = Sandbox::new("", "//- repo/one.tf\n");
    let repo = sandbox.dir().join("repo");
    if !git(&repo, &["init", "-q"]) {
        println!("skipped: git is not installed");
        return;
    }
    let commit = |message: &str| git(&repo, &["add", "-A"]) && git(&repo, &["commit", "-q", "-m", message]);
    assert!(commit("one") && git(&repo, &["tag", "v1"]));
    sandbox.write("repo/two.tf", "");
    assert!(commit("two") && git(&repo, &["checkout", "-q", "-b", "branch"]));
    sandbox.write("repo/sub/three.tf", "");
    assert!(commit("three") && git(&repo, &["checkout", "-q", "main"]));
    let source = |query: &str| format!("git::file://{}{query}", repo.display());
    let check = |query: &str, expect: &str| assert_eq!(fetch(&sandbox, &source(query)), expect, "{query}");
    check("", "one.tf two.tf");
    check("?ref=v1", "one.tf");
    check("?ref=branch", "one.tf sub two.tf");
    check("?ref=branch&depth=1", "one.tf sub two.tf");
    check("?depth=1", "one.tf two.tf");
    check("//sub?ref=branch", "one.tf sub two.tf");
    assert!(fetch(&sandbox, &source("?ref=nope")).contains("has neither a branch nor a tag nor a commit \"nope\""));
    let nowhere = format!("git::file://{}/nowhere", sandbox.dir().display());
    assert!(fetch(&sandbox, &nowhere).contains("\"git clone\" failed for file://"));
}

#[test]
fn registries_say_which_versions_there_are_and_where() {
    let zip = package(&[("main.tf", "")]);
    let host = Host::start(move |asked| {
        if asked.header("authorization") != Some("Bearer t0ken") {
            return Reply::status(401);
        }
        match asked.path() {
            "/m/a/b/c/versions" => {
                Reply::json(r#"{"modules":[{"versions":[{"version":"1.0.0"},{"version":"1.1.0"}]}]}"#)
            }
            "/m/a/b/c/1.0.0/download" => Reply::status(204).with("X-Terraform-Get", "/files/x.zip?archive=zip"),
            "/m/a/b/c/1.1.0/download" => Reply::json(r#"{"location":"/files/d","use_registry_credentials":true}"#),
            "/m/a/b/c/1.2.0/download" => Reply::json(r#"{"location":"file:///etc"}"#),
            "/m/a/b/c/1.2.1/download" => Reply::json(r#"{"location":"git::file:///srv/repository"}"#),
            "/m/a/b/c/1.2.2/download" => Reply::json(r#"{"location":"git::/srv/repository"}"#),
            "/m/a/b/c/1.3.0/download" => Reply::status(302).with("Location", "/elsewhere/x"),
            "/elsewhere/x" => Reply::status(204).with("X-Terraform-Get", "./x.zip"),
            "/m/a/b/empty/versions" => Reply::json("{}"),
            "/m/a/b/odd/versions" => Reply::json(r#"{"modules":[{"versions":[{},{"version":"1.0.0"}]}]}"#),
            "/m/a/b/number/versions" => Reply::json(r#"{"modules":[{"versions":[{"version":1}]}]}"#),
            "/m/a/b/list/versions" => Reply::json("[]"),
            "/files/d" => Reply::ok(zip.clone()),
            _ => Reply::status(404),
        }
    });
    let sandbox = Sandbox::new("", "");
    // The service is a directory, also without a slash at the end.
    let base = host.url("/m");
    let rc = format!(
        "host \"r.example\" {{ services = {{ \"modules.v1\" = \"{base}\" }} }}\ncredentials \"r.example\" {{ token = \"t0ken\" }}\n"
    );
    sandbox.write(".tofurc", rc);
    let hosts = hosts(&sandbox);
    let mut registry = hosts.module_registry();
    let module = |text: &str| RegistryModule::parse(text).expect("it is a module");
    let wanted = module("r.example/a/b/c//sub");
    assert_eq!(registry.versions(&wanted), Ok(vec!["1.0.0".to_owned(), "1.1.0".to_owned()]));
    assert!(registry.versions(&wanted).is_ok() && host.count("/m/a/b/c/versions") == 1);
    assert_eq!(registry.versions(&module("r.example/a/b/empty")), Err(RegistryError::Invalid));
    assert_eq!(registry.versions(&module("r.example/a/b/none")), Err(RegistryError::NotFound));
    match registry.location(&wanted, "1.0.0") {
        Ok(PackageLocation::Indirect(remote)) => {
            assert_eq!(remote.package.as_str(), host.url("/files/x.zip?archive=zip"));
            assert_eq!(remote.subdir.as_deref(), Some("sub"));
        }
        other => panic!("{other:?}"),
    }
    match registry.location(&wanted, "1.1.0") {
        Ok(PackageLocation::Direct(direct)) => {
            let into = sandbox.dir().join("direct");
            assert_eq!(hosts.fetcher().fetch_archive(&direct, &into), Ok(()));
            assert_eq!(content(&into), "main.tf");
        }
        other => panic!("{other:?}"),
    }
    // A relative address belongs to what was asked for, not to where the question was sent on to.
    match registry.location(&module("r.example/a/b/c"), "1.3.0") {
        Ok(PackageLocation::Indirect(remote)) => {
            assert_eq!(remote.package.as_str(), host.url("/m/a/b/c/1.3.0/x.zip"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(registry.versions(&module("r.example/a/b/odd")), Ok(vec![String::new(), "1.0.0".to_owned()]));
    for wrong in ["r.example/a/b/number", "r.example/a/b/list"] {
        let answer = registry.versions(&module(wrong));
        assert!(matches!(&answer, Err(RegistryError::Failed(_))), "{wrong}: {answer:?}");
    }
    for version in ["1.2.0", "1.2.1", "1.2.2"] {
        let found = registry.location(&wanted, version);
        assert!(found.as_ref().is_err_and(|reason| reason.contains("must not lead to a file")), "{version}: {found:?}");
    }
    assert!(registry.location(&wanted, "9.9.9").is_err_and(|reason| reason.contains("does not have version 9.9.9")));
    let unknown = hosts.services().url(&Hostname::parse("r.example").expect("it is one"), "providers.v1");
    assert_eq!(
        unknown.map_err(|error| error.to_string()),
        Err("the host r.example does not provide a providers service".to_owned())
    );
}

#[test]
fn packages_of_container_registries() {
    use crate::oci::{Descriptor, Login, Repository};
    let digest = |bytes: &[u8]| {
        format!("sha256:{}", Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    let zip = package(&[("main.tf", "")]);
    let (size, sum) = (zip.len(), digest(&zip));
    let manifest = |artifact: &str, sum: &str| {
        format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"{artifact}","layers":[{{"mediaType":"archive/zip","digest":"{sum}","size":{size}}}]}}"#
        )
    };
    let kind = "application/vnd.opentofu.modulepkg";
    let (right, other, lying) =
        (manifest(kind, &sum), manifest("other", &sum), manifest(kind, &format!("sha256:{}", "0".repeat(64))));
    let own = digest(right.as_bytes());
    let host = Host::start(move |asked| {
        if asked.path() == "/token" {
            let is_right = asked.header("authorization") == Some("Basic dTpw");
            return if is_right { Reply::json(r#"{"token":"pass"}"#) } else { Reply::status(403) };
        }
        if asked.header("authorization") != Some("Bearer pass") {
            let realm = format!("http://{}/token", asked.header("host").unwrap_or_default());
            let challenge = format!("Bearer realm=\"{realm}\",service=\"s\",scope=\"repository:a/b:pull\"");
            return Reply::status(401).with("WWW-Authenticate", &challenge);
        }
        let name = asked.path().rsplit('/').next().unwrap_or_default();
        match (asked.path().contains("/manifests/"), name) {
            (true, "v1") => Reply::ok(right.clone()),
            (true, "other") => Reply::ok(other.clone()),
            (true, "lying") => Reply::ok(lying.clone()),
            (true, name) if name == own => Reply::ok(right.clone()),
            (true, name) if name.starts_with("sha256:") => Reply::ok(right.clone()),
            (false, "list") if asked.target.contains("last=v1") => Reply::json(r#"{"tags":["v2"]}"#),
            (false, "list") => {
                Reply::json(r#"{"tags":["v1"]}"#).with("Link", "</v2/a/b/tags/list?last=v1>; rel=\"next\"")
            }
            (false, _) if !asked.path().contains("/manifests/") && name.starts_with("sha256:") => {
                Reply::ok(zip.clone())
            }
            _ => Reply::status(404),
        }
    });
    let sandbox = Sandbox::new("", "");
    let hosts = hosts(&sandbox);
    let login = Login::Basic("u".to_owned(), yuba_net::Secret::new("p"));
    let repository = Repository::plain(hosts.services().client(), &host.name(), "a/b", Some(login));
    let into = sandbox.dir().join("x");
    let fetch = |reference: &str| {
        let fetched = oci::fetch_from(&repository, reference, &into).map(|()| content(&into));
        assert!(fetched.is_ok() || !into.exists());
        files::remove(&into);
        fetched.unwrap_or_else(|reason| reason.replace(&host.name(), "host"))
    };
    assert_eq!(fetch("v1"), "main.tf");
    assert_eq!(fetch("other"), "this is not the package of a module, but \"other\"");
    assert!(fetch("lying").starts_with("the registry of host/a/b sent data that does not match sha256:000"));
    assert_eq!(fetch("none"), "the repository host/a/b does not have \"none\"");
    assert_eq!(fetch("../x"), "\"../x\" is not a valid tag");
    let false_digest = format!("sha256:{}", "1".repeat(64));
    assert!(fetch(&false_digest).contains("sent a manifest that does not match the digest"));
    assert_eq!(repository.tags(), Ok(Some(vec!["v1".to_owned(), "v2".to_owned()])));
    assert_eq!(host.count("/token"), 1);
    let large = Descriptor {
        media_type: "archive/zip".to_owned(),
        digest: format!("sha256:{}", "2".repeat(64)),
        size: u64::MAX,
        artifact_type: None,
        platform: None,
    };
    let reason = repository.blob(&large, &sandbox.dir().join("large"), &mut |_, _| {}).expect_err("it is too large");
    assert!(reason.ends_with("has 18446744073709551615 bytes; downloads are limited to 8589934592 bytes"), "{reason}");
    let stranger = Repository::plain(hosts.services().client(), &host.name(), "a/b", None);
    assert!(
        stranger.manifest("v1").is_err_and(|reason| reason.contains("requires credentials, and none are configured"))
    );
}

#[test]
fn archives_and_directories_of_s3() {
    let zip = package(&[("main.tf", ""), ("sub/deep.tf", "")]);
    let host = Host::start(move |asked| {
        let signed = asked.header("authorization").unwrap_or_default();
        if !signed.contains("Credential=KEY/") || !signed.contains("/eu-west-1/s3/aws4_request") {
            return Reply { status: 403, ..Reply::ok("<Error><Code>InvalidAccessKeyId</Code></Error>") };
        }
        let list = |keys: &[&str]| {
            let keys: String = keys.iter().map(|key| format!("<Contents><Key>{key}</Key></Contents>")).collect();
            Reply::ok(format!("<ListBucketResult>{keys}<IsTruncated>false</IsTruncated></ListBucketResult>"))
        };
        match asked.target.as_str() {
            "/bucket/a/x.zip" | "/bucket/a/plain?versionId=7" => Reply::ok(zip.clone()),
            "/bucket/?list-type=2&prefix=dir%2F" => list(&["dir/", "dir/a.tf", "dir/sub/b.tf", "dir/sub/"]),
            "/bucket/?list-type=2&prefix=evil%2F" => list(&["evil/../../x.tf"]),
            "/bucket/?list-type=2&prefix=none%2F" => list(&[]),
            "/bucket/dir/a.tf" | "/bucket/dir/sub/b.tf" => Reply::ok("#"),
            _ => {
                Reply { status: 404, ..Reply::ok("<Error><Code>NoSuchKey</Code><Message>not found</Message></Error>") }
            }
        }
    });
    let sandbox = Sandbox::new("", "");
    let of = |path: &str, query: &str| {
        let keys = "region=eu-west-1&aws_access_key_id=KEY&aws_access_key_secret=hidden";
        fetch(&sandbox, &format!("s3::{}?{keys}{query}", host.url(path)))
    };
    assert_eq!(of("/bucket/a/x.zip", ""), "main.tf sub");
    assert_eq!(of("/bucket/a/plain", "&archive=zip&version=7"), "main.tf sub");
    assert_eq!(of("/bucket/dir", ""), "a.tf sub");
    for (path, query, expected) in [
        ("/bucket/missing.zip", "", "NoSuchKey (404): not found"),
        ("/bucket/none", "", "has no objects below \"none/\""),
        ("/bucket/evil", "", "cannot be a file of a module"),
        ("/bucket/a/x.zip", "&checksum=md5:00000000000000000000000000000000", "checksum"),
        ("/bucket", "", "does not name a bucket and a key"),
    ] {
        let said = of(path, query);
        assert!(said.contains(expected) && !said.contains("hidden"), "{path} {said}");
    }
    let refused = fetch(
        &sandbox,
        &format!("s3::{}?aws_access_key_id=X&aws_access_key_secret=hidden", host.url("/bucket/a/x.zip")),
    );
    assert!(refused.contains("the access key does not exist"), "{refused}");
}

/// A bucket of an emulator: pages of one object, contents by name.
fn emulator(objects: &[(&str, Vec<u8>)]) -> Host {
    let objects: Vec<(String, Vec<u8>)> =
        objects.iter().map(|(name, content)| ((*name).to_owned(), content.clone())).collect();
    Host::start(move |asked| {
        let url = yuba_net::http::Url::parse(&format!("http://h{}", asked.target)).expect("it is a path");
        let query = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        if asked.header("authorization").is_some() {
            return Reply::status(400);
        }
        if url.path() == "/storage/v1/b/bucket/o" {
            let prefix = query("prefix").unwrap_or_default();
            let names: Vec<_> = objects.iter().filter(|(name, _)| name.starts_with(&prefix)).collect();
            let at: usize = query("pageToken").and_then(|page| page.parse().ok()).unwrap_or(0);
            let items: Vec<_> = names.iter().skip(at).take(1).collect();
            let items: Vec<_> = items
                .iter()
                .map(|(name, content)| serde_json::json!({ "name": name, "size": content.len().to_string() }))
                .collect();
            let next = (names.len() > at + 1).then(|| (at + 1).to_string());
            return Reply::json(&serde_json::json!({ "items": items, "nextPageToken": next }).to_string());
        }
        let Some(name) = url.path().strip_prefix("/storage/v1/b/bucket/o/") else { return Reply::status(404) };
        let name = name.replace("%2F", "/").replace("%20", " ");
        match objects.iter().find(|(known, _)| *known == name) {
            Some((_, content)) if query("alt").as_deref() == Some("media") => match query("generation").as_deref() {
                None | Some("7") => Reply::ok(content.clone()),
                Some(_) => Reply::status(404),
            },
            _ => Reply::status(404),
        }
    })
}

#[test]
fn packages_come_from_google_cloud_storage() {
    let zip = package(&[("main.tf", "")]);
    let host = emulator(&[
        ("a/x.zip", zip),
        ("a/mod/", Vec::new()),
        ("a/mod/main.tf", b"".to_vec()),
        ("a/mod/sub dir/x.tf", b"".to_vec()),
        ("a/module2/other.tf", b"".to_vec()),
        ("evil/../../x.tf", b"".to_vec()),
    ]);
    let sandbox = Sandbox::new("", "");
    let check = |source: &str, expect: &str| {
        let into = sandbox.dir().join("into");
        let home = sandbox.dir().display().to_string();
        let environment = [("STORAGE_EMULATOR_HOST", host.name()), ("HOME", home)].into_iter().collect();
        let settings = HttpSettings { retries: 0, ..HttpSettings::default() };
        let hosts = Hosts::new(environment).with_limits(settings);
        let address = format!("gcs::https://www.googleapis.com/storage/v1/{source}");
        let fetched = hosts.fetcher().fetch(&address, &into);
        let actual = fetched.map_or_else(|reason| reason, |()| content(&into));
        files::remove(&into);
        assert!(actual.contains(expect) && (!expect.ends_with("tf") || actual == expect), "{source}: {actual}");
    };
    check("bucket/a/x.zip", "main.tf");
    check("bucket/a/x.zip#7", "main.tf");
    check("bucket/a/x.zip#8", "responded with \"404 Not Found\"; bucket \"bucket\" or the object does not exist");
    check("bucket/a/x.zip#latest", "is not the generation of an object");
    check("bucket/a/x.zip?checksum=md5:00000000000000000000000000000000", "the checksum of what was downloaded is");
    check("bucket/a/mod", "main.tf sub dir");
    check("bucket/a/none", "has no objects");
    check("bucket/evil", "would be stored outside of the module");
    check("other/a/x.zip", "bucket \"other\" or the object does not exist");
}
