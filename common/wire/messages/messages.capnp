# Every message between processes. Each one is a multipart ZeroMQ message: frame 0 is a Message below in Cap'n Proto's
# flat encoding, and the bulky parts follow as raw little-endian frames in the order that the comments give.
# The plain structs that the program works with are in messages.h; the codecs beside it translate and check.
@0xc0979d529504b734;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("emplace::schema");

struct Message {
  union {
    hello          @0 :Hello;
    heartbeat      @1 :Heartbeat;
    weightsRequest @2 :ActorKey;
    goodbye        @3 :Goodbye;
    welcome        @4 :Welcome;
    notice         @5 :Notice;
    weightsReply   @6 :WeightsReply;
    refusal        @7 :Refusal;
    stop           @8 :Void;
    trajectory     @9 :Trajectory;
    workRequest    @10 :WorkRequest;
    work           @11 :Work;
    rankHello      @12 :RankHello;
    rankFailure    @13 :RankFailure;
    rankData       @14 :RankData;
    rankWelcome    @15 :RankWelcome;
    rankPing       @16 :Void;
    measureRequest @17 :MeasureRequest;
    measureReply   @18 :MeasureReply;
  }
}

struct ActorKey {
  actorId     @0 :UInt32;
  incarnation @1 :UInt32;
}

# Actor to learner, control socket.

struct Hello {
  protocol @0 :UInt32;
  name     @1 :Text;
  nonce    @2 :UInt64;
  earlier  @3 :List(Incarnation);
  measures @4 :Bool;
}

struct Incarnation {
  number @0 :UInt32;
  nonce  @1 :UInt64;
}

struct WorkRequest {
  actor   @0 :ActorKey;
  session @1 :UInt64;
  version @2 :UInt64;
}

struct Heartbeat {
  actor    @0 :ActorKey;
  session  @1 :UInt64;
  produced @2 :UInt64;
  version  @3 :UInt64;
  windowUs @4 :UInt64;
}

struct Goodbye {
  actor    @0 :ActorKey;
  produced @1 :UInt64;
}

struct MeasureReply {
  actor      @0 :ActorKey;
  id         @1 :UInt64;
  makespanUs @2 :Float64;
}

# Learner to actor, control socket.

enum ElementType {
  uint8   @0;
  int32   @1;
  int64   @2;
  uint64  @3;
  float32 @4;
  float64 @5;
}

struct ArraySpec {
  name  @0 :Text;
  type  @1 :ElementType;
  count @2 :UInt64;      # Elements.
}

struct Welcome {         # Frame 1: configYaml. Then one frame for each array of each task, and one for each graph.
  actor                @0 :ActorKey;
  session              @1 :UInt64;
  firstSequence        @2 :UInt64;
  trajectoriesEndpoint @3 :Text;
  tasks                @4 :List(Bundle);
  machine              @5 :Text;
  numGraphs            @6 :UInt32;
}

struct Bundle {
  arrays @0 :List(ArraySpec);
}

struct Notice {
  session       @0 :UInt64;
  version       @1 :UInt64;
  measuring     @2 :Bool;
  sequenceLimit @3 :UInt64;
}

struct WeightsReply {    # Frame 1: the bytes of a policy.safetensors file.
  version @0 :UInt64;
  hash    @1 :UInt64;    # XXH3-64 of frame 1.
}

struct Work {
  session  @0 :UInt64;
  version  @1 :UInt64;
  episodes @2 :List(UInt32);
}

struct MeasureRequest {  # Frame 1: the placement, uint8.
  id    @0 :UInt64;
  graph @1 :UInt32;
}

struct Refusal {
  reason @0 :Text;
}

# Actor to learner, trajectories socket.

enum Claim {
  simulated @0;
  measured  @1;
}

struct Trajectory {      # Frames: startPlacement uint8, actions uint8, behaviourLogProb float32, rho float32; as long as they are.
  graph         @0 :UInt32;
  actor         @1 :ActorKey;
  sequence      @2 :UInt64;
  policyVersion @3 :UInt64;
  index         @4 :UInt32;
  claim         @5 :Claim;
}

# Rank to leader.

struct RankHello {
  protocol @0 :UInt32;
  rank     @1 :UInt32;
  host     @2 :Text;
  process  @3 :UInt64;
  kernel   @4 :Text;
}

struct RankFailure {
  reason @0 :Text;
}

# Both ways.

enum RankDataKind {
  step   @0;
  shards @1;
  sum    @2;
}

struct RankData {        # Frames: one for each array.
  kind      @0 :RankDataKind;
  step      @1 :UInt64;
  arrays    @2 :Bundle;
  measuring @3 :Bool;
}

# Leader to rank. Refusal and stop too.

struct RankWelcome {     # Frame 1: configYaml. Then one frame for each array of each task, and of the state.
  ranks @0 :UInt32;
  tasks @1 :List(Bundle);
  state @2 :Bundle;
}
