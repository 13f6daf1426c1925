"""A video over HTTP: a server of anything, and a viewer who asks for one chunk after the other and plays them.

video.py serve ADDRESS WAY DIRECTORY           until it is ended
video.py watch ADDRESS WAY DIRECTORY MBIT/S SECONDS RESULTS

WAY is a congestion control of the kernel, or a controller of `pcc proxy`: then both ends have a side of that between them, and
DIRECTORY is where they leave its ticket. The program is $PCC. `watch` adds a line to the file RESULTS: the way, the bitrate, and the
share of the time in which the video stalled. As in figures/v11-video.toml, chunks take 4 s and the viewer holds 12 s.
"""
import http.client
import http.server
import os
import pathlib
import socket
import subprocess
import sys
import time

PORT, LOCAL = 8000, 8001
CHUNK, BUFFER = 4.0, 12.0
BLOCK = bytes(1 << 18)
KERNEL = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


class Zeros(http.server.BaseHTTPRequestHandler):
    """Answers each request with the range that it asks for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        left = last - first + 1
        self.send_response(206)
        self.send_header("Content-Length", str(left))
        self.send_header("Content-Range", f"bytes {first}-{last}/*")
        self.end_headers()
        while left > 0:
            left -= self.wfile.write(BLOCK[:left])

    def log_message(self, *_):
        pass


def serve(address, way, directory):
    if way not in KERNEL:
        with open(pathlib.Path(directory, "writing"), "w") as ticket:
            command = [os.environ["PCC"], "proxy", "serve", "--listen", f"{address}:{PORT}", "--allow", f"127.0.0.1:{PORT}"]
            command += ["--controller", way]
            subprocess.Popen(command, stdout=ticket, stderr=subprocess.DEVNULL)
        while not pathlib.Path(directory, "writing").read_text().endswith("\n"):
            time.sleep(0.05)
        pathlib.Path(directory, "writing").rename(pathlib.Path(directory, "ticket"))
        address = "127.0.0.1"
    server = http.server.ThreadingHTTPServer((address, PORT), Zeros)
    if way in KERNEL:
        server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, way.encode())
    server.serve_forever()


def connected(address, way, directory):
    """A connection to the server, as soon as there is one."""
    print("ready", flush=True)  # The other end begins when it sees this.
    port = PORT
    if way not in KERNEL:
        ticket = pathlib.Path(directory, "ticket")
        while not ticket.exists():
            time.sleep(0.05)
        command = [os.environ["PCC"], "proxy", "connect", "--ticket-file", ticket, "--forward", f"127.0.0.1:{LOCAL}=127.0.0.1:{PORT}"]
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address, port = "127.0.0.1", LOCAL
    while True:
        try:
            connection = http.client.HTTPConnection(address, port, timeout=60)
            connection.connect()
            return connection
        except OSError:
            time.sleep(0.05)


def watch(address, way, directory, mbps, seconds, results):
    connection = connected(address, way, directory)
    end = time.monotonic() + float(seconds)
    chunk = int(float(mbps) * 1e6 / 8 * CHUNK)
    block = bytearray(1 << 18)
    began = updated = None
    buffered = stalled = 0.0
    received = 0

    def play():
        nonlocal updated, buffered, stalled
        now = min(time.monotonic(), end)
        stalled += max(now - updated - buffered, 0)
        buffered = max(buffered - (now - updated), 0)
        updated = now

    def get():
        """Gets the next chunk; whether it came in time."""
        nonlocal received
        connection.request("GET", "/", headers={"Range": f"bytes={received}-{received + chunk - 1}"})
        answer = connection.getresponse()
        left = chunk
        while left > 0 and time.monotonic() < end:
            got = answer.readinto(block)
            left, received = left - got, received + got
        return left == 0

    while time.monotonic() < end and get():
        if began is None:
            began = updated = time.monotonic()
        play()
        buffered += CHUNK
        time.sleep(max(min(buffered + CHUNK - BUFFER, end - time.monotonic()), 0))
    if began is None:
        share = 1.0
    else:
        play()
        share = stalled / (end - began)
    with open(results, "a") as file:
        file.write(f"{way} {mbps} {share:.4f}\n")
    print(f"received {received} bytes", flush=True)


{"serve": serve, "watch": watch}[sys.argv[1]](*sys.argv[2:])
