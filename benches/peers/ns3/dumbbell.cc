// N bulk TCP flows over one bottleneck in ns-3 3.37, as one line of JSON: an independent implementation of the
// classical controllers, and the yardstick of speed.
//
//   dumbbell --tcp=TcpCubic --rate=100 --rtt=30 --loss=0.01 --queue=75000 --seconds=60 --seed=1 --starts=0,10
//
// Set up to be the same path as pcc_lab::link::Path:
// - Each sender has its own link of 100 Gbit/s and no delay to the router; random loss strikes data packets where they
//   enter the router, before the queue. Acknowledgements return over the bottleneck's delay, at 100 Gbit/s.
// - The queue is drop-tail in bytes with the packet in service. ns-3 does not count that one: its limit is a full-sized
//   packet lower. Its link layer adds 2 bytes to each packet: rate and limit are raised by that much.
// - Without flow control of the devices, address assignment has nothing to attach its FqCoDel to.
// With --mark-above the bottleneck has instead a queue that marks what comes while so many packets or more wait (RED without
// average and chance, as RFC 8257 wants it). A packet in service and one in the device's queue aren't counted.
// As in Linux: SACK, timestamps, PRR, initial window 10, delayed acknowledgements. The minimum RTO stays at ns-3's 1 s:
// with 200 ms its controllers get stuck in timeouts. Any attribute of ns-3 is an option (--ns3::Class::Attribute=value).

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t PAYLOAD = 1448; // 1500 with IP and TCP headers and timestamps
constexpr uint64_t PACKET = 1500;
constexpr uint64_t FRAMED = PACKET + 2;
constexpr uint16_t FIRST_PORT = 5000;

struct Flow {
    double start;
    Ptr<PacketSink> sink;
    uint64_t firstHalf = 0; // bytes that had come by the middle of the run
};

// Connects two nodes; the queue of the first one's device has this limit.
NetDeviceContainer Link(Ptr<Node> from, Ptr<Node> to, double mbps, Time delay, uint64_t queueBytes) {
    std::ostringstream rate, limit;
    rate << static_cast<uint64_t>(mbps * 1e6 * FRAMED / PACKET) << "bps";
    limit << queueBytes << "B";
    PointToPointHelper helper;
    helper.DisableFlowControl();
    helper.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    helper.SetChannelAttribute("Delay", TimeValue(delay));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000000B"));
    NetDeviceContainer devices = helper.Install(from, to);
    devices.Get(0)->SetAttribute("DataRate", StringValue(rate.str()));
    PointerValue queue;
    devices.Get(0)->GetAttribute("TxQueue", queue);
    queue.Get<Queue<Packet>>()->SetAttribute("MaxSize", StringValue(limit.str()));
    return devices;
}

// Gives both ends addresses in a network of their own; the second one's.
Ipv4Address AssignAddresses(const NetDeviceContainer& devices, uint32_t network) {
    Ipv4AddressHelper helper(Ipv4Address(0x0a000000 + (network << 8)), "255.255.255.0");
    Ipv4InterfaceContainer interfaces = helper.Assign(devices);
    for (auto device = devices.Begin(); device != devices.End(); ++device) {
        Ptr<QueueDisc> root = (*device)->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(*device);
        NS_ABORT_IF(root && !DynamicCast<RedQueueDisc>(root));
    }
    return interfaces.GetAddress(1);
}

// Has the first device queue in a RED that marks from `packets` on; the queue discipline.
Ptr<QueueDisc> MarkAbove(const NetDeviceContainer& devices, uint64_t packets) {
    for (auto device = devices.Begin(); device != devices.End(); ++device) {
        PointerValue queue;
        (*device)->GetAttribute("TxQueue", queue);
        queue.Get<Queue<Packet>>()->SetAttribute("MaxSize", StringValue("1p"));
        Ptr<NetDeviceQueueInterface> interface = CreateObject<NetDeviceQueueInterface>();
        interface->GetTxQueue(0)->ConnectQueueTraces(queue.Get<Queue<Packet>>());
        (*device)->AggregateObject(interface);
    }
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(packets), "MaxTh", DoubleValue(packets), "QW",
                         DoubleValue(1), "Gentle", BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop",
                         BooleanValue(false), "MaxSize", StringValue("1000p"));
    red.Install(devices.Get(1));
    return red.Install(devices.Get(0)).Get(0);
}

// Looks at the length of a queue again and again.
void Sample(Ptr<QueueDisc> queue, std::vector<uint32_t>* lengths, Time every) {
    lengths->push_back(queue->GetNPackets());
    Simulator::Schedule(every, &Sample, queue, lengths, every);
}

double Mbps(uint64_t bytes, double seconds) { return bytes * 8 / seconds / 1e6; }

} // namespace

