#include "common/wire/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace emplace {
namespace {

TEST(Address, KnowsIpv4AndLoopback) {
  EXPECT_EQ(Ipv4Address("localhost"), "127.0.0.1");
  for (const std::string address : {"127.0.0.1", "10.0.0.1", "0.0.0.0", "255.255.255.255"}) {
    EXPECT_EQ(Ipv4Address(address), address);
  }
  for (const std::string host : {"", "*", "eth0", "127.0.0", "127.0.0.256", "127.0.0.1.1", "127.0.0.1;tcp://*",
                                 "127..0.1", "1270.0.0.1", "-1.0.0.1", "+1.0.0.1", "1.2.3.4 "}) {
    EXPECT_EQ(Ipv4Address(host), std::nullopt) << host;
  }
  EXPECT_TRUE(IsLoopback("127.9.9.9"));
  EXPECT_FALSE(IsLoopback("12.7.0.1"));
  EXPECT_TRUE(IsAnyAddress("0.0.0.0"));
  EXPECT_FALSE(IsAnyAddress("10.0.0.0"));
}

TEST(Address, EncryptedItMayLeadAnywhere) {
  EXPECT_EQ(ParseAddress("tcp://localhost:4000", false).text(), "tcp://127.0.0.1:4000");
  EXPECT_EQ(ParseAddress("tcp://10.1.2.3:65535", true).text(), "tcp://10.1.2.3:65535");
  EXPECT_EQ(ParseAddress("tcp://node-7.cluster_b.example.org:1", true).text(), "tcp://node-7.cluster_b.example.org:1");
  for (const std::string address : {"tcp://10.1.2.3:4000", "tcp://example.org:4000", "tcp://0.0.0.0:4000"}) {
    try {
      ParseAddress(address, false);
      ADD_FAILURE() << address;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(address), testing::HasSubstr("EMPLACE_KEYS")));
    }
  }
}

TEST(Address, WhatIsNoneIsNamed) {
  for (const std::string address : {"", "127.0.0.1:4000", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:0",
                                    "tcp://127.0.0.1:65536", "tcp://127.0.0.1:4x", "ipc:///tmp/x", "tcp://:4000",
                                    "tcp://*:4000", "tcp://999.1.1.1:4000", "tcp://a b:4000", "tcp://a;b:4000"}) {
    for (const bool encrypted : {false, true}) {
      try {
        ParseAddress(address, encrypted);
        ADD_FAILURE() << address;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
        EXPECT_THAT(error.what(), testing::HasSubstr("'" + address + "'"));
      }
    }
  }
}

}  // namespace
}  // namespace emplace
