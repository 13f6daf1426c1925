"""A target that sends as many bytes as it is asked for, and a program that asks, through a forward or directly.

pump.py serve PORT
pump.py fetch HOST PORT BYTES CONTROL [CONNECTIONS]    prints the seconds up to the last byte of the last connection
"""
import socket
import sys
import threading
import time

BLOCK = bytes(1 << 20)


def send(connection):
    with connection:
        size, control = connection.makefile("r").readline().split()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        left = int(size)
        while left > 0:
            left -= connection.send(BLOCK[:left])


def serve(port):
    with socket.create_server(("0.0.0.0", int(port)), backlog=512) as listener:
        while True:
            threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()


def fetch(host, port, size, control):
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"{size} {control}\n".encode())
        left = int(size)
        while left > 0:
            got = len(connection.recv(1 << 20))
            if got == 0:
                raise SystemExit("the connection ended early")
            left -= got


def fetch_all(host, port, size, control, connections=1):
    began = time.monotonic()
    threads = [threading.Thread(target=fetch, args=(host, port, size, control)) for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{time.monotonic() - began:.3f}")


{"serve": serve, "fetch": fetch_all}[sys.argv[1]](*sys.argv[2:])
