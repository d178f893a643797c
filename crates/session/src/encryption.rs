//! Encryption settings of the configuration and `TF_ENCRYPTION`, ready for use.
//!
//! Messages never show values: passphrases and keys are among them. So strings of the environment are not sources that
//! a message could quote.

mod diagnostics;

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_backend::encryption::services::{KeyServiceKind, key_service};
use yuba_backend::encryption::{
    Commands, EncryptionMethod, KeyProvider, KeySource, Keys, Passphrase, Pbkdf2Hash, Sealing,
};
use yuba_backend::kit::arguments::Arguments;
use yuba_config::Decoding;
use yuba_config::encryption as config;
use yuba_eval::ModuleId;
use yuba_eval::static_eval::{StaticCache, StaticUse, Statics};
use yuba_provider::{EvalExpr, LocalNames};
use yuba_syntax::body::AttributeSchema;
use yuba_syntax::{Body, BodySchema, Diagnostics, Expr, FileId, Sources, Span, TraversalStep, json, parser};
use yuba_value::{Type, Value, View, convert};

use crate::loaded::Loaded;
use crate::project::Project;

/// The variable of the environment with an encryption configuration, in native or JSON syntax.
pub const VARIABLE: &str = "TF_ENCRYPTION";

/// Evaluates the arguments of a key provider.
struct ServiceArguments<'e> {
    eval: Eval<'e>,
    usage: &'e StaticUse,
}

impl EvalExpr for ServiceArguments<'_> {
    fn eval(&mut self, expr: &Expr, _: &LocalNames) -> (Value, Diagnostics) {
        (self.eval)(expr, self.usage)
    }
}

/// Encrypted targets and their methods.
#[derive(Clone, Debug, Default)]
pub struct Encryption {
    /// The state.
    pub state: Option<Sealing>,
    /// Saved plans.
    pub plan: Option<Sealing>,
    /// Remote states without an entry of their own.
    pub remote_default: Option<Sealing>,
    /// Remote states, by address of the data source.
    pub remote: BTreeMap<EcoString, Sealing>,
    /// Warnings, without errors.
    pub notes: Diagnostics,
}

impl Encryption {
    /// Encryption of the state that a data source reads: its own settings, or those for all other data sources.
    pub fn of_remote(&self, address: &AbsResourceInstance) -> Option<&Sealing> {
        let mut name = address.resource.name.to_string();
        if !address.module.is_root() {
            // Quirk: the first word is left out.
            let module = address.module.to_string();
            name = format!("{}.{name}", module.strip_prefix("module.").unwrap_or(&module));
        }
        if let Some(key) = &address.key {
            name = format!("{name}{key}");
        }
        self.remote.get(name.as_str()).or(self.remote_default.as_ref())
    }
}

/// Sources of values of arguments.
type Eval<'e> = &'e dyn Fn(&Expr, &StaticUse) -> (Value, Diagnostics);

/// Settings of a configuration and the environment.
pub fn of(loaded: &Loaded) -> Result<Encryption, Diagnostics> {
    let written = loaded.tree.root().module.encryption.clone();
    let Some(wanted) = merged(&loaded.project, written)? else { return Ok(Encryption::default()) };
    let cache = StaticCache::default();
    let statics = Statics::new(&loaded.tree, loaded.static_env(), &cache);
    prepare(&loaded.project, &wanted, &|expr, usage| statics.evaluate(ModuleId::ROOT, expr, usage))
}

/// Settings of the environment, where there is no configuration.
pub fn of_environment(project: &Project) -> Result<Encryption, Diagnostics> {
    match merged(project, None)? {
        Some(wanted) => prepare(project, &wanted, &|expr, _| yuba_eval::constant(expr)),
        None => Ok(Encryption::default()),
    }
}

/// Settings of the configuration, with the changes of the environment.
fn merged(project: &Project, written: Option<config::Encryption>) -> Result<Option<config::Encryption>, Diagnostics> {
    let text = project.environment().get(VARIABLE).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(written);
    }
    let file = FileId(u32::MAX);
    let parsed = match text.trim_start().starts_with('{') {
        true => json::parse_config(file, text.as_bytes()),
        false => parser::parse_config(file, text.as_bytes()).1,
    };
    let mut problems = parsed.diagnostics;
    let sources = Sources::new();
    let decoding = Decoding::new(&yuba_eval::constant, &sources);
    let (found, wrong) = config::decode_body(&parsed.body, Span { file, start: 0, end: 0 }, &decoding);
    problems.extend(wrong);
    let Some(found) = found.filter(|_| !problems.has_errors()) else {
        let mut placed = Diagnostics::new();
        placed.extend(problems.into_iter().map(|problem| diagnostics::in_environment(VARIABLE, problem)));
        return Err(placed);
    };
    Ok(Some(match written {
        Some(mut written) => {
            written.overridden_by(found);
            written
        }
        None => found,
    }))
}

