//! All provider processes of this run.

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

/// Time for all processes together to end.
const ENDING: Duration = Duration::from_secs(5);
/// Threads that write and read values and talk to processes. A second one costs more than it saves: they would wake
/// each other for every response.
const WORKERS: usize = 1;

/// Maximum number of processes of a provider that start in advance at the same time: hundreds of them would slow each other down
/// until they exceed the time for starting.
const MOST_WAITING: usize = 10;

/// All provider processes of this run. Cheap to clone; when the last clone is gone, so are the processes.
#[derive(Clone)]
pub struct Plugins {
    shared: Arc<Owned>,
}

/// Ends all processes when it is dropped. Tasks that start a process share only what is inside, so a process that is being
/// started does not outlive the last [`Plugins`].
struct Owned(Arc<Shared>);

impl std::ops::Deref for Owned {
    type Target = Arc<Shared>;

    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.shutdown();
    }
}

struct Shared {
    settings: Settings,
    runtime: OnceLock<Result<Runtime, String>>,
    identity: OnceLock<Result<Identity, String>>,
    known: Mutex<BTreeMap<(ProviderSource, Supply), Arc<Slot>>>,
    processes: Mutex<Running>,
    /// Each process that is being started holds a sender.
    starting: Mutex<Starting>,
}

/// All processes that have not ended.
#[derive(Default)]
struct Running {
    processes: Vec<Arc<Process>>,
    /// A process that starts now ends at once.
    is_ending: bool,
}

/// A channel that carries nothing: its receiver finds out when all senders are gone.
struct Starting {
    sender: Token,
    receiver: tokio::sync::mpsc::Receiver<()>,
}

/// Held as long as a process is being started.
type Token = tokio::sync::mpsc::Sender<()>;

impl Starting {
    fn new() -> Starting {
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        Starting { sender, receiver }
    }
}

/// Known facts about one provider.
#[derive(Default)]
struct Slot {
    /// Its schema, or the reason why it is unknown. Locked while it is being loaded.
    known: Mutex<Option<Result<Known, Box<Problem>>>>,
    /// Processes that were started to find it out or in advance, for the next starts.
    idle: Mutex<VecDeque<Opening>>,
}

