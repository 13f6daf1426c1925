"""One request over HTTP/3 with aioquic: prints the status and the SHA-256 of the content, or "reset".

Usage: aioquic_get.py CA-FILE PORT METHOD PATH ["NAME: VALUE"...]
"""

import asyncio
import hashlib
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = H3Connection(self._quic)
        self.hash = hashlib.sha256()
        self.status = None
        self.said = asyncio.get_event_loop().create_future()

    def say(self, what):
        if not self.said.done():
            self.said.set_result(what)

    def quic_event_received(self, event):
        if isinstance(event, (ConnectionTerminated, StreamReset)):
            self.say("reset")
        for event in self.http.handle_event(event):
            if isinstance(event, HeadersReceived) and self.status is None:
                self.status = dict(event.headers)[b":status"].decode()
            if isinstance(event, DataReceived):
                self.hash.update(event.data)
            if getattr(event, "stream_ended", False):
                self.say(f"{self.status} {self.hash.hexdigest()}")


async def main(ca, port, method, path, *fields):
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=True, server_name="localhost")
    configuration.load_verify_locations(ca)
    async with connect("127.0.0.1", int(port), configuration=configuration, create_protocol=Client) as client:
        head = [(":method", method), (":scheme", "https"), (":authority", f"localhost:{port}"), (":path", path)]
        head += [tuple(field.split(": ", 1)) for field in fields]
        stream = client._quic.get_next_available_stream_id()
        head = [(name.encode(), value.encode()) for name, value in head]
        client.http.send_headers(stream_id=stream, headers=head, end_stream=True)
        client.transmit()
        print(await client.said)


asyncio.run(main(*sys.argv[1:]))
