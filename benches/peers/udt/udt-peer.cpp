// Bulk data over UDT 4, with its own congestion control.
//
//   udt-peer recv                            counts what comes on UDP port 9101
//   udt-peer send SERVER SECONDS [CLIENT]    sends as fast as it may

#include "../driver.h"

#include <udt/udt.h>

namespace {

[[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error(what + ": " + UDT::getlasterror().getErrorMessage());
}

class Udt {
  public:
    static constexpr const char *name = "udt-peer";
    static constexpr uint16_t port = 9101;

    static Udt connect(sockaddr_in server, sockaddr_in client) {
        Udt peer = bound(client);
        if (UDT::connect(peer.socket, (sockaddr *)&server, sizeof server) == UDT::ERROR)
            fail("can't connect to " + std::string(inet_ntoa(server.sin_addr)));
        return peer;
    }

    static Udt listen(sockaddr_in local) {
        Udt peer = bound(local);
        if (UDT::listen(peer.socket, 8) == UDT::ERROR)
            fail("can't listen");
        return peer;
    }

    Udt accept() {
        UDTSOCKET accepted = UDT::accept(socket, nullptr, nullptr);
        if (accepted == UDT::INVALID_SOCK)
            fail("can't accept");
        return Udt(accepted);
    }

    void send(const char *bytes, int length) {
        if (UDT::send(socket, bytes, length, 0) == UDT::ERROR && UDT::getlasterror_code() != CUDTException::ETIMEOUT)
            fail("can't send");
    }

    int receive(char *bytes, int length) {
        int got = UDT::recv(socket, bytes, length, 0);
        return got == UDT::ERROR ? 0 : got;
    }

    void close() { UDT::close(socket); }

  private:
    explicit Udt(UDTSOCKET socket) : socket(socket) {}

    static Udt bound(sockaddr_in local) {
        Udt peer(UDT::socket(AF_INET, SOCK_STREAM, 0));
        peer.set(UDT_FC, driver::WINDOW); // first: it limits the receive buffer
        peer.set(UDT_SNDBUF, driver::BUFFER);
        peer.set(UDT_RCVBUF, driver::BUFFER);
        peer.set(UDP_SNDBUF, driver::SOCKET_BUFFER);
        peer.set(UDP_RCVBUF, driver::SOCKET_BUFFER);
        peer.set(UDT_SNDTIMEO, driver::WAIT);
        peer.set(UDT_LINGER, linger{0, 0});
        if (UDT::bind(peer.socket, (sockaddr *)&local, sizeof local) == UDT::ERROR)
            fail("can't bind to " + std::string(inet_ntoa(local.sin_addr)));
        return peer;
    }

    template <class Value>
    void set(UDTOpt option, Value value) {
        if (UDT::setsockopt(socket, 0, option, &value, sizeof value) == UDT::ERROR)
            fail("can't set option " + std::to_string(option));
    }

    UDTSOCKET socket;
};

} // namespace

int main(int count, char **arguments) { return driver::main<Udt>(count, arguments); }
