//! A host on this machine that answers requests of http as a test wants, and remembers them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// `GET` and the like.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its headers and body.
    pub body: String,
    /// The same as bytes, for bodies that are not text.
    pub bytes: Vec<u8>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or(&self.target)
    }
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// 200 and the like.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Vec<u8>,
    /// Nothing is answered at all: the connection stays open.
    pub stalls: bool,
    /// A pause after each byte of the content.
    pub pause: Option<Duration>,
    /// The connection closes before the response is complete.
    pub cut: Option<Cut>,
}

/// Offset at which a response is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before its first byte.
    BeforeHead,
    /// After this many bytes of the content. `Content-Length` names the full length.
    InBody(usize),
}

impl Reply {
    /// Some content.
    pub fn ok(body: impl Into<Vec<u8>>) -> Reply {
        Reply { status: 200, body: body.into(), ..Reply::default() }
    }

    /// A document.
    pub fn json(body: &str) -> Reply {
        Reply::ok(body).with("Content-Type", "application/json")
    }

    /// A status without content.
    pub fn status(status: u16) -> Reply {
        Reply { status, ..Reply::default() }
    }

    /// With a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a pause after each byte of the content.
    #[must_use]
    pub fn slowly(mut self, pause: Duration) -> Reply {
        self.pause = Some(pause);
        self
    }

    /// Closing the connection too early.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Reply {
        self.cut = Some(cut);
        self
    }

    /// No answer at all.
    pub fn stall() -> Reply {
        Reply { stalls: true, ..Reply::default() }
    }
}

/// The host. Its threads end with the process.
pub struct Host {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Host {
    /// Starts one that answers like this.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Host {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("because the machine has free ports");
        let address = listener.local_addr().expect("because it is bound");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(stream, &log, &*answer));
            }
        });
        Host { address, asked }
    }

    /// The name with the port.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of requests for a path.
    pub fn count(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path() == path).count()
    }
}

fn serve(stream: TcpStream, log: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Reply) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut words = line.split_whitespace();
        let mut asked =
            Asked { method: words.next()?.to_owned(), target: words.next()?.to_owned(), ..Asked::default() };
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            asked.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        asked.body = String::from_utf8_lossy(&body).into_owned();
        asked.bytes = body;
        let closes = asked.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let is_head = asked.method == "HEAD";
        let reply = answer(&asked);
        log.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        if reply.stalls {
            // Until the other side goes away.
            stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
            return stream.read(&mut [0]).ok().map(drop);
        }
        if reply.cut == Some(Cut::BeforeHead) {
            return None;
        }
        let mut head = format!("HTTP/1.1 {} x\r\nContent-Length: {}\r\n", reply.status, reply.body.len());
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
        if is_head {
            continue;
        }
        if let Some(Cut::InBody(length)) = reply.cut {
            return stream.write_all(&reply.body[..length.min(reply.body.len())]).ok();
        }
        match reply.pause {
            None => stream.write_all(&reply.body).ok()?,
            Some(pause) => {
                for byte in &reply.body {
                    stream.write_all(&[*byte]).ok()?;
                    std::thread::sleep(pause);
                }
            }
        }
        if closes {
            return Some(());
        }
    }
}