/// Whether the encryption settings of a configuration and the environment work without external tools and services: they contain their
/// passphrases and keys.
pub(crate) fn is_self_contained(project: &Project, written: Option<config::Encryption>) -> bool {
    let has_local_kinds = |wanted: config::Encryption| {
        wanted.key_providers.iter().all(|provider| provider.kind == "pbkdf2")
            && wanted.methods.iter().all(|method| matches!(method.kind.as_str(), "aes_gcm" | "unencrypted"))
    };
    merged(project, written).is_ok_and(|wanted| wanted.is_none_or(has_local_kinds))
}

struct Preparing<'p> {
    project: &'p Project,
    wanted: &'p config::Encryption,
    eval: Eval<'p>,
}

fn prepare(project: &Project, wanted: &config::Encryption, eval: Eval<'_>) -> Result<Encryption, Diagnostics> {
    let preparing = Preparing { project, wanted, eval };
    let mut notes = Diagnostics::new();
    if wanted.methods.iter().any(|method| method.kind == "unencrypted") {
        notes.push(diagnostics::unencrypted_method(wanted.span));
    }
    let sealing = |target: &Option<config::EncryptionTarget>, name: &str| match target {
        Some(target) => preparing.sealing(target, name).map(Some),
        None => Ok(None),
    };
    let state = sealing(&wanted.state, "state")?;
    let plan = sealing(&wanted.plan, "plan")?;
    let remote_default = sealing(&wanted.remote_default, "remote state")?;
    let mut remote = BTreeMap::new();
    for (name, target) in &wanted.remote {
        remote.insert(name.clone(), preparing.sealing(target, &format!("state of {name}"))?);
    }
    Ok(Encryption { state, plan, remote_default, remote, notes })
}