int main(int argc, char** argv) {
    std::string tcp = "TcpCubic", starts = "0";
    double mbps = 100, rttMs = 30, loss = 0, seconds = 60;
    uint64_t queue = 75000, markAbove = 0;
    uint32_t seed = 1;
    CommandLine cmd;
    cmd.AddValue("tcp", "controller: the name of an ns-3 class (TcpWestwood is Westwood+)", tcp);
    cmd.AddValue("rate", "of the bottleneck, Mbit/s of IP packets", mbps);
    cmd.AddValue("rtt", "without queueing, ms", rttMs);
    cmd.AddValue("loss", "probability that a data packet is lost before the queue", loss);
    cmd.AddValue("queue", "limit in bytes, with the packet in service, at least 3000", queue);
    cmd.AddValue("mark-above", "packets in the queue from which on it marks; 0 for a drop-tail queue", markAbove);
    cmd.AddValue("seconds", "simulated time", seconds);
    cmd.AddValue("seed", "of the random losses", seed);
    cmd.AddValue("starts", "when each flow starts, s, separated by commas", starts);
    cmd.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue("WestwoodPlus"));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(PAYLOAD));

    std::vector<Flow> flows;
    std::istringstream list(starts);
    for (std::string start; std::getline(list, start, ',');) {
        flows.push_back({std::stod(start), nullptr});
    }
    NodeContainer senders(flows.size());
    Ptr<Node> router = CreateObject<Node>(), receiver = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(senders);
    stack.Install(router);
    stack.Install(receiver);

    uint64_t limit = (queue - PACKET) * FRAMED / PACKET;
    NetDeviceContainer bottleneck = Link(router, receiver, mbps, MicroSeconds(rttMs * 500), limit);
    Ptr<QueueDisc> marking = markAbove > 0 ? MarkAbove(bottleneck, markAbove) : nullptr;
    Ipv4Address destination = AssignAddresses(bottleneck, 0);
    for (uint32_t i = 0; i < flows.size(); ++i) {
        NetDeviceContainer access = Link(senders.Get(i), router, 100000, Time(0), 1000000000);
        AssignAddresses(access, i + 1);
        if (loss > 0) {
            Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
            errors->SetAttribute("ErrorRate", DoubleValue(loss));
            errors->SetAttribute("ErrorUnit", StringValue("ERROR_UNIT_PACKET"));
            access.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
        }
        uint16_t port = FIRST_PORT + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[i].sink = DynamicCast<PacketSink>(sink.Install(receiver).Get(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destination, port));
        bulk.Install(senders.Get(i)).Start(Seconds(flows[i].start));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(seconds / 2), [&flows] {
        for (Flow& flow : flows) {
            flow.firstHalf = flow.sink->GetTotalRx();
        }
    });

    std::vector<uint32_t> lengths;
    if (marking) {
        Simulator::Schedule(Seconds(seconds / 5), &Sample, marking, &lengths, MicroSeconds(rttMs * 10));
    }
    Simulator::Stop(Seconds(seconds));
    std::clock_t begin = std::clock();
    Simulator::Run();
    double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;

    PointerValue pointer;
    bottleneck.Get(0)->GetAttribute("TxQueue", pointer);
    Ptr<Queue<Packet>> buffer = pointer.Get<Queue<Packet>>();
    uint32_t packets = buffer->GetTotalReceivedPackets();
    std::ostringstream mean, second;
    mean << std::fixed << std::setprecision(3);
    second << std::fixed << std::setprecision(3);
    for (const Flow& flow : flows) {
        const char* separator = &flow == &flows.front() ? "" : ",";
        uint64_t bytes = flow.sink->GetTotalRx();
        mean << separator << Mbps(bytes, seconds - flow.start);
        second << separator << Mbps(bytes - flow.firstHalf, seconds / 2);
    }
    std::cout << "{\"tcp\":\"" << tcp << "\",\"goodput_mbps\":[" << mean.str() << "],\"second_half_mbps\":["
              << second.str() << "],\"packets\":" << packets << ",\"dropped\":" << buffer->GetTotalDroppedPackets()
              << ",\"events\":" << Simulator::GetEventCount() << ",\"cpu_s\":" << cpu
              << ",\"simulated_s_per_cpu_s\":" << seconds / cpu;
    if (marking) {
        std::sort(lengths.begin(), lengths.end());
        auto quantile = [&lengths](double share) { return lengths[static_cast<size_t>(share * (lengths.size() - 1))]; };
        std::cout << ",\"marked\":" << marking->GetStats().GetNMarkedPackets(RedQueueDisc::FORCED_MARK)
                  << ",\"queue_packets\":{\"p1\":" << quantile(0.01) << ",\"p50\":" << quantile(0.5)
                  << ",\"p99\":" << quantile(0.99) << "}";
    }
    std::cout << "}" << std::endl;
    Simulator::Destroy();
}
