//! Providers from a registry and a network mirror on this machine, with keys made on the fly.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead as _, BufReader, Cursor, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use yuba_addrs::{ProviderConstraints, ProviderSource};
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{HttpClient, HttpSettings};
use yuba_testkit::Sandbox;

use super::configured::{self, Means};
use super::installing::{self, Cache, InstallEvent, InstallOutcome, SelectionPolicy};
use super::oci_mirror::OciMirror;
use super::platform::Platform;
use super::registry::Signing;
use super::selected::PackageDir;
use super::source::{PackageSource, PackageSources};
use super::unpacked::UnpackedPackages;
use super::verified::Verified;
use super::{diagnostics, hash, locking, mirroring, package};
use crate::cli_config::CliConfig;
use crate::lock_file;
use crate::lock_file::LockFile;
use crate::openpgp::signing::SigningKey;
use yuba_net::Environment;

mod unpacked;

const NULL: &str = "registry.example.com/x/null";

/// Response of a path: status, type and content; none stalls.
type Answers = HashMap<String, (u16, &'static str, Vec<u8>)>;

/// A host on this machine.
struct Host {
    base: String,
    answers: Arc<Mutex<Answers>>,
    asked: Arc<AtomicU32>,
    stalls: Arc<AtomicBool>,
}

impl Host {
    fn new() -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let host = Host { base, answers: Arc::default(), asked: Arc::default(), stalls: Arc::default() };
        let (answers, asked, stalls) = (host.answers.clone(), host.asked.clone(), host.stalls.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, asked, stalls) = (answers.clone(), asked.clone(), stalls.clone());
                std::thread::spawn(move || answer(stream, &answers, &asked, &stalls));
            }
        });
        host
    }

    fn put(&self, path: &str, kind: &'static str, content: impl Into<Vec<u8>>) {
        self.answers.lock().expect("no thread panics").insert(path.to_owned(), (200, kind, content.into()));
    }

    fn fail(&self, path: &str, status: u16) {
        self.answers.lock().expect("no thread panics").insert(path.to_owned(), (status, "text/plain", Vec::new()));
    }
}

fn answer(stream: TcpStream, answers: &Mutex<Answers>, asked: &AtomicU32, stalls: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            if header.trim().is_empty() {
                break;
            }
        }
        asked.fetch_add(1, Ordering::SeqCst);
        let found = answers.lock().ok()?.get(&path).cloned();
        let (status, kind, content) = found.unwrap_or((404, "text/plain", Vec::new()));
        let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", content.len());
        writer.write_all(head.as_bytes()).ok()?;
        if stalls.load(Ordering::SeqCst) && path.ends_with(".zip") {
            writer.write_all(&content[..content.len() / 2]).ok()?;
            // Until the other side gives up.
            let _ = reader.read(&mut [0]);
            return None;
        }
        writer.write_all(&content).ok()?;
    }
}

/// An archive with files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
        if let Some((name, target)) = name.split_once(" -> ") {
            writer.add_symlink(name, target, options).expect("because memory can be written");
            continue;
        }
        writer.start_file(*name, options).expect("because memory can be written");
        writer.write_all(content).expect("because memory can be written");
    }
    writer.finish().expect("because memory can be written").into_inner()
}

/// A small archive of files that are not: the same 16 MB, packed once, seventeen times.
fn bomb() -> Vec<u8> {
    let one = archive(&[("zeros", &vec![0; 16 << 20])]);
    let mut one = zip::ZipArchive::new(Cursor::new(one)).expect("because it is an archive");
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for number in 0..17 {
        let zeros = one.by_index_raw(0).expect("because it exists");
        let name = format!("terraform-provider-null_{number}");
        writer.raw_copy_file_rename(zeros, name).expect("because memory can be written");
    }
    writer.finish().expect("because memory can be written").into_inner()
}

