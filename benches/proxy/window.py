"""A program that never has more bytes under way than its window, as ssh has at most 2 MB: what it gets, in Mbit/s.

window.py serve PORT
window.py fetch HOST PORT WINDOW SECONDS    prints the Mbit/s of the second half of the time
"""
import socket
import struct
import sys
import threading
import time

BLOCK = bytes(1 << 15)


def send(connection):
    with connection:
        left = 0
        try:
            while got := connection.recv(4, socket.MSG_WAITALL):
                left += struct.unpack("!I", got)[0]
                while left >= len(BLOCK):
                    connection.sendall(BLOCK)
                    left -= len(BLOCK)
        except OSError:
            pass  # The program has had enough.


def serve(port):
    with socket.create_server(("0.0.0.0", int(port))) as listener:
        while True:
            threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()


def fetch(host, port, window, seconds):
    with socket.create_connection((host, int(port))) as connection:
        began = time.monotonic()
        connection.sendall(struct.pack("!I", int(window)))
        unanswered = late = 0
        while (now := time.monotonic() - began) < float(seconds):
            connection.settimeout(float(seconds) - now)
            try:
                got = len(connection.recv(1 << 20))
            except TimeoutError:
                break
            if got == 0:
                raise SystemExit("the connection ended early")
            unanswered += got
            if unanswered >= 3 * len(BLOCK):
                connection.sendall(struct.pack("!I", unanswered))
                unanswered = 0
            if now > float(seconds) / 2:
                late += got
        print(f"{late * 16e-6 / float(seconds):.1f}")


{"serve": serve, "fetch": fetch}[sys.argv[1]](*sys.argv[2:])
