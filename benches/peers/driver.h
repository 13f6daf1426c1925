// What the drivers of foreign transports share: the command line, the clock, and the count of what came.
//
// A transport brings a class with these, which throw std::runtime_error:
//
//   static const char *name;               the program's, for messages
//   static const uint16_t port;            where it listens
//   Transport connect(server, client)      as a client that is bound to `client`
//   static Transport listen(address)
//   Transport accept()
//   void send(bytes, length)               waits until the buffer takes it, at most WAIT
//   int receive(bytes, length)             0 when the connection is over
//   void close()                           at once, without what isn't sent yet

#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace driver {

constexpr size_t CHUNK = 64 * 1024; // what a program hands over or takes at once

// Several times what the longest path holds: 42 Mbit/s x 800 ms are 4.2 MB.
constexpr int BUFFER = 32 << 20;
constexpr int WINDOW = 32768;          // packets
constexpr int SOCKET_BUFFER = 4 << 20; // the kernel's, which clips it to its own limit
constexpr int WAIT = 100;              // ms; the longest that a send waits for the buffer

inline sockaddr_in address(const char *host, uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(port);
    if (inet_pton(AF_INET, host, &result.sin_addr) != 1)
        throw std::runtime_error(std::string(host) + " is not an IPv4 address such as 10.0.0.1");
    return result;
}

inline std::chrono::duration<double> seconds(const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value > 0 && value <= 86400))
        throw std::runtime_error(std::string(text) + " is not a number of seconds above 0 and up to 86400");
    return std::chrono::duration<double>(value);
}

template <class Transport>
[[noreturn]] void fail(const std::exception &error) {
    fprintf(stderr, "%s: %s\n", Transport::name, error.what());
    _exit(1);
}

template <class Transport>
void send(const char *server, const char *time, const char *client) {
    const auto start = std::chrono::steady_clock::now();
    const auto duration = seconds(time);
    Transport connection = Transport::connect(address(server, Transport::port), address(client, 0));
    const std::vector<char> data(CHUNK);
    while (std::chrono::steady_clock::now() - start < duration)
        connection.send(data.data(), data.size());
    connection.close();
}

// Counts what all connections bring and says so every second, until SIGTERM or SIGINT.
template <class Transport>
void receive() {
    static std::atomic<uint64_t> received{0};
    // Before the library starts its threads, so that none of them takes the signals.
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);

    Transport listener = Transport::listen(address("0.0.0.0", Transport::port));
    std::thread([listener]() mutable {
        try {
            for (;;) {
                Transport connection = listener.accept();
                std::thread([connection]() mutable {
                    std::vector<char> data(CHUNK);
                    while (int length = connection.receive(data.data(), data.size()))
                        received += length;
                    connection.close();
                }).detach();
            }
        } catch (const std::exception &error) {
            fail<Transport>(error);
        }
    }).detach();
    for (bool over = false; !over;) {
        const timespec second{1, 0};
        over = sigtimedwait(&end, nullptr, &second) > 0;
        printf("received %llu bytes\n", (unsigned long long)received);
        fflush(stdout);
    }
}

// Exit codes: 0 done, 1 failed, 2 not called as it should be.
template <class Transport>
int main(int count, char **arguments) {
    const std::string command = count > 1 ? arguments[1] : "";
    try {
        if (command == "send" && (count == 4 || count == 5))
            send<Transport>(arguments[2], arguments[3], count == 5 ? arguments[4] : "0.0.0.0");
        else if (command == "recv" && count == 2)
            receive<Transport>();
        else {
            fprintf(stderr, "usage: %s send SERVER SECONDS [CLIENT]\n       %s recv\n", Transport::name, Transport::name);
            return 2;
        }
    } catch (const std::exception &error) {
        fail<Transport>(error);
    }
    // Threads of the library may still be at work: no destructors.
    fflush(stdout);
    _exit(0);
}

} // namespace driver