fn good() -> Vec<u8> {
    archive(&[("terraform-provider-null_v1.0.0", b"#!/bin/sh\n"), ("LICENSE", b"free")])
}

/// A registry and a mirror with one provider, and what installs from them.
struct World {
    host: Host,
    key: SigningKey,
    sandbox: Sandbox,
    means: Means,
    kept: UnpackedPackages,
}

impl World {
    fn new() -> World {
        let host = Host::new();
        let services = serde_json::Map::from_iter([("providers.v1".to_owned(), json!(format!("{}/v1/", host.base)))]);
        let name = |text| yuba_addrs::Hostname::parse(text).expect("because it is well-formed");
        let hosts = ["registry.example.com", yuba_addrs::DEFAULT_REGISTRY].map(|text| (name(text), services.clone()));
        let config = CliConfig { hosts: hosts.into(), ..CliConfig::default() };
        let environment = Environment::default();
        let settings = HttpSettings {
            backoff: Duration::from_millis(1),
            stall: Duration::from_millis(300),
            ..HttpSettings::default()
        };
        let credentials = Arc::new(Credentials::new(config.credential_sources(), &environment));
        let services = Arc::new(Services::new(HttpClient::new(settings), credentials, config.hosts.clone()));
        let means = Means::new(Arc::new(config), services, &environment);
        let sandbox = Sandbox::new("", "");
        let kept = UnpackedPackages::new(Some(sandbox.dir().join("kept")));
        let world = World { host, key: SigningKey::new(), sandbox, means, kept };
        world.publish("1.0.0", &good());
        world
    }

    /// Publishes a version on the registry and the mirror.
    fn publish(&self, version: &str, content: &[u8]) {
        let platform = Platform::current();
        let name = format!("terraform-provider-null_{version}_{platform}.zip");
        let sum = hash::hex(&Sha256::digest(content));
        let sums = format!("{sum}  {name}\n{}  terraform-provider-null_{version}_plan9_arm.zip\n", "0".repeat(64));
        let versions: Vec<_> = ["0.9.0", version].map(|v| json!({"version": v, "protocols": ["5.0"]})).into();
        let json_type = "application/json";
        self.host.put("/v1/x/null/versions", json_type, json!({"versions": versions}).to_string());
        let key = self.key.armored();
        let download = json!({
            "protocols": ["5.0"], "os": platform.os.as_str(), "arch": platform.arch.as_str(), "filename": name,
            "download_url": format!("/files/{name}"), "shasum": sum, "shasums_url": "/files/sums",
            "shasums_signature_url": "/files/sums.sig",
            "signing_keys": {"gpg_public_keys": [{"ascii_armor": key}]},
        });
        let path = format!("/v1/x/null/{version}/download/{}/{}", platform.os, platform.arch);
        self.host.put(&path, json_type, download.to_string());
        self.host.put("/files/sums", "text/plain", sums.clone());
        self.host.put("/files/sums.sig", "text/plain", self.key.sign(sums.as_bytes()));
        self.host.put(&format!("/files/{name}"), "application/zip", content);
        let mirror = "/mirror/registry.example.com/x/null";
        self.host.put(&format!("{mirror}/index.json"), json_type, json!({"versions": {version: {}}}).to_string());
        let archives = json!({"archives": {
            platform.to_string(): {"url": format!("/files/{name}"), "hashes": [format!("zh:{sum}")]},
            "plan9_arm": {"url": "x.zip", "hashes": ["h1:other"]},
        }});
        self.host.put(&format!("{mirror}/{version}.json"), json_type, archives.to_string());
    }

    fn registry(&self) -> PackageSources {
        PackageSources::only(PackageSource::Registry(self.means.registry()))
    }

    fn mirror(&self) -> PackageSources {
        let url = format!("{}/mirror/", self.host.base);
        PackageSources::only(PackageSource::Network(
            self.means.network_mirror(&url).expect("because it is on this machine"),
        ))
    }

