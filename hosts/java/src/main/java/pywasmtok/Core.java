package pywasmtok;

import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Machine;
import com.dylibso.chicory.wasm.Parser;
import com.dylibso.chicory.wasm.WasmModule;
import com.dylibso.chicory.wasm.types.UnknownCustomSection;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * The core of pywasmtok on the Java virtual machine, without native code. Written from docs/abi.md.
 *
 * <pre>
 * Core core = new Core(Files.readAllBytes(Path.of("baseline.wasm")));
 * Tokenizer tokenizer = core.tokenizer(file, null);
 * int[] ids = tokenizer.encode("Hello", Abi.ENCODE_ADD_SPECIAL_TOKENS).ids();
 * </pre>
 *
 * A core is compiled once; it may be used by any number of threads.
 */
public final class Core {
    private final WasmModule module;
    private final Function<Instance, Machine> machines;
    private final String version;

    /** The baseline core: Chicory has no SIMD. */
    public Core(byte[] wasm) {
        module = Parser.parse(wasm);
        if (!(module.customSection("pywasmtok.abi") instanceof UnknownCustomSection section)) {
            throw new TokenizerException("host", "this is no core of pywasmtok");
        }
        String text = new String(section.bytes(), StandardCharsets.UTF_8);
        JsonObject build = JsonParser.parseString(text).getAsJsonObject();
        if (build.get("abi").getAsInt() != Abi.ABI_VERSION) {
            throw new TokenizerException("host", "a core with another ABI: " + text);
        }
        version = build.get("version").getAsString();
        machines = MachineFactoryCompiler.compile(module);
    }

    /** Of pywasmtok, from which the core was built. */
    public String version() {
        return version;
    }

    /** A tokenizer in an instance of its own. Options are the JSON of docs/abi.md, or null. */
    public Tokenizer tokenizer(byte[] file, String options) {
        Instance instance = Instance.builder(module).withMachineFactory(machines).build();
        return new Tokenizer(new Guest(instance), file, options);
    }
}
