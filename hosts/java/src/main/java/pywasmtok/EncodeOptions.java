package pywasmtok;

import java.util.List;
import java.util.Map;

/**
 * How text is encoded. The methods that begin with "with" give a changed copy of {@link #DEFAULT}.
 *
 * @param addSpecialTokens lets the post-processor add its tokens, such as [CLS]
 * @param special which special tokens are found in the text
 * @param details fills all parts of an {@link Encoding}
 * @param limit for counting, which may stop at the first number above it; -1 counts all
 */
public record EncodeOptions(boolean addSpecialTokens, Special special, boolean details, int limit) {
    /** What text may become a special token. */
    public record Special(String rule, List<String> names) {
        /** What the file says. */
        public static final Special ALL = new Special("all", List.of());

        /** Names of special tokens are text like any other. */
        public static final Special NONE = new Special("none", List.of());

        /** A text that has a special token is refused: {@link Kind#SPECIAL_TOKEN_IN_TEXT}. */
        public static final Special RAISE = new Special("raise", List.of());

        /** These special tokens and no others. */
        public static Special only(List<String> names) {
            return new Special("only", names);
        }
    }

    public static final EncodeOptions DEFAULT = new EncodeOptions(true, Special.ALL, false, -1);

    public EncodeOptions withAddSpecialTokens(boolean wanted) {
        return new EncodeOptions(wanted, special, details, limit);
    }

    public EncodeOptions withSpecial(Special wanted) {
        return new EncodeOptions(addSpecialTokens, wanted, details, limit);
    }

    public EncodeOptions withDetails(boolean wanted) {
        return new EncodeOptions(addSpecialTokens, special, wanted, limit);
    }

    public EncodeOptions withLimit(int most) {
        return new EncodeOptions(addSpecialTokens, special, details, most);
    }

    int flags() {
        return (addSpecialTokens ? Abi.ENCODE_ADD_SPECIAL_TOKENS : 0)
                | (special.rule().equals("none") ? Abi.ENCODE_SPECIAL_IS_TEXT : 0)
                | (details ? Abi.ENCODE_DETAILS : 0);
    }

    /** The JSON of "What may become a special token" in docs/abi.md; null where flags say all. */
    Map<String, Object> policy(Tokenizer tokenizer) {
        return switch (special.rule()) {
            case "raise" -> Map.of("special", "raise");
            case "only" -> Map.of("special", Map.of("allow", special.names().stream()
                    .map(name -> Integer.toUnsignedLong(tokenizer.tokenToId(name).orElseThrow(() -> new TokenizerException(
                            Kind.BAD_ARGUMENT, "the tokenizer has no token " + name + " to allow"))))
                    .toList()));
            case "all", "none" -> null;
            default -> throw new TokenizerException(Kind.BAD_ARGUMENT, "no rule " + special.rule());
        };
    }
}