#[derive(Clone)]
struct Known {
    schema: Arc<ProviderSchema>,
    /// Every process must get a request for its schemas before all other requests.
    ask_first: bool,
    /// It comes from the cache: no process of this run has confirmed it yet.
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
            starting: Mutex::new(Starting::new()),
        };
        Plugins { shared: Arc::new(Owned(Arc::new(shared))) }
    }

    /// The capabilities of a provider. Starts it if they are not cached; the process is reused by the next caller.
    pub fn schema(&self, who: &ProviderSource, supply: &Supply) -> Result<Arc<ProviderSchema>, Box<Problem>> {
        let (_, known) = self.known(who, supply)?;
        Ok(known.schema)
    }

    /// Starts a provider, as a process of its own. It does not wait: if the process cannot be started, the first
    /// request fails with the reason.
    pub fn start(&self, who: &ProviderSource, supply: &Supply) -> Result<Arc<dyn Provider>, Box<Problem>> {
        let (slot, known) = self.known(who, supply)?;
        let runtime = self.shared.runtime(who)?;
        let idle = lock(&slot.idle).pop_front();
        let opened = idle.unwrap_or_else(|| self.shared.opening(&runtime, who, supply, &known));
        let level = self.shared.settings.language_level.clone();
        Ok(Arc::new(Remote::new(who.clone(), known.schema, level, opened, runtime)))
    }

    /// Starts processes in advance, until this number of them, or the maximum, waits for [`Plugins::start`]. Failures are reported there.
    pub fn prepare(&self, who: &ProviderSource, supply: &Supply, processes: usize) {
        self.prepare_up_to(who, supply, |_| processes);
    }

    /// Starts another process in advance.
    pub fn prepare_another(&self, who: &ProviderSource, supply: &Supply) {
        self.prepare_up_to(who, supply, |waiting| waiting + 1);
    }

    fn prepare_up_to(&self, who: &ProviderSource, supply: &Supply, processes: impl FnOnce(usize) -> usize) {
        // An attached process exists, and would end with the first connection.
        if matches!(supply, Supply::Reattach(_)) {
            return;
        }
        let Ok((slot, known)) = self.known(who, supply) else { return };
        let Ok(runtime) = self.shared.runtime(who) else { return };
        let mut idle = lock(&slot.idle);
        let processes = processes(idle.len()).min(MOST_WAITING);
        while idle.len() < processes {
            idle.push_back(self.shared.opening(&runtime, who, supply, &known));
        }
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

    fn token(&self) -> Token {
        lock(&self.starting).sender.clone()
    }

    /// A process that is being started.
    fn opening(self: &Arc<Self>, runtime: &Handle, who: &ProviderSource, supply: &Supply, known: &Known) -> Opening {
        let (shared, asked, supply, ask_first) = (self.clone(), who.clone(), supply.clone(), known.ask_first);
        let token = self.token();
        opening(runtime, who.clone(), async move {
            let _token = token;
            let connection = shared.open(&asked, &supply).await?;
            if ask_first {
                connection.call::<wire::GetSchema>(wire::Empty {}).await?;
            }
            Ok(connection)
        })
    }

    /// The cache file of a provider's capabilities, if caching is on.
    fn kept(&self, supply: &Supply) -> Option<PathBuf> {
        match (supply, &self.settings.schema_cache) {
            (Supply::Package { executable, hash: Some(hash) }, Some(directory)) => {
                Some(schema_cache::file(directory, hash, executable))
            }
            _ => None,
        }
    }

    /// The capabilities of a provider: from the cache, otherwise from a process.
    fn find_out(self: &Arc<Self>, who: &ProviderSource, supply: &Supply, slot: &Slot) -> Result<Known, Box<Problem>> {
        if let Some(described) = self.kept(supply).as_deref().and_then(schema_cache::read) {
            let ask_first = !described.schema_optional;
            if let Ok(schema) = described.into_schema(&self.settings.log) {
                return Ok(Known { schema: Arc::new(schema), ask_first, kept: true });
            }
        }
        self.ask(who, supply, slot).map(|(_, known)| known)
    }

    /// The capabilities of a provider, from a process; and caches them.
    fn ask(
        self: &Arc<Self>,
        who: &ProviderSource,
        supply: &Supply,
        slot: &Slot,
    ) -> Result<(Described, Known), Box<Problem>> {
        let log = &self.settings.log;
        let runtime = self.runtime(who)?;
        let (shared, asked, started, token) = (self.clone(), who.clone(), supply.clone(), self.token());
        let found = wait_for(&runtime, async move {
            let _token = token;
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
                    eco_format!("the schemas of {who} cannot be cached in {}: {error}", path.display())
                }),
            }
        }
        let schema = Arc::new(described.clone().into_schema(log).map_err(invalid)?);
        lock(&slot.idle).push_back(opening(&runtime, who.clone(), std::future::ready(Ok(connection))));
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
            .run(|process| self.watch_over(process))
            .instrument(span)
            .await
            .map_err(|failure| diagnostics::start_failed(who, executable, failure))?;
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
        // The connection is open or failed: its socket is no longer needed, and must not be left behind.
        if let crate::Address::Unix(path) = &handshake.address {
            let _ = std::fs::remove_file(path);
        }
        drop(sockets);
        connection
    }

    /// Records a process, from its first moment, so that it ends with the other processes.
    fn watch_over(&self, process: &Arc<Process>) {
        let mut running = lock(&self.processes);
        running.processes.retain(|process| !process.is_over());
        running.processes.push(process.clone());
        if running.is_ending {
            process.stop();
        }
    }

    fn shutdown(&self) {
        lock(&self.known).clear();
        let processes = {
            let mut running = lock(&self.processes);
            running.is_ending = true;
            running.processes.clone()
        };
        let Starting { sender, mut receiver } = std::mem::replace(&mut *lock(&self.starting), Starting::new());
        drop(sender);
        let Some(Ok(runtime)) = self.runtime.get() else {
            lock(&self.processes).is_ending = false;
            return;
        };
        let _span = tracing::debug_span!("stop providers", processes = processes.len()).entered();
        processes.iter().for_each(|process| process.stop());
        // Processes that are being started are stopped as soon as they exist. Their files are removed with the last sender.
        wait_for(runtime.handle(), async move {
            let started = receiver.recv();
            let all = join_all(processes.iter().map(|process| process.exited()));
            let _ = timeout(ENDING, futures_util::future::join(started, all)).await;
        });
        let late = std::mem::take(&mut *lock(&self.processes)).processes;
        wait_for(runtime.handle(), async move {
            let _ = timeout(ENDING, join_all(late.iter().map(|process| process.exited()))).await;
        });
    }
}

/// Runs a task on the runtime, and waits for it whatever runs on this thread. None if it did not finish.
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
