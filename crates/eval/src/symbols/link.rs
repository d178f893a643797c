//! From `symbols` blocks to libraries: each is read and linked once.

use std::sync::Arc;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_config::symbols::{Library as Declared, SymbolsCall};
use yuba_config::{Decoding, Module};
use yuba_syntax::{Diagnostics, Sources, Span};

use super::types::ModuleTypes;
use super::{Included, Libraries, Library, diagnostics, library};
use crate::expression::with_stack;
use crate::tree::ModuleFiles;
use crate::tree::join;

/// Over how many levels libraries may include each other.
const MAX_DEPTH: usize = 500;

/// What the files of a library say.
pub struct LibraryFiles {
    /// What they declare.
    pub declared: Declared,
    /// What is wrong with them.
    pub problems: Diagnostics,
    /// The library is a directory, not a file.
    pub is_dir: bool,
}

/// Libraries linked so far, by identity.
#[derive(Default)]
pub(crate) struct Linker {
    done: HashMap<EcoString, Option<Arc<Library>>>,
    /// Libraries that are being linked: identity, path, and where the next one is included.
    open: Vec<(EcoString, EcoString, EcoString)>,
}

impl Linker {
    /// Links the libraries of a module and resolves the types that it takes from them. The first answer is about the module
    /// and its use of libraries, the second about the libraries, told once.
    pub(crate) fn module(
        &mut self,
        module: &mut Arc<Module>,
        dir: &str,
        files: &mut dyn ModuleFiles,
    ) -> (Libraries, Diagnostics, Diagnostics) {
        let mut problems = Diagnostics::new();
        let mut about_libraries = Diagnostics::new();
        let libraries = self.include(&module.symbols, dir, files, &mut problems, &mut about_libraries);
        if module.variables.values().any(|variable| variable.type_pending) {
            let empty = Sources::new();
            let decoding = Decoding { constants: &crate::constant, sources: files.sources().unwrap_or(&empty) };
            // The answers to questions about features and resources do not depend on types of variables.
            let context = Arc::clone(module);
            let types = ModuleTypes::new(&libraries, &*context);
            for variable in Arc::make_mut(module).variables.values_mut() {
                types.begin();
                problems.extend(variable.resolve_types(&decoding, &types));
            }
        }
        (libraries, problems, about_libraries)
    }

    /// Links what `symbols` blocks name. `dir` is where their paths start from.
    fn include(
        &mut self,
        calls: &std::collections::BTreeMap<EcoString, SymbolsCall>,
        dir: &str,
        files: &mut dyn ModuleFiles,
        problems: &mut Diagnostics,
        about_libraries: &mut Diagnostics,
    ) -> Libraries {
        let mut libraries = Libraries::new();
        for call in calls.values() {
            let place = files.sources().map(|sources| place(sources, call.span)).unwrap_or_default();
            let library = match &call.source {
                Some((source, at)) => {
                    let path = join(dir, source);
                    if let Some((_, _, included)) = self.open.last_mut() {
                        included.clone_from(&place);
                    }
                    with_stack(|| self.library(call, &path, *at, files, problems, about_libraries))
                }
                None => None,
            };
            libraries.insert(call.name.clone(), Included { place, library });
        }
        libraries
    }

    fn library(
        &mut self,
        call: &SymbolsCall,
        path: &EcoString,
        at: Span,
        files: &mut dyn ModuleFiles,
        problems: &mut Diagnostics,
        about_libraries: &mut Diagnostics,
    ) -> Option<Arc<Library>> {
        let identity = files.identity(path);
        if let Some(start) = self.open.iter().position(|(open, ..)| *open == identity) {
            let chain: Vec<(EcoString, EcoString)> =
                self.open.iter().skip(start).map(|(_, path, place)| (path.clone(), place.clone())).collect();
            problems.push(diagnostics::includes_itself(&chain, at));
            return None;
        }
        if let Some(done) = self.done.get(&identity) {
            return done.clone();
        }
        if self.open.len() >= MAX_DEPTH {
            problems.push(diagnostics::too_deep(MAX_DEPTH, at));
            return None;
        }
        let read = match files.library(path) {
            Ok(read) => read,
            Err(reason) => {
                problems.push(diagnostics::unreadable(&call.name, path, &reason, at));
                return None;
            }
        };
        let dir = if read.is_dir { path.as_str() } else { path.rsplit_once('/').map_or(".", |(dir, _)| dir) };
        let dir = if dir.is_empty() { "/" } else { dir };
        let mut found = read.problems;
        self.open.push((identity.clone(), path.clone(), EcoString::new()));
        let mut nested = Diagnostics::new();
        let libraries = self.include(&read.declared.symbols, dir, files, &mut found, &mut nested);
        self.open.pop();
        let empty = Sources::new();
        let decoding = Decoding { constants: &crate::constant, sources: files.sources().unwrap_or(&empty) };
        let broken = libraries.values().any(|included| included.library.is_none());
        let (library, wrong) = library::link(path.clone(), &read.declared, libraries, &decoding);
        if !found.has_errors() {
            found.extend(wrong);
        }
        let usable = !broken && !found.has_errors();
        about_libraries.extend(nested);
        about_libraries.extend(found);
        let library = usable.then(|| Arc::new(library));
        self.done.insert(identity, library.clone());
        library
    }
}

/// A place as text: `main.tf:3`.
pub(crate) fn place(sources: &Sources, span: Span) -> EcoString {
    match sources.get(span.file) {
        Some(source) => eco_format!("{}:{}", source.name, source.position(span.start as usize).line),
        None => "another file".into(),
    }
}
