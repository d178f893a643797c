//! Calls over a connection: gRPC as far as plugins speak it, which is a request and a response, each on a stream of HTTP/2.
//!
//! The client sends a request whole, with its headers and all other requests that are ready, in one write. There is no
//! compression, no deadline and no metadata: plugins use none.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt as _;
use h2::client::{Builder, SendRequest};
use h2::{RecvStream, SendStream};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use prost::Message;
use prost::bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::yield_now;

use super::{Call, CallError, Empty, GrpcCode, Protocol, STREAM_STDIO, StdioData};

/// The most that a message may hold, in both directions.
pub const MESSAGE_LIMIT: usize = 256 << 20;
/// Receive window, large enough that the schema of a big provider does not wait.
const WINDOW: u32 = 8 << 20;
/// Bytes before a message: whether it is compressed, and its length.
const HEAD: usize = 5;

/// A connection to a plugin. Cheap to clone: all clones share the connection.
#[derive(Clone, Debug)]
pub struct GrpcClient {
    requests: SendRequest<Bytes>,
    protocol: Protocol,
}

impl GrpcClient {
    /// Speaks a protocol over a stream, on the runtime that this is called on, until no clone is left and every call has
    /// its response.
    pub async fn new<S>(stream: S, protocol: Protocol) -> Result<GrpcClient, CallError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut settings = Builder::new();
        settings.enable_push(false).initial_window_size(WINDOW).initial_connection_window_size(2 * WINDOW);
        let (requests, connection) = settings.handshake(stream).await?;
        // The reason of its end is reported to all waiting calls.
        tokio::spawn(in_turns(connection));
        Ok(GrpcClient { requests, protocol })
    }

    /// The protocol that is spoken.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Calls and waits for the response.
    pub async fn call<C: Call>(&self, request: C::Request) -> Result<C::Response, CallError> {
        let (mut answer, _open) = self.ask(C::path(self.protocol), &request).await?;
        let message = answer.message().await?;
        let rest = if message.is_some() { answer.message().await? } else { None };
        match (message, rest) {
            (Some(message), None) => C::Response::decode(message).map_err(|error| CallError::nonsense(&error)),
            (None, _) => Err(CallError::nonsense(&"it has no message")),
            (_, Some(_)) => Err(CallError::nonsense(&"it has more than one message")),
        }
    }

    /// Follows what the process writes to its standard streams. May be asked once.
    pub async fn stdio(&self) -> Result<Stdio, CallError> {
        let (answer, open) = self.ask(STREAM_STDIO, &Empty {}).await?;
        Ok(Stdio { answer, _open: open })
    }

    async fn ask(
        &self,
        path: &'static str,
        message: &impl Message,
    ) -> Result<(Incoming, SendStream<Bytes>), CallError> {
        let length = message.encoded_len();
        let Some(announced) = u32::try_from(length).ok().filter(|_| length <= MESSAGE_LIMIT) else {
            return Err(CallError::RequestTooLarge);
        };
        let mut body = BytesMut::with_capacity(HEAD + length);
        body.put_u8(0);
        body.put_u32(announced);
        message.encode_raw(&mut body);

        let mut requests = self.requests.clone().ready().await?;
        let (response, mut open) = requests.send_request(head(path), false)?;
        open.send_data(body.freeze(), true)?;
        let (head, body) = response.await?.into_parts();
        let answer = Incoming { status: head.status, headers: head.headers, body, data: BytesMut::new() };
        Ok((answer, open))
    }
}

/// Drives a connection. Other runnable tasks go first, so that requests of the same moment go out in one write.
fn in_turns<F: Future + Unpin>(mut connection: F) -> impl Future<Output = F::Output> {
    let mut others_went = false;
    poll_fn(move |task| {
        others_went = !others_went;
        if others_went {
            // It is woken when no other task is runnable.
            let _ = pin!(yield_now()).poll(task);
            return Poll::Pending;
        }
        connection.poll_unpin(task)
    })
}

