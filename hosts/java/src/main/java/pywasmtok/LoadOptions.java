package pywasmtok;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Settings that a file may need; docs/abi.md describes them. Null: not given.
 *
 * @param pattern cuts text into pieces, for rank files and for a vocab.json with its merges.txt
 * @param specialTokens of the same files, with their ids, from 0 to 16,777,215
 * @param encoding a known pattern with its special tokens, such as "cl100k_base"
 * @param ggufCompat "llama.cpp", the default, or "hf"
 * @param anyLength leaves out the truncation and the padding that the file states
 */
public record LoadOptions(
        String pattern, Map<String, Integer> specialTokens, String encoding, String ggufCompat, boolean anyLength) {
    public static final LoadOptions DEFAULT = new LoadOptions(null, null, null, null, false);

    byte[] json(List<Core.Part> parts) {
        Map<String, Object> said = new LinkedHashMap<>();
        if (!parts.isEmpty()) {
            said.put("parts", parts.stream().map(part -> List.of(part.name(), part.data().length)).toList());
        }
        // Gson leaves out what is null.
        said.put("pattern", pattern);
        said.put("special_tokens", specialTokens);
        said.put("encoding", encoding);
        said.put("gguf_compat", ggufCompat);
        said.put("any_length", anyLength ? true : null);
        return Guest.json(said);
    }
}
