//! All provider processes of this program.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use ecow::eco_format;
use futures_util::future::join_all;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use tracing::Instrument as _;
use yuba_addrs::ProviderSource;
use yuba_provider::{Problem, Provider, ProviderSchema};

use crate::connection::{self, Connection, Target};
use crate::diagnostics;
use crate::log::LogLevel;
use crate::process::{Launch, Process};
use crate::remote::{Opening, Remote, opening};
use crate::schema::Described;
use crate::settings::{Settings, Supply};
use crate::socket_dir;
use crate::tls::Identity;
use crate::{schema_cache, wire};

/// How long all processes together may take to end.
const ENDING: Duration = Duration::from_secs(5);
/// Threads that write and read values and speak to processes. A second one costs more than it brings: they would wake each
/// other for every answer.
const WORKERS: usize = 1;

/// All provider processes of this program. Cheap to clone; when the last clone is gone, so are the processes.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    runtime: OnceLock<Result<Runtime, String>>,
    identity: OnceLock<Result<Identity, String>>,
    known: Mutex<BTreeMap<(ProviderSource, Supply), Arc<Slot>>>,
    processes: Mutex<Vec<Arc<Process>>>,
}

/// What is known about one provider.
#[derive(Default)]
struct Slot {
    /// What it has, or why that is not known. Held while it is being found out.
    known: Mutex<Option<Result<Known, Box<Problem>>>>,
    /// Processes that were started to find it out, for who starts one next.
    idle: Mutex<VecDeque<Connection>>,
}

#[derive(Clone)]
struct Known {
    schema: Arc<ProviderSchema>,
    /// Every process has to be asked for its schemas before it works.
    ask_first: bool,
    /// It is as it was kept: no process of this program has said so yet.
    kept: bool,
}

impl Plugins {
    /// None is started yet.
    pub fn new(settings: Settings) -> Plugins {
        let shared = Shared {
            settings,
            runtime: OnceLock::new(),
            identity: OnceLock::new(),
            known: Mutex::default(),
            processes: Mutex::default(),
        };
        Plugins { shared: Arc::new(shared) }
    }

    /// What a provider has. Starts it if that is not known yet; the process is kept for who starts it next.
    pub fn schema(&self, who: &ProviderSource, supply: &Supply) -> Result<Arc<ProviderSchema>, Box<Problem>> {
        let (_, known) = self.known(who, supply)?;
        Ok(known.schema)
    }

    /// Starts a provider, as a process of its own. It is not waited for: if it cannot be started, whoever asks it first
    /// is told so.
    pub fn start(&self, who: &ProviderSource, supply: &Supply) -> Result<Arc<dyn Provider>, Box<Problem>> {
        let (slot, known) = self.known(who, supply)?;
        let runtime = self.shared.runtime(who)?;
        let opened: Opening = match lock(&slot.idle).pop_front() {
            Some(connection) => opening(&runtime, who.clone(), std::future::ready(Ok(connection))),
            None => {
                let (shared, asked, supply) = (self.shared.clone(), who.clone(), supply.clone());
                opening(&runtime, who.clone(), async move {
                    let connection = shared.open(&asked, &supply).await?;
                    if known.ask_first {
                        connection.call::<wire::GetSchema>(wire::Empty {}).await?;
                    }
                    Ok(connection)
                })
            }
        };
        let level = self.shared.settings.language_level.clone();
        Ok(Arc::new(Remote::new(who.clone(), known.schema, level, opened, runtime)))
    }

    /// Asks those providers for their schemas that have not said them yet, because they were on the disk. Whether one of
    /// them has something else now: what a few have depends on files or variables around them.
    pub fn renew(&self) -> bool {
        let slots: Vec<_> = lock(&self.shared.known).iter().map(|(key, slot)| (key.clone(), slot.clone())).collect();
        let mut changed = false;
        for ((who, supply), slot) in slots {
            let mut known = lock(&slot.known);
            let Some(Ok(Known { kept: true, .. })) = &*known else { continue };
            let before = self.shared.kept(&supply).as_deref().and_then(schema_cache::read);
            let (now, found) = match self.shared.ask(&who, &supply, &slot) {
                Ok((described, found)) => (Some(described), Ok(found)),
                Err(problem) => (None, Err(problem)),
            };
            changed |= before.is_none() || now != before;
            *known = Some(found);
        }
        changed
    }