/// Headers of every request.
fn head(path: &'static str) -> Request<()> {
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Some(Authority::from_static("localhost"));
    uri.path_and_query = Some(PathAndQuery::from_static(path));
    let mut request = Request::new(());
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = Uri::from_parts(uri).expect("because nothing is missing");
    let headers = request.headers_mut();
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("grpc-yuba"));
    request
}

/// A response: messages, and the status at the end.
#[derive(Debug)]
struct Incoming {
    status: StatusCode,
    headers: HeaderMap,
    body: RecvStream,
    /// Received part of a message.
    data: BytesMut,
}

impl Incoming {
    /// The next message, or none at the end of a successful stream.
    async fn message(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(head) = self.data.first_chunk::<HEAD>() {
                let [compressed, length @ ..] = *head;
                let length = u32::from_be_bytes(length) as usize;
                if compressed != 0 {
                    return Err(CallError::nonsense(&"it is compressed"));
                }
                if length > MESSAGE_LIMIT {
                    return Err(CallError::AnswerTooLarge);
                }
                if self.data.len() >= HEAD + length {
                    self.data.advance(HEAD);
                    return Ok(Some(self.data.split_to(length).freeze()));
                }
                self.data.reserve(HEAD + length - self.data.len());
            }
            match self.body.data().await {
                Some(piece) => {
                    let piece = piece?;
                    // The window is as large again.
                    self.body.flow_control().release_capacity(piece.len())?;
                    match self.data.is_empty() {
                        true => self.data = BytesMut::from(piece),
                        false => self.data.extend_from_slice(&piece),
                    }
                }
                None if !self.data.is_empty() => return Err(CallError::nonsense(&"it breaks off")),
                None => return self.ending().await.map(|()| None),
            }
        }
    }

    /// Status.
    async fn ending(&mut self) -> Result<(), CallError> {
        let trailers = self.body.trailers().await?;
        // A response without a message may have its status in the headers.
        let found = [trailers.as_ref(), Some(&self.headers)].into_iter().flatten().find_map(GrpcCode::in_headers);
        match found {
            Some((GrpcCode::OK, _)) => Ok(()),
            Some((code, message)) => Err(CallError::Status(code, message)),
            None => {
                Err(CallError::Status(GrpcCode::of_http(self.status), format!("it responded with {}", self.status)))
            }
        }
    }
}

/// Output of a process on its standard streams.
#[derive(Debug)]
pub struct Stdio {
    answer: Incoming,
    _open: SendStream<Bytes>,
}

impl Stdio {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<StdioData>, CallError> {
        let message = self.answer.message().await?;
        message.map(|message| StdioData::decode(message).map_err(|error| CallError::nonsense(&error))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    use futures_util::task::AtomicWaker;

    use super::*;

    #[test]
    fn requests_of_the_same_moment_go_out_together() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.expect("because it needs little");
        let (waker, requests) = (Arc::new(AtomicWaker::new()), Arc::new(AtomicU32::new(0)));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let connection = {
            let (waker, requests, sent) = (waker.clone(), requests.clone(), sent.clone());
            poll_fn(move |task| {
                waker.register(task.waker());
                let now = requests.load(Ordering::SeqCst);
                sent.lock().expect("because no thread panics").push(now);
                if now < 3 { Poll::Pending } else { Poll::Ready(()) }
            })
        };
        let so_far = sent.clone();
        let work = runtime.spawn(async move {
            let connection = tokio::spawn(in_turns(connection));
            while so_far.lock().expect("because no thread panics").is_empty() {
                yield_now().await;
            }
            for _ in 0..3 {
                let (waker, requests) = (waker.clone(), requests.clone());
                tokio::spawn(async move {
                    requests.fetch_add(1, Ordering::SeqCst);
                    waker.wake();
                });
            }
            connection.await
        });
        runtime.block_on(work).expect("because it does not panic").expect("because it does not panic either");
        assert_eq!(*sent.lock().expect("because no thread panics"), [0, 3]);
    }
}
