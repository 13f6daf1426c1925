"""500 connections through a forward to pump.py, one of which is never read: bytes of the others, and memory of both sides.

stalled.py PORT PID PID
"""
import socket
import sys
import threading
import time

CONNECTIONS = 500
SIZE = 1_000_000


def memory():
    """Of both sides, in MB."""
    total = 0
    for pid in sys.argv[2:]:
        with open(f"/proc/{pid}/status") as status:
            total += sum(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return total / 1000


def ask(size):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(f"{size} cubic\n".encode())
    return connection


def read(connection, counts, index):
    while got := len(connection.recv(1 << 16)):
        counts[index] += got


print(f"{memory():.0f} MB before")
stalled = ask(10**12)
time.sleep(5)
print(f"{memory():.0f} MB with one that nobody reads")
for round in range(4):
    connections = [ask(SIZE) for _ in range(CONNECTIONS - 1)]
    counts = [0] * len(connections)
    threads = [threading.Thread(target=read, args=(c, counts, n)) for n, c in enumerate(connections)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [SIZE] * len(connections), "bytes are missing"
    print(f"{memory():.0f} MB after {len(counts)} others with {SIZE} bytes each in {time.monotonic() - began:.1f} s")
time.sleep(10)
print(f"{memory():.0f} MB ten seconds later")