impl Preparing<'_> {
    fn sealing(&self, target: &config::EncryptionTarget, name: &str) -> Result<Sealing, Diagnostics> {
        let (mut providers, mut positions) = (Vec::new(), BTreeMap::new());
        let mut methods = Vec::new();
        let mut at = Some(target);
        while let Some(target) = at {
            let method = self.method_of(target)?;
            methods.push(self.method(method, &mut providers, &mut positions)?);
            at = target.fallback.as_deref();
        }
        if target.enforced && methods.iter().any(|method| matches!(method, EncryptionMethod::Unencrypted)) {
            return Err(diagnostics::unencrypted_method_forbidden(name, self.wanted.span).into());
        }
        Ok(Sealing::new(name, providers, methods)?)
    }

    /// The block that a target names.
    fn method_of(&self, target: &config::EncryptionTarget) -> Result<&config::Method, Diagnostics> {
        let named = target.method.as_ref().and_then(|expr| two_names(expr, "method"));
        let Some((kind, name)) = named else {
            let at = target.method.as_ref().map_or(target.span, |expr| expr.span);
            return Err(diagnostics::invalid_method_reference(at).into());
        };
        let mut methods = self.wanted.methods.iter();
        methods
            .find(|method| method.kind == kind && method.name == name)
            .ok_or_else(|| diagnostics::undeclared_method(&kind, &name, target.span).into())
    }

    fn method(
        &self,
        method: &config::Method,
        providers: &mut Vec<KeyProvider>,
        positions: &mut BTreeMap<(EcoString, EcoString), Option<usize>>,
    ) -> Result<EncryptionMethod, Diagnostics> {
        let usage = StaticUse::new(eco_format!("encryption.method.{}.{}", method.kind, method.name), method.span);
        match method.kind.as_str() {
            "unencrypted" => Ok(EncryptionMethod::Unencrypted),
            "aes_gcm" => {
                let attributes = arguments(&method.body, &["keys"], &["aad"])?;
                let Some(keys) = attributes.get("keys") else { return Err(Diagnostics::new()) };
                let keys = self.keys(keys, &usage, providers, positions)?;
                let aad = match attributes.get("aad") {
                    Some(expr) => bytes(&self.value(expr, &usage)?).ok_or_else(|| not_bytes("aad", expr.span))?,
                    None => Vec::new(),
                };
                Ok(EncryptionMethod::AesGcm { keys, aad })
            }
            "external" => {
                let attributes = arguments(&method.body, &["encrypt_command", "decrypt_command"], &["keys"])?;
                let command = |name: &str| match attributes.get(name) {
                    Some(expr) => self.command(name, expr, &usage),
                    None => Err(Diagnostics::new()),
                };
                let commands = Commands { encrypt: command("encrypt_command")?, decrypt: command("decrypt_command")? };
                let keys =
                    attributes.get("keys").map(|keys| self.keys(keys, &usage, providers, positions)).transpose()?;
                Ok(EncryptionMethod::External { keys, commands })
            }
            kind => Err(diagnostics::unknown_method_type(kind, method.span).into()),
        }
    }

    /// The keys of a method: of a key provider, or written down.
    fn keys(
        &self,
        keys: &Expr,
        usage: &StaticUse,
        providers: &mut Vec<KeyProvider>,
        positions: &mut BTreeMap<(EcoString, EcoString), Option<usize>>,
    ) -> Result<Keys, Diagnostics> {
        match two_names(keys, "key_provider") {
            Some((kind, name)) => Ok(Keys::Of(self.key_provider(&kind, &name, keys.span, providers, positions)?)),
            None => self.given(keys, usage),
        }
    }

    /// An executable with its arguments.
    fn command(&self, name: &str, expr: &Expr, usage: &StaticUse) -> Result<Vec<String>, Diagnostics> {
        let value = self.value(expr, usage)?;
        let words = convert::convert(&value, &Type::list(Type::string())).ok();
        let texts = words.as_ref().and_then(|words| match words.view_ignoring_marks() {
            View::List(words) => words.iter().map(text).collect::<Option<Vec<_>>>(),
            _ => None,
        });
        let expected = "a list of strings: the executable and its arguments";
        texts.ok_or_else(|| diagnostics::unsuitable_argument(name, expected, expr.span).into())
    }

    /// Keys that are written down.
    fn given(&self, expr: &Expr, usage: &StaticUse) -> Result<Keys, Diagnostics> {
        let value = self.value(expr, usage)?;
        let entries = value.entries().unwrap_or_default();
        let key = |wanted: &str| entries.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| bytes(value));
        let Some(encryption) = key("encryption_key") else {
            return Err(diagnostics::keys_expected(expr.span).into());
        };
        Ok(Keys::Given { encryption, decryption: key("decryption_key").unwrap_or_default() })
    }

    /// The position of a key provider, behind all that it needs itself.
    fn key_provider(
        &self,
        kind: &EcoString,
        name: &EcoString,
        at: Span,
        providers: &mut Vec<KeyProvider>,
        positions: &mut BTreeMap<(EcoString, EcoString), Option<usize>>,
    ) -> Result<usize, Diagnostics> {
        let key = (kind.clone(), name.clone());
        match positions.get(&key) {
            Some(Some(position)) => return Ok(*position),
            Some(None) => return Err(diagnostics::key_provider_cycle(kind, name, at).into()),
            None => {}
        }
        let mut blocks = self.wanted.key_providers.iter();
        let Some(block) = blocks.find(|block| block.kind == *kind && block.name == *name) else {
            return Err(diagnostics::undeclared_key_provider(kind, name, at).into());
        };
        positions.insert(key.clone(), None);
        let usage = StaticUse::new(eco_format!("encryption.key_provider.{kind}.{name}"), block.span);
        let source = match kind.as_str() {
            "pbkdf2" => self.pbkdf2(block, &usage, providers, positions)?,
            "external" => {
                let attributes = arguments(&block.body, &["command"], &[])?;
                let Some(expr) = attributes.get("command") else { return Err(Diagnostics::new()) };
                let command = self.command("command", expr, &usage)?;
                KeySource::External { command }
            }
            kind if let Some(kind) = key_service(kind) => self.service(kind, block, &usage)?,
            kind => return Err(diagnostics::unknown_key_provider_type(kind, block.span).into()),
        };
        let meta_key = block.metadata_alias.as_deref().filter(|alias| !alias.is_empty());
        let meta_key = meta_key.map_or_else(|| format!("key_provider.{kind}.{name}"), str::to_owned);
        providers.push(KeyProvider { meta_key, source });
        positions.insert(key, Some(providers.len() - 1));
        Ok(providers.len() - 1)
    }

    /// A key provider that is a service, opened with the arguments of its block.
    fn service(
        &self,
        kind: KeyServiceKind,
        block: &config::KeyProvider,
        usage: &StaticUse,
    ) -> Result<KeySource, Diagnostics> {
        let schema = (kind.schema)();
        let environment = &self.project.backends().environment;
        let (value, problems) =
            yuba_provider::decode(&block.body, schema.block(), &mut ServiceArguments { eval: self.eval, usage });
        if problems.has_errors() {
            return Err(problems);
        }
        // All of it is secret, whatever else it is.
        let arguments = Arguments::new(value.unmark_deep().0);
        let mut missing = Diagnostics::new();
        for name in arguments.missing(&schema, &environment.variables) {
            missing.push(diagnostics::missing_key_provider_argument(&usage.name, name, block.span));
        }
        if missing.has_errors() {
            return Err(missing);
        }
        let arguments = arguments.resolved(&schema, &environment.variables)?;
        let opened = (kind.open)(&arguments, environment);
        let failed = |reason: String| diagnostics::key_provider_not_opened(&usage.name, &reason, block.span);
        opened.map(KeySource::Service).map_err(|reason| failed(reason).into())
    }

    fn pbkdf2(
        &self,
        block: &config::KeyProvider,
        usage: &StaticUse,
        providers: &mut Vec<KeyProvider>,
        positions: &mut BTreeMap<(EcoString, EcoString), Option<usize>>,
    ) -> Result<KeySource, Diagnostics> {
        let names = ["passphrase", "chain", "key_length", "iterations", "hash_function", "salt_length"];
        let attributes = arguments(&block.body, &[], &names)?;
        let number = |name: &str, default: u64| match attributes.get(name) {
            None => Ok(default),
            Some(expr) => {
                let value = self.value(expr, usage)?;
                let number =
                    convert::convert(&value, &Type::number()).ok().and_then(|value| value.as_number()?.to_u64());
                let problem = || diagnostics::unsuitable_argument(name, "a whole number", expr.span);
                number.ok_or_else(|| Diagnostics::from(problem()))
            }
        };
        let words = |name: &str| match attributes.get(name) {
            None => Ok(None),
            Some(expr) => match text(&self.value(expr, usage)?) {
                Some(text) => Ok(Some(text)),
                None => Err(Diagnostics::from(diagnostics::unsuitable_argument(name, "a string", expr.span))),
            },
        };
        let hash = match words("hash_function")?.as_deref() {
            None => Pbkdf2Hash::Sha512,
            Some(name) => {
                Pbkdf2Hash::parse(name).ok_or_else(|| diagnostics::unknown_hash_function(&usage.name, block.span))?
            }
        };
        let (key_length, salt_length) = (number("key_length", 32)?, number("salt_length", 32)?);
        let iterations = number("iterations", 600_000)?;
        let passphrase = match (words("passphrase")?, attributes.get("chain")) {
            (Some(_), Some(_)) => return Err(diagnostics::passphrase_and_chain(&usage.name, block.span).into()),
            (text, None) => Passphrase::Text(text.unwrap_or_default()),
            (None, Some(expr)) => match two_names(expr, "key_provider") {
                Some((kind, name)) => {
                    Passphrase::Chain(self.key_provider(&kind, &name, expr.span, providers, positions)?)
                }
                None => return Err(diagnostics::chain_expected(expr.span).into()),
            },
        };
        let small = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(KeySource::Pbkdf2 {
            passphrase,
            key_length: small(key_length),
            iterations: u32::try_from(iterations).unwrap_or(u32::MAX),
            hash,
            salt_length: small(salt_length),
        })
    }

    fn value(&self, expr: &Expr, usage: &StaticUse) -> Result<Value, Diagnostics> {
        let (value, problems) = (self.eval)(expr, usage);
        if problems.has_errors() {
            return Err(problems);
        }
        // All of it is secret, whatever else it is.
        Ok(value.unmark_deep().0)
    }
}

