package pywasmtok;

import com.dylibso.chicory.compiler.InterpreterFallback;
import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Machine;
import com.dylibso.chicory.wasm.ChicoryException;
import com.dylibso.chicory.wasm.Parser;
import com.dylibso.chicory.wasm.WasmModule;
import com.dylibso.chicory.wasm.types.UnknownCustomSection;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;

/**
 * The core of pywasmtok on the Java virtual machine, without native code. It is compiled once and may
 * be used by any number of threads.
 */
public final class Core {
    /** One of several files that are a tokenizer together: vocab.json and merges.txt. */
    public record Part(String name, byte[] data) {}

    /** What a file is. */
    public record Detected(String format, String reason) {}

    private final WasmModule module;
    private final Function<Instance, Machine> machines;
    private final String version;

    /** Takes the bytes of baseline.wasm: Chicory has no SIMD. */
    public Core(byte[] wasm) {
        try {
            module = Parser.parse(wasm);
            if (!(module.customSection("pywasmtok.abi") instanceof UnknownCustomSection section)) {
                throw new TokenizerException(Kind.HOST, "this is no core of pywasmtok");
            }
            String text = new String(section.bytes(), StandardCharsets.UTF_8);
            JsonObject build = JsonParser.parseString(text).getAsJsonObject();
            if (build.get("abi").getAsInt() != Abi.ABI_VERSION) {
                throw new TokenizerException(Kind.HOST, "a core with another ABI: " + text);
            }
            version = build.get("version").getAsString();
            // A function of which the bytecode would be too long for the JVM is interpreted.
            machines = MachineFactoryCompiler.builder(module)
                    .withInterpreterFallback(InterpreterFallback.SILENT)
                    .compile();
        } catch (ChicoryException error) {
            throw new TokenizerException(Kind.HOST, "Chicory does not take this module: " + error.getMessage(), error);
        }
    }

    /** The version of pywasmtok that the core was built from. */
    public String version() {
        return version;
    }

    /** Loads the bytes of a file in an instance of its own; its format is recognized. */
    public Tokenizer tokenizer(byte[] file) {
        return tokenizer(file, LoadOptions.DEFAULT);
    }

    public Tokenizer tokenizer(byte[] file, LoadOptions options) {
        return new Tokenizer(guest(), List.of(file), options.json(List.of()));
    }

    /** Loads files that are a tokenizer only together, in any order. */
    public Tokenizer tokenizer(List<Part> parts, LoadOptions options) {
        return new Tokenizer(guest(), parts.stream().map(Part::data).toList(), options.json(parts));
    }

    /** Says what a file is; its first 64 KiB are enough. */
    public Detected detect(byte[] startOfFile) {
        Guest guest = guest();
        guest.put(startOfFile);
        JsonObject found = guest.json(guest.count("pwt_detect", startOfFile.length));
        return new Detected(found.get("format").getAsString(), found.get("reason").getAsString());
    }

    private Guest guest() {
        return new Guest(Instance.builder(module).withMachineFactory(machines).build());
    }
}