    /// Ends all processes: asks them to, and kills those that do not.
    pub fn shutdown(&self) {
        self.shared.shutdown();
    }

    fn known(&self, who: &ProviderSource, supply: &Supply) -> Result<(Arc<Slot>, Known), Box<Problem>> {
        let slot = lock(&self.shared.known).entry((who.clone(), supply.clone())).or_default().clone();
        let mut known = lock(&slot.known);
        let found = known.get_or_insert_with(|| self.shared.find_out(who, supply, &slot)).clone();
        drop(known);
        found.map(|known| (slot, known))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The runtime, started when it is needed first.
    fn runtime(&self, who: &ProviderSource) -> Result<Handle, Box<Problem>> {
        let runtime = self.runtime.get_or_init(|| {
            let runtime = Builder::new_multi_thread()
                .worker_threads(WORKERS)
                .thread_name("plugins")
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            let temporary = self.settings.environment.temporary();
            runtime.spawn_blocking(move || socket_dir::remove_stale(&temporary));
            Ok(runtime)
        });
        match runtime {
            Ok(runtime) => Ok(runtime.handle().clone()),
            Err(reason) => Err(diagnostics::cannot_start(who, reason)),
        }
    }

    /// Where what a provider has is kept, if it is.
    fn kept(&self, supply: &Supply) -> Option<PathBuf> {
        match (supply, &self.settings.schema_cache) {
            (Supply::Package { executable, hash: Some(hash) }, Some(directory)) => {
                Some(schema_cache::file(directory, hash, executable))
            }
            _ => None,
        }
    }

    /// What a provider has: from the disk if it was kept, otherwise from a process.
    fn find_out(self: &Arc<Self>, who: &ProviderSource, supply: &Supply, slot: &Slot) -> Result<Known, Box<Problem>> {
        if let Some(described) = self.kept(supply).as_deref().and_then(schema_cache::read) {
            let ask_first = !described.schema_optional;
            if let Ok(schema) = described.into_schema(&self.settings.log) {
                return Ok(Known { schema: Arc::new(schema), ask_first, kept: true });
            }
        }
        self.ask(who, supply, slot).map(|(_, known)| known)
    }

    /// What a provider has, from a process; and keeps it.
    fn ask(
        self: &Arc<Self>,
        who: &ProviderSource,
        supply: &Supply,
        slot: &Slot,
    ) -> Result<(Described, Known), Box<Problem>> {
        let log = &self.settings.log;
        let runtime = self.runtime(who)?;
        let (shared, asked, started) = (self.clone(), who.clone(), supply.clone());
        let found = wait_for(&runtime, async move {
            let connection = shared.open(&asked, &started).await?;
            let patience = shared.settings.start_timeout * 2;
            match timeout(patience, describe(&connection)).await {
                Ok(described) => Ok((connection, described?)),
                Err(_) => Err(diagnostics::no_answer(&asked, connection::name_of::<wire::GetSchema>(), patience)),
            }
        });
        let (connection, mut described) = match found {
            Some(Ok(found)) => found,
            Some(Err(problem)) => return Err(diagnostics::no_schema(*problem)),
            None => return Err(diagnostics::cancelled(who)),
        };
        let invalid = |reason: ecow::EcoString| diagnostics::invalid_schema(who, &reason);
        described.check().map_err(invalid)?;
        let ask_first = !described.schema_optional;
        if let Some(path) = self.kept(supply) {
            match schema_cache::write(&path, &described) {
                // From the disk it takes less memory.
                Ok(()) => described = schema_cache::read(&path).unwrap_or(described),
                Err(error) => log.say(LogLevel::Warn, &"provider.schema".into(), || {
                    eco_format!("the schemas of {who} cannot be kept in {}: {error}", path.display())
                }),
            }
        }
        let schema = Arc::new(described.clone().into_schema(log).map_err(invalid)?);
        lock(&slot.idle).push_back(connection);
        Ok((described, Known { schema, ask_first, kept: false }))
    }

    /// Starts a process and connects to it, or connects to one that runs already.
    async fn open(&self, who: &ProviderSource, supply: &Supply) -> Result<Connection, Box<Problem>> {
        let log = &self.settings.log;
        let executable = match supply {
            Supply::Package { executable, .. } => executable,
            Supply::Reattach(reattach) => {
                let target = Target {
                    who,
                    protocol: reattach.protocol,
                    address: &reattach.address,
                    tls: None,
                    process: None,
                    asked_to_end: !reattach.test,
                    log,
                };
                return target.connect().await;
            }
        };
        let identity = match self.settings.tls {
            true => Some(self.identity.get_or_init(Identity::new).as_ref()),
            false => None,
        };
        let identity = identity.transpose().map_err(|reason| diagnostics::cannot_start(who, reason))?;
        let certificate = identity.map(|identity| identity.pem.as_str());
        let (patience, environment) = (self.settings.start_timeout, &self.settings.environment);
        let launch = Launch { executable, kind: &who.kind, certificate, log, patience, environment };
        let span = tracing::info_span!("start provider", provider = %who, executable = %executable.display());
        let (process, handshake, sockets) = launch
            .run()
            .instrument(span)
            .await
            .map_err(|failure| diagnostics::start_failed(who, executable, failure))?;
        let process = Arc::new(process);
        {
            let mut processes = lock(&self.processes);
            processes.retain(|process| !process.is_over());
            processes.push(process.clone());
        }
        let tls = match (identity, handshake.certificate) {
            (Some(identity), Some(expected)) => Some((identity, expected)),
            (Some(_), None) => {
                process.stop();
                return Err(diagnostics::no_certificate(who));
            }
            (None, _) => None,
        };
        let (protocol, address) = (handshake.protocol, &handshake.address);
        let target = Target { who, protocol, address, tls, process: Some(process.clone()), asked_to_end: true, log };
        let connection = target.connect().await.inspect_err(|_| process.stop());
        // The connection stands or never will: the way to it is not needed any more, and cannot be left behind.
        if let crate::Address::Unix(path) = &handshake.address {
            let _ = std::fs::remove_file(path);
        }
        drop(sockets);
        connection
    }

    fn shutdown(&self) {
        lock(&self.known).clear();
        let processes = std::mem::take(&mut *lock(&self.processes));
        let Some(Ok(runtime)) = self.runtime.get() else { return };
        let _span = tracing::debug_span!("stop providers", processes = processes.len()).entered();
        processes.iter().for_each(|process| process.stop());
        wait_for(runtime.handle(), async move {
            let all = join_all(processes.iter().map(|process| process.exited()));
            let _ = timeout(ENDING, all).await;
        });
    }
}

/// Has something done on the runtime, and waits for it whatever runs on this thread. None if it did not come to an end.
///
/// Processes end with the thread that started them, so that must be one of the runtime.
fn wait_for<T: Send + 'static>(runtime: &Handle, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let (done, waiting) = mpsc::sync_channel(1);
    let work = work.in_current_span();
    runtime.spawn(async move {
        let _ = done.send(work.await);
    });
    waiting.recv().ok()
}

/// Asks a provider what it has.
async fn describe(connection: &Connection) -> Result<Described, Box<Problem>> {
    let answer = connection.call::<wire::GetSchema>(wire::Empty {}).await?;
    let who = &connection.who;
    if let Some(problem) =
        crate::values::problems(answer.diagnostics.clone()).into_iter().find(|p| p.diagnostic.is_error())
    {
        return Err(diagnostics::schema_refused(who, &problem));
    }
    // Identities are an extra: a provider that fails here is used without.
    let identities = match connection.call_if_there::<wire::GetIdentitySchemas>(wire::Empty {}).await {
        Ok(Some(answer)) if !answer.diagnostics.iter().any(|d| d.severity == i32::from(wire::Severity::Error)) => {
            answer.identity_schemas
        }
        _ => BTreeMap::new(),
    };
    Described::new(connection.protocol(), answer, identities)
        .map_err(|reason| diagnostics::invalid_schema(who, &reason))
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.shutdown();
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Plugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugins").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}
