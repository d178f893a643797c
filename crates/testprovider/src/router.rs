//! Calls to functions that answer them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::Grpc;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use yuba_plugin::wire::{Call, Empty, MESSAGE_LIMIT, Protocol, STREAM_STDIO, StdioData};

type Answer = Pin<Box<dyn Future<Output = http::Response<Body>> + Send>>;
type Handler = Arc<dyn Fn(http::Request<Body>) -> Answer + Send + Sync>;

/// All calls that are answered. Others get the answer that they do not exist.
#[derive(Clone)]
pub(crate) struct Router {
    protocol: Protocol,
    handlers: Arc<HashMap<&'static str, Handler>>,
}

impl Router {
    pub(crate) fn new(protocol: Protocol) -> Router {
        Router { protocol, handlers: Arc::default() }
    }

    /// Answers a call with a function.
    #[must_use]
    pub(crate) fn on<C: Call, F>(self, answer: impl Fn(C::Request) -> F + Clone + Send + Sync + 'static) -> Router
    where
        F: Future<Output = Result<C::Response, Status>> + Send + 'static,
    {
        let path = C::path(self.protocol);
        self.with(path, move |request| {
            let answer = answer.clone();
            let service = tower::service_fn(move |request: Request<C::Request>| {
                let answer = answer(request.into_inner());
                async move { answer.await.map(Response::new) }
            });
            let codec = ProstCodec::<C::Response, C::Request>::default();
            Box::pin(
                async move { Grpc::new(codec).max_decoding_message_size(MESSAGE_LIMIT).unary(service, request).await },
            )
        })
    }

    /// Sends what it writes to standard streams, which is what it is given here, and leaves the stream open.
    #[must_use]
    pub(crate) fn with_stdio(self, pieces: Vec<StdioData>) -> Router {
        self.with(STREAM_STDIO, move |request| {
            let pieces = pieces.clone();
            let service = tower::service_fn(move |_: Request<Empty>| {
                let pieces: Vec<Result<StdioData, Status>> = pieces.iter().cloned().map(Ok).collect();
                async move {
                    let open = tokio_stream::StreamExt::chain(tokio_stream::iter(pieces), tokio_stream::pending());
                    Ok::<_, Status>(Response::new(open))
                }
            });
            let codec = ProstCodec::<StdioData, Empty>::default();
            Box::pin(async move { Grpc::new(codec).server_streaming(service, request).await })
        })
    }

    fn with(
        mut self,
        path: &'static str,
        handler: impl Fn(http::Request<Body>) -> Answer + Send + Sync + 'static,
    ) -> Router {
        let mut handlers = HashMap::clone(&self.handlers);
        handlers.insert(path, Arc::new(handler));
        self.handlers = Arc::new(handlers);
        self
    }
}

impl tower::Service<http::Request<Body>> for Router {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let handler = self.handlers.get(request.uri().path()).cloned();
        Box::pin(async move {
            Ok(match handler {
                Some(handler) => handler(request).await,
                None => Status::unimplemented("unknown method").into_http(),
            })
        })
    }
}
