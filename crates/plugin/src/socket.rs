//! The socket to a provider, watched for what comes.
//!
//! The socket is polled for writing only after a write did not fit: a local socket reports room whenever the other side
//! has read something, which would cause an extra wake-up for every request.

use std::fs::File;
use std::io::{self, IoSlice, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

/// A connected socket. For one-way use it is equivalent to a pipe.
pub(crate) struct Socket {
    incoming: pipe::Receiver,
    outgoing: File,
    /// Polled for room, as long as the socket is full.
    room: Option<pipe::Sender>,
}

impl Socket {
    /// Watches a socket that does not block, on the runtime that this is called on.
    pub(crate) fn new(socket: impl Into<OwnedFd>) -> io::Result<Socket> {
        let outgoing: OwnedFd = socket.into();
        let incoming = pipe::Receiver::from_owned_fd_unchecked(outgoing.try_clone()?)?;
        Ok(Socket { incoming, outgoing: outgoing.into(), room: None })
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.incoming).poll_read(task, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(task, &[IoSlice::new(buffer)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut room = match self.room.take() {
            Some(room) => room,
            None => loop {
                match self.outgoing.write_vectored(buffers) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        let same = self.outgoing.as_fd().try_clone_to_owned()?;
                        break pipe::Sender::from_owned_fd_unchecked(same)?;
                    }
                    written => return Poll::Ready(written),
                }
            },
        };
        match Pin::new(&mut room).poll_write_vectored(task, buffers) {
            Poll::Pending => {
                self.room = Some(room);
                Poll::Pending
            }
            written => written,
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// It is closed when it is dropped, which nothing comes between.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn much_more_than_there_is_room_for_goes_through_both_ways() {
        let (one, other) = UnixStream::pair().expect("because there are descriptors left");
        one.set_nonblocking(true).expect("because it is a socket");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.expect("because it needs little");
        let sent: Vec<u8> = (0..3_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let length = sent.len();
        let echo = std::thread::spawn(move || {
            let mut all = vec![0; length];
            (&other).read_exact(&mut all).expect("because all is sent");
            (&other).write_all(&all).expect("because it is read");
        });
        let came_back = runtime.block_on(async {
            let mut socket = Socket::new(one).expect("because it can be watched");
            socket.write_all(&sent).await.expect("because it is read");
            assert!(socket.room.is_none(), "room is polled only where the socket is full");
            let mut all = Vec::new();
            socket.read_to_end(&mut all).await.expect("because it is sent back");
            all
        });
        echo.join().expect("because it does not panic");
        assert!(came_back == sent);
    }
}
