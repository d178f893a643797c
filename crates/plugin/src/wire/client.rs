//! Calls over a connection.

use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::{Call, Empty, Protocol, STREAM_STDIO, StdioData};

/// The most that a message may hold, in both directions.
pub const MESSAGE_LIMIT: usize = 256 << 20;

/// A connection to a plugin. Cheap to clone: all clones share the connection.
#[derive(Clone, Debug)]
pub struct Client {
    grpc: Grpc<Channel>,
    protocol: Protocol,
}

impl Client {
    /// Speaks a protocol over a channel.
    pub fn new(channel: Channel, protocol: Protocol) -> Client {
        let grpc = Grpc::new(channel).max_decoding_message_size(MESSAGE_LIMIT).max_encoding_message_size(MESSAGE_LIMIT);
        Client { grpc, protocol }
    }

    /// The protocol that is spoken.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Calls and waits for the response.
    pub async fn call<C: Call>(&self, request: C::Request) -> Result<C::Response, Status> {
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(C::path(self.protocol));
        Ok(grpc.unary(Request::new(request), path, ProstCodec::default()).await?.into_inner())
    }

    /// Follows what the process writes to its standard streams. May be asked once.
    pub async fn stdio(&self) -> Result<Streaming<StdioData>, Status> {
        let mut grpc = self.ready().await?;
        let path = PathAndQuery::from_static(STREAM_STDIO);
        Ok(grpc.server_streaming(Request::new(Empty {}), path, ProstCodec::default()).await?.into_inner())
    }

    async fn ready(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        Ok(grpc)
    }
}
