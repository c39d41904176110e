# Homebrew formula for an own tap. Not yet tried on a Mac.
# Docker ships a program of the same name: both cannot be linked at once, and brew says so.
class Sbx < Formula
  desc "Runs a command with exactly the access its manifest declares"
  homepage "https://example.org/sbx"
  # There is no release: whoever publishes the tap writes the address of the archive of sources here, and its sha256 below it.
  url "https://example.org/sbx/sbx-0.1.0.tar.gz"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "jansson"
  depends_on macos: :ventura

  conflicts_with "docker/tap/sbx", because: "both install a program called sbx"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DBUILD_TESTING=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  # brew runs this inside a sandbox of its own, where no other can be applied: nothing is boxed here.
  test do
    assert_match version.to_s, shell_output("#{bin}/sbx version")
    (testpath/"sbx.toml").write "[sandbox]\nnetwork = \"deny\"\n"
    assert_match "ok", shell_output("#{bin}/sbx verify sbx.toml")
  end
end
