// Writes golden/files anew: make_golden FOLDER. To be run when a format gets a new version, and at no other time.
#include <filesystem>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/golden/golden_objects.h"

int main(int argc, char** argv) {
  return emplace::RunMain("make_golden", [&] {
    if (argc != 2) throw emplace::BadInput("usage: make_golden FOLDER");
    const std::filesystem::path folder = argv[1];
    emplace::MakeFolder(folder / "messages");
    emplace::MakeFolder(folder / "checkpoint");
    emplace::WriteFileAtomically(folder / "policy.safetensors", emplace::SerializePolicy(emplace::GoldenPolicy()));
    const emplace::CheckpointFiles files = emplace::SerializeCheckpoint(emplace::GoldenCheckpoint());
    emplace::WriteFileAtomically(folder / "checkpoint/policy.safetensors", files.policy);
    emplace::WriteFileAtomically(folder / "checkpoint/optimizer.safetensors", files.optimizer);
    emplace::WriteFileAtomically(folder / "checkpoint/state.json", files.state);
    for (const emplace::GoldenMessage& message : emplace::GoldenMessages()) {
      emplace::WriteFileAtomically(folder / "messages" / message.name, emplace::JoinedFrames(message.frames));
    }
    return 0;
  });
}
