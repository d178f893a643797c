//! Packages that were unpacked before come from there.

use std::path::Path;

use super::*;

impl World {
    /// A first and a second working directory: the events in both, and the number of requests in the second one.
    fn twice(&self, sources: &PackageSources, between: impl Fn(&World)) -> (String, String, u32) {
        let (first, before) = self.install(sources, &LockFile::default(), SelectionPolicy::Keep, None);
        between(self);
        let asked = self.host.asked.load(Ordering::SeqCst);
        let _ = fs::remove_dir_all(self.base());
        let (second, after) = self.install(sources, &LockFile::default(), SelectionPolicy::Keep, None);
        assert!(second.failures.is_empty(), "{after}");
        let hashes = |outcome: &InstallOutcome| outcome.locks.providers[&provider(NULL)].hashes.clone();
        assert_eq!(hashes(&second), hashes(&first));
        let contents = Verified::default().look(&self.package()).expect("it is installed");
        assert!(hashes(&first).contains(&contents.hash));
        (before, after, self.host.asked.load(Ordering::SeqCst) - asked)
    }

    fn package(&self) -> PathBuf {
        package::unpacked(&self.base(), &provider(NULL), &"1.0.0".parse_version(), &Platform::current())
    }

    /// A directory with an archive of the provider.
    fn archives(&self) -> (PackageSources, PathBuf) {
        let name = package::archive_name(&provider(NULL), &"1.0.0".parse_version(), &Platform::current());
        let dir = self.sandbox.dir().join("archives");
        let file = package::of_provider(&dir, &provider(NULL)).join(name);
        fs::create_dir_all(file.parent().expect("it has one")).expect("it can be made");
        fs::write(&file, good()).expect("it can be written");
        (configured::directories([dir]), file)
    }
}

/// Identity of a file, whatever its name.
fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("it exists"))
}

/// Number of requests in the second directory if nothing has changed.
fn untouched() -> u32 {
    let world = World::new();
    world.twice(&world.registry(), |_| ()).2
}

const PROGRAM: &str = "terraform-provider-null_v1.0.0";

#[test]
fn what_was_unpacked_before_is_not_downloaded_again() {
    for source in [World::registry as fn(&World) -> PackageSources, World::mirror] {
        let world = World::new();
        let zip = format!("/files/terraform-provider-null_1.0.0_{}.zip", Platform::current());
        let (before, after, _) = world.twice(&source(&world), |world| world.host.fail(&zip, 404));
        assert_eq!(before, after);
    }
    let world = World::new();
    let sources = container_registry(&world, &Platform::current().os);
    let blob = format!("/v2/p/null/blobs/sha256:{}", hash::hex(&Sha256::digest(good())));
    let (before, after, _) = world.twice(&sources, |world| world.host.fail(&blob, 404));
    assert_eq!(before, after);
}

#[test]
fn what_was_unpacked_before_is_not_unpacked_again() {
    let world = World::new();
    let (sources, file) = world.archives();
    world.install(&sources, &LockFile::default(), SelectionPolicy::Keep, None);
    let first = inode(&world.package().join(PROGRAM));
    let moved = world.sandbox.dir().join("elsewhere");
    fs::rename(world.base(), &moved).expect("it can be renamed");
    let (outcome, _) = world.install(&sources, &LockFile::default(), SelectionPolicy::Keep, None);
    assert_eq!(inode(&world.package().join(PROGRAM)), first);
    // Nothing is hashed again because of that, neither here nor there: lies are believed.
    let records = world.sandbox.dir().join("records");
    for record in fs::read_dir(&records).expect("it exists").flatten() {
        let text = fs::read_to_string(record.path()).expect("it is text");
        let (marks, _) = text.rsplit_once(' ').expect("it has a sum");
        fs::write(record.path(), format!("{marks} {}\n", "ab".repeat(32))).expect("it can be written");
    }
    let verified = Verified::new(Some(records.clone()));
    for base in [&world.base(), &moved] {
        let package = package::unpacked(base, &provider(NULL), &"1.0.0".parse_version(), &Platform::current());
        for name in [PROGRAM, "LICENSE"] {
            assert_eq!(verified.sum(&package.join(name)).expect("it can be read"), [0xab; 32]);
        }
    }
    fs::remove_dir_all(records).expect("it exists");
    // Another archive at the same path has another content.
    fs::remove_dir_all(world.base()).expect("it exists");
    fs::write(&file, archive(&[(PROGRAM, b"another one")])).expect("it can be written");
    let (other, _) = world.install(&sources, &LockFile::default(), SelectionPolicy::Keep, None);
    assert!(!other.locks.selects_same(&outcome.locks));
    fs::remove_dir_all(world.base()).expect("it exists");
    let (_, text) = world.install(&sources, &outcome.locks, SelectionPolicy::Keep, None);
    assert!(text.contains("doesn't match any of the checksums"), "{text}");
    assert_eq!(world.files(), "");
}

#[test]
fn changed_packages_are_downloaded_again() {
    let change = |world: &World| fs::write(world.package().join(PROGRAM), "changed").expect("it can be written");
    let world = World::new();
    assert_eq!(world.twice(&world.registry(), change).2, untouched() + 1);
}

#[test]
fn packages_of_another_user_are_not_trusted() {
    let copy = |world: &World| {
        let (kept, copy) = (world.sandbox.dir().join("kept"), world.sandbox.dir().join("copy"));
        let files = hash::files(&kept).expect("it exists");
        package::transfer(&kept, &copy, files, |from, to| fs::copy(from, to).map(drop)).expect("it can be copied");
        fs::remove_dir_all(&kept).expect("it exists");
        fs::rename(copy, kept).expect("it can be renamed");
    };
    let world = World::new();
    assert_eq!(world.twice(&world.registry(), copy).2, untouched() + 1);
}

#[test]
fn without_a_directory_nothing_is_cached() {
    let world = World { kept: UnpackedPackages::default(), ..World::new() };
    assert_eq!(world.twice(&world.registry(), |_| ()).2, untouched() + 1);
}
