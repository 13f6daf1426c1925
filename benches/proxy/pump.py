"""A target that sends as many bytes as it is asked for, and a program that asks, through a forward or directly.

pump.py serve PORT
pump.py fetch HOST PORT BYTES CONTROL SECONDS [CONNECTIONS]    prints the Mbit/s up to the last byte, or in so many seconds
"""
import socket
import sys
import threading
import time

BLOCK = bytes(1 << 20)
# Linux's SO_SNDBUFFORCE, for root: more than the usual limit of 4 MB, which holds half of what a satellite path has under way with bbr.
SEND_BUFFER_FORCE, SEND_BUFFER = 32, 64 << 20


def send(connection):
    with connection:
        size, control = connection.makefile("r").readline().split()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.setsockopt(socket.SOL_SOCKET, SEND_BUFFER_FORCE, SEND_BUFFER)
        left = int(size)
        try:
            while left > 0:
                left -= connection.send(BLOCK[:left])
        except OSError:
            pass  # The program has had enough.


def serve(port):
    with socket.create_server(("0.0.0.0", int(port)), backlog=512) as listener:
        while True:
            threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()


def fetch(host, port, size, control, until, counts, index):
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{size} {control}\n".encode())
        while counts[index] < int(size) and time.monotonic() < until:
            connection.settimeout(max(until - time.monotonic(), 0.001))
            try:
                got = len(connection.recv(1 << 20))
            except TimeoutError:
                return
            if got == 0:
                raise SystemExit("the connection ended early")
            counts[index] += got


def fetch_all(host, port, size, control, seconds, connections=1):
    began = time.monotonic()
    counts = [0] * int(connections)
    until = began + float(seconds)
    each = [(host, port, size, control, until, counts, index) for index in range(len(counts))]
    threads = [threading.Thread(target=fetch, args=arguments) for arguments in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{sum(counts) * 8e-6 / (time.monotonic() - began):.2f}")


{"serve": serve, "fetch": fetch_all}[sys.argv[1]](*sys.argv[2:])
