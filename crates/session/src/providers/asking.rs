//! Providers that are asked in the middle of an evaluation, which waits for the answer.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use ecow::EcoString;
use yuba_addrs::{ProviderSource, ResourceMode};
use yuba_eval::{AskProviders, Asked, ConfigurationOf, Opinion};
use yuba_provider::{Problem, Provider};
use yuba_value::Value;
use yuba_value::function::{self, FunctionError, Signature};

use super::OurProviders;

/// Waits for an answer. Unlike the executors of others it may be used inside of one: whoever answers does not run on this
/// thread.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answer = pin!(answer);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Has somebody begin to answer. Nobody is woken by the answer before it is waited for.
fn begin<T: 'static>(answer: impl Future<Output = T> + 'static) -> Box<dyn FnOnce() -> T> {
    let mut answer = Box::pin(answer);
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Box::new(move || answer),
        Poll::Pending => Box::new(move || wait(answer)),
    }
}

fn call(asked: Result<Arc<dyn Provider>, Box<Problem>>, function: &EcoString, args: Vec<Value>) -> function::Result {
    match asked {
        Ok(provider) => wait(provider.call_function(function.clone(), args)),
        Err(problem) => {
            let diagnostic = problem.diagnostic;
            Err(FunctionError::new(ecow::eco_format!("{}: {}", diagnostic.summary, diagnostic.detail)))
        }
    }
}

impl AskProviders for OurProviders {
    fn has(&self, provider: &ProviderSource) -> bool {
        OurProviders::has(self, provider)
    }
    fn call(&self, asked: Asked<'_>, function: &EcoString, args: Vec<Value>) -> function::Result {
        let provider = match asked {
            Asked::Configured(provider) => Ok(provider),
            Asked::Unconfigured(provider) => self.inner.unconfigured(provider),
        };
        call(provider, function, args)
    }
    fn functions(&self, provider: &Arc<dyn Provider>) -> Result<BTreeMap<EcoString, Signature>, Vec<Problem>> {
        let outcome = wait(provider.functions());
        match outcome.value {
            Some(functions) if outcome.problems.iter().all(|problem| !problem.diagnostic.is_error()) => Ok(functions),
            _ => Err(outcome.problems),
        }
    }
    fn validate(&self, provider: &ProviderSource, of: ConfigurationOf, config: Value) -> Opinion {
        let provider = match self.inner.unconfigured(provider) {
            Ok(provider) => provider,
            Err(problem) => return Box::new(|| vec![*problem]),
        };
        begin(async move {
            match of {
                ConfigurationOf::Provider => provider.validate_provider_config(config),
                ConfigurationOf::Resource(ResourceMode::Managed, kind) => {
                    provider.validate_resource_config(kind, config)
                }
                ConfigurationOf::Resource(ResourceMode::Data, kind) => provider.validate_data_config(kind, config),
                ConfigurationOf::Resource(ResourceMode::Ephemeral, kind) => {
                    provider.validate_ephemeral_config(kind, config)
                }
            }
            .await
        })
    }
}

/// The same providers, of which only functions are called: for places where what they think of configurations is known or
/// asked later.
pub struct Functions<'a>(pub &'a OurProviders);

impl AskProviders for Functions<'_> {
    fn has(&self, provider: &ProviderSource) -> bool {
        OurProviders::has(self.0, provider)
    }
    fn call(&self, asked: Asked<'_>, function: &EcoString, args: Vec<Value>) -> function::Result {
        self.0.call(asked, function, args)
    }
    fn functions(&self, provider: &Arc<dyn Provider>) -> Result<BTreeMap<EcoString, Signature>, Vec<Problem>> {
        self.0.functions(provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_thread_is_waited_for() {
        let (send, receive) = futures_channel();
        let answering = std::thread::spawn(move || send(7));
        assert_eq!(wait(receive), 7);
        answering.join().expect("it answers");
    }

    #[test]
    fn an_answer_is_on_its_way_before_it_is_waited_for() {
        let (send, receive) = futures_channel();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let answer = begin(async move {
            begun.send(()).expect("somebody listens");
            receive.await
        });
        let answering = std::thread::spawn(move || {
            has_begun.recv().expect("it begins");
            send(7);
        });
        answering.join().expect("it answers");
        assert_eq!(answer(), 7);
    }

    /// A value that another thread hands over.
    fn futures_channel() -> (impl FnOnce(u32) + Send, impl Future<Output = u32>) {
        use std::sync::Mutex;
        type Place = Arc<Mutex<(Option<u32>, Option<Waker>)>>;
        let place: Place = Arc::default();
        let theirs = place.clone();
        let send = move |value| {
            let mut place = theirs.lock().expect("nobody panics");
            place.0 = Some(value);
            if let Some(waker) = place.1.take() {
                waker.wake();
            }
        };
        let receive = std::future::poll_fn(move |context| {
            let mut place = place.lock().expect("nobody panics");
            place.1 = Some(context.waker().clone());
            place.0.map_or(Poll::Pending, Poll::Ready)
        });
        (send, receive)
    }
}
