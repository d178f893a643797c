//! Names from the configuration and from states in files. Failures are empty lists.
//!
//! Invariant: the Tab key runs nothing that the configuration names, and sends nothing. The user may be looking at a configuration that
//! is not reviewed yet. So there are no names from states that other backends store, or that need a process or a service to decrypt.

use std::collections::BTreeSet;
use std::sync::Arc;

use yuba_addrs::ResourceMode;
use yuba_eval::tree::Purpose;
use yuba_install::Hosts;
use yuba_session::backend::{StateLocation, find_in_files};
use yuba_session::loaded::{LoadOptions, Loaded};
use yuba_session::workspaces;
use yuba_state::State;

use crate::commands::Command;
use crate::flags;
use crate::settings::Settings;
use crate::state_access;

/// The project of the working directory, with the flags on the line.
pub(super) struct Source {
    settings: Settings,
    state: yuba_session::backend::StateFlags,
}

impl Source {
    /// For a command and the words after its name. Invalid flags are ignored.
    pub(super) fn new(command: &'static Command, given: &[String], hosts: &Arc<Hosts>) -> Source {
        let parsed = flags::parse(command.flags, given).or_else(|_| flags::parse(command.flags, &[]));
        let mut args = parsed.expect("because there is no invalid flag in no flags");
        args.hosts = Arc::clone(hosts);
        Source { settings: Settings::new(&args), state: state_access::flags(&args).unwrap_or_default() }
    }

    fn state(&self) -> Option<State> {
        self.location()?.look().ok()?.state
    }

    fn location(&self) -> Option<StateLocation> {
        let selected = self.settings.selected();
        let is_valid = !selected.is_overridden || workspaces::is_valid_name(&selected.name);
        find_in_files(self.settings.project(), &self.state).filter(|_| is_valid)
    }

    fn loaded(&self) -> Option<Loaded> {
        self.settings.project().load(LoadOptions::new(Purpose::Look).without_tests()).ok()
    }

    /// Instances in the state, their resources where these have several, and their modules.
    pub(super) fn in_state(&self) -> Vec<String> {
        let mut names = BTreeSet::new();
        for (addr, resource, _) in self.state().iter().flat_map(State::instances) {
            let (addr, resource) = (addr.to_string(), resource.addr.to_string());
            names.extend(modules_of(&resource));
            names.extend([addr, resource]);
        }
        names.into_iter().collect()
    }

    /// Everything that the configuration declares or the state contains.
    pub(super) fn targets(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.in_state().into_iter().collect();
        for name in self.resources(|_| true) {
            names.extend(modules_of(&name));
            names.insert(name);
        }
        names.into_iter().collect()
    }

    /// Everything that can be explained: resources, modules, variables, local values and outputs.
    pub(super) fn explained(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.targets().into_iter().collect();
        let loaded = self.loaded();
        for (_, node) in loaded.iter().flat_map(|loaded| loaded.tree.iter()) {
            let path = node.path.to_string();
            let module = if path.is_empty() { path } else { path + "." };
            names.extend(node.module.variables.keys().map(|name| format!("{module}var.{name}")));
            names.extend(node.module.locals.keys().map(|name| format!("{module}local.{name}")));
            names.extend(node.module.outputs.keys().map(|name| format!("{module}output.{name}")));
        }
        names.into_iter().collect()
    }

    /// Managed resources of the configuration.
    pub(super) fn declared(&self) -> Vec<String> {
        self.resources(|mode| mode == ResourceMode::Managed)
    }

    fn resources(&self, wanted: impl Fn(ResourceMode) -> bool) -> Vec<String> {
        let Some(loaded) = self.loaded() else { return Vec::new() };
        let mut names = Vec::new();
        for (_, node) in loaded.tree.iter() {
            let path = node.path.to_string();
            let module = if path.is_empty() { path } else { path + "." };
            for key in node.module.resources.keys().filter(|key| wanted(key.mode)) {
                let mode = match key.mode {
                    ResourceMode::Managed => "",
                    ResourceMode::Data => "data.",
                    ResourceMode::Ephemeral => "ephemeral.",
                };
                names.push(format!("{module}{mode}{}.{}", key.kind, key.name));
            }
        }
        names
    }

    /// Variables of the root module.
    pub(super) fn variables(&self) -> Vec<String> {
        let loaded = self.loaded();
        loaded.iter().flat_map(|loaded| loaded.tree.root().module.variables.keys()).map(ToString::to_string).collect()
    }

    /// Outputs in the state.
    pub(super) fn outputs(&self) -> Vec<String> {
        self.state().iter().flat_map(|state| state.outputs.keys()).map(ToString::to_string).collect()
    }

    /// Providers that the state refers to.
    pub(super) fn providers(&self) -> Vec<String> {
        let state = self.state();
        let names: BTreeSet<String> =
            state.iter().flat_map(State::iter).map(|resource| resource.provider.provider.to_string()).collect();
        names.into_iter().collect()
    }

    /// Workspaces.
    pub(super) fn workspaces(&self) -> Vec<String> {
        self.location().and_then(|location| workspaces::list(&location).ok()).unwrap_or_default()
    }
}

/// The modules that contain an address: `module.a` and `module.a.module.b` for `module.a.module.b.x.y`.
fn modules_of(addr: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut depth, mut quoted, mut steps, mut start) = (0, false, 0, 0);
    for (at, c) in addr.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            '.' if depth == 0 && !quoted => {
                steps += 1;
                if steps % 2 == 0 {
                    found.push(addr[..at].to_owned());
                    start = at + 1;
                } else if &addr[start..at] != "module" {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::modules_of;

    #[test]
    fn modules_of_addresses() {
        assert_eq!(modules_of("a.b"), Vec::<String>::new());
        assert_eq!(modules_of("data.a.b"), Vec::<String>::new());
        assert_eq!(modules_of("module.m[\"x.y\"].a.b"), ["module.m[\"x.y\"]"]);
        assert_eq!(modules_of("module.a.module.b[0].data.c.d"), ["module.a", "module.a.module.b[0]"]);
    }
}
