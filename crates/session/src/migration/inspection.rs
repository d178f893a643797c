//! Comparing two states before one of them replaces the other: in files, or as a list where states are encrypted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yuba_addrs::AbsProviderConfig;
use yuba_backend::Alive;
use yuba_state::{Instance, Output, State};

use crate::replace::write_private;

/// The beginning of the names of directories with copies. The number of the process and a UUID follow.
const NAME: &str = "yuba-migration-";

/// Number of addresses that a list contains.
const LISTED: usize = 20;

/// A state with the type of its backend.
pub(super) type Named<'s> = (&'s str, &'s State);

/// How the user compares two states.
pub(super) enum Comparison {
    /// In files of a temporary directory.
    Files(Copies),
    /// By a description without values.
    Listed(String),
}

impl Comparison {
    /// The paragraph of the prompt.
    pub(super) fn described(&self, old: &str, new: &str) -> String {
        match self {
            Comparison::Files(copies) => {
                let (one, other) = (copies.source.display(), copies.destination.display());
                format!(
                    "To compare them, look at these files. They are removed after the prompt.\n\nPrevious (type {old:?}): \
                     {one}\nNew      (type {new:?}): {other}"
                )
            }
            Comparison::Listed(text) => text.clone(),
        }
    }
}

/// Two files, which are removed with the value.
pub(super) struct Copies {
    directory: PathBuf,
    /// The state of the previous backend.
    source: PathBuf,
    /// The state of the new backend.
    destination: PathBuf,
}

impl Copies {
    /// Writes both states, with the types of their backends. Only the user can read them. They are in clear text, so this is for states
    /// without encryption. A process that was killed has left its copies: they are removed first.
    pub(super) fn write(below: &Path, (old, source): Named<'_>, (new, destination): Named<'_>) -> io::Result<Copies> {
        remove_abandoned(below);
        let directory = below.join(format!("{NAME}{}-{}", std::process::id(), yuba_backend::new_uuid()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory)?;
        let copies = Copies {
            source: directory.join(format!("1-{old}.tfstate")),
            destination: directory.join(format!("2-{new}.tfstate")),
            directory,
        };
        for (path, state) in [(&copies.source, source), (&copies.destination, destination)] {
            let mut content = Vec::new();
            yuba_state::write(state, &mut content);
            write_private(path, &content)?;
        }
        Ok(copies)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // The next migration tries again.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes copies of processes that no longer run. The system refuses to remove those of other users.
fn remove_abandoned(below: &Path) {
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| yuba_backend::alive(pid) == Alive::No) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Describes both states and their differences without any value, so that no file with clear text is necessary.
pub(super) fn listed((old, source): Named<'_>, (new, destination): Named<'_>) -> String {
    let mut text = String::from("Encryption is configured, so Yuba does not write copies of the states to files.");
    let _ = write!(
        text,
        "\n\nPrevious (type {old:?}): {}\nNew      (type {new:?}): {}\n",
        summary(source),
        summary(destination)
    );
    let (before, after) = (entries(source), entries(destination));
    let only = |one: &Entries<'_>, other: &Entries<'_>| -> Vec<String> {
        one.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let differs = |name: &&String| after.get(*name).is_some_and(|found| *found != before[*name]);
    for (title, names) in [
        ("Only in the previous state", only(&before, &after)),
        ("Only in the new state", only(&after, &before)),
        ("Different in both", before.keys().filter(differs).cloned().collect()),
    ] {
        push_names(&mut text, title, &names);
    }
    text.truncate(text.trim_end().len());
    text
}

fn summary(state: &State) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!(
        "serial {}, lineage {}, {}, {}",
        state.serial,
        state.lineage,
        counted(state.instance_count(), "resource instance"),
        counted(state.outputs.len(), "output")
    )
}

/// A part of a state that has a name.
#[derive(PartialEq)]
enum Entry<'s> {
    Instance(&'s AbsProviderConfig, &'s Instance),
    Output(&'s Output),
}

/// Parts of a state by the name that a list shows.
type Entries<'s> = BTreeMap<String, Entry<'s>>;

fn entries(state: &State) -> Entries<'_> {
    let instances = state
        .instances()
        .map(|(address, resource, instance)| (address.to_string(), Entry::Instance(&resource.provider, instance)));
    let outputs = state.outputs.iter().map(|(name, output)| (format!("output {name:?}"), Entry::Output(output)));
    instances.chain(outputs).collect()
}

fn push_names(text: &mut String, title: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}:");
    for name in names.iter().take(LISTED) {
        let _ = writeln!(text, "  {name}");
    }
    if names.len() > LISTED {
        let _ = writeln!(text, "  ({} of {} are listed)", LISTED, names.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_killed_process_are_removed() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let below = sandbox.dir().join("temporary");
        let copies = |pid: u32| below.join(format!("yuba-migration-{pid}-uuid"));
        let mut child = std::process::Command::new("true").spawn().expect("it is everywhere");
        let dead = copies(child.id());
        child.wait().expect("it is our child");
        for made in [&dead, &copies(std::process::id()), &below.join("yuba-migration-other")] {
            std::fs::create_dir_all(made).expect("the sandbox is writable");
            std::fs::write(made.join("1-local.tfstate"), "{}").expect("the sandbox is writable");
        }
        let state = State::empty();
        drop(Copies::write(&below, ("local", &state), ("s3", &state)).expect("the sandbox is writable"));
        assert!(!dead.exists());
        assert!(copies(std::process::id()).exists() && below.join("yuba-migration-other").exists());
    }

    #[test]
    fn a_list_names_what_differs_and_no_more_than_twenty_of_each() {
        let state = |values: &[(usize, &str)]| {
            let mut state = State::empty();
            for (n, value) in values {
                let value = yuba_value::Value::string(*value);
                let output = Output { value, sensitive: true, deprecated: Default::default() };
                state.outputs.insert(format!("o{n:02}").into(), output);
            }
            state
        };
        let many: Vec<(usize, &str)> = (0..30).map(|n| (n, "old-value")).collect();
        let text =
            listed(("s3", &state(&many)), ("pg", &state(&[(0, "old-value"), (1, "new-value"), (99, "new-value")])));
        let (_, lists) = text.split_once("\n\nOnly in the previous state:\n").expect("it is a list");
        let lines: Vec<&str> = lists.lines().map(str::trim).collect();
        assert_eq!((lines[0], lines[19], lines[20]), ("output \"o02\"", "output \"o21\"", "(20 of 28 are listed)"));
        let rest = ["", "Only in the new state:", "output \"o99\"", "", "Different in both:", "output \"o01\""];
        assert_eq!(lines[21..], rest);
        assert!(!text.contains("-value"), "{text}");
    }
}
