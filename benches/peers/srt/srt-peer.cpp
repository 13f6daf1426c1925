// Bulk data over SRT in file mode: its own congestion control, no encryption.
//
//   srt-peer recv                            counts what comes on UDP port 9102
//   srt-peer send SERVER SECONDS [CLIENT]    sends as fast as it may

#include "../driver.h"

#include <srt/srt.h>

namespace {

[[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error(what + ": " + srt_getlasterror_str());
}

class Srt {
  public:
    static constexpr const char *name = "srt-peer";
    static constexpr uint16_t port = 9102;

    static Srt connect(sockaddr_in server, sockaddr_in client) {
        Srt peer = bound(client);
        if (srt_connect(peer.socket, (sockaddr *)&server, sizeof server) == SRT_ERROR)
            fail("can't connect to " + std::string(inet_ntoa(server.sin_addr)));
        return peer;
    }

    static Srt listen(sockaddr_in local) {
        Srt peer = bound(local);
        if (srt_listen(peer.socket, 8) == SRT_ERROR)
            fail("can't listen");
        return peer;
    }

    Srt accept() {
        SRTSOCKET accepted = srt_accept(socket, nullptr, nullptr);
        if (accepted == SRT_INVALID_SOCK)
            fail("can't accept");
        return Srt(accepted);
    }

    void send(const char *bytes, int length) {
        if (srt_send(socket, bytes, length) == SRT_ERROR && srt_getlasterror(nullptr) != SRT_ETIMEOUT)
            fail("can't send");
    }

    int receive(char *bytes, int length) {
        int got = srt_recv(socket, bytes, length);
        return got == SRT_ERROR ? 0 : got;
    }

    void close() { srt_close(socket); }

  private:
    explicit Srt(SRTSOCKET socket) : socket(socket) {}

    static Srt bound(sockaddr_in local) {
        srt_startup();
        Srt peer(srt_create_socket());
        peer.set(SRTO_TRANSTYPE, SRTT_FILE); // first: it sets others
        peer.set(SRTO_FC, driver::WINDOW);           // then: it limits the receive buffer
        peer.set(SRTO_SNDBUF, driver::BUFFER);
        peer.set(SRTO_RCVBUF, driver::BUFFER);
        peer.set(SRTO_UDP_SNDBUF, driver::SOCKET_BUFFER);
        peer.set(SRTO_UDP_RCVBUF, driver::SOCKET_BUFFER);
        peer.set(SRTO_SNDTIMEO, driver::WAIT);
        peer.set(SRTO_LINGER, linger{0, 0});
        if (srt_bind(peer.socket, (sockaddr *)&local, sizeof local) == SRT_ERROR)
            fail("can't bind to " + std::string(inet_ntoa(local.sin_addr)));
        return peer;
    }

    template <class Value>
    void set(SRT_SOCKOPT option, Value value) {
        if (srt_setsockflag(socket, option, &value, sizeof value) == SRT_ERROR)
            fail("can't set option " + std::to_string(option));
    }

    SRTSOCKET socket;
};

} // namespace

int main(int count, char **arguments) { return driver::main<Srt>(count, arguments); }
