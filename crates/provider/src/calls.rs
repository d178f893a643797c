//! Results of calls that evaluation needs: each call is made once in a run, and evaluation itself never waits.
//!
//! Evaluation looks a call up. A call without result yet is written down, and evaluation goes on with an unknown value. The
//! driver makes all these calls together and evaluates again, so an expression takes as many rounds as its calls are nested.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_value::function::{self, Signature};
use yuba_value::{Type, Value, msgpack};

use crate::contract::Answer;
use crate::problem::Problem;
use crate::providers::{Callee, ProviderCall, Providers};
use crate::waiting::Waiting;

/// Evaluation cannot end before these calls are made.
#[derive(Debug)]
pub struct Needs(pub Vec<ProviderCall>);

/// The functions of a configured provider, or why they are not known.
type Listed = Result<BTreeMap<EcoString, Signature>, Vec<Problem>>;

/// Results of calls in a run, by provider instance, function and arguments.
#[derive(Default)]
pub struct CallMemo {
    results: RefCell<HashMap<FunctionKey, (Callee, function::Result)>>,
    functions: RefCell<HashMap<CalleeId, (Callee, Listed)>>,
    needed: RefCell<Needed>,
    misses: Cell<u64>,
    round: Cell<u64>,
}

/// Calls that were looked up and not found, each once.
#[derive(Default)]
struct Needed {
    calls: Vec<ProviderCall>,
    functions: HashSet<FunctionKey>,
    lists: HashSet<CalleeId>,
}

/// A call of a function, with its arguments as bytes.
type FunctionKey = (CalleeId, EcoString, Vec<u8>);

/// A provider instance is known by its address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum CalleeId {
    Configured(usize),
    Unconfigured(ProviderSource),
}

impl CalleeId {
    fn of(callee: &Callee) -> CalleeId {
        match callee {
            Callee::Configured(provider) => {
                CalleeId::Configured(std::sync::Arc::as_ptr(provider).cast::<()>() as usize)
            }
            Callee::Unconfigured(provider) => CalleeId::Unconfigured(provider.clone()),
        }
    }
}

/// Arguments as bytes that differ where the arguments do.
fn key_of(args: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    for arg in args {
        match msgpack::encode(arg, &Type::dynamic()) {
            Ok(bytes) => key.extend(bytes),
            Err(_) => key.extend(format!("{arg:?}").into_bytes()),
        }
        key.push(0xc1);
    }
    key
}

/// The response to a call.
enum Answered {
    Function(FunctionKey, Callee, function::Result),
    Functions(Callee, Listed),
}

impl CallMemo {
    /// The result of a function. Returns none and records the call if it must be made first.
    pub fn function(&self, callee: Callee, name: &EcoString, args: &[Value]) -> Option<function::Result> {
        let key = (CalleeId::of(&callee), name.clone(), key_of(args));
        if let Some((_, result)) = self.results.borrow().get(&key) {
            return Some(result.clone());
        }
        self.miss();
        let mut needed = self.needed.borrow_mut();
        if needed.functions.insert(key) {
            needed.calls.push(ProviderCall::Function { callee, name: name.clone(), args: args.to_vec() });
        }
        None
    }

    /// The functions of a provider instance. Returns none and records the request if they must be listed first.
    pub fn functions(&self, callee: Callee) -> Option<Listed> {
        let id = CalleeId::of(&callee);
        if let Some((_, listed)) = self.functions.borrow().get(&id) {
            return Some(listed.clone());
        }
        self.miss();
        let mut needed = self.needed.borrow_mut();
        if needed.lists.insert(id) {
            needed.calls.push(ProviderCall::Functions { callee });
        }
        None
    }

    /// Something was evaluated that depends on a call which is not made yet.
    pub fn miss(&self) {
        self.misses.set(self.misses.get() + 1);
    }
    /// Number of times that a result was missing. Values evaluated while it grew are not final.
    pub fn misses(&self) -> u64 {
        self.misses.get()
    }
    /// The number of the current round: it grows when calls were made.
    pub fn round(&self) -> u64 {
        self.round.get()
    }

    /// Evaluates. Where results are missing the calls are returned instead.
    pub fn attempt<T>(&self, evaluate: impl FnOnce() -> T) -> Result<T, Needs> {
        let value = evaluate();
        let needed = self.needed.take().calls;
        if needed.is_empty() { Ok(value) } else { Err(Needs(needed)) }
    }

    /// Makes calls, this many at a time, and keeps their results.
    pub async fn make(&self, needs: Needs, providers: &dyn Providers, parallelism: usize) {
        let mut waiting = Waiting::default();
        for call in needs.0 {
            while waiting.len() >= parallelism.max(1) {
                self.take(&mut waiting).await;
            }
            waiting.push((), made(call, providers));
        }
        while !waiting.is_empty() {
            self.take(&mut waiting).await;
        }
        self.round.set(self.round.get() + 1);
    }

    async fn take(&self, waiting: &mut Waiting<'_, (), Answered>) {
        // The callee is stored with its results, so that its address is not reused.
        match waiting.next().await {
            Some((_, Answered::Function(key, callee, result))) => {
                self.results.borrow_mut().insert(key, (callee, result));
            }
            Some((_, Answered::Functions(callee, listed))) => {
                self.functions.borrow_mut().insert(CalleeId::of(&callee), (callee, listed));
            }
            None => {}
        }
    }
}

fn made(call: ProviderCall, providers: &dyn Providers) -> Answer<'_, Answered> {
    match call {
        ProviderCall::Function { callee, name, args } => {
            let key = (CalleeId::of(&callee), name.clone(), key_of(&args));
            let answer = providers.call_function(&callee, name, args);
            Box::pin(async move { Answered::Function(key, callee, answer.await) })
        }
        ProviderCall::Functions { callee } => {
            let answer = providers.functions(&callee);
            Box::pin(async move {
                let outcome = answer.await;
                let failed = outcome.has_errors();
                let listed = match outcome.value {
                    Some(functions) if !failed => Ok(functions),
                    _ => Err(outcome.problems),
                };
                Answered::Functions(callee, listed)
            })
        }
    }
}