    fn base(&self) -> PathBuf {
        self.sandbox.dir().join("providers")
    }

    fn install(
        &self,
        sources: &PackageSources,
        locks: &LockFile,
        mode: SelectionPolicy,
        cache: Option<&Cache>,
    ) -> (InstallOutcome, String) {
        self.install_all(&[NULL], sources, locks, mode, cache)
    }

    fn install_all(
        &self,
        needed: &[&str],
        sources: &PackageSources,
        locks: &LockFile,
        mode: SelectionPolicy,
        cache: Option<&Cache>,
    ) -> (InstallOutcome, String) {
        let verified = Verified::new(Some(self.sandbox.dir().join("records")));
        let needed = needed.iter().map(|name| (provider(name), ProviderConstraints::default())).collect();
        let request = installing::InstallRequest {
            needed: &needed,
            others: &BTreeSet::new(),
            locks,
            sources,
            client: self.means.services.client(),
            directory: &self.sandbox.dir(),
            base: &PackageDir::at(self.base()),
            platform: &Platform::current(),
            cache,
            mode,
            signing: Signing::default(),
            verified: &verified,
            kept: &self.kept,
        };
        let mut text = String::new();
        let outcome = installing::install(&request, &mut |event| text += &shown(&event, &self.key));
        for (source, failure) in &outcome.failures {
            let problem = diagnostics::failure(source, failure, &needed, &Platform::current());
            let base = self.host.base.as_str();
            let detail = problem.detail.replace(base, "BASE").replace(&self.sandbox.dir().display().to_string(), "DIR");
            text += &format!("! {}: {detail}\n", problem.summary);
        }
        (outcome, text.replace(&Platform::current().to_string(), "OS_ARCH"))
    }

    /// Installs from a source, and shows the events and the installed files.
    fn check(&self, sources: &PackageSources, expected: &Expect) {
        let (outcome, mut text) = self.install(sources, &LockFile::default(), SelectionPolicy::Keep, None);
        for hash in outcome.locks.providers.values().flat_map(|lock| &lock.hashes) {
            text += &format!("  {}...\n", hash.chars().take(9).collect::<String>());
        }
        text += &self.files();
        expected.assert_eq(&text);
    }

    /// The files of installed packages.
    fn files(&self) -> String {
        let found = hash::files(&self.base()).unwrap_or_default().into_iter();
        let found = found.filter(|name| !name.ends_with(".lock")).map(|name| format!("{name}\n"));
        found.collect::<String>().replace(&Platform::current().to_string(), "OS_ARCH")
    }
}

fn provider(text: &str) -> ProviderSource {
    ProviderSource::parse(text).expect("because it is well-formed")
}

fn shown(event: &InstallEvent, key: &SigningKey) -> String {
    match event {
        InstallEvent::Reusing(_) => "reusing\n".to_owned(),
        InstallEvent::Finding(..) => "finding\n".to_owned(),
        InstallEvent::Present { version, in_cache, .. } => {
            format!("present {version}{}\n", if *in_cache { " in cache" } else { "" })
        }
        InstallEvent::Installing { version, to_cache, .. } => {
            format!("installing {version}{}\n", if *to_cache { " to cache" } else { "" })
        }
        InstallEvent::FromCache(_, version) => format!("from cache {version}\n"),
        InstallEvent::Waiting(_) => "waiting\n".to_owned(),
        InstallEvent::Progress { .. } => String::new(),
        InstallEvent::Signed => "signed\n".to_owned(),
        InstallEvent::Installed { version, verdict, keys, .. } => {
            format!("installed {version} ({verdict}{})\n", keys.replace(&key.id(), ", KEY"))
        }
    }
}