fn arguments(
    body: &Body,
    required: &[&str],
    optional: &[&str],
) -> Result<BTreeMap<EcoString, std::sync::Arc<Expr>>, Diagnostics> {
    let attribute = |required: bool| move |name: &&str| AttributeSchema { name: (*name).into(), required };
    let attributes = required.iter().map(attribute(true)).chain(optional.iter().map(attribute(false))).collect();
    let (content, problems) = body.content(&BodySchema { attributes, blocks: Vec::new() });
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(content.attributes.into_iter().map(|attribute| (attribute.name.clone(), attribute.expr.clone())).collect())
}

/// `root.first.second`
fn two_names(expr: &Expr, root: &str) -> Option<(EcoString, EcoString)> {
    let traversal = expr.as_traversal().filter(|traversal| traversal.root == root)?;
    match &*traversal.steps {
        [TraversalStep::Attr { name: first, .. }, TraversalStep::Attr { name: second, .. }] => {
            Some((first.clone(), second.clone()))
        }
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    convert::convert(value, &Type::string()).ok()?.as_str().map(|text| text.to_string())
}

/// A list of numbers as bytes.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let list = convert::convert(value, &Type::list(Type::number())).ok()?;
    let View::List(numbers) = list.view_ignoring_marks() else { return None };
    numbers.iter().map(|number| u8::try_from(number.as_number()?.to_u64()?).ok()).collect()
}

fn not_bytes(name: &str, at: Span) -> Diagnostics {
    diagnostics::unsuitable_argument(name, "a list of bytes: numbers from 0 to 255", at).into()
}
