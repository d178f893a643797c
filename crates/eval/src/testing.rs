//! Providers for tests that have schemas and no processes.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_provider::contract::ready;
use yuba_provider::{
    Answer, Attribute, BlockSchema, Callee, ConfigurationOf, Outcome, Problem, Provider, ProviderSchema, Providers,
    RecordedSchemas, Schema,
};
use yuba_syntax::Diagnostic;
use yuba_value::function::{self, FunctionError, Param, Signature};
use yuba_value::{Path, Type, Value};

use crate::diagnostics::OPERATION_FAILED;

/// Providers with these schemas. They find nothing wrong with any configuration, and cannot be started.
pub(crate) struct Lenient<F>(pub(crate) F);

impl<F: Fn(&ProviderSource) -> Option<Arc<ProviderSchema>> + Send + Sync> Providers for Lenient<F> {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        (self.0)(provider)
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.unconfigured(&config.provider)
    }
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        RecordedSchemas::default().unconfigured(provider)
    }
    fn validate(&self, _: &ProviderSource, _: ConfigurationOf, _: Value) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }
}

/// The result of a future that needs no wake-up, polled until it is ready.
pub(crate) fn now<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut task = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut task) {
            return result;
        }
    }
}

/// Has the function `half`, and resources whose `name` must not be "bad". Records calls and validations; responses are delayed.
#[derive(Default)]
pub(crate) struct Halves {
    pub(crate) calls: Arc<Mutex<Vec<String>>>,
    pub(crate) validations: Arc<Mutex<String>>,
}

/// Becomes ready when it is polled for the second time.
fn later<T: Send + 'static>(answer: impl FnOnce() -> T + Send + 'static) -> Answer<'static, T> {
    let mut asked = false;
    let mut answer = Some(answer);
    Box::pin(std::future::poll_fn(move |_| match (std::mem::replace(&mut asked, true), answer.take()) {
        (true, Some(answer)) => Poll::Ready(answer()),
        (_, kept) => {
            answer = kept;
            Poll::Pending
        }
    }))
}

fn half(args: &[Value]) -> function::Result {
    match args.first().and_then(|value| value.as_number()).and_then(yuba_value::Number::to_i64) {
        Some(number) if number % 2 == 0 => Ok(Value::int(number / 2)),
        Some(1) => Ok(Value::string("none")),
        Some(_) => Err(FunctionError::arg(0, "is odd")),
        None => Err(FunctionError::new("is not a number")),
    }
}

impl Providers for Halves {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        schema(provider)
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.unconfigured(&config.provider)
    }
    fn unconfigured(&self, _: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        unreachable!("calls need no process")
    }
    fn call_function(&self, callee: &Callee, name: EcoString, args: Vec<Value>) -> Answer<'_, function::Result> {
        assert!(matches!(callee, Callee::Unconfigured(provider) if provider.kind == "p") && name == "half");
        self.calls.lock().expect("because nothing panics").push(format!("{args:?}"));
        later(move || half(&args))
    }
    fn functions(&self, _: &Callee) -> Answer<'_, Outcome<BTreeMap<EcoString, Signature>>> {
        unreachable!("nothing is configured")
    }
    fn validate(&self, _: &ProviderSource, of: ConfigurationOf, config: Value) -> Answer<'_, Vec<Problem>> {
        let entries = config.entries().unwrap_or_default();
        let name = entries.first().and_then(|(_, name)| name.as_str()).map_or("?".to_owned(), ToString::to_string);
        *self.validations.lock().expect("because nothing panics") += &format!("+{name} ");
        let is_bad = |(name, value): &(EcoString, Value)| {
            name == "name" && value.as_str().is_some_and(|text| text == "bad") && config.is_deeply_unmarked()
        };
        let path = Path::new().attr("name");
        let problem =
            || Problem::at(Diagnostic::new(&OPERATION_FAILED, eco_format!("{of:?}")).titled("Bad name"), path.clone());
        let found: Vec<Problem> = entries.iter().filter(|entry| is_bad(entry)).map(|_| problem()).collect();
        let log = self.validations.clone();
        later(move || {
            *log.lock().expect("because nothing panics") += &format!("={name} ");
            found
        })
    }
}

fn schema(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    let half = Signature::new("half", "", vec![Param::new("number", Type::number(), "")], Type::number());
    let named = BlockSchema::new([("name", Attribute::optional(Type::string()))]);
    let schema = Schema { version: 0, block: named };
    let all = ProviderSchema {
        provider: schema.clone(),
        resources: [("p_r", schema)].into(),
        functions: BTreeMap::from([("half".into(), half)]),
        ..ProviderSchema::default()
    };
    (provider.kind == "p").then(|| Arc::new(all))
}