#[test]
fn a_registry_has_signed_packages() {
    let world = World::new();
    world.check(
        &world.registry(),
        &expect![[r#"
            finding
            installing 1.0.0
            installed 1.0.0 (signed, KEY)
            signed
              h1:OSrdYF...
              zh:000000...
              zh:8c3990...
            registry.example.com/x/null/1.0.0/OS_ARCH/LICENSE
            registry.example.com/x/null/1.0.0/OS_ARCH/terraform-provider-null_v1.0.0
        "#]],
    );
}

#[test]
fn signatures_are_reported_though_other_providers_fail() {
    let world = World::new();
    let nothing = "registry.example.com/x/nothing";
    let is_told = |needed: &[&str]| {
        let (_, text) = world.install_all(needed, &world.registry(), &LockFile::default(), SelectionPolicy::Keep, None);
        text.contains("! Failed") && text.contains("\nsigned\n")
    };
    assert_eq!((is_told(&[nothing]), is_told(&[nothing, NULL])), (false, true));
}

#[test]
fn a_mirror_has_packages_with_checksums() {
    let world = World::new();
    world.check(
        &world.mirror(),
        &expect![[r#"
        finding
        installing 1.0.0
        installed 1.0.0 (verified checksum)
          h1:OSrdYF...
          zh:8c3990...
        registry.example.com/x/null/1.0.0/OS_ARCH/LICENSE
        registry.example.com/x/null/1.0.0/OS_ARCH/terraform-provider-null_v1.0.0
    "#]],
    );
}

/// The provider in a container registry, as one of its platforms.
fn container_registry(world: &World, os: &str) -> PackageSources {
    let digest = |bytes: &[u8]| format!("sha256:{}", hash::hex(&Sha256::digest(bytes)));
    let (zip, target) = (good(), "application/vnd.opentofu.provider-target");
    let layer = json!({"mediaType": "archive/zip", "digest": digest(&zip), "size": zip.len()});
    let manifest =
        json!({"mediaType": crate::oci::IMAGE_MANIFEST, "artifactType": target, "layers": [layer]}).to_string();
    let entry = json!({
        "mediaType": crate::oci::IMAGE_MANIFEST, "artifactType": target, "digest": digest(manifest.as_bytes()),
        "size": manifest.len(), "platform": {"os": os, "architecture": Platform::current().arch.as_str()},
    });
    let index = json!({
        "mediaType": crate::oci::IMAGE_INDEX, "artifactType": "application/vnd.opentofu.provider", "manifests": [entry],
    });
    world.host.put("/v2/p/null/tags/list", "application/json", r#"{"tags": ["1.0.0", "latest"]}"#);
    world.host.put("/v2/p/null/manifests/1.0.0", crate::oci::IMAGE_INDEX, index.to_string());
    let path = format!("/v2/p/null/manifests/{}", digest(manifest.as_bytes()));
    world.host.put(&path, crate::oci::IMAGE_MANIFEST, manifest);
    world.host.put(&format!("/v2/p/null/blobs/{}", digest(&zip)), "archive/zip", zip);
    let rc = "provider_installation {\n  oci_mirror {\n    repository_template = \"r.example/${hostname}/${namespace}/${type}\"\n  }\n}\n";
    world.sandbox.write("rc", rc);
    let environment: Environment =
        [("TF_CLI_CONFIG_FILE", world.sandbox.dir().join("rc").display().to_string())].into_iter().collect();
    let (config, problems) = crate::cli_config::load(&environment);
    assert!(problems.is_empty(), "{problems:?}");
    let methods = config.provider_installation.as_ref().map(|all| all.methods.as_slice()).unwrap_or_default();
    let Some(crate::cli_config::Location::OciMirror(template)) = methods.first().map(|method| &method.location) else {
        panic!("the template is missing");
    };
    let client = world.means.services.client();
    let host = world.host.base.trim_start_matches("http://");
    let repository = crate::oci::Repository::plain(client, host, "p/null", None);
    let mirror = OciMirror::new(template.clone(), client.clone(), world.means.config.clone(), environment);
    PackageSources::only(PackageSource::Oci(mirror.with(provider(NULL), repository)))
}

#[test]
fn a_container_registry_has_packages_by_digest() {
    let world = World::new();
    world.check(
        &container_registry(&world, &Platform::current().os),
        &expect![[r#"
        finding
        installing 1.0.0
        installed 1.0.0 (verified checksum)
          h1:OSrdYF...
          zh:8c3990...
        registry.example.com/x/null/1.0.0/OS_ARCH/LICENSE
        registry.example.com/x/null/1.0.0/OS_ARCH/terraform-provider-null_v1.0.0
    "#]],
    );
    let world = World::new();
    world.check(&container_registry(&world, "plan9"), &expect![[r#"
        finding
        ! Incompatible provider version: Provider registry.example.com/x/null v1.0.0 does not have a package available for your current platform, OS_ARCH.

        Another version, registry or mirror may have one.
    "#]]);
}

#[test]
fn installed_locked_providers_cost_no_request() {
    let world = World::new();
    let (outcome, _) = world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, None);
    let asked = world.host.asked.load(Ordering::SeqCst);
    let (again, text) = world.install(&world.registry(), &outcome.locks, SelectionPolicy::Keep, None);
    assert_eq!((text.as_str(), world.host.asked.load(Ordering::SeqCst)), ("reusing\npresent 1.0.0\n", asked));
    assert!(again.locks.selects_same(&outcome.locks));
    // A newer one is taken when asked for only.
    world.publish("1.1.0", &archive(&[("terraform-provider-null", b"new")]));
    let (again, _) = world.install(&world.registry(), &outcome.locks, SelectionPolicy::Keep, None);
    assert!(again.locks.selects_same(&outcome.locks));
    let (again, text) = world.install(&world.registry(), &outcome.locks, SelectionPolicy::Upgrade, None);
    assert_eq!(text, "finding\ninstalling 1.1.0\ninstalled 1.1.0 (signed, KEY)\nsigned\n");
    assert!(again.locks.names_same(&outcome.locks) && !again.locks.selects_same(&outcome.locks));
}

#[test]
fn a_link_in_a_package_is_a_file_with_its_target() {
    let world = World::new();
    world.publish("1.0.0", &archive(&[("terraform-provider-null -> bin/x", b"")]));
    let (outcome, text) = world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, None);
    assert!(text.ends_with("installed 1.0.0 (signed, KEY)\nsigned\n"), "{text}");
    let lock = &outcome.locks.providers[&provider(NULL)];
    let package = package::unpacked(&world.base(), &provider(NULL), &lock.version, &Platform::current());
    let file = package.join("terraform-provider-null");
    assert!(fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()));
    assert_eq!(fs::read_to_string(&file).expect("it is a file"), "bin/x");
    let hashes = &lock.hashes;
    assert!(hashes.contains(&hash::of_dir(&package).expect("it can be read")), "{hashes:?}");
}

/// Invalid responses of a registry, and the errors about them.
type Damage<'a> = (&'static str, Box<dyn Fn(&World) + 'a>, Expect);

#[test]
fn nothing_is_left_of_a_package_that_is_refused() {
    let zip = format!("/files/terraform-provider-null_1.0.0_{}.zip", Platform::current());
    let cases: Vec<Damage<'_>> = vec![
        (
            "another package",
            Box::new(|w| w.host.put(&zip, "application/zip", archive(&[("x", b"y")]))),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the archive has the checksum zh:... instead of zh:..."
            ],
        ),
        (
            "another signature",
            Box::new(|w| {
                let sums = w.host.answers.lock().expect("no thread panics")["/files/sums"].2.clone();
                w.host.put("/files/sums.sig", "text/plain", SigningKey::new().sign(&sums));
            }),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the provider is not signed with a valid signing key; please contact the provider author (authentication signature from unknown issuer)."
            ],
        ),
        (
            "a changed list",
            Box::new(|w| {
                let mut sums = w.host.answers.lock().expect("no thread panics")["/files/sums"].2.clone();
                sums.extend_from_slice(b"# more\n");
                w.host.put("/files/sums", "text/plain", sums);
            }),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the provider is not signed with a valid signing key; please contact the provider author (error checking signature: it is not one of this list of checksums)."
            ],
        ),
        (
            "no signature",
            Box::new(|w| w.host.put("/files/sums.sig", "text/plain", "garbage")),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the provider is not signed with a valid signing key; please contact the provider author (the signature cannot be read: its packets are malformed)."
            ],
        ),
        (
            "a file outside",
            Box::new(|w| w.publish("1.0.0", &archive(&[("../../x", b"y")]))),
            expect![[
                r#"! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the archive is refused: the path "../../x" in it leads out of it."#
            ]],
        ),
        (
            "a link that leads out",
            Box::new(|w| w.publish("1.0.0", &archive(&[("terraform-provider-null -> ../../../../x", b"")]))),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the archive is refused: the link terraform-provider-null to ../../../../x leads out of it."
            ],
        ),
        (
            "a bomb",
            Box::new(|w| w.publish("1.0.0", &bomb())),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the archive is refused: its files are more than 200 times as large as the archive, as if to fill the disk."
            ],
        ),
        (
            "no program",
            Box::new(|w| w.publish("1.0.0", &archive(&[("README", b"y")]))),
            expect![[
                r#"! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: provider binary not found: it has no file whose name starts with "terraform-provider-null"."#
            ]],
        ),
        (
            "no archive",
            Box::new(|w| w.publish("1.0.0", b"PK nonsense")),
            expect![
                "! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0: the archive is damaged: invalid Zip archive: Could not find EOCD."
            ],
        ),
        (
            "errors",
            Box::new(|w| w.host.fail(&zip, 500)),
            expect![[r#"
                ! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0:
                  GET BASE/files/terraform-provider-null_1.0.0_OS_ARCH.zip giving up after 3 attempt(s): the host responded "500 Internal Server Error"."#]],
        ),
        (
            "silence",
            Box::new(|w| w.host.stalls.store(true, Ordering::SeqCst)),
            expect![[r#"
                ! Failed to install provider: Error while installing registry.example.com/x/null v1.0.0:
                  BASE/files/terraform-provider-null_1.0.0_OS_ARCH.zip giving up after 3 attempt(s): the host does not respond."#]],
        ),
        (
            "no versions",
            Box::new(|w| w.host.fail("/v1/x/null/versions", 404)),
            expect![[r#"
                ! Failed to query available provider packages: Could not retrieve the list of available versions for provider registry.example.com/x/null: provider registry registry.example.com does not have a provider named registry.example.com/x/null.

                Set the source of every provider in required_providers. The default namespace is "hashicorp"."#]],
        ),
        (
            "no entry",
            Box::new(|w| w.host.fail("/v1/x/null/versions", 401)),
            expect![[
                r#"! Failed to resolve provider packages: Could not resolve provider registry.example.com/x/null: the host registry.example.com requires credentials, and none are stored; run "yuba login registry.example.com"."#
            ]],
        ),
        (
            "no sense",
            Box::new(|w| w.host.put("/v1/x/null/versions", "application/json", "[")),
            expect![
                "! Failed to resolve provider packages: Could not resolve provider registry.example.com/x/null: could not query provider registry for registry.example.com/x/null: its response is not JSON: EOF while parsing a list at line 1 column 1."
            ],
        ),
    ];
    for (name, damage, expected) in cases {
        let world = World::new();
        damage(&world);
        let (outcome, text) = world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, None);
        let problem = text.lines().skip_while(|line| !line.starts_with('!')).collect::<Vec<_>>().join("\n");
        let words = problem.split(' ').map(|word| if word.starts_with("zh:") { "zh:..." } else { word });
        expected.assert_eq(&words.collect::<Vec<_>>().join(" "));
        assert!(outcome.locks.providers.is_empty(), "{name}");
        assert_eq!(world.files(), "", "{name}");
        assert!(!world.base().join(".unfinished").exists(), "{name}");
    }
}

#[test]
fn a_name_without_namespace_leads_to_who_had_it() {
    let world = World::new();
    let hint = |answer: Option<&str>, needed: &[&str]| {
        if let Some(answer) = answer {
            world.host.put("/v1/-/null/versions", "application/json", answer);
        }
        let asked = provider("hashicorp/null");
        let error = world.registry().versions(&asked).expect_err("because the registry does not have it");
        let needed = needed.iter().map(|text| (provider(text), ProviderConstraints::default())).collect();
        let failure = installing::Failure::Query(error);
        let detail = diagnostics::failure(&asked, &failure, &needed, &Platform::current()).detail;
        detail.split("\n\n").nth(1).map(|hint| hint.trim_end_matches('.')).unwrap_or_default().to_owned()
    };
    let other = |name: &str| {
        format!(
            "Did you intend to use {name}? If so, name that source in the required_providers of every module that uses it"
        )
    };
    assert!(hint(None, &["hashicorp/null"]).starts_with("Set the source of every provider"));
    assert_eq!(hint(Some(r#"{"id": "acme/null"}"#), &["hashicorp/null"]), other("acme/null"));
    assert_eq!(hint(Some(r#"{"id": "a/null", "moved_to": "b/null"}"#), &["hashicorp/null"]), other("b/null"));
    assert_eq!(hint(Some(r#"{"id": "acme/null"}"#), &["hashicorp/null", "mine/null"]), other("mine/null"));
    for none in [r#"{"id": "hashicorp/null"}"#, r#"{"id": "acme/other"}"#, r#"{"id": "?"}"#, "{}", "["] {
        assert!(hint(Some(none), &["hashicorp/null"]).starts_with("Set the source of every provider"), "{none}");
    }
}

#[test]
fn locked_packages_must_not_change() {
    let world = World::new();
    let (outcome, _) = world.install(&world.mirror(), &LockFile::default(), SelectionPolicy::Keep, None);
    fs::remove_dir_all(world.base()).expect("it exists");
    world.publish("1.0.0", &archive(&[("terraform-provider-null", b"another one")]));
    let (_, text) = world.install(&world.mirror(), &outcome.locks, SelectionPolicy::Keep, None);
    assert!(text.contains("doesn't match any of the checksums"), "{text}");
    assert_eq!(world.files(), "");
    // A package that was changed after its installation is noticed too.
    world.publish("1.0.0", &good());
    world.install(&world.mirror(), &outcome.locks, SelectionPolicy::Keep, None);
    let package = package::unpacked(&world.base(), &provider(NULL), &"1.0.0".parse_version(), &Platform::current());
    fs::write(package.join("LICENSE"), "changed").expect("it can be written");
    let (_, text) = world.install(&world.mirror(), &outcome.locks, SelectionPolicy::Keep, None);
    assert!(text.contains("local modifications"), "{text}");
}

trait ParseVersion {
    fn parse_version(&self) -> yuba_addrs::ProviderVersion;
}

impl ParseVersion for str {
    fn parse_version(&self) -> yuba_addrs::ProviderVersion {
        yuba_addrs::ProviderVersion::parse(self).expect("because it is well-formed")
    }
}

#[test]
fn many_share_a_cache() {
    let world = World::new();
    let cache = Cache { dir: world.sandbox.dir().join("cache"), may_break_lock_file: false };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (outcome, text) =
                    world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, Some(&cache));
                assert!(outcome.failures.is_empty(), "{text}");
            });
        }
    });
    let (outcome, _) = world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, Some(&cache));
    fs::remove_dir_all(world.base()).expect("it exists");
    let asked = world.host.asked.load(Ordering::SeqCst);
    let (_, text) = world.install(&world.registry(), &outcome.locks, SelectionPolicy::Keep, Some(&cache));
    assert_eq!(text, "reusing\npresent 1.0.0 in cache\nfrom cache 1.0.0\n");
    assert_eq!(world.host.asked.load(Ordering::SeqCst), asked);
    let package = package::unpacked(&world.base(), &provider(NULL), &"1.0.0".parse_version(), &Platform::current());
    assert!(fs::symlink_metadata(package).expect("it exists").is_symlink());
}

#[test]
fn hashes_for_other_platforms_are_locked() {
    let world = World::new();
    let needed = BTreeMap::from([(provider(NULL), ProviderConstraints::default())]);
    let sources = world.registry();
    let request = locking::ProviderLockRequest {
        needed: &needed,
        locks: &LockFile::default(),
        sources: &sources,
        client: world.means.services.client(),
        platforms: &[Platform::current()],
        signing: Signing::default(),
        directory: &world.sandbox.dir(),
        temporary: &std::env::temp_dir(),
    };
    let mut events = 0;
    let (locks, is_new) = locking::lock(&request, &mut |_| events += 1).expect("because all is well");
    assert_eq!((locks.providers[&provider(NULL)].hashes.len(), is_new, events), (3, true, 3));
    let (_, is_new) =
        locking::lock(&locking::ProviderLockRequest { locks: &locks, ..request }, &mut |_| ()).expect("as before");
    assert!(!is_new);
    let plan9 = [Platform::parse("plan9_arm").expect("because it is well-formed")];
    let request = locking::ProviderLockRequest {
        platforms: &plan9,
        locks: &locks,
        needed: &needed,
        sources: &sources,
        client: world.means.services.client(),
        signing: Signing::default(),
        directory: &world.sandbox.dir(),
        temporary: &std::env::temp_dir(),
    };
    let problems = locking::lock(&request, &mut |_| ()).expect_err("because the package does not exist");
    assert!(problems.iter().any(|problem| problem.summary == "Could not retrieve providers for locking"));
}

#[test]
fn a_copy_of_a_registry_is_a_mirror() {
    let world = World::new();
    let needed = BTreeMap::from([(provider(NULL), ProviderConstraints::default())]);
    let dir = world.sandbox.dir().join("copy");
    let request = mirroring::MirrorRequest {
        needed: &needed,
        locks: &LockFile::default(),
        registry: &world.means.registry(),
        client: world.means.services.client(),
        platforms: &[Platform::current()],
        dir: &dir,
    };
    let problems = mirroring::mirror(&request, &mut |_| ());
    assert!(problems.is_empty(), "{problems:?}");
    let files = hash::files(&dir).expect("it exists").join("\n").replace(&Platform::current().to_string(), "OS_ARCH");
    expect![[r#"
        registry.example.com/x/null/1.0.0.json
        registry.example.com/x/null/index.json
        registry.example.com/x/null/terraform-provider-null_1.0.0_OS_ARCH.zip"#]]
    .assert_eq(&files);
    let (outcome, text) =
        world.install(&configured::directories([dir]), &LockFile::default(), SelectionPolicy::Keep, None);
    assert_eq!(text, "finding\ninstalling 1.0.0\ninstalled 1.0.0 (unauthenticated)\n");
    assert_eq!(outcome.incomplete, [provider(NULL)]);
}

#[test]
fn lock_files_survive_a_round() {
    let world = World::new();
    let (outcome, _) = world.install(&world.registry(), &LockFile::default(), SelectionPolicy::Keep, None);
    let path = world.sandbox.dir().join(lock_file::LOCK_FILE);
    lock_file::write(&world.sandbox.dir(), lock_file::LOCK_FILE, &outcome.locks).expect("it can be written");
    let (read, problems) =
        lock_file::parse("lock", &std::fs::read(&path).expect("it was written"), &mut yuba_syntax::Sources::new());
    assert!(problems.is_empty() && read.selects_same(&outcome.locks));
}
