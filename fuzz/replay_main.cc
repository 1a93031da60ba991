// The main program of NAME_replay: runs a fuzz target over files and folders of inputs, in any build and with any
// compiler. Prints each input before it runs, so that the last line of a crash names its culprit.
//
//   NAME_replay FILE_OR_FOLDER...      exit 0: all ran; 2: an argument is missing or unreadable, or there is no input
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::filesystem::path> InputFiles(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int Replay(int argc, char** argv) {
  const std::vector<std::filesystem::path> files = InputFiles(argc, argv);
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
      return 2;
    }
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    // A copy of exactly the input's size: a sanitizer sees a read of one byte more.
    const std::vector<uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu inputs ran\n", files.size());
  if (files.empty()) std::fprintf(stderr, "no input: give files or folders\n");
  return files.empty() ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Replay(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
