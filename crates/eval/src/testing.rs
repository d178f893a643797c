//! Providers for tests that have schemas and no processes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_provider::{
    Answer, ConfigurationOf, Problem, Provider, ProviderSchema, Providers, RecordedSchemas, contract::ready,
};
use yuba_value::Value;

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

/// The result of something that waits for nobody but itself.
pub(crate) fn now<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut task = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut task) {
            return result;
        }
    }
}
