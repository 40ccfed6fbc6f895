//! A tiny file server on 127.0.0.1 that can misbehave like real networks do.
//!
//! Never serves more than one request at a time, and ends with the value.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How a file is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As asked, ranges included.
    Proper,
    /// The connection breaks after so many bytes of each answer.
    Breaks(usize),
    /// Ranges are ignored: always the whole file.
    NoRanges,
    /// Not there.
    NotFound,
}

pub struct Server {
    pub address: String,
    requests: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves these files (by name) in this manner.
    pub fn start(files: HashMap<String, Vec<u8>>, manner: Manner) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if !answer(stream, &files, manner, &log) {
                    return;
                }
            }
        });
        Server { address, requests, thread: Some(thread) }
    }

    /// What was asked for so far: `name` or `name bytes=N-`.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(self.address.trim_start_matches("http://")) {
            let _ = stream.write_all(b"QUIT / HTTP/1.1\r\n\r\n");
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// False when it is time to end.
fn answer(mut stream: TcpStream, files: &HashMap<String, Vec<u8>>, manner: Manner, log: &Mutex<Vec<String>>) -> bool {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return true };
    if request.starts_with("QUIT") {
        return false;
    }
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
    let range = headers.iter().find_map(|line| line.strip_prefix("range: ").map(str::to_owned));
    log.lock().unwrap().push(range.as_ref().map_or_else(|| name.clone(), |range| format!("{name} {range}")));

    let content = files.get(&name).filter(|_| manner != Manner::NotFound);
    let Some(content) = content else {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return true;
    };
    let from: usize = range
        .filter(|_| manner != Manner::NoRanges)
        .and_then(|range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().ok())
        .unwrap_or(0);
    let body = &content[from.min(content.len())..];
    let head = match from {
        0 => "200 OK\r\n".to_owned(),
        _ => format!("206 Partial Content\r\ncontent-range: bytes {from}-{}/{}\r\n", content.len() - 1, content.len()),
    };
    let sent = if let Manner::Breaks(bytes) = manner { &body[..bytes.min(body.len())] } else { body };
    let head = format!("HTTP/1.1 {head}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(sent));
    true
}
